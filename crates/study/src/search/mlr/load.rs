//! Classification of a load by its trials (RFC 9971 §6.1, appendix A) and its conditional
//! throughput (§6.2, appendix B).
//!
//! Owns the formulas. Never knows which load it is, nor which is tried next.

use measure::{FrameRate, Nanos};

/// Goal, or a coarser one that precedes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Target {
    /// Largest loss ratio of a trial that passes.
    pub(super) loss_ratio: f64,
    /// Share of seconds that may lie in failed trials.
    pub(super) exceed_ratio: f64,
    /// Duration of a full-length trial.
    pub(super) duration: Nanos,
    /// Total duration of full-length trials that decides.
    pub(super) duration_sum: Nanos,
    /// Allowed distance of its bounds.
    pub(super) width_rungs: u32,
    /// Factor of the search distance after a bound was not found.
    pub(super) expansion: u32,
}

/// Trial that counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Trial {
    /// Requested duration, which counts as its effective duration.
    pub(super) duration: Nanos,
    /// Load as actually offered.
    pub(super) offered: FrameRate,
    pub(super) loss_ratio: f64,
}

impl Trial {
    /// True if the trial is full-length.
    fn is_long(&self, target: &Target) -> bool {
        self.duration >= target.duration
    }

    fn passes(&self, target: &Target) -> bool {
        self.loss_ratio <= target.loss_ratio
    }
}

/// Class of a load for a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// The load meets the target, whatever further trials within the duration sum show.
    Lower,
    /// The load does not meet the target, whatever further trials show.
    Upper,
    /// The class depends on further trials.
    Undecided,
}

/// Trials at a load.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Load {
    pub(super) trials: Vec<Trial>,
    /// Number of failures of the tester.
    pub(super) refusals: u32,
}

/// Nanoseconds in trials of each kind. A short trial is below the target's duration; a bad one lost
/// more than the target's loss ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Sums {
    long_good: u64,
    long_bad: u64,
    short_good: u64,
    short_bad: u64,
}

impl Load {
    /// Class of the load: lower bound, upper bound, or undecided.
    pub(super) fn class(&self, target: &Target) -> Class {
        let Sums { long_good, long_bad, short_good, short_bad } = self.sums(target);
        let coefficient = target.exceed_ratio / (1.0 - target.exceed_ratio);
        // Whole nanoseconds throughout: a remainder of zero must be the same from either side.
        let balancing = (short_good as f64 * coefficient).round() as u64;
        let bad = long_bad + short_bad.saturating_sub(balancing);
        let whole = (long_good + bad).max(target.duration_sum.0);
        let tolerated = (whole as f64 * target.exceed_ratio).round() as u64;
        let optimistic_is_lower = bad <= tolerated;
        let pessimistic_is_lower = whole - long_good <= tolerated;
        match (optimistic_is_lower, pessimistic_is_lower) {
            (true, true) => Class::Lower,
            (false, false) => Class::Upper,
            _ => Class::Undecided,
        }
    }

    /// Loss ratio that full-length trials kept for all but the tolerated share of the time. Time
    /// missing from the duration sum counts as all lost. The load minus this share is the
    /// conditional throughput.
    pub(super) fn quantile_loss_ratio(&self, target: &Target) -> f64 {
        let mut long: Vec<&Trial> =
            self.trials.iter().filter(|trial| trial.is_long(target)).collect();
        long.sort_by(|a, b| a.loss_ratio.total_cmp(&b.loss_ratio));
        let whole = long.iter().map(|trial| trial.duration.0).sum::<u64>();
        let whole = whole.max(target.duration_sum.0);
        let mut remaining = (whole as f64 * (1.0 - target.exceed_ratio)).round();
        for trial in long {
            remaining -= trial.duration.0 as f64;
            if remaining <= 0.0 {
                return trial.loss_ratio;
            }
        }
        1.0
    }

    /// Lowest load actually offered in a full-length trial that passed.
    pub(super) fn offered_passing(&self, target: &Target) -> Option<FrameRate> {
        self.least_offered(|trial| trial.is_long(target) && trial.passes(target))
    }

    /// Lowest load actually offered in a trial that did not pass.
    pub(super) fn offered_failing(&self, target: &Target) -> Option<FrameRate> {
        self.least_offered(|trial| !trial.passes(target))
    }

    fn least_offered(&self, of: impl Fn(&Trial) -> bool) -> Option<FrameRate> {
        let rates = self.trials.iter().filter(|trial| of(trial)).map(|trial| trial.offered.0);
        rates.min_by(f64::total_cmp).map(FrameRate)
    }

    fn sums(&self, target: &Target) -> Sums {
        let mut sums = Sums::default();
        for trial in &self.trials {
            *match (trial.is_long(target), trial.passes(target)) {
                (true, true) => &mut sums.long_good,
                (true, false) => &mut sums.long_bad,
                (false, true) => &mut sums.short_good,
                (false, false) => &mut sums.short_bad,
            } += trial.duration.0;
        }
        sums
    }
}

#[cfg(test)]
mod tests;
