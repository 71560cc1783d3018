//! By how much operations take longer through a device than over its direct cable: as they did,
//! and as their round trips tell.
//!
//! Owns the intervals of both, which allow for the messages beside the operations and for what a
//! prediction leaves unexplained, and when a prediction holds. Pure.

use measure::blocks::{BlockEstimate, paired_shift};
use measure::{Interval, comparison, quantile};

use super::super::rows::CONFIDENCE;
use super::budget::Crossing;
use super::cell::{Kind, Sample};
use crate::comparison::MARGIN;
use crate::verdict::{Delays, Evidence, Setting};
use page::Verdict;

/// `None` is reads and writes together.
pub(super) type Which = Option<bool>;

/// By how much operations take longer through the device than over the cable: as they did, as their
/// round trips tell, and what is left between the two.
pub(super) struct Added {
    pub(super) observed: Option<BlockEstimate>,
    pub(super) predicted: Option<BlockEstimate>,
    pub(super) rest: Option<BlockEstimate>,
    /// Each block's observed and predicted pair: the device's and the cable's.
    pairs: [Vec<(f64, f64)>; 2],
}

impl Added {
    /// Of each block's sample of the device and of the cable.
    pub(super) fn of(
        (pairs, crossing): (&[(&Sample, &Sample)], &Crossing<'_>),
        which: Which,
        seed: u64,
    ) -> Self {
        let both = |value: &dyn Fn(&Sample) -> Option<f64>| -> Vec<(f64, f64)> {
            pairs.iter().filter_map(|(a, b)| Some((value(a)?, value(b)?))).collect()
        };
        let seen = both(&|sample| latency(sample, which));
        let told = both(&|sample| messages(crossing, sample, which));
        let left = both(&|s| Some(latency(s, which)? - messages(crossing, s, which)?));
        let waited = both(&|s| over(s, which, |kind| crossing.disturbance(s, kind)));
        let [observed, predicted, rest] =
            [&seen, &told, &left].map(|both| paired_shift(both, CONFIDENCE, seed));
        // Without the messages beside them those through the device may take so much less, and
        // those over the cable.
        let (own, beside): (Vec<f64>, Vec<f64>) = waited.into_iter().unzip();
        let [less, more] = [own, beside].map(|all| quantile::median(&all).unwrap_or(0.0));
        let widened = |found: Option<BlockEstimate>| {
            let mut found = found?;
            found.interval.low -= less;
            found.interval.high += more;
            Some(found)
        };
        // What a prediction leaves unexplained it may be off by.
        let predicted = predicted.map(|mut found| {
            if let Some(rest) = rest {
                found.interval.low = found.interval.low.min(found.value + rest.interval.low);
                found.interval.high = found.interval.high.max(found.value + rest.interval.high);
            }
            found
        });
        let [observed, predicted] = [observed, predicted].map(widened);
        Self { observed, predicted, rest, pairs: [seen, told] }
    }

    /// Whose each is; a remainder is nobody's.
    pub(super) fn verdicts(&self, setting: Setting) -> [Verdict; 3] {
        let [seen, told] = self
            .pairs
            .each_ref()
            .map(|both| Evidence::Delay(Delays::paired(both)).verdict(setting));
        let apart = |found: Option<BlockEstimate>, verdict: Verdict| match found {
            // All of it may be the messages'.
            Some(found)
                if verdict == Verdict::DeviceLimited
                    && found.interval.low <= 0.0
                    && found.interval.high >= 0.0 =>
            {
                Verdict::Undetermined
            }
            Some(_) => verdict,
            None => Verdict::Undetermined,
        };
        let told = if self.holds() { told } else { Verdict::Undetermined };
        [apart(self.observed, seen), apart(self.predicted, told), Verdict::Undetermined]
    }

    /// Whether a prediction may stand as a figure of its own: what is left between observed and
    /// predicted is within a hundredth of what was observed, or can't be told from that.
    fn holds(&self) -> bool {
        let (Some(observed), Some(rest)) = (self.observed, self.rest) else { return false };
        let Interval { low, high, .. } = rest.interval;
        let little = MARGIN * observed.value.abs();
        low <= little && high >= -little && high - low <= 2.0 * observed.value.abs()
    }
}

/// The largest difference that does not matter, in nanoseconds: [`MARGIN`] of what an operation
/// takes over the direct cable, or as much as that repeats worse.
pub(super) fn practical(cable: &[f64]) -> f64 {
    let repeats = comparison::repeatability(cable).unwrap_or(0.0);
    quantile::median(cable).unwrap_or(0.0) * MARGIN.max(repeats)
}

/// Whether what is left between observed and predicted is nothing that matters. An interval as
/// wide as the change itself would hold zero whatever was predicted, and shows nothing.
pub(super) fn agrees(
    observed: Option<BlockEstimate>,
    rest: Option<BlockEstimate>,
    practical: f64,
) -> &'static str {
    let (Some(observed), Some(rest)) = (observed, rest) else { return "not shown" };
    let Interval { low, high, .. } = rest.interval;
    match () {
        () if low > practical || high < -practical => "no",
        () if low >= -practical && high <= practical => "yes",
        () if low <= 0.0 && high >= 0.0 && high - low <= 2.0 * observed.value.abs() => "yes",
        () => "not shown",
    }
}

pub(super) fn latency(sample: &Sample, which: Which) -> Option<f64> {
    match which {
        None => Some(sample.latency),
        Some(write) => Some(sample.kind(write)?.latency),
    }
}

/// What the messages took that stand for an operation.
pub(super) fn messages(crossing: &Crossing<'_>, sample: &Sample, which: Which) -> Option<f64> {
    over(sample, which, |kind| crossing.messages(kind))
}

pub(super) fn over(sample: &Sample, which: Which, of: impl Fn(&Kind) -> f64) -> Option<f64> {
    match which {
        None => Some(sample.over_kinds(of)),
        Some(write) => sample.kind(write).map(of),
    }
}
