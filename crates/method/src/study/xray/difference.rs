//! What a twin is held against: the same quantities of it and of its device.
//!
//! Owns which figures are compared, and under what name. Never judges how far off is too far.

use std::collections::BTreeSet;

use super::reading::{number, text};
use crate::{Caveat, Figure, Metric, Unit};

/// One quantity of the device beside the twin's.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// In words: `throughput, 64 octets`.
    pub what: String,
    /// Base unit of both.
    pub unit: Unit,
    /// The device's.
    pub device: f64,
    /// The twin's.
    pub twin: f64,
    /// Whether the device's is known to be more than nothing: what its interval does not tell from zero is
    /// off by any share at all.
    pub told: bool,
}

impl Difference {
    /// By what share of the device's the twin's is more or less.
    pub fn off(&self) -> f64 {
        if self.device == 0.0 { self.twin.abs() } else { self.twin / self.device - 1.0 }
    }
}

/// Throughput, median and 99th percentile of round trips, and where loss begins, as both have them. Real
/// hosts have a part in round trips that a twin's have not: of these, what the device added counts.
pub fn compare(device: &[Figure], twin: &[Figure]) -> Vec<Difference> {
    let mut seen = BTreeSet::new();
    let simulated = device.iter().any(|figure| figure.caveats.contains(&Caveat::Simulated));
    let trips = if simulated { Metric::Rtt } else { Metric::RttAdded };
    let named = |figures: &[Figure]| -> Vec<(String, Figure)> {
        let valued = figures.iter().filter(|figure| figure.value.is_some());
        valued.filter_map(|figure| Some((named(figure, trips)?, figure.clone()))).collect()
    };
    let twin = named(twin);
    named(device)
        .into_iter()
        .filter_map(|(what, figure)| {
            let (_, other) = twin.iter().find(|(other, _)| *other == what)?;
            let (device, twin) = (figure.value?, other.value?);
            let told = figure.low.unwrap_or(device) > 0.0;
            let (unit, new) = (figure.unit, seen.insert(what.clone()));
            new.then_some(Difference { what, unit, device, twin, told })
        })
        .collect()
}

fn named(figure: &Figure, trips: Metric) -> Option<String> {
    if text(figure, "path") == "bypass" {
        return None;
    }
    let size = number(figure, "frame_size").unwrap_or(0.0);
    match (figure.metric, figure.unit, figure.quantile) {
        (Metric::Throughput, Unit::FramesPerSecond, _) => {
            Some(format!("throughput, {size} octets"))
        }
        (metric, _, Some(q))
            if metric == trips && ((q - 0.5).abs() < 1e-9 || (q - 0.99).abs() < 1e-9) =>
        {
            let what = if trips == Metric::Rtt { "round trip" } else { "added round trip" };
            Some(format!("{what} p{}, {size} octets", q * 100.0))
        }
        (Metric::Buffer, ..) if text(figure, "estimator") == "burst" => {
            Some(format!("loss begins, {size} octets, {}", text(figure, "feeding")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;

    #[test]
    fn what_may_be_nothing_is_not_told() {
        let added = |value: f64, low: f64| Figure {
            metric: Metric::RttAdded,
            quantile: Some(0.5),
            unit: Unit::Nanoseconds,
            value: Some(value),
            low: Some(low),
            high: Some(2.0 * value.abs()),
            confidence: Some(0.95),
            n: 1,
            blocks: 6,
            conditions: [("frame_size".to_owned(), 64_u64.into())].into(),
            verdict: Verdict::Undetermined,
            caveats: Vec::new(),
        };
        for (low, told) in [(-12_700.0, false), (4_000.0, true)] {
            let found = compare(&[added(5_000.0, low)], &[added(5_500.0, 5_400.0)]);
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].told, told, "{low}");
            assert!((found[0].off() - 0.1).abs() < 1e-9);
        }
    }
}
