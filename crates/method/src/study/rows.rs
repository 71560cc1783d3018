//! From values over blocks to a figure's row.
//!
//! Owns the confidence and what too few blocks or samples mean. Never decides a verdict.

use std::collections::BTreeSet;

use measure::blocks::BlockEstimate;

use super::Profile;
use super::ways::{Way, Ways};
use page::{Caveat, Condition, Conditions, Figure, Key, Metric, Trials, Unit, Verdict};

/// Of every interval over blocks.
pub(super) const CONFIDENCE: f64 = 0.95;

/// Effective samples that must lie beyond a quantile: 1 / (1 - confidence), so that p99.9 needs
/// 20,000 of them.
const SAMPLES_BEYOND: f64 = 1.0 / (1.0 - CONFIDENCE);

/// Whether so many effective samples are too few for a quantile, in every study. The extremes are
/// what they are; in between, enough samples must lie beyond on the thinner side.
pub(super) fn too_few(effective: f64, q: f64) -> bool {
    let tail = q.min(1.0 - q);
    // A hair's breadth, for 20,000 samples must do and 0.999 is no binary number.
    tail > 0.0 && effective * tail < SAMPLES_BEYOND * (1.0 - 1e-9)
}

/// What every row of one measured thing shares.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) conditions: Conditions,
    pub(super) caveats: BTreeSet<Caveat>,
    /// Samples behind it.
    pub(super) n: u64,
    pub(super) verdict: Verdict,
    /// The trials behind it, where they are told.
    pub(super) trials: Trials,
}

impl Row {
    /// Of a way; the verdict and n are the figure's.
    pub(super) fn of(ways: &Ways, way: Way, profile: Profile) -> Self {
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

    /// With a condition.
    pub(super) fn with(mut self, key: Key, value: impl Into<Condition>) -> Self {
        self.set(key, value);
        self
    }

    /// A figure from one value a block; without any, its value is `None`.
    pub(super) fn over_blocks(&self, metric: Metric, unit: Unit, values: &[f64]) -> Figure {
        self.of_estimate(metric, unit, BlockEstimate::of(values, CONFIDENCE))
    }

    /// A figure from an estimate over blocks.
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

    /// A figure from one procedure, with no interval yet. A yes or a no that lacks its direct
    /// cable, and has no other control, is none; that PAUSE frames came needs none.
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

/// Which of two opposite flows a figure is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// From `from` to `to`.
    Forward,
    /// Back.
    Reverse,
    /// Both together.
    Total,
}

impl Direction {
    /// As the condition `direction`.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Reverse => "reverse",
            Self::Total => "total",
        }
    }
}

/// Names the direction in a row.
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
