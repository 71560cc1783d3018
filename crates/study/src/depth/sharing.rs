//! Test for a buffer shared by outputs: several are overfilled at once, and each one's queue is
//! measured.
//!
//! Owns the bursts to send and the statistics of the repetitions. [`super::threshold`] fits a
//! threshold to them.

use measure::{FrameSize, fisher};

use super::burst::Burst;
use super::cells::Cells;
use super::filling::Filling;
use super::outlets::Outlet;
use super::rig::Rig;
use super::shot::{Drain, Span};
use super::threshold::{self, Fit, Level, Measured};
use trial::Result;

/// Frames that a queue should hold for its share to be resolved; more with a model, where time is
/// free.
const FINE: f64 = 1500.0;
const FINE_IN_VIRTUAL_TIME: f64 = 6000.0;
/// Maximum number of repetitions, whatever the study has.
const MOST_BLOCKS: u32 = 6;
/// Relative difference below which outputs do not share a buffer.
const ALIKE: f64 = 0.05;
/// Relative difference above which outputs share a buffer; less may be a measurement error.
const LESS: f64 = 0.02;
/// Confidence of the interval of that difference. The answer has no interval of its own.
const SURE: f64 = 0.999;

/// Octets queued at each output with a number of outputs overfilled at once.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point {
    pub(super) outputs: u32,
    pub(super) held: Span,
    /// Mean queue of each repetition, in octets.
    repeats: Vec<f64>,
    /// Systematic error of the queue in either direction, in octets, the same in every repetition.
    doubt: f64,
}

/// Result of the test.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sharing {
    pub(super) size: FrameSize,
    pub(super) points: Vec<Point>,
    pub(super) blocks: u32,
    /// Number of the device's outputs that could be overfilled, as far as is known.
    pub(super) queues: u32,
    /// True if the outputs share a buffer; `None` if undetermined.
    pub(super) shared: Option<bool>,
    pub(super) fit: Option<Fit>,
}

/// Frames that overfill the outputs.
#[derive(Debug, Clone, Copy)]
struct Frames {
    size: FrameSize,
    /// Octets that one frame takes of the buffer.
    taken: f64,
    /// Relative error of `taken` in either direction, the same for all frames.
    unsure: f64,
    drain: Drain,
}

/// Overfills one, two, three… outputs at once; `None` with too few hosts.
pub(super) fn overfill_outputs(
    rig: &mut Rig<'_, '_>,
    first: &Filling,
    cells: Option<&Cells>,
    groups: &[Vec<Outlet>],
    queues: u32,
) -> Result<Option<Sharing>> {
    let mut groups = groups;
    // A device limited in frames a second allows only a few outputs to be overfilled.
    while groups.last().is_some_and(|all| !rig.keeps_up(&first.outlet, all.len(), rig.spec.size)) {
        groups = &groups[..groups.len() - 1];
    }
    if groups.len() < 2 {
        return Ok(None);
    }
    let (Some(alone), Some(known)) = (first.frames(), first.drain) else { return Ok(None) };
    let taken = |size: FrameSize| {
        cells.map_or_else(|| f64::from(size.octets()), |cells| cells.octets_taken(size))
    };
    let octets = alone * taken(rig.spec.size);
    let size = fine(rig, &first.outlet, groups.len(), octets, &taken);
    let drain = match first.outlet.link {
        Some(link) if known.error <= 0.0 => {
            Some(Drain { rate: link.line_rate(size).0, error: 0.0 })
        }
        _ if size == rig.spec.size => Some(known),
        _ => rig.overload(&first.outlet, size)?.drain(),
    };
    let Some(drain) = drain else { return Ok(None) };
    let (least, most) = cells.map_or((1.0, 1.0), |cells| cells.may_take(size));
    let frames = Frames { size, taken: taken(size), unsure: 1.0 - least / most, drain };
    let one_sender = first
        .burst()
        .map_or(1.0, |burst| 1.0 / (burst.share() * first.outlet.senders.len() as f64));
    let mut points = Vec::new();
    for outlets in groups {
        let fewest = outlets.iter().map(|outlet| outlet.senders.len()).min().unwrap_or(0);
        let share = (1.0 / (one_sender * fewest as f64)).min(0.95);
        let burst = Burst::well_beyond(octets / frames.taken, drain.rate, share);
        points.extend(point(rig, outlets, frames, burst)?);
    }
    let blocks = rig.spec.blocks.get().min(MOST_BLOCKS);
    Ok(Some(judge(size, frames.taken, points, blocks, queues)))
}

