//! What a comparison says of a baseline: it is kept, it is broken, or neither is shown.
//!
//! Owns the rule by which a figure is shown not to be worse. Never compares, and never leaves out a
//! figure: what is not shown stands beside what is.

use measure::comparison::{CONFIDENCE, Scale};
use measure::quantile::median;
use serde::Serialize;

use super::{Better, COARSE, Compared, Row};

/// The answer to: is it no worse than the baseline?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Baseline {
    /// No figure is worse by more than the margin.
    Kept,
    /// Some figure is, and attributable to what is compared.
    Worse,
    /// Neither is shown.
    Inconclusive,
}

impl Row {
    /// Of this figure alone, where a difference of `margin`, as a share, does not matter.
    ///
    /// A figure is kept where the whole interval lies on this side of the margin that was asked
    /// for: one that is better, or equal. The direct cable's own noise widens the margin of a
    /// difference; it never widens this one, and where it is coarse nothing equal is shown.
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
    /// Of all figures together. One that only the baseline has is not shown to be kept.
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
