//! Counts of a trial's flows and of their ports, and the component behind each loss.
//!
//! Never counts a frame as received that arrived at a wrong port, nor the tester's own drops as the
//! path's.

use std::collections::{BTreeMap, BTreeSet};

use measure::FrameRate;

use super::sustained::backlog;
use crate::Tried;
use trial::Role;
use trial::books;
use trial::counters::{RX_OTHERHOST, RX_PACKETS, is_pause};
use trial::record::{DatagramsRecord, Defect, FlowRecord, PortCounters, Side, TrialRecord};
use trial::topology::PortRef;
use trial::validity::tester_losses;

/// Share of a load's frames below which a queue is no loss to it.
const NOTED: f64 = 0.005;

/// Records of a valid trial's measured flows; never empty.
pub(super) type Seen<'a> = Vec<&'a DatagramsRecord>;

/// Returns the flows' records; `None` if figures must not use them.
pub(super) fn valid_flows(tried: &Tried) -> Option<Seen<'_>> {
    tried.valid()?;
    let flows: Seen<'_> = tried.measured().collect();
    (!flows.is_empty()).then_some(flows)
}

/// Counts summed over several flows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Count {
    pub(super) sent: u64,
    pub(super) lost: u64,
    /// Frames that arrived only after the load, because the path's output rate was below the input
    /// rate.
    pub(super) queued: f64,
    /// Frames a second sent, and received.
    pub(super) offered: f64,
    pub(super) received: f64,
    /// Longest time from a flow's first arrival to its last, in seconds.
    pub(super) span: f64,
}

impl Count {
    /// Sums over flows.
    pub(super) fn from_flows<'a>(flows: impl IntoIterator<Item = &'a DatagramsRecord>) -> Self {
        let flows: Vec<&DatagramsRecord> = flows.into_iter().collect();
        let none = Self { queued: backlog(&flows, NOTED), ..Self::default() };
        flows.into_iter().fold(none, |sum, flow| Self {
            sent: sum.sent + flow.sent,
            lost: sum.lost + flow.received.lost(flow.sent),
            offered: sum.offered + flow.sending_rate().0,
            received: sum.received + flow.receiving_rate().0,
            span: sum.span.max(flow.counted_over().as_secs_f64()),
            ..sum
        })
    }

    /// Share of the frames that were lost.
    pub(super) fn loss_ratio(&self) -> f64 {
        self.lost as f64 / self.sent.max(1) as f64
    }

    /// Share of the frames that the path did not carry during the load. Frames in a queue count as
    /// lost to a continuing load (RFC 1242 §3.6: under steady state).
    pub(super) fn short_ratio(&self) -> f64 {
        ((self.lost as f64 + self.queued) / self.sent.max(1) as f64).min(1.0)
    }

    /// Removes the frames that a token bucket passed at first.
    pub(super) fn without_bucket(self, frames: f64) -> Self {
        if self.span <= 0.0 {
            return self;
        }
        let received = (self.received - frames / self.span).max(0.0);
        Self { received, queued: self.queued + frames, ..self }
    }
}

/// Frames sent by all flows.
pub(super) fn sent(flows: &[&DatagramsRecord]) -> u64 {
    flows.iter().map(|flow| flow.sent).sum()
}

/// Frames lost by all flows.
pub(super) fn lost(flows: &[&DatagramsRecord]) -> u64 {
    flows.iter().map(|flow| flow.received.lost(flow.sent)).sum()
}

/// Lowest sending rate of these flows, in frames a second.
pub(super) fn slowest_flow(flows: &[&DatagramsRecord]) -> FrameRate {
    let rates = flows.iter().map(|flow| flow.sending_rate().0);
    FrameRate(rates.min_by(f64::total_cmp).unwrap_or(0.0))
}

/// Actual load: the lowest rate of any sending port, in frames a second over all its flows.
pub(super) fn slowest_sender(tried: &Tried) -> FrameRate {
    let mut ports: BTreeMap<&PortRef, f64> = BTreeMap::new();
    for (flow, record) in tried.trial.flows.iter().zip(&tried.record.flows) {
        if let (Role::Measured, FlowRecord::Datagrams(seen)) = (flow.role, record) {
            *ports.entry(&flow.from).or_default() += seen.sending_rate().0;
        }
    }
    FrameRate(ports.into_values().min_by(f64::total_cmp).unwrap_or(0.0))
}

/// Highest rate without loss per sending port, divided evenly over its flows; `None` unless only
/// the tester's own limits made the attempt invalid.
pub(super) fn lossless_load(tried: &Tried) -> Option<FrameRate> {
    let measured = || tried.trial.flows.iter().filter(|flow| flow.role == Role::Measured);
    let ports: BTreeSet<&PortRef> = measured().map(|flow| &flow.from).collect();
    let each = measured().count() / ports.len().max(1);
    tried.lossless_load().map(|rate| FrameRate(rate.0 * each as f64))
}

/// Frames lost on the path: those that no counter of the tester's own explains.
pub(super) fn lost_on_path(tried: &Tried) -> u64 {
    let books = books::balance(&tried.trial, &tried.record);
    if let Some(books) = books.filter(|books| books.flows == 1) {
        return books.lost.saturating_sub(books.tester());
    }
    // Port counters do not distinguish flows; all that the tester dropped is its own.
    let flows: Seen<'_> = tried.measured().collect();
    lost(&flows).saturating_sub(own_drops(tried).sum())
}

