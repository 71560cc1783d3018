//! What the trials at one load say of it, by RFC 9971's load classification (§6.1, appendix A) and
//! conditional throughput (§6.2, appendix B).
//!
//! Owns the formulas. Never knows which load it is, nor what is tried next.

use measure::{FrameRate, Nanos};

/// A goal, or a coarser one on the way to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Target {
    /// The loss ratio up to which a trial passes.
    pub(super) loss_ratio: f64,
    /// The share of seconds that may lie in trials that did not.
    pub(super) exceed_ratio: f64,
    /// Of a full-length trial.
    pub(super) duration: Nanos,
    /// So much of full-length trials decides.
    pub(super) duration_sum: Nanos,
    /// How far apart its bounds may be.
    pub(super) width_rungs: u32,
    /// How much further to look each time where a bound was not found.
    pub(super) expansion: u32,
}

/// A trial that counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Trial {
    /// As asked for, which is what counts as its effective duration.
    pub(super) duration: Nanos,
    /// The load as it really was.
    pub(super) offered: FrameRate,
    pub(super) loss_ratio: f64,
}

/// What a load is to a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// It meets the target, whatever further trials within the duration sum would show.
    Lower,
    /// It does not, whatever they would show.
    Upper,
    /// It depends on them.
    Undecided,
}

/// A load's trials.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Load {
    pub(super) trials: Vec<Trial>,
    /// How often the tester could not do it.
    pub(super) refusals: u32,
}

/// Nanoseconds in trials of each kind. A short one is below the target's duration; a bad one lost
/// more than the target's loss ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Sums {
    long_good: u64,
    long_bad: u64,
    short_good: u64,
    short_bad: u64,
}

impl Load {
    /// Lower or upper bound, or neither yet.
    pub(super) fn class(&self, target: &Target) -> Class {
        let Sums { long_good, long_bad, short_good, short_bad } = self.sums(target);
        let coefficient = target.exceed_ratio / (1.0 - target.exceed_ratio);
        // Whole nanoseconds throughout: what is not missing must be the same seen from either side.
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

    /// The rate forwarded in the trial at the exceed ratio's quantile of the full-length ones, with
    /// what is missing to the duration sum counted as all lost.
    pub(super) fn conditional_throughput(&self, target: &Target) -> FrameRate {
        let mut long: Vec<&Trial> =
            self.trials.iter().filter(|trial| trial.duration >= target.duration).collect();
        let by_loss = |a: &&Trial, b: &&Trial| a.loss_ratio.total_cmp(&b.loss_ratio);
        long.sort_by(by_loss);
        let whole = long.iter().map(|trial| trial.duration.0).sum::<u64>();
        let whole = whole.max(target.duration_sum.0);
        let mut remaining = (whole as f64 * (1.0 - target.exceed_ratio)).round();
        for trial in long {
            remaining -= trial.duration.0 as f64;
            if remaining <= 0.0 {
                return FrameRate(trial.offered.0 * (1.0 - trial.loss_ratio));
            }
        }
        FrameRate(0.0)
    }

    /// The lowest load that was really offered in trials that passed, or that did not.
    pub(super) fn offered(&self, target: &Target, passed: bool) -> Option<FrameRate> {
        let kind = |trial: &&Trial| (trial.loss_ratio <= target.loss_ratio) == passed;
        let rates = self.trials.iter().filter(kind).map(|trial| trial.offered.0);
        rates.min_by(f64::total_cmp).map(FrameRate)
    }

    fn sums(&self, target: &Target) -> Sums {
        let mut sums = Sums::default();
        for trial in &self.trials {
            let long = trial.duration >= target.duration;
            let good = trial.loss_ratio <= target.loss_ratio;
            *match (long, good) {
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
