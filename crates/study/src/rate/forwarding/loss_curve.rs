//! Loss curve: the frame loss at 100 %, 90 %, 80 %… of the highest rate, until two successive loads
//! lose nothing (RFC 2544 §26.3).
//!
//! The highest rate is the link's if it is known. Otherwise it is the most that the tester got into
//! the device under flood, or twice the measured throughput if that is less. Frames queued because
//! of a lower output rate count as lost, though they arrived later. Never assumes the result of a
//! load that the tester could not offer.

use measure::{FrameRate, Nanos};

use super::super::counts::{lost, lost_on_path, slowest_flow};
use super::super::sustained::Delivery;
use super::ForwardingTest;
use super::finding::{EachWay, LossAt, LossLoad, LossPoint};
use super::rig::{Cell, Direction, Notes, Offer, Rig, directions, set_direction};
use crate::Row;
use crate::verdict::{Evidence, LossCount, Losses};
use page::{Caveat, Key, Metric, Unit};
use trial::record::DatagramsRecord;
use trial::{Result, Schedule};

const TEST: ForwardingTest = ForwardingTest::LossCurve;

/// Usual number of steps for a device that loses frames above half the highest rate, down to two
/// lossless loads.
pub(super) const USUAL_STEPS: u64 = 7;

/// Usual number of steps for a cable that loses nothing at the highest rate.
pub(super) const USUAL_BYPASS_STEPS: u64 = 1;

/// Factor on the measured throughput for the highest rate, if the link's is unknown. Half of the
/// points then show loss, and the two successive lossless loads lie within the curve.
const ROOM: f64 = 2.0;

/// Frames that resolve a share of 1 %: a device holds some at the start and the end of the load,
/// six together.
const FRAMES_FOR_A_SHARE: f64 = 600.0;

/// Maximum length of a load that is extended for this.
const LONGEST: Nanos = Nanos::from_secs(10);

/// Share of a load's frames from a token bucket above which its loss is undetermined.
const SWALLOWED: f64 = 0.005;

/// RFC 2544 §26.3: steps of at most 10 % of the maximum rate.
const STEP_PERCENT: u32 = 10;

/// Result of one load on one path.
#[derive(Debug, Clone, Default)]
struct Point {
    /// Actual load and loss ratio of each direction; empty without a valid trial.
    seen: Vec<(Option<Direction>, FrameRate, f64)>,
    /// Frames lost beyond the tester's own drops, or queued because of a lower output rate.
    on_path: u64,
    frames: u64,
    notes: Notes,
    beyond_tester: bool,
    /// True if a token bucket may have absorbed frames that a longer load would lose.
    swallowed: bool,
}

impl Point {
    /// Loss ratio of all flows together, which come last.
    fn ratio(&self) -> Option<f64> {
        self.seen.last().map(|(_, _, ratio)| *ratio)
    }

    fn lossless(&self) -> bool {
        self.ratio() == Some(0.0)
    }

    /// True if the number of frames resolves the loss ratio.
    fn is_resolved(&self) -> bool {
        !self.swallowed && (self.lossless() || self.frames as f64 >= 0.9 * FRAMES_FOR_A_SHARE)
    }

    fn count(&self) -> Option<LossCount> {
        self.ratio().map(|_| LossCount { lost: self.on_path, of: self.frames })
    }
}

/// Highest rate of the curve, which is 100 %.
#[derive(Debug, Clone, Copy)]
struct Reference {
    rate: FrameRate,
    /// Value of the condition `load_reference`.
    name: &'static str,
    /// True if the rate is what a flood offers.
    greedy: bool,
}

impl Reference {
    /// Maximum rate by RFC 2544 §26.3: the input medium's, if known. Otherwise it is the most that
    /// the tester sends. A device far slower than the tester would lose most of every load down to
    /// 10 % of that. So the limit is twice the throughput, if one was found.
    fn for_cell(rig: &mut Rig<'_, '_>, cell: Cell) -> Result<Option<Self>> {
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

/// Lowers the load until the subject's path loses nothing twice. The direct cable is measured only
/// until its first load without loss, as lower loads add nothing.
pub(super) fn run(rig: &mut Rig<'_, '_>, subject: Cell) -> Result<Vec<LossPoint>> {
    let mut cells = vec![subject];
    cells.extend(rig.bypass_of(subject));
    let Some(reference) = Reference::for_cell(rig, subject)? else {
        return Ok(cells.into_iter().map(|cell| nothing(rig, cell, subject)).collect());
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
            curve.push(of_point(rig, *cell, subject, load, point, cable));
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
        Delivery::from_flows(flows, slowest_flow(flows), duration, rig.spec.precision.get())
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

/// Writes one point. `cable` is the direct cable's loss at this load, or at a higher one after its
/// first load without loss.
fn of_point(
    rig: &Rig<'_, '_>,
    cell: Cell,
    subject: Cell,
    load: LossLoad,
    point: &Point,
    cable: Option<LossCount>,
) -> LossPoint {
    let mut row = rig.row_beside(TEST, cell, subject, &point.notes);
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

fn nothing(rig: &Rig<'_, '_>, cell: Cell, subject: Cell) -> LossPoint {
    let notes = Notes::only(Caveat::NoValidTrial);
    let mut row = rig.row_beside(TEST, cell, subject, &notes);
    row.verdict = rig.session.ways.judge(cell.way, &Evidence::Nothing);
    let traffic = rig.traffic_beside(cell, subject);
    LossPoint { traffic, load: None, ratios: without_load(&row) }
}

fn without_load(row: &Row) -> EachWay<LossAt> {
    let ratio = row.single(Metric::LossRatio, Unit::Ratio, None);
    EachWay::from([(None, LossAt { offered: None, ratio })])
}
