//! Latency that a device adds to the direct cable's RTT, block by block, or round by round if the
//! cable was measured at another time.
//!
//! Owns the step from blocks to rounds, with the arithmetic of `measure::apart`, and the criterion
//! for a resolved difference. Pure.

use measure::apart::{Apart, Drift};
use measure::blocks::{BlockEstimate, paired_shift};
use measure::{Histogram, Interval};

use super::super::cell::{CellData, MEDIAN, P99, POINTS, Sample};
use super::measured::Measured;
use super::rounds::InRounds;
use super::{Added, AddedPoint};
use crate::rows::{CONFIDENCE, Row};
use crate::verdict::{Delays, Evidence};
use crate::view::Values;
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};

impl Measured<'_> {
    /// Added latency at the median and at the 99th percentile; `None` without a direct cable.
    pub(super) fn added(&self, row: &Row, seed: u64) -> Option<Added> {
        let (way, cable) = (self.ways.bypass_of(self.way)?, self.cable?);
        let place = self.ways.all().iter().position(|other| *other == way)?;
        let points = [MEDIAN, P99].map(|at| self.added_point(cable, row.clone(), at, seed));
        Some(Added { cable: place, points })
    }

    fn added_point(&self, cable: &CellData, mut row: Row, at: usize, seed: u64) -> AddedPoint {
        let (_, q) = POINTS[at];
        // The transmission time of a frame converts between conventions of latency.
        if let Some(line) = self.ways.line_of(self.way) {
            row.set(Key::LineRate, line.line_rate(self.cell.size).0);
        }
        row.note(&cable.noted);
        if self.own.has_few(q) || cable.has_few(q) {
            row.caveats.insert(Caveat::FewSamples);
        }
        let repeatability = BlockEstimate::from_values(&cable.values(at), CONFIDENCE);
        let floor = repeatability.map_or(0.0, |e| (e.interval.high - e.interval.low) / 2.0);
        row.set(Key::BypassRepeatability, floor);
        let mut point = match self.ways.another_time() {
            None => AddedPoint { value: self.compare_blocks(row, at, floor, seed), drift: None },
            Some(times) => {
                let rounds = InRounds { device: &self.own.samples, cable: &cable.samples, times };
                self.compare_rounds(&rounds, row, at, floor)
            }
        };
        point.values().into_iter().for_each(|value| value.quantile = Some(q));
        point
    }

    /// Compares blocks with device and cable side by side.
    fn compare_blocks(&self, row: Row, at: usize, floor: f64, seed: u64) -> Figure {
        let pairs = self.pairs(|sample| sample.points[at]);
        let (device, cable): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let Some(shift) = paired_shift(&pairs, CONFIDENCE, seed) else {
            return row.of_estimate(Metric::RttAdded, Unit::Nanoseconds, None);
        };
        let interval = widened(shift.interval, &device, &cable);
        let delays = Delays::Paired { pairs: &pairs, floor };
        self.difference(row, BlockEstimate { interval, ..shift }, delays)
    }

    /// Compares rounds of the device and rounds of the cable.
    fn compare_rounds(
        &self,
        rounds: &InRounds<'_>,
        mut row: Row,
        at: usize,
        floor: f64,
    ) -> AddedPoint {
        row.set(Key::BypassRounds, u64::from(rounds.times.rounds()));
        let Some(found) = rounds.added(|sample| sample.points[at]) else {
            let value = row.of_estimate(Metric::RttAdded, Unit::Nanoseconds, None);
            return AddedPoint { value, drift: None };
        };
        let points = |samples: &[Sample]| samples.iter().map(|s| s.points[at]).collect::<Vec<_>>();
        let interval = widened(found.interval, &points(rounds.device), &points(rounds.cable));
        let (value, blocks) = (found.value, found.blocks.0.min(found.blocks.1));
        let added = Delays::Rounds { added: Apart { interval, ..found }, floor };
        let value = self.difference(row.clone(), BlockEstimate { value, interval, blocks }, added);
        let drift = found.drift.map(|drift| {
            let Drift { value, interval } = drift;
            row.verdict = self.ways.judge(self.way, &Evidence::Bound);
            row.set(Key::Device, page::CABLE);
            row.set(Key::Path, "bypass");
            let estimate = BlockEstimate { value, interval, blocks: found.blocks.1 };
            row.of_estimate(Metric::BypassDrift, Unit::Nanoseconds, Some(estimate))
        });
        AddedPoint { value, drift }
    }

    /// Difference from the direct cable; not resolved if it is not shown to be the device's.
    fn difference(&self, mut row: Row, found: BlockEstimate, delays: Delays<'_>) -> Figure {
        row.verdict = self.ways.judge(self.way, &Evidence::Delay(delays));
        if row.verdict != Verdict::DeviceLimited {
            row.caveats.insert(Caveat::NotResolved);
        }
        row.of_estimate(Metric::RttAdded, Unit::Nanoseconds, Some(found))
    }
}

/// Widens an interval by a histogram bucket on either side, as each value is the highest of its
/// bucket.
fn widened(interval: Interval, device: &[f64], cable: &[f64]) -> Interval {
    let bucket =
        |values: &[f64]| values.iter().copied().fold(0.0, f64::max) * Histogram::RESOLUTION;
    Interval { low: interval.low - bucket(device), high: interval.high + bucket(cable), ..interval }
}
