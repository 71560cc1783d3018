//! From blocks to the latency study's figures: quantiles, what the device adds, and the TCP load's
//! own.
//!
//! Owns when there are too few samples for a quantile and when a difference is not resolved. Pure.

mod rounds;

use std::collections::BTreeMap;

use measure::Histogram;
use measure::blocks::{BlockEstimate, paired_shift};
use measure::quantile::median;
use measure::reading::{Stamp, Stamps};

use super::super::rows::{CONFIDENCE, Row, too_few};
use super::super::ways::{Way, Ways};
use super::cell::{BulkSample, Cell, CellData, POINTS, Sample};
use super::{LatencySpec, Load};
use crate::verdict::{Delays, Driven, Evidence, RateEvidence, Rates, Setting};
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};
use trial::Schedule;

/// Quantiles at which the device's addition is stated.
const ADDED: [f64; 2] = [0.5, 0.99];
/// Round trips that grow by more than this share are those of a queue that fills.
const GREW: f64 = 0.005;

type Data = BTreeMap<(usize, Way), CellData>;

/// Every figure of the study, cell by cell.
pub(super) fn all(
    spec: &LatencySpec,
    cells: &[Cell],
    data: &Data,
    ways: &Ways,
    seed: u64,
) -> Vec<Figure> {
    let empty = CellData::default();
    let mut figures = Vec::new();
    for (at, cell) in cells.iter().enumerate() {
        let side = |way| data.get(&(at, way)).unwrap_or(&empty);
        for way in ways.all() {
            let own = side(way);
            let bypass = ways.bypass_of(way).map_or(&empty, side);
            let row = row(spec, cell, own, ways, way);
            let own_load = fills_a_queue((spec, cell), own, bypass);
            for index in 0..POINTS.len() {
                let both = point_pairs(own, bypass, index);
                let delays = match ways.another_time().filter(|_| !bypass.samples.is_empty()) {
                    None => Some(Delays::paired(&both)),
                    Some(times) => rounds::added((own, bypass), times, |s| signed(s, index))
                        .map(|added| Delays::Rounds { added, floor: 0.0 }),
                };
                let evidence = delays.map_or(Evidence::Nothing, Evidence::Delay);
                let mut figure = quantile(&row, own, index, ways.judge(way, &evidence));
                if own_load {
                    leave_open(&mut figure);
                }
                figures.push(figure);
            }
            if matches!(cell.load, Load::Bulk { .. }) {
                let both = goodput_pairs(own, bypass);
                let rate = RateEvidence::of(Rates::Paired(&both), driven(own));
                let verdict = ways.judge(way, &Evidence::Rate(rate));
                figures.extend(load(Row { verdict, ..row }, own));
            }
        }
        for way in ways.subjects() {
            let Some(cable) = ways.bypass_of(way) else { continue };
            let (device, bypass) = (side(way), side(cable));
            let mut row = row(spec, cell, device, ways, way);
            // How long a frame takes on the wire tells one convention of latency from the other.
            if let Some(line) = ways.line_of(way) {
                row.set(Key::LineRate, line.line_rate(cell.size).0);
            }
            let setting = ways.setting(way);
            let both = (device, bypass);
            let mut of_both: Vec<Figure> = match ways.another_time() {
                None => ADDED.map(|q| added(row.clone(), both, q, setting, seed)).into(),
                Some(times) => ADDED
                    .iter()
                    .flat_map(|q| rounds::figures(&row, both, *q, setting, times))
                    .collect(),
            };
            if fills_a_queue((spec, cell), device, bypass) {
                of_both.iter_mut().for_each(leave_open);
            }
            figures.extend(of_both);
        }
    }
    figures
}

