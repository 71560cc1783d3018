//! The share of frames lost at 100 %, 90 %, 80 %… of the highest rate, until two successive loads
//! lose nothing (RFC 2544 §26.3).
//!
//! The highest rate is the link's where it is known, else the most that the tester got into the
//! device under flood, or twice the throughput found where that is less. What queued because less
//! came out than went in is lost to the load, though it came later. Never assumes what a load came
//! to that the tester could not offer.

use measure::{FrameRate, Nanos};

use super::super::counts::{lost, lost_on_path, slowest_flow};
use super::super::sustained::Delivery;
use super::ForwardingTest;
use super::finding::{EachWay, LossAt, LossLoad, LossPoint};
use super::rig::{Cell, Direction, Notes, Offer, Rig, directions, set_direction};
use crate::study::Row;
use crate::verdict::{Evidence, LossCount, Losses};
use page::{Caveat, Key, Metric, Unit};
use trial::record::DatagramsRecord;
use trial::{Result, Schedule};

const TEST: ForwardingTest = ForwardingTest::LossCurve;

/// For an estimate: a device that loses above half the highest rate, down to two lossless loads.
pub(super) const USUAL_STEPS: u64 = 7;

/// For an estimate: a cable that loses nothing at the highest.
pub(super) const USUAL_BYPASS_STEPS: u64 = 1;

/// Of the throughput found, where the link's rate is not known: the two successive lossless loads
/// then lie within the curve, and half of its points where the device loses.
const ROOM: f64 = 2.0;

/// So many frames tell a share of 1 %: a device has some in its hands when the load begins and when
/// it ends, six together.
const FRAMES_FOR_A_SHARE: f64 = 600.0;

/// A load is not made longer than this for it.
const LONGEST: Nanos = Nanos::from_secs(10);

/// A bucket that gives a larger share of a load leaves open what the load loses.
const SWALLOWED: f64 = 0.005;

/// RFC 2544 §26.3: no coarser than 10 % of the maximum rate.
const STEP_PERCENT: u32 = 10;

/// One load on one way.
#[derive(Debug, Clone, Default)]
struct Point {
    /// As it really was, and the lost share, for each direction; empty without a valid trial.
    seen: Vec<(Option<Direction>, FrameRate, f64)>,
    /// Frames lost beyond the tester's own drops, or queued because less came out than went in.
    on_path: u64,
    frames: u64,
    notes: Notes,
    beyond_tester: bool,
    /// A token bucket may have taken in frames that a load for ever would lose.
    swallowed: bool,
}

impl Point {
    /// Of all flows together, which come last.
    fn ratio(&self) -> Option<f64> {
        self.seen.last().map(|(_, _, ratio)| *ratio)
    }

    fn lossless(&self) -> bool {
        self.ratio() == Some(0.0)
    }

    /// Whether it was enough frames for the share that was lost.
    fn is_resolved(&self) -> bool {
        !self.swallowed && (self.lossless() || self.frames as f64 >= 0.9 * FRAMES_FOR_A_SHARE)
    }

    fn count(&self) -> Option<LossCount> {
        self.ratio().map(|_| LossCount { lost: self.on_path, of: self.frames })
    }
}

/// What 100 % stands for.
#[derive(Debug, Clone, Copy)]
struct Reference {
    rate: FrameRate,
    /// The condition `load_reference`.
    name: &'static str,
    /// All there is is by definition what a flood gets out.
    greedy: bool,
}

impl Reference {
    /// The input media's rate as RFC 2544 §26.3 has it, where it is known. Else the most that the
    /// tester sends; but a device far slower than its tester would lose most of every load down to
    /// 10 % of that, so twice the throughput found, where one was.
    fn of(rig: &mut Rig<'_, '_>, cell: Cell) -> Result<Option<Self>> {
        if let Some(rate) = rig.line_rate(cell) {
            return Ok(Some(Self { rate, name: "link-rate", greedy: false }));
        }
        let Some(most) = rig.most(cell)? else { return Ok(None) };
        let room = rig.found(cell).map(|found| FrameRate(ROOM * found.rate));
        Ok(Some(match room.filter(|room| room.0 < most.0) {
            Some(rate) => Self { rate, name: "twice-throughput", greedy: false },
            None => Self { rate: most, name: "highest-sent", greedy: true },
        }))
    }

    fn load(&self, percent: u32) -> Schedule {
        if percent == 100 && self.greedy {
            return Schedule::Greedy;
        }
        Schedule::Paced(FrameRate(self.rate.0 * f64::from(percent) / 100.0))
    }
}

