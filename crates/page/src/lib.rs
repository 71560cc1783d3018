//! What can be shown: figures as rows, and the words of metrics, verdicts and caveats.
//!
//! Owns each name and each sentence once: rows, terminal, pages and the reference say the same.
//! Never computes a figure, and knows no study.

mod caveat;
mod metric;
mod row;
mod unit;
mod verdict;

pub use caveat::Caveat;
pub use metric::Metric;
pub use row::{Condition, Figure, LEAST_CONFIDENCE, RANGE};
pub use unit::Unit;
pub use verdict::Verdict;
