//! Results kept of each trial of exchanges: the goodput of every pair in each direction.
//!
//! Never keeps a series: the worst interval of each pair is taken at once.

use std::iter::Sum;

use crate::Noted;
use measure::{ByteCount, Nanos};

use super::super::session::Tried;
use super::FabricSpec;
use super::scene::Round;
use page::Caveat;
use trial::counters::{RX_CRC_ERRORS, RX_PACKETS};
use trial::record::{
    BulkRecord, Defect, ExchangeRecord, FlowRecord, PortCounters, ReceiptRecord, Side,
};
use trial::{Flow, FlowKind, Outcome};

/// Result of one pair in one trial, in bits of payload a second. If a port is in several pairs,
/// multiplied by their number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Got {
    /// Mean of both directions.
    pub(super) mean: f64,
    /// Goodput of the slower direction.
    pub(super) slower: f64,
    /// Slowest interval of either direction.
    pub(super) worst_interval: f64,
    /// Lost frames a second, both directions together.
    pub(super) lost: f64,
    /// Whole messages, both directions together; 1 for a stream.
    pub(super) messages: u64,
    /// All octets received, in whole messages or not, as a share of the capacity of the slower
    /// port: mean of both directions.
    pub(super) share: f64,
    /// Messages that the received octets amount to, on average of both directions; infinite for a
    /// stream.
    pub(super) resolution: f64,
    /// True if nothing arrived in the last interval in either direction.
    pub(super) stopped: bool,
    /// Messages that took at least half as long again as the pair's median, both ends together.
    pub(super) late: u64,
}

/// Frames counted at the ends of a port's cable, and those of them with a wrong FCS.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Damage {
    /// Frames that the port sent.
    pub(super) sent: Counted,
    /// Frames that it received.
    pub(super) received: Counted,
}

/// Number of frames or messages, and of those that are damaged or late.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted {
    pub(super) odd: u64,
    pub(super) all: u64,
}

impl Counted {
    /// Adds the counts of another trial.
    pub(super) fn add(&mut self, other: Self) {
        self.odd += other.odd;
        self.all += other.all;
    }

    /// Share of the damaged or late ones; 0 of none.
    pub(super) fn share(self) -> f64 {
        if self.all > 0 { self.odd as f64 / self.all as f64 } else { 0.0 }
    }
}

impl Sum for Counted {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |mut sum, counted| {
            sum.add(counted);
            sum
        })
    }
}

/// Trial of a round in one block.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) block: u32,
    /// Start of the load.
    pub(super) started_unix_ns: u64,
    /// Results in the order of the round's pairs; `None` if nothing arrived in at least one
    /// direction.
    pub(super) pairs: Vec<Option<Got>>,
    /// Frames on the ports' cables, by port.
    pub(super) damage: Vec<(String, Damage)>,
}

/// All blocks of a round.
#[derive(Debug, Clone, Default)]
pub(super) struct RoundData {
    pub(super) samples: Vec<Sample>,
    /// Trials of the round, and those repeated or given up.
    pub(super) noted: Noted,
}

impl RoundData {
    /// Keeps the result of one block's trial.
    pub(super) fn take(&mut self, block: u32, round: &Round, tried: &Tried, spec: &FabricSpec) {
        self.noted.observe(tried);
        let silent = silent(&tried.record.outcome);
        let Some(silent) = silent.filter(|flows| flows.len() < tried.record.flows.len()) else {
            self.noted.doubt(Caveat::NoValidTrial);
            return;
        };
        let flows = tried.trial.flows.iter().zip(&tried.record.flows);
        let shared = round.pairs_of_a_port() as f64;
        let got = |(flow, record): (&Flow, &FlowRecord)| match record {
            _ if silent.contains(&flow.id) => None,
            FlowRecord::Exchange(seen) if is_one_way(seen) => None,
            FlowRecord::Exchange(seen) => {
                let FlowKind::Exchange(asked) = &flow.kind else { return None };
                Some(Got::from_exchange(seen, asked.message, spec).times(shared))
            }
            FlowRecord::Bulk(seen) => Some(Got::of_stream(seen, spec).times(shared)),
            _ => None,
        };
        let of_link = |(got, link): (Option<Got>, &f64)| {
            got.map(|got| Got { share: got.share / link, ..got })
        };
        let pairs: Vec<Option<Got>> = flows.map(got).zip(&round.links).map(of_link).collect();
        if pairs.iter().any(Option::is_none) {
            self.noted.doubt(Caveat::SilentPairs);
        }
        let started_unix_ns = tried.record.started_unix_ns;
        let damage = damage(&tried.record.ports);
        self.samples.push(Sample { block, started_unix_ns, pairs, damage });
    }
}

