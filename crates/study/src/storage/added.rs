//! Latency that a device adds to operations, compared with its direct cable: observed, and
//! predicted from RTTs.
//!
//! Owns the intervals of both, which allow for the separate messages and the unexplained rest, and
//! the criterion for a prediction that holds. Pure.

use measure::blocks::{BlockEstimate, paired_shift};
use measure::{Interval, comparison, quantile};

use super::budget::Crossing;
use super::cell::{Sample, Which};
use super::finding::Added;
use super::measured::Blocks;
use crate::comparison::MARGIN;
use crate::rows::{CONFIDENCE, Row};
use crate::verdict::{Delays, Evidence, Setting};
use page::{Caveat, Figure, Key, Metric, Reply, Unit, Verdict};

/// Name of an estimate from RTTs.
const PREDICTED: &str = "predicted";

impl Blocks<'_> {
    /// True if the cable's operations are comparable with the device's. Operations that wait for
    /// each other's octets do not show the effect of an RTT.
    pub(super) fn has_comparison(&self) -> bool {
        self.own.is_remote()
            && self.ways.bypass_of(self.way).is_some()
            && self.spec.job.replicas.is_empty()
            && !self.crossing.is_full
    }

    /// Blocks of the device, paired with the cable's.
    fn pairs(&self) -> Vec<(&Sample, &Sample)> {
        self.own.samples.iter().filter_map(|own| Some((own, self.cable_at(own)?))).collect()
    }

    /// Latency that the device adds to an operation.
    pub(super) fn added(&self, which: Which, seed: u64) -> Added {
        let row = self.row(which).with(Key::Statistic, "mean");
        let pairs = self.pairs();
        let shifts = Shifts::new(&pairs, &self.crossing, which, seed);
        let is_unsteady = self.own.is_inconsistent() || self.cable.is_inconsistent();
        let [observed, predicted] = if is_unsteady {
            [Verdict::Undetermined; 2]
        } else {
            shifts.verdicts(self.ways.setting(self.way))
        };
        let over_cable: Vec<f64> =
            pairs.iter().filter_map(|(_, cable)| cable.latency_of(which)).collect();
        let agrees = agrees(shifts.observed, shifts.rest, practical(&over_cable));
        let value = |row: Row, verdict, shift| {
            let mut row = Row { verdict, ..row };
            if verdict != Verdict::DeviceLimited {
                row.caveats.insert(Caveat::NotResolved);
            }
            row.of_estimate(Metric::IoLatencyAdded, Unit::Nanoseconds, shift)
        };
        // A rest has no verdict.
        let rest = row.clone().with(Key::Estimate, "observed-less-predicted");
        let rest = Row { verdict: Verdict::Undetermined, ..rest.with(Key::Agrees, agrees.code()) };
        Added {
            predicted: value(
                row.clone().with(Key::Estimate, PREDICTED),
                predicted,
                shifts.predicted,
            ),
            observed: value(row, observed, shifts.observed),
            rest: rest.of_estimate(Metric::IoLatencyAdded, Unit::Nanoseconds, shifts.rest),
            agrees,
        }
    }

    /// Predicted operations a second of the device: the cable's, with the difference of the RTTs
    /// added.
    pub(super) fn predicted_rate(&self) -> Figure {
        let value = |(own, cable): &(&Sample, &Sample)| {
            let longer =
                messages(&self.crossing, own, None)? - messages(&self.crossing, cable, None)?;
            (cable.latency + longer > 0.0)
                .then(|| cable.per_second * cable.latency / (cable.latency + longer))
        };
        let values: Vec<f64> = self.pairs().iter().filter_map(value).collect();
        let row = self.row(None).with(Key::Estimate, PREDICTED);
        row.over_blocks(Metric::Iops, Unit::OperationsPerSecond, &values)
    }

    /// Upper bound of the operations a second through a device without latency, and without
    /// separate messages: predicted or observed, whichever is more.
    pub(super) fn rate_without_device(&self) -> Option<Figure> {
        let crossing = &self.crossing;
        self.at_most("device-without-latency", true, |own| {
            let cable = &self.cable_at(own)?.with_reads(crossing.reads())?;
            let longer = messages(crossing, own, None)? - messages(crossing, cable, None)?;
            let over_cable = cable.over_kinds(|kind| crossing.never_waiting(cable, kind));
            let through = own.over_kinds(|kind| crossing.undisturbed(own, kind));
            Some(over_cable.min(through - longer.max(0.0)))
        })
    }
}

