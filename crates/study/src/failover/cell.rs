//! Trials of one deed on one path: the losses of their flows.
//!
//! Owns the due time of each frame number, and the assignment of a flow's losses to the deed or its
//! undoing. Never sees another trial, so it never decides what is the tester's own loss.

use crate::Noted;
use measure::quantile::median;
use measure::sequence::Conversation;

use super::FailoverSpec;
use crate::rate::counts::tester_dropped;
use crate::rows::Direction;
use crate::session::Tried;
use page::Caveat;
use trial::counters::{RX_PACKETS, TX_PACKETS};
use trial::record::{DatagramsRecord, PortCounters, Side};
use trial::{Deed, Spread};

/// Shortfall of a sender within which it still kept its load.
const SHORT: f64 = 0.001;

/// Phase of a trial: after the deed, or after its undoing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Time from the deed on.
    Failure,
    /// Time from the undoing on.
    Restoration,
}

impl Phase {
    /// Name of the phase in figures.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Failure => "failure",
            Self::Restoration => "restoration",
        }
    }
}

/// Frames that one flow lost in a phase. Times are nanoseconds from the start of the load, by the
/// frames' numbers: the sender's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Hit {
    /// Frames of the longest run of losses.
    pub(super) longest: u64,
    /// Due time of the first lost frame.
    pub(super) begins: f64,
    /// Due time of the frame after the longest run; `None` if nothing arrived any more.
    pub(super) ends: Option<f64>,
}

/// Losses of all flows of a direction in one trial.
#[derive(Debug, Clone)]
pub(super) struct Impact {
    direction: Option<Direction>,
    /// Times at which the deed and its undoing began, or would have begun.
    pub(super) at: [f64; 2],
    /// Time that the deed's command took.
    pub(super) took: Option<f64>,
    /// Losses of each flow, by phase.
    pub(super) hits: Vec<[Option<Hit>; 2]>,
    /// Number of flows without a single received frame.
    pub(super) silent: u64,
    /// Reordered frames of all flows.
    pub(super) reordered: u64,
    pub(super) duplicated: u64,
    pub(super) lost: u64,
    /// Frames on each of several paths, by the device's own counters.
    pub(super) paths: Vec<(String, u64)>,
    /// Longest gap between any arrivals, if the sender could not send for that long. Its own link
    /// was down, and frame numbers no longer give the time.
    pub(super) stalled: Option<f64>,
    /// True if a flow's frames are so far apart that a loss cannot be assigned to the deed or its
    /// undoing.
    pub(super) coarse: bool,
}

impl Impact {
    /// Longest interruption of any flow, in nanoseconds.
    pub(super) fn longest(&self, phase: Phase, spacing: f64) -> f64 {
        let runs = self.hits_in(phase).map(|hit| hit.longest as f64 * spacing);
        let stalled = self.stalled.filter(|_| phase == Phase::Failure);
        runs.chain(stalled).fold(0.0, f64::max)
    }

    /// Median interruption of the flows interrupted for more than `own` frames.
    pub(super) fn typical(&self, phase: Phase, own: u64, spacing: f64) -> Option<f64> {
        let hits = self.beyond(phase, own).map(|hit| hit.longest as f64 * spacing);
        median(&hits.collect::<Vec<f64>>())
    }

    /// Share of flows interrupted for more than `own` frames.
    pub(super) fn affected(&self, phase: Phase, own: u64) -> f64 {
        self.beyond(phase, own).count() as f64 / self.hits.len().max(1) as f64
    }

    /// True if no such flow can have been missed: the median flow lost at least two frames in a
    /// row, so that any flow interrupted for as long had one due.
    pub(super) fn sees_all(&self, phase: Phase, own: u64) -> bool {
        let runs = self.beyond(phase, own).map(|hit| hit.longest as f64);
        let middle = median(&runs.collect::<Vec<f64>>()).unwrap_or(0.0);
        !self.coarse && middle >= (own + 2) as f64
    }

    /// Time from the start of the phase to the first lost frame of any such flow.
    pub(super) fn first_lost(&self, phase: Phase, own: u64) -> Option<f64> {
        let begins = self.beyond(phase, own).map(|hit| hit.begins);
        begins.min_by(f64::total_cmp).map(|at| at - self.at[phase as usize])
    }

    /// Time from the start of the phase until the last of such flows recovered.
    pub(super) fn all_back(&self, phase: Phase, own: u64) -> Option<f64> {
        let ends: Option<Vec<f64>> = self.beyond(phase, own).map(|hit| hit.ends).collect();
        let last = ends?.into_iter().max_by(f64::total_cmp)?;
        Some(last - self.at[phase as usize])
    }

    /// Number of flows that were interrupted in a phase and never recovered.
    pub(super) fn flows_gone(&self, phase: Phase, own: u64) -> u64 {
        self.beyond(phase, own).filter(|hit| hit.ends.is_none()).count() as u64
    }