/// True if the tester dropped frames, so that a loss may be its own.
pub(crate) fn tester_dropped(tried: &Tried) -> bool {
    own_drops(tried).next().is_some()
}

/// Drops by each of the tester's counters. Received PAUSE frames come from the device and are no
/// drops.
fn own_drops(tried: &Tried) -> impl Iterator<Item = u64> {
    let record = &tried.record;
    let own = tester_losses(&tried.trial, &record.flows, &record.ports, &record.hosts);
    own.into_iter().filter_map(|defect| match defect {
        Defect::TesterCounter { by, counter, .. } if !is_pause(&counter) => Some(by),
        _ => None,
    })
}

/// True if a sender's port received PAUSE frames. Those that it sends to the other end do not
/// count.
pub(crate) fn paused(tried: &Tried) -> bool {
    let sends = |host: &str| tried.trial.flows.iter().any(|flow| flow.from.host == host);
    let senders = tried.record.ports.iter().filter(|port| {
        port.side == Side::Tester && port.place.split_once('/').is_some_and(|(host, _)| sends(host))
    });
    let mut counters = senders.flat_map(|port| &port.counters);
    counters.any(|(name, by)| is_pause(name) && !name.starts_with("tx") && *by > 0)
}

/// Frames received by hosts other than their destination: RFC 2889's flood count (RFC 2285 §3.8.3).
pub(super) fn flooded(record: &TrialRecord) -> u64 {
    let hosts = record.ports.iter().filter(|port| port.side == Side::Tester);
    hosts.filter_map(|port| port.counters.get(RX_OTHERHOST)).sum()
}

/// Frames for other hosts that one port received.
pub(super) fn astray(record: &TrialRecord, port: &PortRef) -> u64 {
    counter(record, port, RX_OTHERHOST)
}

/// Frames received by a port's own counter.
pub(super) fn arrived(record: &TrialRecord, port: &PortRef) -> u64 {
    counter(record, port, RX_PACKETS)
}

fn counter(record: &TrialRecord, port: &PortRef, name: &str) -> u64 {
    let place = port.to_string();
    let of = |p: &&PortCounters| p.side == Side::Tester && p.place == place;
    let counters = record.ports.iter().find(of).map(|port| &port.counters);
    counters.and_then(|counters| counters.get(name)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use measure::{FrameSize, Nanos};
    use trial::{Backend, Datagrams, Flow, FlowKind, Gate, Schedule, Trial};

    use super::*;

    const LOAD: Nanos = Nanos::from_secs(1);

    /// A flow each for these: of 10,000 frames so many never came, and so many of those the
    /// receiver's own socket dropped.
    fn tried(of_flows: &[(u64, u64)]) -> Tried {
        let kind =
            Datagrams::plain(FrameSize::MIN, Schedule::Paced(FrameRate(1e4)), Backend::Udp, 32);
        let flow = |at: usize| Flow {
            id: at as u16 + 1,
            from: format!("h{}/eth1", at + 1).parse().expect("a port"),
            to: format!("h{}/eth1", at + 11).parse().expect("a port"),
            role: Role::Measured,
            kind: FlowKind::Datagrams(kind.clone()),
        };
        let flows = (0..of_flows.len()).map(flow).collect();
        let seen = |(lost, socket_drops): &(u64, u64)| {
            let record = scripted::one_way(LOAD, 10_000, 10_000 - lost);
            FlowRecord::Datagrams(DatagramsRecord { socket_drops: *socket_drops, ..record })
        };
        let trial = Trial::quick("flood", flows, LOAD, Gate::Flood);
        let record = scripted::judged(&trial, of_flows.iter().map(seen).collect());
        Tried::at_once(trial, record)
    }

    /// 10,000 frames in a second, all of which came, in two: half of them had queued.
    #[test]
    fn what_a_queue_took_in_is_lost_to_a_load_that_goes_on() {
        let queued =
            DatagramsRecord { receiving: LOAD * 2, ..scripted::one_way(LOAD, 10_000, 10_000) };
        let count = Count::from_flows([&queued]);
        assert_eq!((count.lost, count.loss_ratio()), (0, 0.0));
        assert!((count.short_ratio() - 0.5).abs() < 1e-9, "{count:?}");
        // Of a rate of 5,000/s a bucket of 1,000 frames gave 500.
        let steady = count.without_bucket(1_000.0);
        assert!((steady.received - 4_499.5).abs() < 1.0, "{steady:?}");
        assert!((steady.short_ratio() - 0.6).abs() < 1e-9, "{steady:?}");
    }

    #[test]
    fn what_the_tester_dropped_was_not_lost_on_the_path() {
        for (of_flows, on_path) in [
            (&[(100, 0)][..], 100),
            (&[(100, 30)], 70),
            (&[(100, 100)], 0),
            // More dropped than is missing: frames of somebody else were among them.
            (&[(100, 130)], 0),
            (&[(100, 30), (50, 0)], 120),
            (&[(100, 30), (50, 50)], 70),
        ] {
            let tried = tried(of_flows);
            let flows = valid_flows(&tried).expect("a flood is valid");
            assert_eq!(lost(&flows), of_flows.iter().map(|flow| flow.0).sum::<u64>());
            assert_eq!(lost_on_path(&tried), on_path, "{of_flows:?}");
            let dropped = of_flows.iter().any(|flow| flow.1 > 0);
            assert_eq!(tester_dropped(&tried), dropped, "{of_flows:?}");
        }
    }
}