/// Sends the burst into all of these outputs at once, repeatedly; `None` if no output overflowed.
fn point(
    rig: &mut Rig<'_, '_>,
    outlets: &[Outlet],
    Frames { size, taken, unsure, drain }: Frames,
    burst: Burst,
) -> Result<Option<Point>> {
    let all: Vec<&Outlet> = outlets.iter().collect();
    let (mut spans, mut repeats) = (Vec::<Span>::new(), Vec::new());
    for block in 0..rig.spec.blocks.get().min(MOST_BLOCKS) {
        let Some(shots) = rig.shoot_evenly(&all, size, burst, drain, block)? else { continue };
        let full = shots.iter().filter(|shot| shot.lost() > 0);
        let own: Vec<Span> = full.map(|shot| shot.occupied(drain).times(taken)).collect();
        if !own.is_empty() {
            // Up to one frame may be left over, half a frame on average.
            repeats.push(mean(&own, |span| span.value) + taken / 2.0);
            spans.extend(own);
        }
    }
    let held = Span {
        low: mean(&spans, |span| span.low),
        value: mean(&spans, |span| span.value) + taken / 2.0,
        high: mean(&spans, |span| span.high) + taken,
    };
    let doubt = (mean(&spans, |span| (span.high - span.low) / 2.0) - taken).max(0.0);
    let doubt = doubt + unsure * held.value;
    let outputs = outlets.len() as u32;
    Ok((!spans.is_empty()).then_some(Point { outputs, held, repeats, doubt }))
}

fn mean<T>(values: &[T], pick: impl Fn(&T) -> f64) -> f64 {
    values.iter().map(pick).sum::<f64>() / values.len() as f64
}

/// Largest frames of which enough fit; otherwise those that take the least of the buffer.
fn fine(
    rig: &Rig<'_, '_>,
    outlet: &Outlet,
    outputs: usize,
    octets: f64,
    taken: &impl Fn(FrameSize) -> f64,
) -> FrameSize {
    let mut sizes = rig.spec.sizes.clone();
    sizes.retain(|size| rig.keeps_up(outlet, outputs, *size));
    sizes.push(rig.spec.size);
    sizes.sort();
    let least = if rig.topology.is_simulated() { FINE_IN_VIRTUAL_TIME } else { FINE };
    let enough = sizes.iter().rev().find(|size| octets / taken(**size) >= least);
    let smallest = || sizes.iter().min_by(|a, b| taken(**a).total_cmp(&taken(**b)));
    enough.or_else(smallest).copied().unwrap_or(rig.spec.size)
}

fn judge(size: FrameSize, frame: f64, points: Vec<Point>, blocks: u32, queues: u32) -> Sharing {
    // A single burst shows nothing of the variation between bursts.
    let repeated = points.iter().all(|point| point.repeats.len() > 1);
    let shared = if repeated { is_shared(&points) } else { None };
    let fit = if shared == Some(true) && repeated {
        threshold::fit(&measured(&points, frame, f64::from(queues)))
    } else {
        None
    };
    Sharing { size, points, blocks, queues, shared, fit }
}

/// True if every group's queues are smaller than a single output's, also allowing for measurement
/// error and variation; `None` if undetermined.
fn is_shared(points: &[Point]) -> Option<bool> {
    let (first, others) = points.split_first().filter(|(first, _)| first.outputs == 1)?;
    let last = others.last()?;
    let apart = by_chance(&first.repeats, &last.repeats);
    let least = first.held.low - last.held.high - apart;
    let most = first.held.high - last.held.low + apart;
    let each_less = others.iter().all(|point| point.held.high < first.held.low);
    if least > LESS * first.held.value && each_less {
        Some(true)
    } else {
        (most <= ALIKE * first.held.value).then_some(false)
    }
}

