//! One-way delay at the throughput and at stated shares of it (RFC 2544 §26.2), over repetitions.
//! The statistics are those of RFC 8219 §7: typical and worst-case latency, and delay variation.
//!
//! Every frame is tagged, so every frame's delay counts. With a clock at each end, a delay is
//! reported with the error of their comparison, and refused if it is no larger than that. Without
//! knowledge of the clocks, only the variation is reported.

use std::collections::BTreeMap;

use measure::FrameRate;
use measure::delay::pdv_quantile;
use measure::quantile::{median, quantile};

use super::super::counts::lost;
use super::ForwardingTest;
use super::finding::{DelayLoad, DelaySide, Delays, EachWay, LatencyCase};
use super::rig::{ByDirection, Cell, Notes, Offer, Rig, each_way, set_direction};
use crate::rows::{Row, too_few};
use crate::verdict::{Delays as DelayEvidence, Evidence};
use page::{Caveat, Figure, Key, Metric, Unit};
use trial::record::{self, Clocks};
use trial::{Result, Schedule};

const TEST: ForwardingTest = ForwardingTest::Latency;
const TOLD: (Metric, Unit) = (Metric::OneWayDelay, Unit::Nanoseconds);

/// RFC 8219 §7.2: minimum number of tagged frames.
const LEAST_FRAMES: u64 = 500;

/// Statistics of each repetition: typical and worst-case latency, and PDV, at RFC 8219's quantiles.
const POINTS: [(Metric, f64); 3] =
    [(Metric::OneWayDelay, 0.5), (Metric::OneWayDelay, 0.999), (Metric::Pdv, 0.999)];

/// Cell of a subject, and a share of its throughput in percent.
type Job = (Cell, u32);

/// Repetitions of a job on one path.
#[derive(Debug, Clone, Default)]
struct Side {
    samples: ByDirection<Sample>,
    notes: Notes,
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    repeat: u32,
    /// Values in nanoseconds, in the order of [`POINTS`].
    points: [f64; POINTS.len()],
    clocks: Clocks,
    frames: u64,
}

/// Runs every job and its direct cable in every repetition, in random order.
pub(super) fn run(rig: &mut Rig<'_, '_>) -> Result<Vec<LatencyCase>> {
    let mut sides: BTreeMap<(Job, Cell), Side> = BTreeMap::new();
    let mut jobs: Vec<Job> = Vec::new();
    let cells = rig.subject_cells();
    for cell in cells.iter().copied().filter(|cell| rig.found(*cell).is_some()) {
        jobs.extend(rig.spec.latency_percents.iter().map(|percent| (cell, percent.get())));
    }
    let trials = |job: &Job| [Some(job.0), rig.bypass_of(job.0)].map(|cell| Some((*job, cell?)));
    let trials: Vec<(Job, Cell)> = jobs.iter().flat_map(trials).flatten().collect();
    for repeat in 0..rig.spec.latency_repeats.get() {
        let mut order = trials.clone();
        rig.session.shuffle_block(&mut order, |(job, _)| job.0.way);
        for (job, cell) in order {
            let Some(rate) = rate(rig, job) else { continue };
            let offer = Offer::new(TEST, cell, Schedule::Paced(rate), rig.spec.latency_duration);
            let tried = rig.offer(&offer.in_block(repeat))?;
            let side = sides.entry((job, cell)).or_default();
            let Some(flows) = side.notes.flows(&tried) else { continue };
            if lost(&flows) > 0 {
                side.notes.doubt(Caveat::SomeLost);
            }
            for (direction, one) in each_way(&flows) {
                let samples = side.samples.entry(direction).or_default();
                let stamped = one.delays.as_ref().filter(|d| !d.histogram.is_empty());
                samples.extend(stamped.map(|delays| sample(repeat, delays)));
            }
        }
    }
    let without = cells.into_iter().filter(|cell| rig.found(*cell).is_none());
    let mut cases: Vec<LatencyCase> = without.map(|cell| not_offered(rig, cell)).collect();
    cases.extend(jobs.into_iter().map(|job| LatencyCase {
        load: rate(rig, job).map(|rate| DelayLoad { percent: job.1, rate }),
        device: of_side(rig, job, job.0, &sides),
        cable: rig.bypass_of(job.0).map(|cable| of_side(rig, job, cable, &sides)),
    }));
    Ok(cases)
}

fn not_offered(rig: &Rig<'_, '_>, cell: Cell) -> LatencyCase {
    let missing = rig.nothing(TEST, cell, Caveat::NoThroughput, TOLD.0, TOLD.1);
    let device = DelaySide { traffic: rig.traffic(cell), delays: without_values(missing) };
    LatencyCase { load: None, device, cable: None }
}

fn without_values(missing: Figure) -> EachWay<Delays> {
    EachWay::from([(None, Delays { missing: Some(missing), ..Delays::default() })])
}

fn rate(rig: &Rig<'_, '_>, (cell, percent): Job) -> Option<FrameRate> {
    rig.found(cell).map(|found| FrameRate(found.rate * f64::from(percent) / 100.0))
}

fn sample(repeat: u32, delays: &record::Delays) -> Sample {
    let delay = &delays.histogram;
    let point = |(metric, q)| match metric {
        Metric::Pdv => pdv_quantile(delay, q).0 as f64,
        _ => delay.quantile(q).0 as f64,
    };
    Sample { repeat, points: POINTS.map(point), clocks: delays.clocks, frames: delay.count() }
}

