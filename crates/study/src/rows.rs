//! Rows of figures from values over blocks.
//!
//! Owns the confidence, and the caveats for too few blocks or samples. Never decides a verdict.

use std::collections::BTreeSet;

use measure::blocks::BlockEstimate;

use super::Profile;
use super::ways::{Way, Ways};
use page::{Caveat, Condition, Conditions, Figure, Key, Metric, Trials, Unit, Verdict};

/// Confidence of every interval over blocks.
pub(super) const CONFIDENCE: f64 = 0.95;

/// Effective samples that must lie beyond a quantile: 1 / (1 - confidence), so p99.9 needs 20,000
/// of them.
const SAMPLES_BEYOND: f64 = 1.0 / (1.0 - CONFIDENCE);

/// True if the effective samples are too few for a quantile, in every study. Enough of them must
/// lie beyond it on the thinner side; the extremes are exempt.
pub(super) fn too_few(effective: f64, q: f64) -> bool {
    let tail = q.min(1.0 - q);
    // Tolerance for rounding: 20,000 samples must suffice, and 0.999 is not exact in binary.
    tail > 0.0 && effective * tail < SAMPLES_BEYOND * (1.0 - 1e-9)
}

/// Common parts of all rows of one measurement.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) conditions: Conditions,
    pub(super) caveats: BTreeSet<Caveat>,
    /// Number of samples.
    pub(super) n: u64,
    pub(super) verdict: Verdict,
    /// Trials behind the figures, if stated.
    pub(super) trials: Trials,
}

impl Row {
    /// Creates the row of a path; the caller sets the verdict and n.
    pub(super) fn for_path(ways: &Ways, way: Way, profile: Profile) -> Self {
        let quick = (profile == Profile::Quick).then_some(Caveat::QuickProfile);
        let caveats = ways.caveats(way).into_iter().chain(quick).collect();
        let conditions = ways.conditions(way);
        let (verdict, trials) = (Verdict::Undetermined, Trials::default());
        Self { conditions, caveats, n: 0, verdict, trials }
    }

    /// Sets a condition.
    pub(super) fn set(&mut self, key: Key, value: impl Into<Condition>) {
        self.conditions.insert(key, value.into());
    }

    /// Adds a condition.
    pub(super) fn with(mut self, key: Key, value: impl Into<Condition>) -> Self {
        self.set(key, value);
        self
    }

    /// Creates a figure from one value per block; without any, its value is `None`.
    pub(super) fn over_blocks(&self, metric: Metric, unit: Unit, values: &[f64]) -> Figure {
        self.of_estimate(metric, unit, BlockEstimate::from_values(values, CONFIDENCE))
    }

    /// Creates a figure from an estimate over blocks.
    pub(super) fn of_estimate(
        &self,
        metric: Metric,
        unit: Unit,
        estimate: Option<BlockEstimate>,
    ) -> Figure {
        let mut figure = self.single(metric, unit, estimate.map(|e| e.value));
        figure.blocks = estimate.map_or(0, |e| e.blocks as u32);
        figure.set_interval(estimate.map(|e| e.interval));
        if estimate.is_some_and(|e| e.interval.confidence < CONFIDENCE) {
            figure.doubt(Caveat::FewBlocks);
        }
        figure
    }

    /// Creates a figure from one procedure, without an interval. A yes or no that needs a control
    /// has no value without the direct cable; received PAUSE frames need no control.
    pub(super) fn single(&self, metric: Metric, unit: Unit, value: Option<f64>) -> Figure {
        let alone = self.verdict == Verdict::Undetermined
            && self.caveats.contains(&Caveat::NoBypass)
            && metric != Metric::Backpressure;
        let value = value.filter(|_| unit != Unit::Flag || !alone);
        Figure {
            n: self.n,
            blocks: 1,
            conditions: self.conditions.clone(),
            verdict: self.verdict,
            caveats: self.caveats.iter().copied().collect(),
            trials: self.trials.clone(),
            ..Figure::new(metric, unit, value)
        }
    }
}

/// Direction of a figure, for two opposite flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// Flow from `from` to `to`.
    Forward,
    /// Flow from `to` to `from`.
    Reverse,
    /// Total of both flows.
    Total,
}

impl Direction {
    /// Value of the condition `direction`.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Reverse => "reverse",
            Self::Total => "total",
        }
    }
}

/// Writes the direction into a row.
pub(super) fn set_direction(row: &mut Row, direction: Option<Direction>) {
    if let Some(direction) = direction {
        row.set(Key::Direction, direction.as_str());
    }
}

#[cfg(test)]
mod tests {
    use super::too_few;

    #[test]
    fn samples_that_a_quantile_needs() {
        for (q, needed) in [(0.5, 40.0), (0.01, 2_000.0), (0.99, 2_000.0), (0.999, 20_000.0)] {
            assert!(too_few(needed - 1.0, q) && !too_few(needed, q), "{q}");
        }
        assert!(!too_few(1.0, 0.0) && !too_few(1.0, 1.0), "the extremes are what they are");
    }
}
