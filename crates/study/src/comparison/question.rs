//! Primary figure of a comparison: the one that its studies were asked for.
//!
//! Owns the order of the metrics. Never compares.

use serde::Serialize;

use super::Row;
use page::{Figure, Metric};

/// Index of the primary row: a storage's IOPS, otherwise a search's throughput, otherwise the run's
/// first figure that a study is asked for, such as the median of its round trips.
pub(super) fn primary(rows: &[Row]) -> Option<usize> {
    let first = |wanted: &dyn Fn(&Row) -> bool| rows.iter().position(wanted);
    let own = |row: &Row| match row.metric {
        Metric::Rtt | Metric::OneWayDelay | Metric::IoLatency => row.quantile == Some(0.5),
        Metric::Received | Metric::PairGoodput | Metric::Goodput | Metric::Buffer => true,
        _ => false,
    };
    first(&|row| row.metric == Metric::Iops)
        .or_else(|| first(&|row| row.metric == Metric::Throughput))
        .or_else(|| first(&own))
        .or_else(|| (!rows.is_empty()).then_some(0))
}

/// Result of a fabric study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Blocking {
    /// Every arrangement of pairs reached the rate of a single pair.
    NonBlocking,
    /// Some arrangement did not.
    Blocks,
    /// The test was made without a result.
    NotShown,
}

/// Result of a side's non-blocking test; of several devices only if all agree. `None` without a
/// test.
pub(super) fn nonblocking(figures: &[Figure]) -> Option<Blocking> {
    let answer = |figure: &Figure| match figure.value {
        Some(value) if value > 0.0 => Blocking::NonBlocking,
        Some(_) => Blocking::Blocks,
        None => Blocking::NotShown,
    };
    let of = |figure: &&Figure| figure.metric == Metric::Nonblocking && !figure.is_bypass();
    let mut asked = figures.iter().filter(of).map(answer);
    let first = asked.next()?;
    Some(if asked.all(|other| other == first) { first } else { Blocking::NotShown })
}
