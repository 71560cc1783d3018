//! Comparison of an uncongested port in trials with and without congestion.
//!
//! Owns the criterion for a worse result. The port lost more frames, or got a rate below its
//! control's by more than a margin, and that in every trial. Pure.

use measure::shares::share_interval;

use super::super::super::counts::Count;
use page::Caveat;

/// Relative difference below which a rate does not count as lower, as hosts' own rates vary.
const MARGIN: f64 = 0.01;
/// Confidence of the exact bound on a loss above the control's.
const CONFIDENCE: f64 = 0.998;
/// Loss of an uncongested port in the control above which it was offered more than it carries.
const OVERFED: f64 = 0.01;

/// Result of one trial.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sides {
    pub(super) uncongested: Count,
    pub(super) congested: Count,
    /// Traffic of the second sending port, to either destination.
    pub(super) second_sender: Count,
    pub(super) flooded: u64,
    /// True if some of the loss may be the tester's own.
    pub(super) doubtful: bool,
    pub(super) paused: bool,
}

/// Trials of both kinds.
#[derive(Debug, Clone, Default)]
pub(super) struct Pairs {
    pub(super) congested: Vec<Sides>,
    pub(super) control: Vec<Sides>,
}

/// Head-of-line blocking of the uncongested port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blocking {
    /// The port was limited, with lost frames or only a lower rate.
    Yes {
        lost: bool,
    },
    No,
    /// Undecided, as the tester dropped frames itself.
    Doubtful,
    /// No port was congested.
    NotCongested,
    /// The uncongested port was offered more than it carries, and so was congested itself.
    Overfed,
    /// Undecided: only some trials with congestion were worse than the control.
    NotResolved,
}

impl Blocking {
    /// True if the port was limited, false if not; `None` if undecided.
    pub(super) const fn is_known(self) -> Option<bool> {
        match self {
            Self::Yes { .. } => Some(true),
            Self::No => Some(false),
            _ => None,
        }
    }

    /// Caveat that explains an undecided result.
    pub(super) const fn doubt(self) -> Option<Caveat> {
        match self {
            Self::Doubtful => Some(Caveat::TesterDrops),
            Self::NotCongested => Some(Caveat::DeviceNotDriven),
            Self::NotResolved => Some(Caveat::NotResolved),
            Self::Overfed | Self::Yes { .. } | Self::No => None,
        }
    }
}

impl Pairs {
    /// True if more trials are needed for a decision.
    pub(super) fn may_block(&self) -> bool {
        self.loses_more(|sides| sides.uncongested) || self.gets_less()
    }

    /// Result of all trials.
    pub(super) fn blocking(&self, media_known: bool) -> Blocking {
        let control = mean(&self.control, |sides| sides.uncongested);
        if self.congested.iter().chain(&self.control).any(|sides| sides.doubtful) {
            Blocking::Doubtful
        } else if !media_known && control.short_ratio() > OVERFED {
            Blocking::Overfed
        } else if self.backpressure().is_none() {
            Blocking::NotCongested
        } else if self.loses_more(|sides| sides.uncongested) && self.all_lose_more() {
            Blocking::Yes { lost: true }
        } else if self.all_get_less() {
            Blocking::Yes { lost: false }
        } else if self.may_block() {
            Blocking::NotResolved
        } else {
            Blocking::No
        }
    }

    /// True if back pressure was found: RFC 2889 §5.5.4 defines it as no loss at a congested port.
    /// `None` if nothing was congested, which shows as more loss than in the control or as senders
    /// held back.
    pub(super) fn backpressure(&self) -> Option<bool> {
        if self.loses_more(|sides| sides.congested) {
            return Some(false);
        }
        let offered = |sides: &Sides| sides.second_sender.offered;
        let held_back =
            most(&self.congested, offered) < (1.0 - MARGIN) * least(&self.control, offered);
        (self.paused() || held_back).then_some(true)
    }

    /// True if a sender received PAUSE frames with congestion.
    pub(super) fn paused(&self) -> bool {
        self.congested.iter().any(|sides| sides.paused)
    }

    /// True if `self` is the one to report: blocking first, then undecided, then the higher loss.
    pub(super) fn is_worse(&self, than: &Self) -> bool {
        let rank = |one: &Self| {
            let blocking = match one.blocking(true) {
                Blocking::Yes { .. } => 2,
                Blocking::No => 0,
                _ => 1,
            };
            (blocking, mean(&one.congested, |sides| sides.uncongested).loss_ratio())
        };
        rank(self) > rank(than)
    }

