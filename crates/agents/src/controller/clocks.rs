//! Offsets of the agents' monotonic clocks from ours, and from each other.
//!
//! Owns the exchanges with each agent over the control channel, of this trial and earlier ones, and
//! the bounds that follow. Never sets a clock, and never claims more precision than that.

use std::collections::BTreeMap;

use measure::clocks::{Ahead, ClockBounds, Exchange};
use measure::{Histogram, Nanos};
use trial::Flow;
use trial::record::{Clocks as Stamping, DatagramsRecord, Delays};

/// Maximum number of exchanges kept; more hardly narrow the bounds of a drift.
const KEPT: usize = 96;
/// Resolution of the coarser of the receivers' histograms: one part in this many of the value.
const RESOLUTION: u64 = 128;
/// Sender that stamps inside the kernel, by its own clock; the only one.
const STAMPS_BY_ITSELF: &str = "xdp-live";

/// Allowances in nanoseconds, by the sending host and the receiving one.
pub type Allowances = BTreeMap<(String, String), i64>;

/// Allowance for a flow's hosts; 0 if there is none.
pub fn allowance(all: &Allowances, flow: &Flow) -> i64 {
    let hosts = (flow.from.host.clone(), flow.to.host.clone());
    all.get(&hosts).copied().unwrap_or(0)
}

/// Clocks of the agents, by host.
#[derive(Debug, Default)]
pub struct Clocks {
    /// True if all hosts are this machine, whose one clock does not drift from itself.
    one: bool,
    known: BTreeMap<String, Known>,
}

#[derive(Debug)]
struct Known {
    exchanges: Vec<Exchange>,
    bounds: ClockBounds,
}

impl Clocks {
    /// Creates an empty set of clocks.
    pub fn new(one: bool) -> Self {
        Self { one, known: BTreeMap::new() }
    }

    /// Adds new exchanges with a host's clock; returns false if they contradict each other.
    pub fn add_exchanges(&mut self, host: &str, news: &[Exchange]) -> bool {
        let bounds = |all: &[Exchange]| {
            if self.one { ClockBounds::of_one_rate(all) } else { ClockBounds::from_exchanges(all) }
        };
        let before = self.known.remove(host).map(|known| known.exchanges).unwrap_or_default();
        let spare = (before.len() + news.len()).saturating_sub(KEPT).min(before.len());
        let all = [&before[spare..], news].concat();
        // A clock that was set, or has a new drift, is described by the new exchanges alone.
        let found = bounds(&all).map(|bounds| Known { exchanges: all, bounds });
        let found =
            found.or_else(|| bounds(news).map(|bounds| Known { exchanges: news.to_vec(), bounds }));
        match found {
            Some(known) => self.known.insert(host.to_owned(), known).is_none(),
            None => false,
        }
    }

    /// Forgets a host's clock, because its agent was replaced and the host may have restarted.
    pub fn forget(&mut self, host: &str) {
        self.known.remove(host);
    }

    /// Bounds of a host's clock ahead of ours at our instant; zero if it was never compared.
    pub fn ahead(&self, host: &str, ours: Nanos) -> Ahead {
        let none = Ahead { low_ns: 0, high_ns: 0 };
        self.known.get(host).map_or(none, |known| known.bounds.ahead(ours))
    }

    /// Converts our instant to a host's clock.
    pub fn theirs(&self, host: &str, ours: Nanos) -> Nanos {
        Nanos(ours.0.saturating_add_signed(self.ahead(host, ours).estimate_ns()))
    }

    /// Converts a host's instant, near `about` on our clock, to our clock.
    pub fn ours(&self, host: &str, theirs: Nanos, about: Nanos) -> Nanos {
        Nanos(theirs.0.saturating_add_signed(-self.ahead(host, about).estimate_ns()))
    }

    /// Computes the offsets that senders add to their stamps from `since` to `until`. Receivers on
    /// other hosts can then subtract stamps from their own clocks without a negative result.
    pub fn allowances(&self, flows: &[Flow], since: Nanos, until: Nanos) -> Allowances {
        let apart = flows.iter().filter(|_| !self.one);
        let hosts = apart.map(|flow| (flow.from.host.clone(), flow.to.host.clone()));
        let low = |from: &str, to: &str, at| self.ahead(from, at).to(self.ahead(to, at)).low_ns;
        let lowest = |from: &str, to: &str| low(from, to, since).min(low(from, to, until));
        hosts
            .map(|(from, to)| (lowest(&from, &to), (from, to)))
            .map(|(low, key)| (key, low))
            .collect()
    }

    /// True if all hosts share this machine's clock.
    pub const fn are_one(&self) -> bool {
        self.one
    }

    /// Corrects delays that were taken with an [allowance](Self::allowances): subtracts its excess
    /// and sets the remaining error. Removes the delays if the clocks are unknown.
    pub fn settle(
        &self,
        record: &mut DatagramsRecord,
        from: &str,
        to: &str,
        allowance: i64,
        since: Nanos,
        until: Nanos,
    ) {
        if self.one {
            return;
        }
        let taken = record.delays.take().filter(|_| !record.backend.contains(STAMPS_BY_ITSELF));
        let Some(Delays { histogram, .. }) = taken else { return };
        let between = |at| self.ahead(from, at).to(self.ahead(to, at));
        let middle = between(since + until.saturating_sub(since) / 2).estimate_ns();
        let off = |at| {
            let Ahead { low_ns, high_ns } = between(at);
            (high_ns - middle).max(middle - low_ns).unsigned_abs()
        };
        let surplus = middle - allowance;
        let known = self.known.contains_key(from) && self.known.contains_key(to);
        let doubt = off(since).max(off(until)) + surplus.unsigned_abs() / RESOLUTION + 1;
        // Valid bounds leave no frame that arrives before its own departure.
        if !known || surplus < 0 || histogram.min().0 + doubt < surplus.unsigned_abs() {
            return;
        }
        // No frame arrives before it leaves: if the estimate says so, it is off by at least that
        // much.
        let surplus = Nanos(surplus.unsigned_abs()).min(histogram.min());
        let mut settled = Histogram::new();
        for (delay, times) in histogram.buckets() {
            settled.record_many(delay.saturating_sub(surplus), times);
        }
        let clocks = Stamping::Estimated { uncertainty: Nanos(doubt) };
        record.delays = Some(Delays { clocks, histogram: settled });
    }
}
