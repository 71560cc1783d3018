//! Comparison with a baseline: kept, worse, or undecided.
//!
//! Owns the rule by which a figure is shown not to be worse. Never compares, and never leaves out a
//! figure: undecided ones are listed with the others.

use measure::comparison::{CONFIDENCE, Scale};
use measure::quantile::median;
use serde::Serialize;

use super::{Better, COARSE, Compared, Row};

/// Answer to the question: no worse than the baseline?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Baseline {
    /// No figure is worse by more than the margin.
    Kept,
    /// Some figure is worse, and attributable to the subject.
    Worse,
    /// Neither is shown.
    Inconclusive,
}

impl Row {
    /// Judges this figure alone; a relative difference of `margin` does not matter.
    ///
    /// A figure is kept if the whole interval lies on the right side of the requested margin:
    /// better or equal. The direct cable's own noise widens the margin of a difference, but never
    /// this one. If the cable is coarse, equality cannot be shown.
    pub fn against_baseline(&self, margin: f64) -> Baseline {
        if self.is_better() == Some(false) {
            return Baseline::Worse;
        }
        if self.is_better() == Some(true) {
            return Baseline::Kept;
        }
        let own = &self.comparison;
        let is_coarse = own.scale == Scale::Ratio && own.margin > margin.max(COARSE);
        if own.interval.confidence < CONFIDENCE || is_coarse {
            return Baseline::Inconclusive;
        }
        let (least, most) = match own.scale {
            Scale::Ratio => (1.0 / (1.0 + margin), 1.0 + margin),
            Scale::Shift => {
                let limit = margin * median(&self.reference).unwrap_or(0.0).abs();
                (-limit, limit)
            }
        };
        let kept = match self.better {
            Better::More => own.interval.low >= least,
            Better::Less => own.interval.high <= most,
        };
        if kept { Baseline::Kept } else { Baseline::Inconclusive }
    }
}

impl Compared {
    /// Judges all figures together. A figure that only the baseline has is not shown to be kept.
    pub fn against_baseline(&self) -> Baseline {
        let any = |answer| self.rows.iter().any(|row| row.against_baseline(self.margin) == answer);
        if self.rows.is_empty() || !self.attribution.is_given() {
            Baseline::Inconclusive
        } else if any(Baseline::Worse) {
            Baseline::Worse
        } else if any(Baseline::Inconclusive) || !self.lacking.is_empty() {
            Baseline::Inconclusive
        } else {
            Baseline::Kept
        }
    }
}
