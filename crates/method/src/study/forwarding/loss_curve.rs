//! The share of frames lost at 100 %, 90 %, 80 %… of the highest rate, until two successive loads
//! lose nothing (RFC 2544 §26.3).
//!
//! The highest rate is the link's where it is known, else the most that the tester got into the
//! device under flood, or twice the throughput found where that is less. Never assumes what a load
//! came to that the tester could not offer.

use std::collections::BTreeMap;

use measure::{FrameRate, FrameSize};

use super::rig::{Notes, Offer, Rig, lost_on_path, seen};
use crate::trial::{Path, Schedule};
use crate::{Caveat, Figure, Metric, TestbedError, Unit, Verdict, verdict};

/// For an estimate: a device that loses above half the highest rate, down to two lossless loads.
pub(super) const USUAL_STEPS: u64 = 7;

/// For an estimate: a cable that loses nothing at the highest.
pub(super) const USUAL_BYPASS_STEPS: u64 = 1;

/// Of the throughput found, where the link's rate is not known: the two successive lossless loads
/// then lie within the curve, and half of its points where the device loses.
const ROOM: f64 = 2.0;

/// RFC 2544 §26.3: no coarser than 10 % of the maximum rate.
const STEP_PERCENT: u32 = 10;

/// One load on one path.
#[derive(Debug, Clone, Default)]
struct Point {
    /// As it really was, and the lost share; `None` without a valid trial.
    seen: Option<(FrameRate, f64)>,
    /// The share lost beyond the tester's own drops.
    on_path: f64,
    frames: u64,
    notes: Notes,
    beyond_tester: bool,
}

impl Point {
    fn lossless(&self) -> bool {
        self.seen.is_some_and(|(_, ratio)| ratio == 0.0)
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
    fn of(rig: &mut Rig<'_, '_>, size: FrameSize) -> Result<Option<Self>, TestbedError> {
        if let Some(rate) = rig.line_rate(size) {
            return Ok(Some(Self { rate, name: "link rate", greedy: false }));
        }
        let Some(most) = rig.most(size, Path::Device)? else { return Ok(None) };
        let room = rig.found.get(&size).map(|found| FrameRate(ROOM * found));
        Ok(Some(match room.filter(|room| room.0 < most.0) {
            Some(rate) => Self { rate, name: "twice the throughput found", greedy: false },
            None => Self { rate: most, name: "highest rate the tester sends", greedy: true },
        }))
    }

    fn load(&self, percent: u32) -> Schedule {
        if percent == 100 && self.greedy {
            return Schedule::Greedy;
        }
        Schedule::Paced(FrameRate(self.rate.0 * f64::from(percent) / 100.0))
    }
}

/// Steps down until the device's path lost nothing twice, and returns the size's figures. The direct
/// cable is asked only until it loses nothing once: at lower loads it would only say so again.
pub(super) fn run(rig: &mut Rig<'_, '_>, size: FrameSize) -> Result<Vec<Figure>, TestbedError> {
    let Some(reference) = Reference::of(rig, size)? else {
        return Ok(rig.session.paths.all().into_iter().map(|p| nothing(rig, size, p)).collect());
    };
    let mut figures = Vec::new();
    let mut lossless = 0;
    let mut cable: Option<f64> = None;
    let mut paths = rig.session.paths.all();
    for percent in (1..=100 / STEP_PERCENT).rev().map(|step| step * STEP_PERCENT) {
        rig.session.shuffle(&mut paths);
        let mut points = BTreeMap::new();
        for &path in &paths {
            points.insert(path, measure_point(rig, size, path, reference.load(percent))?);
        }
        if let Some(point) = points.get(&Path::Bypass) {
            cable = point.seen.map(|(_, ratio)| ratio);
            if point.lossless() {
                paths = vec![Path::Device];
            }
        }
        figures.extend(of_step(rig, size, (percent, reference), &points, cable));
        let passed = points.get(&Path::Device).is_some_and(Point::lossless);
        lossless = if passed { lossless + 1 } else { 0 };
        if lossless >= 2 {
            break;
        }
    }
    Ok(figures)
}

fn measure_point(
    rig: &mut Rig<'_, '_>,
    size: FrameSize,
    path: Path,
    schedule: Schedule,
) -> Result<Point, TestbedError> {
    let duration = rig.spec.duration;
    let tried = rig.offer(Offer { test: "loss", size, path, block: 0, schedule, duration })?;
    let mut point = Point { beyond_tester: tried.beyond_tester(), ..Point::default() };
    point.notes.hear(&tried);
    match seen(&tried) {
        Some(flow) => {
            point.frames = flow.sent;
            point.on_path = lost_on_path(&tried) as f64 / flow.sent.max(1) as f64;
            if lost_on_path(&tried) < flow.received.lost(flow.sent) {
                point.notes.caveats.push(Caveat::TesterDrops);
            }
            point.seen = Some((flow.sending_rate(), flow.loss_ratio()));
        }
        None => point.notes.caveats.push(Caveat::NoValidTrial),
    }
    Ok(point)
}

/// `cable` is what the direct cable lost at this load, or, once it lost nothing, at a higher one.
fn of_step<'a>(
    rig: &'a Rig<'_, '_>,
    size: FrameSize,
    (percent, reference): (u32, Reference),
    points: &'a BTreeMap<Path, Point>,
    cable: Option<f64>,
) -> impl Iterator<Item = Figure> + 'a {
    points.iter().map(move |(path, point)| {
        let mut row = rig.row(size, *path, &point.notes);
        row.n = point.frames;
        row.conditions.insert("test".to_owned(), "loss-curve".into());
        row.conditions.insert("load_percent".to_owned(), u64::from(percent).into());
        row.conditions.insert("load_reference".to_owned(), reference.name.into());
        if let Some((offered, _)) = point.seen {
            row.conditions.insert("offered_frames_per_s".to_owned(), offered.0.into());
        }
        row.verdict = rig.session.paths.verdict(*path, || {
            if point.beyond_tester {
                Verdict::TesterLimited
            } else {
                verdict::of_loss(point.seen.map(|_| point.on_path), cable)
            }
        });
        row.single(Metric::LossRatio, Unit::Ratio, point.seen.map(|(_, ratio)| ratio))
    })
}

fn nothing(rig: &Rig<'_, '_>, size: FrameSize, path: Path) -> Figure {
    let notes = Notes { caveats: vec![Caveat::NoValidTrial], ..Notes::default() };
    let mut row = rig.row(size, path, &notes);
    row.conditions.insert("test".to_owned(), "loss-curve".into());
    row.verdict = rig.session.paths.verdict(path, || Verdict::Undetermined);
    row.single(Metric::LossRatio, Unit::Ratio, None)
}