/// Whether requests at a rate of their own made the path busy that nothing else loads: they waited
/// behind each other, or each one longer than the one before it.
fn fills_a_queue((spec, cell): (&LatencySpec, &Cell), own: &CellData, bypass: &CellData) -> bool {
    let Schedule::Paced(rate) = spec.schedule else { return false };
    if !matches!(cell.load, Load::Idle) {
        return false;
    }
    let surely = |values: &[f64], most: f64| {
        let estimate = BlockEstimate::of(values, CONFIDENCE);
        estimate.is_some_and(|estimate| estimate.interval.low > most)
    };
    let beside = median(&bypass.samples.iter().map(Sample::waited).collect::<Vec<f64>>());
    let waited = |sample: &Sample| sample.waited() - beside.unwrap_or(0.0);
    let waited: Vec<f64> = own.samples.iter().map(waited).collect();
    let grew: Vec<f64> = own.samples.iter().map(Sample::grew).collect();
    surely(&waited, 1e9 / rate.0) || surely(&grew, GREW)
}

/// What requests that fill a queue show is not the path at rest.
fn leave_open(figure: &mut Figure) {
    figure.verdict = Verdict::Undetermined;
    figure.caveats.push(Caveat::OwnLoad);
    figure.caveats.sort();
}

fn row(spec: &LatencySpec, cell: &Cell, data: &CellData, ways: &Ways, way: Way) -> Row {
    let mut row = Row::of(ways, way, spec.profile);
    row.note(&data.noted);
    row.n = data.answers;
    row.conditions.extend(cell.conditions(spec.schedule));
    if data.some_lost {
        row.caveats.insert(Caveat::SomeLost);
    }
    if let Some(stamps) = data.stamps {
        row.set(Key::Stamped, stamped(stamps));
        let by_hardware = [stamps.sent, stamps.received].iter().all(|s| *s == Stamp::Hardware);
        if !by_hardware && ways.stamps_by_software() {
            row.caveats.insert(Caveat::SoftwareTimestamps);
        }
    }
    if let Some(sent) = data.frame_size.filter(|sent| *sent > cell.size) {
        row.caveats.insert(Caveat::FrameSizeRaised);
        row.set(Key::FrameSizeSent, u64::from(sent.octets()));
    }
    row
}

/// `kernel/kernel`: request's departure, answer's arrival.
fn stamped(stamps: Stamps) -> String {
    let name = |stamp| match stamp {
        Stamp::User => "user",
        Stamp::Kernel => "kernel",
        Stamp::Hardware => "hardware",
        Stamp::Intended => "intended",
    };
    format!("{}/{}", name(stamps.sent), name(stamps.received))
}

fn values(data: &CellData, index: usize) -> Vec<f64> {
    data.samples.iter().map(|sample| sample.points[index]).collect()
}

fn estimate(data: &CellData, index: usize) -> Option<BlockEstimate> {
    BlockEstimate::of(&values(data, index), CONFIDENCE)
}

fn quantile(row: &Row, data: &CellData, index: usize, verdict: Verdict) -> Figure {
    let (metric, q) = POINTS[index];
    let mut row = Row { verdict, ..row.clone() };
    if few(&data.samples, q) {
        row.caveats.insert(Caveat::FewSamples);
    }
    let mut figure = row.over_blocks(metric, Unit::Nanoseconds, &values(data, index));
    figure.quantile = Some(q);
    figure
}

/// Whether a point's blocks have too few samples. Of a quantile far out each block with few is too
/// near the middle, and repetitions do not mend it. A median of few is as often too high as too
/// low, and the interval over the blocks spans that: all of them together have to be enough.
fn few(samples: &[Sample], q: f64) -> bool {
    if (q - 0.5).abs() < 1e-9 {
        let all = samples.iter().map(|sample| sample.effective).sum();
        return !samples.is_empty() && too_few(all, q);
    }
    samples.iter().any(|sample| too_few(sample.effective, q))
}

/// What both ways showed in each block; the lower tail of a signed variation is worse when lower.
fn point_pairs(device: &CellData, bypass: &CellData, index: usize) -> Vec<(f64, f64)> {
    in_blocks(device, bypass, |sample| Some(signed(sample, index)))
}

/// A point that is worse where it is larger.
fn signed(sample: &Sample, index: usize) -> f64 {
    let sign = if matches!(POINTS[index], (Metric::Ipdv, q) if q < 0.5) { -1.0 } else { 1.0 };
    sign * sample.points[index]
}