fn of_side(
    rig: &Rig<'_, '_>,
    job: Job,
    cell: Cell,
    sides: &BTreeMap<(Job, Cell), Side>,
) -> DelaySide {
    let empty = Side::default();
    let side = |cell: Cell| sides.get(&(job, cell)).unwrap_or(&empty);
    let own = side(cell);
    let bypass = rig.bypass_of(cell).map_or(&empty, side);
    let traffic = rig.traffic_beside(cell, job.0);
    let mut row = rig.row_beside(TEST, cell, job.0, &own.notes);
    row.set(Key::LoadPercent, u64::from(job.1));
    row.set(Key::LoadReference, "throughput");
    if let Some(rate) = rate(rig, job) {
        row.set(Key::LoadRate, rate.0);
    }
    if own.samples.values().all(Vec::is_empty) {
        if !own.notes.has(Caveat::NoValidTrial) {
            row.caveats.insert(Caveat::NotStamped);
        }
        row.verdict = rig.session.ways.judge(cell.way, &Evidence::Nothing);
        let delays = without_values(row.single(TOLD.0, TOLD.1, None));
        return DelaySide { traffic, delays };
    }
    let delays = own.samples.iter().map(|(direction, samples)| {
        let beside = bypass.samples.get(direction).map_or(&[][..], Vec::as_slice);
        let mut row = row.clone();
        set_direction(&mut row, *direction);
        (*direction, delays(rig, cell, row, samples, beside))
    });
    DelaySide { traffic, delays: delays.collect() }
}

fn delays(
    rig: &Rig<'_, '_>,
    cell: Cell,
    mut row: Row,
    samples: &[Sample],
    beside: &[Sample],
) -> Delays {
    row.n = samples.iter().map(|sample| sample.frames).sum();
    if samples.iter().any(|sample| sample.frames < LEAST_FRAMES) {
        row.caveats.insert(Caveat::FewSamples);
    }
    let apart = samples.iter().any(|sample| sample.clocks == Clocks::Apart);
    let doubts = (doubt(samples), doubt(beside));
    if doubts.0 > 0.0 {
        row.set(Key::ClockUncertainty, doubts.0);
    }
    if apart {
        row.caveats.insert(Caveat::ClocksApart);
    } else if rig.session.ways.stamps_by_software() {
        row.caveats.insert(Caveat::SoftwareTimestamps);
    }
    let point = |at: usize| {
        let (metric, q) = POINTS[at];
        if apart && metric == Metric::OneWayDelay {
            return None;
        }
        let mut row = row.clone();
        let pairs = in_repeats(samples, beside, at);
        // Two clocks have the same error in every repetition, so more of them do not help.
        let delays = DelayEvidence::Paired { pairs: &pairs, floor: doubts.0 + doubts.1 };
        row.verdict = rig.session.ways.judge(cell.way, &Evidence::Delay(delays));
        // Successive delays are correlated: the number of frames is the maximum number of samples.
        if samples.iter().any(|sample| too_few(sample.frames as f64, q)) {
            row.caveats.insert(Caveat::FewSamples);
        }
        let mut figure = row.single(metric, Unit::Nanoseconds, None);
        over_repeats(&mut figure, &values(samples, at));
        if metric == Metric::OneWayDelay && doubts.0 > 0.0 {
            between_clocks(&mut figure, doubts.0);
        }
        figure.quantile = Some(q);
        Some(figure)
    };
    Delays { typical: point(0), worst: point(1), variation: point(2), missing: None }
}

/// Largest error between two clocks, in nanoseconds; zero for a single clock.
fn doubt(samples: &[Sample]) -> f64 {
    let each = samples.iter().map(|sample| match sample.clocks {
        Clocks::Estimated { uncertainty } => uncertainty.0 as f64,
        Clocks::Same | Clocks::Apart => 0.0,
    });
    each.fold(0.0, f64::max)
}

/// Widens a figure by the clocks' error, or removes it if it is no larger than the error.
fn between_clocks(figure: &mut Figure, doubt: f64) {
    if figure.value.is_none_or(|value| value <= doubt) {
        (figure.value, figure.low, figure.high) = (None, None, None);
        figure.caveats.push(Caveat::ClocksApart);
        return;
    }
    figure.low = figure.low.map(|low| (low - doubt).max(0.0));
    figure.high = figure.high.map(|high| high + doubt);
}

fn values(samples: &[Sample], at: usize) -> Vec<f64> {
    samples.iter().map(|sample| sample.points[at]).collect()
}

/// Pairs of both paths' values, from repetitions that have both.
fn in_repeats(own: &[Sample], beside: &[Sample], at: usize) -> Vec<(f64, f64)> {
    let pair = |sample: &Sample| {
        let other = beside.iter().find(|other| other.repeat == sample.repeat)?;
        Some((sample.points[at], other.points[at]))
    };
    own.iter().filter_map(pair).collect()
}

/// RFC 8219 §7.2: the median over repetitions, with their 1st and 99th percentile.
fn over_repeats(figure: &mut Figure, values: &[f64]) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    figure.value = median(values);
    figure.low = quantile(&sorted, 0.01);
    figure.high = quantile(&sorted, 0.99);
    figure.blocks = values.len() as u32;
    figure.set(Key::Interval, "percentiles-1-99");
}