    /// True if such flows recovered only when the deed was undone.
    pub(super) fn waited_for_the_end(&self, own: u64) -> bool {
        let undone = self.at[Phase::Restoration as usize];
        self.beyond(Phase::Failure, own).any(|hit| hit.ends.is_some_and(|ends| ends >= undone))
    }

    /// Longest run of losses of any flow in a phase.
    pub(super) fn run(&self, phase: Phase) -> u64 {
        self.hits_in(phase).map(|hit| hit.longest).max().unwrap_or(0)
    }

    fn hits_in(&self, phase: Phase) -> impl Iterator<Item = &Hit> {
        self.hits.iter().filter_map(move |hits| hits[phase as usize].as_ref())
    }

    fn beyond(&self, phase: Phase, own: u64) -> impl Iterator<Item = &Hit> {
        self.hits_in(phase).filter(move |hit| hit.longest > own)
    }
}

/// Trials of a deed on a path.
#[derive(Debug, Default)]
pub(super) struct CellData {
    impacts: Vec<Impact>,
    /// Numbers of the trials, and their caveats.
    pub(super) noted: Noted,
}

impl CellData {
    /// Impacts on one direction, in the order of the blocks.
    pub(super) fn in_direction(&self, direction: Option<Direction>) -> Vec<&Impact> {
        self.impacts.iter().filter(|impact| impact.direction == direction).collect()
    }

    /// Keeps the result of one block's trial.
    pub(super) fn take(&mut self, tried: &Tried, spec: &FailoverSpec, by: Spread) {
        self.noted.observe(tried);
        let flows: Vec<&DatagramsRecord> = tried.measured().collect();
        let count = by.conversations() as usize;
        let told_apart = flows.iter().all(|seen| seen.conversations.len() == count);
        if tried.valid().is_none() || flows.is_empty() || !told_apart {
            self.noted.doubt(Caveat::NoValidTrial);
            return;
        }
        if tester_dropped(tried) {
            self.noted.doubt(Caveat::TesterDrops);
        }
        let both = [Some(Direction::Forward), Some(Direction::Reverse)];
        let directions = if flows.len() == 2 { &both[..] } else { &[None] };
        for (seen, direction) in flows.iter().zip(directions) {
            self.impacts.push(impact(tried, seen, *direction, spec, by));
        }
    }
}

fn impact(
    tried: &Tried,
    seen: &DatagramsRecord,
    direction: Option<Direction>,
    spec: &FailoverSpec,
    by: Spread,
) -> Impact {
    let events = tried.trial.events.iter().zip(&tried.record.device.deeds);
    let when = |is: fn(&Deed) -> bool, planned: measure::Nanos| {
        let done = events.clone().find(|(event, _)| is(&event.deed));
        done.map_or(planned, |(_, done)| done.at).0 as f64
    };
    let begun = when(|deed| matches!(deed, Deed::Do { .. }), spec.before);
    let undone = when(|deed| matches!(deed, Deed::Undo { .. }), spec.before + spec.away);
    let took = events.clone().next().map(|(_, done)| done.took.0 as f64);
    let short = seen.offered.saturating_sub(seen.sent) as f64 > SHORT * seen.offered as f64;
    let count = seen.conversations.len() as u32;
    let spacing = 1e9 / spec.load_rate(by).0;
    // For a sender whose own link was down, the longest gap is the outage.
    let held_up = if short { 0.0 } else { seen.departures.max().0 as f64 };
    let (late, half) = (spacing * f64::from(count) + held_up, (undone - begun) / 2.0);
    let (late, coarse) = (late.min(half), late > half);
    let timing = Timing { sent: seen.sent, spacing, late, begun, undone };
    let hits = (0..).zip(&seen.conversations);
    let hits = hits.map(|(at, conversation)| hits_of_flow(conversation, (at, count), &timing));
    let silent = seen.conversations.iter().filter(|own| own.received == 0).count() as u64;
    Impact {
        direction,
        at: [begun, undone],
        took,
        hits: hits.collect(),
        silent,
        reordered: seen.received.reordered,
        duplicated: seen.received.duplicated,
        lost: seen.received.lost(seen.sent),
        paths: paths(&tried.record.ports),
        stalled: short.then(|| seen.arrivals.max().0 as f64),
        coarse,
    }
}

/// Frames that crossed each path in either direction: the counters of the device's ports that lead
/// to no host of the testbed.
fn paths(ports: &[PortCounters]) -> Vec<(String, u64)> {
    let own = ports.iter().filter(|port| port.side == Side::Reported && port.cable.is_none());
    let crossed = |port: &PortCounters| {
        let counted = [TX_PACKETS, RX_PACKETS].map(|name| port.counters.get(name).copied());
        Some((port.place.clone(), counted.into_iter().flatten().reduce(|a, b| a + b)?))
    };
    own.filter_map(crossed).collect()
}

/// Times of a trial's frames and events, in nanoseconds; moments are from the start of the load.
struct Timing {
    /// Frames of all flows.
    sent: u64,
    /// Time between two frames of any flows.
    spacing: f64,
    /// Maximum lateness of the sender.
    late: f64,
    begun: f64,
    undone: f64,
}