/// Largest difference of the two means by chance: Welch's interval.
fn by_chance(one: &[f64], other: &[f64]) -> f64 {
    let squared = |values: &[f64]| {
        let middle = mean(values, |held| *held);
        let (n, spare) = (values.len() as f64, (values.len() - 1) as f64);
        (values.iter().map(|held| (held - middle).powi(2)).sum::<f64>() / (spare * n), spare)
    };
    let ((a, spare_a), (b, spare_b)) = (squared(one), squared(other));
    if a + b <= 0.0 {
        return 0.0;
    }
    let freedom = (a + b).powi(2) / (a.powi(2) / spare_a + b.powi(2) / spare_b);
    (fisher::point_at_share(SURE, 1.0, freedom) * (a + b)).sqrt()
}

/// Points with their errors: the variation between repetitions, and one frame of each output,
/// averaged.
fn measured(points: &[Point], frame: f64, queues: f64) -> Measured {
    let squares = points.iter().map(|point| {
        let middle = mean(&point.repeats, |held| *held);
        point.repeats.iter().map(|held| (held - middle).powi(2)).sum::<f64>()
    });
    let spare: usize = points.iter().map(|point| point.repeats.len() - 1).sum();
    let each = squares.sum::<f64>() / spare.max(1) as f64;
    let seen = |point: &Point| each / point.repeats.len() as f64;
    let whole = |point: &Point| frame.powi(2) / (12.0 * f64::from(point.outputs));
    let level = |point: &Point| Level {
        outputs: f64::from(point.outputs),
        held: mean(&point.repeats, |held| *held),
        error: (seen(point) + whole(point)).sqrt(),
    };
    // Welch and Satterthwaite: the known part has infinite degrees of freedom.
    let (drawn, known) = (mean(points, seen), mean(points, whole));
    let freedom = spare.max(1) as f64 * ((drawn + known) / drawn.max(f64::MIN_POSITIVE)).powi(2);
    let doubt = points.iter().map(|point| point.doubt).fold(0.0, f64::max);
    Measured { levels: points.iter().map(level).collect(), frame, freedom, doubt, queues }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(outputs: u32, held: Span) -> Point {
        Point { outputs, held, repeats: vec![held.value; 6], doubt: 0.0 }
    }

    #[test]
    fn outputs_with_their_own_are_not_called_shared() {
        let held = Span { low: 99_936.0, value: 100_000.0, high: 100_128.0 };
        let points = (1..=4).map(|outputs| point(outputs, held)).collect();
        let sharing = judge(FrameSize::MIN, 64.0, points, 6, 8);
        assert_eq!((sharing.shared, sharing.fit), (Some(false), None));
    }

    #[test]
    fn what_is_known_too_little_of_is_not_called_its_own() {
        let held = Span { low: 90_000.0, value: 100_000.0, high: 110_000.0 };
        let points = (1..=4).map(|outputs| point(outputs, held)).collect();
        let sharing = judge(FrameSize::MIN, 64.0, points, 6, 8);
        assert_eq!((sharing.shared, sharing.fit), (None, None));
    }

    #[test]
    fn one_repeat_that_differs_is_not_called_sharing() {
        // One burst in six in which the device stood still for a while that nobody saw.
        let of = |outputs: u32, last: f64| {
            let mut repeats = vec![100_000.0; 5];
            repeats.push(last);
            let held = mean(&repeats, |held| *held);
            let held = Span { low: held - 64.0, value: held, high: held + 64.0 };
            Point { outputs, held, repeats, doubt: 0.0 }
        };
        let points = vec![of(1, 100_000.0), of(2, 95_000.0), of(3, 90_000.0), of(4, 80_000.0)];
        assert_eq!(judge(FrameSize::MIN, 64.0, points, 6, 8).shared, None);
    }

    #[test]
    fn repeats_that_differ_widen_what_is_said() {
        let of = |apart: f64| {
            let points = (1..=5).map(|n| {
                let held = 2e6 / (1.0 + f64::from(n));
                let repeats = (0..6).map(|at| held + apart * f64::from(at % 3 - 1)).collect();
                let span = Span { low: held - 64.0, value: held, high: held + 64.0 };
                Point { outputs: n as u32, held: span, repeats, doubt: 0.0 }
            });
            judge(FrameSize::MIN, 64.0, points.collect(), 6, 12).fit.expect("a fit")
        };
        let width = |fit: &Fit| fit.total.high.map_or(f64::INFINITY, |high| high - fit.total.low);
        let (alike, apart) = (of(0.0), of(2000.0));
        assert!(width(&apart) > 5.0 * width(&alike), "{alike:?} {apart:?}");
    }
}
