//! The highest rate without a single loss (RFC 1242 §3.17, RFC 2544 §26.1), by a search, on the
//! device and on the direct cable.
//!
//! Never counts what the tester could not do as a loss: such a load only bounds the search, and the
//! figure then shows the tester's limit. What passed of it without loss is a lower bound all the same.
//! A buffer makes a trial of T seconds lossless up to the true
//! rate plus buffer / T; the final trial's duration is what bounds that error.

use measure::{FrameRate, FrameSize};

use super::super::rows::{Row, in_bits};
use super::rig::{Notes, Offer, Rig, paused, seen};
use crate::search::{BinarySearch, FailedBy, Goal, GoalResult, LoadRange, Search, Seen, Step};
use crate::trial::{Path, Schedule};
use crate::{Caveat, Figure, Metric, TestbedError, Unit, verdict};

/// A path's search, over.
#[derive(Debug, Clone, Default)]
struct Searched {
    result: Option<GoalResult>,
    trials: u32,
    /// Loads, as asked, at which PAUSE frames held the sender back.
    held_back: Vec<f64>,
    notes: Notes,
}

impl Searched {
    /// Frames a second; zero where even the lowest load lost frames, `None` where nothing is known.
    fn value(&self) -> Option<f64> {
        let result = self.result.as_ref()?;
        match (result.relevant_lower, result.relevant_upper) {
            (Some(rate), _) => Some(rate.0),
            (None, Some(failure)) if failure.by == FailedBy::Loss => Some(0.0),
            _ => None,
        }
    }

    /// Whether the load above the value failed on the path. A search that ended at its ceiling or at
    /// what the tester can do never drove the path to its limit.
    fn driven(&self) -> bool {
        let failed = self.result.as_ref().and_then(|result| result.relevant_upper);
        failed.is_some_and(|failure| match failure.by {
            FailedBy::Loss => true,
            FailedBy::Tester => self.held_back.contains(&failure.rate.0),
        })
    }
}

/// How far above a device's throughput its bypass is searched. The verdict asks only whether the
/// tester does clearly more without the device; what the tester can do at most is the flood's figure.
const BYPASS_HEADROOM: f64 = 2.0;

/// Searches the device's path and then the bypass, and returns the size's figures.
pub(super) fn run(rig: &mut Rig<'_, '_>, size: FrameSize) -> Result<Vec<Figure>, TestbedError> {
    let device = search(rig, size, Path::Device, f64::INFINITY)?;
    let mut bypass = Searched::default();
    if rig.session.paths.all().contains(&Path::Bypass) {
        let found = device.value().filter(|value| *value > 0.0 && device.driven());
        let enough = found.map_or(f64::INFINITY, |value| value * BYPASS_HEADROOM);
        bypass = search(rig, size, Path::Bypass, enough)?;
    }
    if let Some(value) = device.value().filter(|value| *value > 0.0) {
        rig.found.insert(size, value);
    }
    let mut figures = Vec::new();
    for path in rig.session.paths.all() {
        let own = if path == Path::Device { &device } else { &bypass };
        let mut row = rig.row(size, path, &own.notes);
        row.n = own.trials.into();
        row.verdict = rig
            .session
            .paths
            .verdict(path, || verdict::of_rate(device.value(), bypass.value(), device.driven()));
        figures.extend(of_search(rig, row, own, size));
    }
    Ok(figures)
}

fn search(
    rig: &mut Rig<'_, '_>,
    size: FrameSize,
    path: Path,
    enough: f64,
) -> Result<Searched, TestbedError> {
    let mut searched = Searched::default();
    let Some(most) = rig.most(size, path)? else {
        searched.notes.caveats.push(Caveat::NoValidTrial);
        return Ok(searched);
    };
    let line = rig.line_rate(size).map_or(f64::INFINITY, |line| line.0);
    let ceiling = FrameRate(most.0.min(line).min(enough));
    let goal = Goal {
        initial_duration: rig.spec.duration,
        final_duration: rig.spec.final_duration,
        duration_sum: rig.spec.final_duration,
        width: rig.spec.precision,
        ..Goal::rfc2544()
    };
    let mut search = BinarySearch::new(goal, LoadRange::below(ceiling));
    loop {
        let attempt = match search.next() {
            Step::Try(attempt) => attempt,
            Step::Done(results) => {
                searched.result = results.into_iter().next();
                break;
            }
        };
        let (schedule, duration) = (Schedule::Paced(attempt.rate), attempt.duration);
        let offer = Offer { test: "throughput", size, path, block: 0, schedule, duration };
        let tried = rig.offer(offer)?;
        searched.trials += 1;
        searched.notes.hear(&tried);
        if let Some(flow) = seen(&tried) {
            let (offered, lost) = (flow.sending_rate(), flow.received.lost(flow.sent));
            search.learn(Seen::Counted { offered, sent: flow.sent, lost });
        } else if tried.beyond_tester() {
            if paused(&tried) {
                searched.held_back.push(attempt.rate.0);
            }
            search.learn(Seen::BeyondTester { lossless: tried.lossless_load() });
        } else {
            searched.notes.caveats.push(Caveat::NoValidTrial);
            break;
        }
    }
    if searched.result.as_ref().is_some_and(|result| result.relevant_upper.is_none()) {
        searched.notes.caveats.push(Caveat::SearchCeiling);
    }
    if searched.result.is_some() && searched.value().is_none() {
        searched.notes.caveats.push(Caveat::NoValidTrial);
    }
    Ok(searched)
}

/// The rate is the confirmed trial's offered load as it really was; the interval is the search's
/// bracket, which has no confidence.
fn of_search(rig: &Rig<'_, '_>, mut row: Row, own: &Searched, size: FrameSize) -> Vec<Figure> {
    let mut add = |name: &str, value| row.conditions.insert(name.to_owned(), value);
    add("test", "throughput".into());
    add("goal", "rfc2544".into());
    add("interval", "search bracket".into());
    add("final_duration_ns", rig.spec.final_duration.0.into());
    let value = own.value();
    let mut frames = row.single(Metric::Throughput, Unit::FramesPerSecond, value);
    if let (Some(value), Some(result)) = (value, &own.result) {
        frames.low = Some(value);
        frames.high = result.relevant_upper.map(|failure| failure.rate.0.max(value));
    }
    let bits: Vec<Figure> = in_bits(&frames, size).collect();
    std::iter::once(frames).chain(bits).collect()
}
