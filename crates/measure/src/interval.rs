//! Interval around an estimate. Only the data type: other modules compute intervals.

use serde::{Deserialize, Serialize};

/// Closed interval in the estimate's own unit, with its confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Probability that the procedure covers the true value, 0…1. With too few samples for the
    /// requested confidence, this is the confidence achieved.
    pub confidence: f64,
}

impl Interval {
    /// True if the intervals share a point.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}