/// Additional latency of operations through the device: observed, predicted from RTTs, and the
/// difference of both.
struct Shifts {
    observed: Option<BlockEstimate>,
    predicted: Option<BlockEstimate>,
    rest: Option<BlockEstimate>,
    /// Pairs of the device and the cable, block by block: observed, then predicted.
    pairs: [Vec<(f64, f64)>; 2],
}

impl Shifts {
    /// Computes the shifts from each block's sample of the device and of the cable.
    fn new(pairs: &[(&Sample, &Sample)], crossing: &Crossing<'_>, which: Which, seed: u64) -> Self {
        let both = |value: &dyn Fn(&Sample) -> Option<f64>| -> Vec<(f64, f64)> {
            pairs.iter().filter_map(|(a, b)| Some((value(a)?, value(b)?))).collect()
        };
        let seen = both(&|sample| sample.latency_of(which));
        let told = both(&|sample| messages(crossing, sample, which));
        let left = both(&|s| Some(s.latency_of(which)? - messages(crossing, s, which)?));
        let waited = both(&|s| s.mean_of(which, |kind| crossing.disturbance(s, kind)));
        let [observed, predicted, rest] =
            [&seen, &told, &left].map(|both| paired_shift(both, CONFIDENCE, seed));
        // Without the separate messages, operations over either path may be faster by this much.
        let (own, beside): (Vec<f64>, Vec<f64>) = waited.into_iter().unzip();
        let [less, more] = [own, beside].map(|all| quantile::median(&all).unwrap_or(0.0));
        let widened = |found: Option<BlockEstimate>| {
            let mut found = found?;
            found.interval.low -= less;
            found.interval.high += more;
            Some(found)
        };
        // The prediction may be wrong by its unexplained rest.
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

    /// Verdicts of the observed and the predicted.
    fn verdicts(&self, setting: Setting) -> [Verdict; 2] {
        let [seen, told] = self
            .pairs
            .each_ref()
            .map(|both| Evidence::Delay(Delays::paired(both)).verdict(setting));
        let apart = |found: Option<BlockEstimate>, verdict: Verdict| match found {
            // The whole difference may be due to the messages.
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
        [apart(self.observed, seen), apart(self.predicted, told)]
    }

    /// True if a prediction is a figure of its own: the rest is within a hundredth of the observed
    /// value, or not significant.
    fn holds(&self) -> bool {
        let (Some(observed), Some(rest)) = (self.observed, self.rest) else { return false };
        let Interval { low, high, .. } = rest.interval;
        let little = MARGIN * observed.value.abs();
        low <= little && high >= -little && high - low <= 2.0 * observed.value.abs()
    }
}

/// Largest irrelevant difference in nanoseconds: [`MARGIN`] of an operation's latency over the
/// direct cable, or its repeatability if that is worse.
fn practical(cable: &[f64]) -> f64 {
    let repeats = comparison::repeatability(cable).unwrap_or(0.0);
    quantile::median(cable).unwrap_or(0.0) * MARGIN.max(repeats)
}

/// Yes if the rest between observed and predicted is irrelevant. An interval as wide as the change
/// itself contains zero for any prediction, and shows nothing.
fn agrees(observed: Option<BlockEstimate>, rest: Option<BlockEstimate>, practical: f64) -> Reply {
    let (Some(observed), Some(rest)) = (observed, rest) else { return Reply::NotShown };
    let Interval { low, high, .. } = rest.interval;
    match () {
        () if low > practical || high < -practical => Reply::No,
        () if low >= -practical && high <= practical => Reply::Yes,
        () if low <= 0.0 && high >= 0.0 && high - low <= 2.0 * observed.value.abs() => Reply::Yes,
        () => Reply::NotShown,
    }
}

/// Time of the messages that represent an operation.
fn messages(crossing: &Crossing<'_>, sample: &Sample, which: Which) -> Option<f64> {
    sample.mean_of(which, |kind| crossing.messages(kind))
}