    /// True if a port's losses with congestion exceed their share by the number of frames.
    fn loses_more(&self, of: fn(&Sides) -> Count) -> bool {
        let (congested, control) = (mean(&self.congested, of), mean(&self.control, of));
        let all = congested.lost + control.lost;
        let by_number = congested.sent as f64 / (congested.sent + control.sent).max(1) as f64;
        share_interval(congested.lost, all, CONFIDENCE).is_some_and(|share| share.low > by_number)
    }

    /// True if every trial with congestion lost more than every one without. A stall would affect
    /// some trials of either kind.
    fn all_lose_more(&self) -> bool {
        let lost = |sides: &Sides| sides.uncongested.loss_ratio();
        least(&self.congested, lost) > most(&self.control, lost)
    }

    fn gets_less(&self) -> bool {
        let of = |sides: &Sides| sides.uncongested;
        let (congested, control) = (mean(&self.congested, of), mean(&self.control, of));
        congested.received < (1.0 - MARGIN) * control.received
    }

    fn all_get_less(&self) -> bool {
        let got = |sides: &Sides| sides.uncongested.received;
        most(&self.congested, got) < (1.0 - MARGIN) * least(&self.control, got)
    }
}

/// Frames of all trials, and the mean of their rates.
pub(super) fn mean(trials: &[Sides], of: impl Fn(&Sides) -> Count) -> Count {
    let number = trials.len().max(1) as f64;
    let sum = trials.iter().map(of).fold(Count::default(), |sum, one| Count {
        sent: sum.sent + one.sent,
        lost: sum.lost + one.lost,
        queued: sum.queued + one.queued,
        span: sum.span.max(one.span),
        offered: sum.offered + one.offered,
        received: sum.received + one.received,
    });
    Count { offered: sum.offered / number, received: sum.received / number, ..sum }
}

fn most(trials: &[Sides], of: impl Fn(&Sides) -> f64) -> f64 {
    trials.iter().map(of).fold(f64::NEG_INFINITY, f64::max)
}

fn least(trials: &[Sides], of: impl Fn(&Sides) -> f64) -> f64 {
    trials.iter().map(of).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sides(uncongested: (u64, u64), congested: (u64, u64)) -> Sides {
        let count = |(sent, lost): (u64, u64)| Count {
            sent,
            lost,
            queued: 0.0,
            span: 1.0,
            offered: sent as f64,
            received: (sent - lost) as f64,
        };
        Sides {
            uncongested: count(uncongested),
            congested: count(congested),
            second_sender: count((20_000, 0)),
            flooded: 0,
            doubtful: false,
            paused: false,
        }
    }

    fn check(congested: [(u64, u64); 5], control: [(u64, u64); 5], expected: Blocking) {
        let found = Pairs {
            congested: congested.map(|one| sides(one, (30_000, 10_000))).into(),
            control: control.map(|one| sides(one, (10_000, 0))).into(),
        };
        assert_eq!(found.blocking(true), expected, "{congested:?} {control:?}");
    }

    #[test]
    fn one_frame_decides_nothing_and_a_stall_neither() {
        let all = |lost| [(10_000, lost); 5];
        check(all(0), all(0), Blocking::No);
        check(
            [(10_000, 1), (10_000, 0), (10_000, 0), (10_000, 0), (10_000, 0)],
            all(0),
            Blocking::No,
        );
        // Random loss.
        check(all(10), all(9), Blocking::No);
        check(all(30), all(9), Blocking::Yes { lost: true });
        // A stall in one of them.
        let stalled = [(10_000, 0), (10_000, 200), (10_000, 0), (10_000, 0), (10_000, 0)];
        check(stalled, all(0), Blocking::NotResolved);
        check(all(0), stalled, Blocking::No);
        check(all(0), [(10_000, 0); 5].map(|(sent, _)| (sent + 50, 0)), Blocking::No);
        // Held back by pauses, and nothing lost.
        check([(7_400, 0); 5], all(0), Blocking::Yes { lost: false });
    }

    #[test]
    fn nothing_is_said_where_nothing_was_congested_or_the_port_was_overfed() {
        let quiet = vec![sides((10_000, 0), (30_000, 0)); 2];
        let control = vec![sides((10_000, 0), (10_000, 0)); 2];
        let found = Pairs { congested: quiet, control };
        assert_eq!((found.blocking(true), found.backpressure()), (Blocking::NotCongested, None));
        let flooded = vec![sides((10_000, 9_000), (30_000, 29_000)); 2];
        let found = Pairs { congested: flooded.clone(), control: flooded };
        assert_eq!(found.blocking(false), Blocking::Overfed);
    }
}