/// (device, bypass) of each block that has both.
fn in_blocks(
    device: &CellData,
    bypass: &CellData,
    value: impl Fn(&Sample) -> Option<f64>,
) -> Vec<(f64, f64)> {
    let in_block = |sample: &Sample| {
        let other = bypass.samples.iter().find(|other| other.block == sample.block)?;
        Some((value(sample)?, value(other)?))
    };
    device.samples.iter().filter_map(in_block).collect()
}

fn added(
    mut row: Row,
    (device, bypass): (&CellData, &CellData),
    q: f64,
    setting: Setting,
    seed: u64,
) -> Figure {
    let index = POINTS.iter().position(|point| *point == (Metric::Rtt, q)).expect("q is a point");
    let pairs = in_blocks(device, bypass, |sample| Some(sample.points[index]));
    let shift = paired_shift(&pairs, CONFIDENCE, seed);
    let floor = estimate(bypass, index).map_or(0.0, |e| (e.interval.high - e.interval.low) / 2.0);
    row.set(Key::BypassRepeatability, floor);
    row.note(&bypass.noted);
    if few(&device.samples, q) || few(&bypass.samples, q) {
        row.caveats.insert(Caveat::FewSamples);
    }
    // Each median is the highest value of its bucket.
    let bucket = |side: fn(&(f64, f64)) -> f64| {
        pairs.iter().map(side).fold(0.0, f64::max) * Histogram::RESOLUTION
    };
    let (down, up) = (bucket(|(device, _)| *device), bucket(|(_, bypass)| *bypass));
    let widened = |mut shift: BlockEstimate| {
        shift.interval.low -= down;
        shift.interval.high += up;
        shift
    };
    let Some(shift) = shift.map(widened) else {
        let mut figure = row.single(Metric::RttAdded, Unit::Nanoseconds, None);
        figure.blocks = 0;
        figure.quantile = Some(q);
        return figure;
    };
    row.verdict = Evidence::Delay(Delays::Paired { pairs: &pairs, floor }).verdict(setting);
    if row.verdict != Verdict::DeviceLimited {
        row.caveats.insert(Caveat::NotResolved);
    }
    let mut figure = row.of_estimate(Metric::RttAdded, Unit::Nanoseconds, Some(shift));
    figure.quantile = Some(q);
    figure
}

fn bulk(data: &CellData, value: impl Fn(BulkSample) -> f64) -> Vec<f64> {
    data.samples.iter().filter_map(|sample| sample.bulk).map(value).collect()
}

fn goodput_pairs(device: &CellData, bypass: &CellData) -> Vec<(f64, Option<f64>)> {
    let goodput = |sample: &Sample| Some(sample.bulk?.goodput);
    let beside = |own: &Sample| {
        bypass.samples.iter().find(|other| other.block == own.block).and_then(goodput)
    };
    device.samples.iter().filter_map(|own| Some((goodput(own)?, beside(own)))).collect()
}

/// TCP drives a path by itself: it sends more until something gives, and what is sent again was
/// lost.
fn driven(device: &CellData) -> Driven {
    let retransmits = bulk(device, |sample| sample.retransmits as f64);
    match BlockEstimate::of(&retransmits, CONFIDENCE) {
        Some(estimate) if estimate.value > 0.0 => Driven::Lost,
        _ => Driven::HeldBack,
    }
}

/// What the TCP load beside the round trips got.
fn load(mut row: Row, data: &CellData) -> [Figure; 2] {
    let goodput = bulk(data, |sample| sample.goodput);
    row.n = goodput.len() as u64;
    row.caveats.remove(&Caveat::SomeLost);
    let mut goodput = row.over_blocks(Metric::Goodput, Unit::BitsPerSecond, &goodput);
    goodput.set(Key::RateConvention, "payload");
    let retransmits = bulk(data, |sample| sample.retransmits as f64);
    [goodput, row.over_blocks(Metric::Retransmits, Unit::Count, &retransmits)]
}
