//! The share of frames lost at 100 %, 90 %, 80 %… of the highest rate, until two successive loads
//! lose nothing (RFC 2544 §26.3).
//!
//! The highest rate is the link's where it is known, else the most that the tester got into the
//! device under flood. Never assumes what a load came to that the tester could not offer.

use std::collections::BTreeMap;

use measure::{FrameRate, FrameSize};

use super::rig::{Notes, Offer, Rig, seen};
use crate::trial::{Path, Schedule};
use crate::{Caveat, Figure, Metric, TestbedError, Unit, Verdict, verdict};

/// For an estimate: a device that loses at the top half.
pub(super) const USUAL_STEPS: u64 = 6;

/// RFC 2544 §26.3: no coarser than 10 % of the maximum rate.
const STEP_PERCENT: u32 = 10;

/// One load on one path.
#[derive(Debug, Clone, Default)]
struct Point {
    /// As it really was, and the lost share; `None` without a valid trial.
    seen: Option<(FrameRate, f64)>,
    frames: u64,
    notes: Notes,
    beyond_tester: bool,
}

impl Point {
    fn lossless(&self) -> bool {
        self.seen.is_some_and(|(_, ratio)| ratio == 0.0)
    }
}

/// Steps down on both paths together, and returns the size's figures.
pub(super) fn run(rig: &mut Rig<'_, '_>, size: FrameSize) -> Result<Vec<Figure>, TestbedError> {
    let line_rate = rig.line_rate(size);
    let Some(most) = line_rate.map_or_else(|| rig.most(size, Path::Device), |r| Ok(Some(r)))?
    else {
        return Ok(rig.session.paths.all().into_iter().map(|p| nothing(rig, size, p)).collect());
    };
    let mut figures = Vec::new();
    let mut lossless = BTreeMap::<Path, u32>::new();
    for percent in (1..=100 / STEP_PERCENT).rev().map(|step| step * STEP_PERCENT) {
        let mut order = rig.session.paths.all();
        rig.session.shuffle(&mut order);
        let mut points = BTreeMap::new();
        for path in order {
            // Without a line rate, all there is is by definition what a flood gets out.
            let schedule = match (percent, line_rate) {
                (100, None) => Schedule::Greedy,
                _ => Schedule::Paced(FrameRate(most.0 * f64::from(percent) / 100.0)),
            };
            let point = measure_point(rig, size, path, schedule)?;
            let streak = lossless.entry(path).or_default();
            *streak = if point.lossless() { *streak + 1 } else { 0 };
            points.insert(path, point);
        }
        figures.extend(of_step(rig, size, percent, &points));
        if lossless.values().all(|streak| *streak >= 2) {
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
            point.seen = Some((flow.sending_rate(), flow.loss_ratio()));
        }
        None => point.notes.caveats.push(Caveat::NoValidTrial),
    }
    Ok(point)
}

fn of_step<'a>(
    rig: &'a Rig<'_, '_>,
    size: FrameSize,
    percent: u32,
    points: &'a BTreeMap<Path, Point>,
) -> impl Iterator<Item = Figure> + 'a {
    let loss = |path| points.get(&path).and_then(|point| point.seen).map(|(_, ratio)| ratio);
    points.iter().map(move |(path, point)| {
        let mut row = rig.row(size, *path, &point.notes);
        row.n = point.frames;
        row.conditions.insert("test".to_owned(), "loss-curve".into());
        row.conditions.insert("load_percent".to_owned(), u64::from(percent).into());
        if let Some((offered, _)) = point.seen {
            row.conditions.insert("offered_frames_per_s".to_owned(), offered.0.into());
        }
        row.verdict = rig.session.paths.verdict(*path, || {
            if point.beyond_tester {
                Verdict::TesterLimited
            } else {
                verdict::of_loss(loss(Path::Device), loss(Path::Bypass))
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