/// Frames that the two ends of each cable counted: what the host's port received, and what the
/// device's port received from it.
fn damage(ports: &[PortCounters]) -> Vec<(String, Damage)> {
    let of = |port: &PortCounters| {
        let counter = |name: &str| port.counters.get(name).copied();
        let odd = counter(RX_CRC_ERRORS)?;
        let counted = Counted { odd, all: odd + counter(RX_PACKETS)? };
        match port.side {
            Side::Tester => {
                Some((port.place.clone(), Damage { received: counted, ..Damage::default() }))
            }
            Side::Device | Side::Reported => {
                Some((port.cable.clone()?, Damage { sent: counted, ..Damage::default() }))
            }
        }
    };
    ports
        .iter()
        .filter_map(of)
        .filter(|(_, damage)| damage.sent.odd + damage.received.odd > 0)
        .collect()
}

/// Flows without received frames, if the trial has no other defect; otherwise `None`. A dead port
/// or cable takes nothing from the other pairs.
fn silent(outcome: &Outcome) -> Option<Vec<u16>> {
    let of = |defect: &Defect| match defect {
        Defect::NothingReceived { flow } => Some(*flow),
        _ => None,
    };
    match outcome {
        Outcome::Valid => Some(Vec::new()),
        Outcome::Invalid { reasons } => reasons.iter().map(of).collect(),
        Outcome::Failed { .. } => None,
    }
}

/// True if octets arrived in one direction only. A device with too little capacity starves both
/// directions, a broken cable one.
fn is_one_way(exchange: &ExchangeRecord) -> bool {
    let none = |way: &ReceiptRecord| {
        way.octets == ByteCount(0) && way.intervals.iter().all(|octets| *octets == ByteCount(0))
    };
    none(&exchange.forward) != none(&exchange.backward)
}

impl Got {
    fn from_exchange(exchange: &ExchangeRecord, message: ByteCount, spec: &FabricSpec) -> Self {
        let ways = [&exchange.forward, &exchange.backward];
        let [forward, backward] = ways.map(|way| 8.0 * way.octets_per_second());
        let octets =
            ways.map(|way| way.intervals.iter().map(|octets| octets.0).sum::<u64>() as f64);
        let rate = |(way, octets): (&&ReceiptRecord, f64)| {
            8.0 * octets / way.elapsed.min(spec.duration).as_secs_f64().max(1e-9)
        };
        let [came, back] = [(&ways[0], octets[0]), (&ways[1], octets[1])].map(rate);
        let lost = |way: &ReceiptRecord| way.lost as f64 / way.elapsed.as_secs_f64().max(1e-9);
        Self {
            mean: f64::midpoint(forward, backward),
            slower: forward.min(backward),
            worst_interval: ways
                .map(|way| slowest(&way.intervals, spec))
                .into_iter()
                .fold(f64::MAX, f64::min),
            lost: ways.map(lost).iter().sum(),
            messages: exchange.forward.messages + exchange.backward.messages,
            share: f64::midpoint(came, back),
            resolution: f64::midpoint(octets[0], octets[1]) / message.0 as f64,
            stopped: ways.iter().all(|way| last(&way.intervals, spec) == 0),
            late: ways.map(late).iter().sum(),
        }
    }

    fn of_stream(stream: &BulkRecord, spec: &FabricSpec) -> Self {
        let mean = 8.0 * stream.received.0 as f64 / stream.elapsed.as_secs_f64().max(1e-9);
        let received = stream.streams.first().map_or(&[][..], |stream| &stream.received[..]);
        let worst_interval = slowest(received, spec);
        let stopped = last(received, spec) == 0;
        Self {
            mean,
            slower: mean,
            worst_interval,
            lost: 0.0,
            messages: 1,
            share: mean,
            resolution: f64::INFINITY,
            stopped,
            late: 0,
        }
    }

    fn times(self, pairs: f64) -> Self {
        Self {
            mean: self.mean * pairs,
            slower: self.slower * pairs,
            worst_interval: self.worst_interval * pairs,
            share: self.share * pairs,
            ..self
        }
    }
}

/// Messages that took at least half as long again as the median.
fn late(way: &ReceiptRecord) -> u64 {
    if way.rounds.is_empty() {
        return 0;
    }
    let limit = Nanos(way.rounds.quantile(0.5).0 * 3 / 2);
    let late = 1.0 - way.rounds.share_at_or_below(limit);
    (late * way.rounds.count() as f64).round() as u64
}

/// Octets in the last whole interval of the load.
fn last(intervals: &[ByteCount], spec: &FabricSpec) -> u64 {
    let whole = (spec.duration.0 / spec.interval.0) as usize;
    intervals.get(whole.saturating_sub(1)).map_or(0, |octets| octets.0)
}

/// Slowest rate over the whole intervals of the load; its last one may be shorter.
fn slowest(intervals: &[ByteCount], spec: &FabricSpec) -> f64 {
    let whole = (spec.duration.0 / spec.interval.0) as usize;
    let octets = intervals.iter().take(whole).map(|octets| octets.0);
    // A receiver that stopped reporting before the end of the load received nothing from then on.
    let fewest = if intervals.len() < whole { 0 } else { octets.min().unwrap_or(0) };
    8.0 * fewest as f64 / spec.interval.as_secs_f64()
}