/// Steps down until the subject's way lost nothing twice. The
/// direct cable is asked only until it loses nothing once: at lower loads it would only say so
/// again.
pub(super) fn run(rig: &mut Rig<'_, '_>, subject: Cell) -> Result<Vec<LossPoint>> {
    let mut cells = vec![subject];
    cells.extend(rig.bypass_of(subject));
    let Some(reference) = Reference::of(rig, subject)? else {
        return Ok(cells.into_iter().map(|cell| nothing(rig, (cell, subject))).collect());
    };
    let mut curve = Vec::new();
    let mut lossless = 0;
    let mut cable: Option<LossCount> = None;
    for percent in (1..=100 / STEP_PERCENT).rev().map(|step| step * STEP_PERCENT) {
        rig.session.shuffle(&mut cells);
        let mut points = Vec::new();
        for &cell in &cells {
            points.push((cell, measure_point(rig, cell, reference.load(percent))?));
        }
        points.sort_by_key(|(cell, _)| *cell);
        if let Some((_, point)) = points.iter().find(|(cell, _)| *cell != subject) {
            cable = point.count();
            if point.lossless() {
                cells = vec![subject];
            }
        }
        for (cell, point) in &points {
            let load = LossLoad { percent, reference: reference.name };
            curve.push(of_point(rig, (*cell, subject), load, point, cable));
        }
        let passed = points.iter().any(|(cell, point)| *cell == subject && point.lossless());
        lossless = if passed { lossless + 1 } else { 0 };
        if lossless >= 2 {
            break;
        }
    }
    Ok(curve)
}

fn measure_point(rig: &mut Rig<'_, '_>, cell: Cell, schedule: Schedule) -> Result<Point> {
    let for_a_share = match schedule {
        Schedule::Paced(rate) => Nanos::from_secs_f64(FRAMES_FOR_A_SHARE / rate.0).min(LONGEST),
        _ => Nanos::ZERO,
    };
    let duration = rig.spec.duration.max(rig.bucket(cell).long_enough).max(for_a_share);
    let offer = Offer::new(TEST, cell, schedule, duration);
    let tried = rig.offer(&offer)?;
    let mut point = Point { beyond_tester: tried.beyond_tester(), ..Point::default() };
    let Some(flows) = point.notes.flows(&tried) else { return Ok(point) };
    let delivered = |flows: &[&DatagramsRecord]| {
        Delivery::of(flows, (slowest_flow(flows), duration), rig.spec.precision.get())
    };
    let all = delivered(&flows);
    point.frames = all.sent;
    point.on_path = lost_on_path(&tried) + all.queued();
    let sustained = rig.found(cell).is_some_and(|found| all.offered <= found.rate);
    let given = rig.bucket(cell).frames.unwrap_or(0.0) * flows.len() as f64;
    if given > SWALLOWED * all.sent as f64 && !(sustained && all.lost == 0) {
        point.swallowed = true;
        point.notes.doubt(Caveat::Buffered);
    }
    if lost_on_path(&tried) < lost(&flows) {
        point.notes.doubt(Caveat::TesterDrops);
    }
    for (direction, flows) in directions(&flows) {
        let one = delivered(&flows);
        point.seen.push((direction, FrameRate(one.offered), one.short_ratio()));
    }
    Ok(point)
}

/// `cable` is what the direct cable lost at this load, or, once it lost nothing, at a higher one.
fn of_point(
    rig: &Rig<'_, '_>,
    (cell, subject): (Cell, Cell),
    load: LossLoad,
    point: &Point,
    cable: Option<LossCount>,
) -> LossPoint {
    let mut row = rig.row_beside(TEST, (cell, subject), &point.notes);
    row.n = point.frames;
    row.set(Key::LoadPercent, u64::from(load.percent));
    row.set(Key::LoadReference, load.reference);
    let losses = Losses { device: point.count(), bypass: cable };
    let evidence = match point {
        _ if point.beyond_tester => Evidence::Bound,
        _ if point.is_resolved() => Evidence::Loss(losses),
        _ => Evidence::Nothing,
    };
    row.verdict = rig.session.ways.judge(cell.way, &evidence);
    let one_way = |(direction, offered, ratio): &(Option<Direction>, FrameRate, f64)| {
        let mut row = row.clone();
        set_direction(&mut row, *direction);
        row.set(Key::OfferedRate, offered.0);
        let ratio = row.single(Metric::LossRatio, Unit::Ratio, Some(*ratio));
        (*direction, LossAt { offered: Some(*offered), ratio })
    };
    let mut ratios: EachWay<LossAt> = point.seen.iter().map(one_way).collect();
    if ratios.is_empty() {
        ratios = without_load(&row);
    }
    LossPoint { traffic: rig.traffic_beside(cell, subject), load: Some(load), ratios }
}

fn nothing(rig: &Rig<'_, '_>, (cell, subject): (Cell, Cell)) -> LossPoint {
    let notes = Notes::only(Caveat::NoValidTrial);
    let mut row = rig.row_beside(TEST, (cell, subject), &notes);
    row.verdict = rig.session.ways.judge(cell.way, &Evidence::Nothing);
    let traffic = rig.traffic_beside(cell, subject);
    LossPoint { traffic, load: None, ratios: without_load(&row) }
}

fn without_load(row: &Row) -> EachWay<LossAt> {
    let ratio = row.single(Metric::LossRatio, Unit::Ratio, None);
    EachWay::from([(None, LossAt { offered: None, ratio })])
}
