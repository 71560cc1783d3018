//! Choice of one goal's next load, by way of coarser targets: each has half the width of the one
//! before and a longer duration sum.
//!
//! Owns the strategies and their order. Never runs a trial, and never knows the other goals.

use measure::Nanos;

use super::super::{FailedBy, Goal, RAGGED_WIDTH};
use super::ladder::{Ladder, Rung, split};
use super::ledger::{Bounds, Ledger};
use super::load::Target;

/// Largest number of targets before the goal; further ones are ignored, because widths double with
/// each.
const MOST_PRECEDING: u32 = 16;

/// Progress of a goal through its targets.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Selector {
    /// Targets, coarsest first; the last is the goal itself.
    targets: Vec<Target>,
    /// Index of the current target.
    at: usize,
    /// Bounds at which the previous target ended; at first the initial trials' loads.
    lower: Option<Rung>,
    upper: Option<Rung>,
    /// Distance beyond a bound of the next search for the other one.
    reach: u32,
    /// Direction in which the last load extended the search.
    extending: Option<Way>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Down,
    Up,
}

/// Returns the targets of a goal, coarsest first. Duration sums grow geometrically from the initial
/// duration: 1 s, 4.58 s and 21 s for two targets before one of 21 s.
pub(super) fn targets(goal: &Goal, ladder: &Ladder) -> Vec<Target> {
    let last = goal.preceding_targets.min(MOST_PRECEDING);
    let (first, sum) = (goal.initial_duration.as_secs_f64(), goal.duration_sum.as_secs_f64());
    let width = ladder.rungs(goal.width);
    let target = |at: u32| {
        let share = f64::from(at) / f64::from(last.max(1));
        let duration_sum = match at {
            at if at == last => goal.duration_sum,
            0 => goal.initial_duration,
            _ => Nanos::from_secs_f64(first * (sum / first).powf(share)),
        };
        Target {
            loss_ratio: goal.loss_ratio,
            exceed_ratio: goal.exceed_ratio,
            duration: duration_sum.min(goal.final_duration),
            duration_sum,
            width_rungs: width.saturating_mul(1 << (last - at)),
            expansion: goal.expansion.max(2),
        }
    };
    (0..=last).map(target).collect()
}

impl Selector {
    /// Starts between the two loads at which the initial trials ended.
    pub(super) fn new(targets: Vec<Target>, lower: Rung, upper: Rung) -> Self {
        let (lower, upper) = (Some(lower), Some(upper));
        let mut selector = Self { targets, at: 0, lower, upper, reach: 0, extending: None };
        selector.start();
        selector
    }

    /// Load to try next, with its duration; `None` once the goal is reached.
    pub(super) fn nominate(&mut self, ledger: &Ledger, ladder: &Ladder) -> Option<(Rung, Nanos)> {
        loop {
            let target = self.targets[self.at];
            let bounds = ledger.bounds(&target);
            self.extending = None;
            if let Some(rung) = self.look(&target, bounds, ledger, ladder) {
                return Some((rung, target.duration));
            }
            if self.at + 1 == self.targets.len() {
                return None;
            }
            self.at += 1;
            self.lower = bounds.lower;
            self.upper = bounds.upper.map(|(rung, _)| rung);
            self.start();
        }
    }

    /// Takes note that its load was tried. If that moved only the bound that it started from, the
    /// next search goes further.
    pub(super) fn tried(&mut self, rung: Rung, ledger: &Ledger) {
        let target = self.targets[self.at];
        let bounds = ledger.bounds(&target);
        let moved = match self.extending {
            Some(Way::Down) => bounds.upper.is_some_and(|(upper, _)| upper == rung),
            Some(Way::Up) => bounds.lower == Some(rung),
            None => false,
        };
        if moved {
            self.reach = self.reach.saturating_mul(target.expansion);
        }
    }

    /// The first search of a target extends beyond the bounds of the previous one.
    fn start(&mut self) {
        let apart = match (self.lower, self.upper) {
            (Some(lower), Some(upper)) => upper.saturating_sub(lower),
            _ => 0,
        };
        self.limit(apart);
    }

    fn limit(&mut self, width: u32) {
        let target = self.targets[self.at];
        self.reach = width.max(target.width_rungs).saturating_mul(target.expansion);
    }

    /// Halves the previous bracket, otherwise tests its ends again, otherwise looks for the missing
    /// bound, otherwise halves the current bracket.
    fn look(
        &mut self,
        target: &Target,
        bounds: Bounds,
        ledger: &Ledger,
        ladder: &Ladder,
    ) -> Option<Rung> {
        let top = ladder.top();
        let width = match bounds.upper {
            Some((rung, FailedBy::Tester)) if ledger.offered_from(rung) => {
                target.width_rungs.max(ladder.rungs(RAGGED_WIDTH))
            }
            _ => target.width_rungs,
        };
        let (lower, upper) = (bounds.lower, bounds.upper.map(|(rung, _)| rung));
        let narrow = matches!((lower, upper), (Some(low), Some(high)) if high - low <= width);
        let worth = |rung: &Rung| {
            !narrow && lower.is_none_or(|low| *rung > low) && upper.is_none_or(|high| *rung < high)
        };
        let halfway = match (self.lower, self.upper) {
            (Some(low), Some(high)) if (width + 1..=2 * width).contains(&(high - low)) => {
                Some(low + split(high - low, width))
            }
            _ => None,
        };
        let known = [halfway, self.lower, self.upper];
        if let Some(rung) = known.into_iter().flatten().find(worth) {
            self.limit(width);
            return Some(rung);
        }
        match (lower, upper) {
            (Some(low), Some(high)) if !narrow => Some(self.between(low, high, width)),
            (None, Some(high)) if high > 0 => {
                self.extending = Some(Way::Down);
                let rung = high.saturating_sub(self.reach);
                // A distance to the end below the width counts as the end.
                Some(if rung < width { 0 } else { rung })
            }
            (Some(low), None) if low < top => {
                self.extending = Some(Way::Up);
                let rung = low.saturating_add(self.reach).min(top);
                Some(if top - rung < width { top } else { rung })
            }
            _ => None,
        }
    }

    /// Returns the middle; or a load nearer to a bound that has moved beyond its last search,
    /// because the other bound is old and probably far off.
    fn between(&mut self, low: Rung, high: Rung, width: u32) -> Rung {
        let middle = low + split(high - low, width);
        let within = |rung: Rung| match (low + width, high.saturating_sub(width)) {
            (least, most) if least > most => middle,
            (least, most) => rung.clamp(least, most),
        };
        if let Some(old) = self.upper.filter(|old| middle < *old) {
            let rung = within(high.saturating_sub(self.reach));
            if rung > middle && rung < old {
                self.extending = Some(Way::Down);
                return rung;
            }
        }
        if let Some(old) = self.lower.filter(|old| middle > *old) {
            let rung = within(low.saturating_add(self.reach));
            if rung < middle && rung > old {
                self.extending = Some(Way::Up);
                return rung;
            }
        }
        self.limit((middle - low).min(high - middle));
        middle
    }
}
