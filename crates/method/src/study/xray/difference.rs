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
    let named = |figures: &[Figure]| -> Vec<(String, Unit, f64)> {
        figures.iter().filter_map(|f| Some((named(f, trips)?, f.unit, f.value?))).collect()
    };
    let twin = named(twin);
    named(device)
        .into_iter()
        .filter_map(|(what, unit, device)| {
            let (_, _, twin) = twin.iter().find(|(other, ..)| *other == what)?;
            seen.insert(what.clone()).then_some(Difference { what, unit, device, twin: *twin })
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
