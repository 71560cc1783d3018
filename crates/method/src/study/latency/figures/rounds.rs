//! What a device adds to a direct cable that was measured at another time, in rounds of its own,
//! and by how much the cable alone changed.
//!
//! Owns the turn from blocks to rounds. The arithmetic is `measure::apart`'s.

use measure::apart::Apart;
use measure::quantile::median;
use measure::{Histogram, Interval};

use super::super::cell::{CellData, POINTS, Sample};
use super::{Row, estimate, few};
use crate::verdict::{ALLOWANCE, Delays, Evidence, Setting};
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};
use trial::Path;
use trial::topology::AnotherTime;

/// Through the device, and over the cable.
type Both<'a> = (&'a CellData, &'a CellData);

/// By how much the device's values exceed the cable's; none where a side has none.
pub(super) fn added(
    (device, cable): Both<'_>,
    times: &AnotherTime,
    value: impl Fn(&Sample) -> f64,
) -> Option<Apart> {
    let of = |data: &CellData, path: Path| -> Vec<Vec<f64>> {
        let own = |round| {
            let samples = data.samples.iter();
            samples
                .filter(|s| times.round(path, s.block) == round)
                .map(&value)
                .collect::<Vec<f64>>()
        };
        (0..times.rounds(path)).map(own).filter(|round| !round.is_empty()).collect()
    };
    let beside = of(cable, Path::Bypass);
    let allowance = ALLOWANCE * median(&beside.concat())?.abs();
    Apart::of(&of(device, Path::Device), &beside, allowance)
}

/// What the device adds at a quantile, and, where the cable has several rounds, what it changed by.
pub(super) fn figures(
    row: &Row,
    (device, cable): Both<'_>,
    q: f64,
    setting: Setting,
    times: &AnotherTime,
) -> Vec<Figure> {
    let index = POINTS.iter().position(|point| *point == (Metric::Rtt, q)).expect("q is a point");
    let mut row = row.clone();
    row.note(&cable.noted);
    if few(&device.samples, q) || few(&cable.samples, q) {
        row.caveats.insert(Caveat::FewSamples);
    }
    let floor = estimate(cable, index).map_or(0.0, |e| (e.interval.high - e.interval.low) / 2.0);
    row.set(Key::BypassRepeatability, floor);
    row.set(Key::BypassRounds, u64::from(times.cable_rounds));
    let Some(found) = added((device, cable), times, |sample| sample.points[index]) else {
        let mut figure = row.single(Metric::RttAdded, Unit::Nanoseconds, None);
        (figure.blocks, figure.quantile) = (0, Some(q));
        return vec![figure];
    };
    // Each median is the highest value of its bucket.
    let bucket = |data: &CellData| {
        let values = data.samples.iter().map(|sample| sample.points[index]);
        values.fold(0.0, f64::max) * Histogram::RESOLUTION
    };
    let widened = |interval: Interval| Interval {
        low: interval.low - bucket(device),
        high: interval.high + bucket(cable),
        ..interval
    };
    let widened = Apart { interval: widened(found.interval), ..found };
    row.verdict = Evidence::Delay(Delays::Rounds { added: widened, floor }).verdict(setting);
    if row.verdict != Verdict::DeviceLimited {
        row.caveats.insert(Caveat::NotResolved);
    }
    let mut figures = vec![figure(&row, Metric::RttAdded, (q, found.value), widened)];
    if let Some(drift) = found.drift {
        row.verdict = Evidence::Bound.verdict(setting);
        row.caveats.remove(&Caveat::NotResolved);
        row.set(Key::Device, page::CABLE);
        row.set(Key::Path, "bypass");
        let own =
            Apart { interval: drift.interval, blocks: (found.blocks.1, found.blocks.1), ..found };
        figures.push(figure(&row, Metric::BypassDrift, (q, drift.value), own));
    }
    figures
}

fn figure(row: &Row, metric: Metric, (q, value): (f64, f64), found: Apart) -> Figure {
    let mut figure = row.single(metric, Unit::Nanoseconds, Some(value));
    figure.quantile = Some(q);
    figure.blocks = found.blocks.0.min(found.blocks.1) as u32;
    figure.set_interval(Some(found.interval));
    if found.interval.confidence < super::CONFIDENCE {
        figure.caveats.push(Caveat::FewBlocks);
        figure.caveats.sort();
    }
    figure
}
