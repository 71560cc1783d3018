//! Consistency check of a throughput with every trial of its study, whichever test ran it.
//!
//! Owns the rule by which a record contradicts a bracket. Never repairs one, and never reads the
//! purpose of a trial.

use measure::Nanos;

use crate::search::GoalName;
use page::{Figure, Key, Metric, Unit};
use trial::record::{DatagramsRecord, FlowRecord};
use trial::{FlowKind, Outcome, Path, Role, Schedule, Subject, Trial, TrialRecord};

/// Relative distance that a load must be beyond a bracket's end to contradict it.
const BEYOND: f64 = 0.005;

/// A trial counts as lossy above this number of lost frames and above [`LOST_SHARE`].
const LOST_FRAMES: f64 = 10.0;
const LOST_SHARE: f64 = 0.01;

/// Load offered at even gaps, and its loss.
#[derive(Debug)]
pub(super) struct Witness {
    subject: Option<Subject>,
    path: Path,
    /// Sending and receiving port; several flows may share them.
    ends: (String, String),
    frame_size: u64,
    duration: Nanos,
    /// Offered frames a second, as sent.
    offered: f64,
    sent: u64,
    lost: u64,
    /// Smallest ratio of sending time to receiving time of any flow.
    in_step: f64,
}

impl Witness {
    /// Converts a trial; `None` if it was not a steady load between two ports, or does not count.
    pub(super) fn from_trial(trial: &Trial, record: &TrialRecord) -> Option<Self> {
        // A trial with an event shows the effect of that event.
        if !matches!(record.outcome, Outcome::Valid) || !trial.events.is_empty() {
            return None;
        }
        let mut own: Option<Self> = None;
        for (flow, seen) in trial.flows.iter().zip(&record.flows) {
            let (FlowKind::Datagrams(asked), FlowRecord::Datagrams(seen), Role::Measured) =
                (&flow.kind, seen, flow.role)
            else {
                return None;
            };
            let (Schedule::Paced(_), Some(size)) = (asked.schedule, asked.frames.single()) else {
                return None;
            };
            let ends = (flow.from.to_string(), flow.to.to_string());
            let size = u64::from(size.octets());
            let own = own.get_or_insert_with(|| Self::nothing(trial, &ends, size));
            if own.ends != ends || own.frame_size != size {
                return None;
            }
            own.add(seen);
        }
        own.filter(|own| own.sent > 0)
    }

    fn nothing(trial: &Trial, ends: &(String, String), frame_size: u64) -> Self {
        Self {
            subject: trial.subject.clone(),
            path: trial.path,
            ends: ends.clone(),
            frame_size,
            duration: trial.phases.load,
            offered: 0.0,
            sent: 0,
            lost: 0,
            in_step: 1.0,
        }
    }

    fn add(&mut self, seen: &DatagramsRecord) {
        self.offered += seen.sending_rate().0;
        self.sent += seen.sent;
        self.lost += seen.received.lost(seen.sent);
        self.in_step = self.in_step.min(seen.in_step());
    }

    /// True if the load contradicts the figure's claim that the path sustains a rate, or does not.
    /// A trial shorter than the deciding one is ignored, as a queue may hide what a longer trial
    /// shows.
    pub(super) fn contradicts(&self, figure: &Figure) -> bool {
        let Some(claim) = Claim::from_figure(figure) else { return false };
        if !self.is_of(figure) || self.duration < claim.decided_in {
            return false;
        }
        let above = claim.high.is_some_and(|high| self.offered > high * (1.0 + BEYOND));
        let below = claim.low.is_some_and(|low| self.offered < low * (1.0 - BEYOND));
        let whole = self.lost == 0 && self.in_step > 1.0 - BEYOND;
        let lost = self.lost as f64 > (LOST_SHARE * self.sent as f64).max(LOST_FRAMES);
        (above && whole) || (below && lost)
    }

    /// True if the figure has the same path and frame size.
    fn is_of(&self, figure: &Figure) -> bool {
        let path = if self.path == Path::Bypass { "cable" } else { "device" };
        let subject = self.subject.as_ref();
        let device = subject.map(|subject| subject.device.as_str());
        let variant = subject.and_then(|subject| subject.variant.as_deref());
        figure.text(Key::Path) == Some(path)
            && figure.text(Key::From) == Some(&self.ends.0)
            && figure.text(Key::To) == Some(&self.ends.1)
            && figure.integer(Key::FrameSize) == Some(self.frame_size)
            && (path == "cable"
                || (figure.text(Key::Device), figure.text(Key::Variant)) == (device, variant))
    }
}

/// Claim of a throughput figure, for a goal without loss in any trial. For other goals, a single
/// trial decides nothing.
struct Claim {
    low: Option<f64>,
    high: Option<f64>,
    decided_in: Nanos,
}

impl Claim {
    fn from_figure(figure: &Figure) -> Option<Self> {
        if figure.metric != Metric::Throughput || figure.unit != Unit::FramesPerSecond {
            return None;
        }
        if figure.text(Key::Goal)? != GoalName::Rfc2544.as_str() {
            return None;
        }
        let decided_in = Nanos(figure.integer(Key::FinalDuration)?);
        Some(Self { low: figure.low, high: figure.high, decided_in })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use page::{Conditions, Verdict};

    fn witness(offered: f64, lost: u64, duration: Nanos) -> Witness {
        Witness {
            subject: Some(Subject { device: "sw1".to_owned(), variant: None }),
            path: Path::Device,
            ends: ("h1/eth1".to_owned(), "h2/eth1".to_owned()),
            frame_size: 64,
            duration,
            offered,
            sent: 2_000,
            lost,
            in_step: 1.0,
        }
    }

    fn throughput(goal: GoalName) -> Figure {
        let texts = [
            (Key::Goal, goal.as_str()),
            (Key::Path, "device"),
            (Key::Device, "sw1"),
            (Key::From, "h1/eth1"),
            (Key::To, "h2/eth1"),
        ];
        let mut conditions: Conditions = texts.map(|(key, text)| (key, text.into())).into();
        conditions.insert(Key::FrameSize, 64.into());
        conditions.insert(Key::FinalDuration, Nanos::from_secs(2).0.into());
        Figure {
            low: Some(1_000.0),
            high: Some(1_010.0),
            n: 20,
            blocks: 1,
            conditions,
            verdict: Verdict::DeviceLimited,
            ..Figure::new(Metric::Throughput, Unit::FramesPerSecond, Some(1_000.0))
        }
    }

    #[test]
    fn a_longer_trial_of_any_test_speaks_against_a_bracket() {
        let (long, short) = (Nanos::from_secs(10), Nanos::from_millis(200));
        let figure = throughput(GoalName::Rfc2544);
        for (witness, expected) in [
            (witness(1_100.0, 0, long), true),
            (witness(1_100.0, 200, long), false),
            (witness(1_100.0, 0, short), false),
            (witness(1_012.0, 0, long), false),
            (witness(500.0, 100, long), true),
            (witness(500.0, 5, long), false),
            (witness(500.0, 0, long), false),
            (Witness { in_step: 0.9, ..witness(1_100.0, 0, long) }, false),
            (Witness { path: Path::Bypass, ..witness(1_100.0, 0, long) }, false),
            (Witness { frame_size: 128, ..witness(1_100.0, 0, long) }, false),
        ] {
            assert_eq!(witness.contradicts(&figure), expected, "{witness:?}");
        }
        assert!(!witness(1_100.0, 0, long).contradicts(&throughput(GoalName::Ndr)));
    }
}