/// Longest losses of a flow, by phase; `place` is its number among all flows.
///
/// A run belongs to the deed if it began before the undoing and ended after the deed; a later run
/// belongs to the undoing. So does a run in progress that began before the undoing by at most the
/// sender's lateness, as its first frame may have left later. A flow without any received frame has
/// an unknown start of interruption.
fn hits_of_flow(
    conversation: &Conversation,
    place: (u32, u32),
    timing: &Timing,
) -> [Option<Hit>; 2] {
    let Timing { sent, spacing, late, begun, undone } = *timing;
    let mut hits = [None; 2];
    if conversation.received == 0 {
        return hits;
    }
    let (at, count) = place;
    let stride = u64::from(count);
    let due = |number: u64| number as f64 * spacing;
    let gaps = conversation.gaps.iter().map(|gap| (gap, true));
    let tail = conversation.tail(at, count, sent);
    for (gap, over) in gaps.chain(tail.iter().map(|gap| (gap, false))) {
        let (begins, ends) = (due(gap.first), due(gap.first + gap.frames * stride));
        let before = begins < undone - if ends > undone { late } else { 0.0 };
        let phase = match (before, ends > begun) {
            (_, false) => continue,
            (true, true) => Phase::Failure,
            (false, true) => Phase::Restoration,
        };
        let ends = over.then_some(ends);
        let new = Hit { longest: gap.frames, begins, ends };
        hits[phase as usize] = Some(match hits[phase as usize] {
            None => new,
            Some(old) => {
                let longer = if new.longest > old.longest { new } else { old };
                Hit { begins: old.begins.min(begins), ..longer }
            }
        });
    }
    hits
}

#[cfg(test)]
mod tests {
    use measure::sequence::Gap;

    use super::*;

    /// One flow of a thousand frames a second; the deed after 100 ms, undone after 300.
    const TIMING: Timing =
        Timing { sent: 500, spacing: 1e6, late: 5e6, begun: 100e6, undone: 300e6 };

    fn of(gaps: &[(u64, u64)], last: u64) -> [Option<Hit>; 2] {
        let gaps: Vec<Gap> = gaps.iter().map(|&(first, frames)| Gap { first, frames }).collect();
        let received = last + 1 - gaps.iter().map(|gap| gap.frames).sum::<u64>();
        let own = Conversation { received, last: Some(last), gaps, ..Conversation::default() };
        hits_of_flow(&own, (0, 1), &TIMING)
    }

    #[test]
    fn a_loss_belongs_to_what_came_before_it() {
        let hit = |longest, begins: f64, ends: Option<f64>| {
            let (begins, ends) = (begins * 1e6, ends.map(|ends| ends * 1e6));
            Some(Hit { longest, begins, ends })
        };
        for (gaps, last, expected) in [
            // Before the deed: not assigned.
            (&[(20, 30)][..], 499, [None, None]),
            (&[(101, 50)], 499, [hit(50, 101.0, Some(151.0)), None]),
            // Two, the longer of which is the interruption.
            (&[(101, 5), (110, 50)], 499, [hit(50, 101.0, Some(160.0)), None]),
            // In progress at the deed, and over before the undoing.
            (&[(99, 202)], 499, [hit(202, 99.0, Some(301.0)), None]),
            (&[(310, 4)], 499, [None, hit(4, 310.0, Some(314.0))]),
            // A late sender had not sent them at the undoing; or they were lost before.
            (&[(297, 50)], 499, [None, hit(50, 297.0, Some(347.0))]),
            (&[(297, 2)], 499, [hit(2, 297.0, Some(299.0)), None]),
            // Never back.
            (&[], 150, [hit(349, 151.0, None), None]),
            (&[], 399, [None, hit(100, 400.0, None)]),
        ] {
            assert_eq!(of(gaps, last), expected, "{gaps:?} {last}");
        }
        let silent = hits_of_flow(&Conversation::default(), (0, 1), &TIMING);
        assert_eq!(silent, [None, None]);
    }

    #[test]
    fn what_crosses_a_path_is_what_the_device_told_of_it() {
        let port = |place: &str, side, cable: Option<&str>, counted: &[(&str, u64)]| PortCounters {
            place: place.to_owned(),
            side,
            cable: cable.map(str::to_owned),
            counters: counted.iter().map(|(name, by)| ((*name).to_owned(), *by)).collect(),
        };
        let both = [(TX_PACKETS, 70), (RX_PACKETS, 7)];
        let ports = [
            port("core/p1", Side::Reported, None, &both),
            port("core/p2", Side::Reported, None, &[("rx_dropped", 3)]),
            port("core/1", Side::Reported, Some("h1/eth1"), &both),
            port("h1/eth1", Side::Tester, None, &both),
        ];
        assert_eq!(paths(&ports), [("core/p1".to_owned(), 77)]);
    }
}
