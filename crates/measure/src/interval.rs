//! An interval around a figure. What computes one lives in the modules beside; this is only its
//! shape.

use serde::{Deserialize, Serialize};

/// A closed interval in the figure's own unit, and the confidence it is stated at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Probability that the procedure covers the truth, 0…1. Where too few samples exist for what
    /// was asked, this is what could be had, not what was wanted.
    pub confidence: f64,
}

impl Interval {
    /// Whether the two share a point.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}
