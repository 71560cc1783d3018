//! Whether outputs share a buffer: several overfilled at once, and what each of them then holds.
//!
//! Owns the regression. With a dynamic threshold T = alpha (B - sum of queues) each of n
//! outputs settles at alpha B / (1 + n alpha) (Choudhury and Hahne, 1998), so 1/Q = 1/(alpha B) + n/B.

use measure::FrameSize;
use measure::Interval;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;

use super::cells::Cells;
use super::filling::{Burst, Filling};
use super::outlets::Outlet;
use super::rig::{Rig, Seen};
use super::shot::{Drain, Span};
use crate::TestbedError;

/// Frames that a queue should hold for its share to be told.
const FINE: f64 = 1500.0;
/// No more repeats than this, however many the study has.
const MOST_BLOCKS: u32 = 6;
const RESAMPLES: usize = 2000;
const CONFIDENCE: f64 = 0.95;
/// A threshold is compared before the frame is counted: every queue gets up to a frame more, which the
/// next round of the fit takes off again.
const ROUNDS: u32 = 4;

/// What each output held, in octets, with so many overfilled at once.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point {
    pub(super) outputs: u32,
    pub(super) held: Span,
}

/// What all of it comes to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sharing {
    pub(super) size: FrameSize,
    pub(super) points: Vec<Point>,
    pub(super) blocks: u32,
    /// `None` where it can't be told.
    pub(super) shared: Option<bool>,
    pub(super) fit: Option<Fit>,
}

/// Of a shared buffer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fit {
    pub(super) total: (f64, Interval),
    pub(super) alpha: (f64, Interval),
}

/// Overfills one, two, three… outputs at once; `None` where there are too few hosts.
pub(super) fn of(
    rig: &mut Rig<'_, '_>,
    first: &Filling,
    cells: Option<&Cells>,
    groups: &[Vec<Outlet>],
    seed: u64,
) -> Result<Option<Sharing>, TestbedError> {
    let mut groups = groups;
    // Of a device that runs out of frames a second only so many outputs can be overfilled.
    while groups.last().is_some_and(|all| !rig.keeps_up(&first.outlet, all.len(), rig.spec.size)) {
        groups = &groups[..groups.len() - 1];
    }
    if groups.len() < 2 {
        return Ok(None);
    }
    let (Some(alone), Some(known)) = (first.frames(), first.drain) else { return Ok(None) };
    let taken =
        |size: FrameSize| cells.map_or_else(|| f64::from(size.octets()), |cells| cells.taken(size));
    let octets = alone * taken(rig.spec.size);
    let size = fine(rig, (&first.outlet, groups.len()), octets, &taken);
    let drain = match first.outlet.link {
        Some(link) if known.error <= 0.0 => {
            Some(Drain { rate: link.line_rate(size).0, error: 0.0 })
        }
        _ if size == rig.spec.size => Some(known),
        _ => rig.overload(&first.outlet, size)?.drain(),
    };
    let Some(drain) = drain else { return Ok(None) };
    let blocks = rig.spec.blocks.min(MOST_BLOCKS);
    let one_sender = first
        .burst()
        .map_or(1.0, |burst| 1.0 / (burst.share() * first.outlet.senders.len() as f64));
    let mut points = Vec::new();
    for outlets in groups {
        let all: Vec<&Outlet> = outlets.iter().collect();
        let fewest = outlets.iter().map(|outlet| outlet.senders.len()).min().unwrap_or(0);
        let share = (1.0 / (one_sender * fewest as f64)).min(0.95);
        let burst = Burst::well_beyond(octets / taken(size), drain.rate, share);
        let mut spans = Vec::new();
        for block in 0..blocks {
            if let Seen::Shots(shots) = rig.shoot(&all, size, burst.load(), block)? {
                let full = shots.iter().filter(|shot| shot.lost() > 0);
                spans.extend(full.map(|shot| shot.occupied(drain).times(taken(size))));
            }
        }
        let mean =
            |pick: fn(&Span) -> f64| spans.iter().map(pick).sum::<f64>() / spans.len() as f64;
        if !spans.is_empty() {
            // Half a frame may be left over, up to a whole one.
            let held = Span {
                low: mean(|span| span.low),
                value: mean(|span| span.value) + taken(size) / 2.0,
                high: mean(|span| span.high) + taken(size),
            };
            points.push(Point { outputs: outlets.len() as u32, held });
        }
    }
    Ok(Some(judge(size, taken(size), points, blocks, seed)))
}

/// The largest frames of which enough fit; the least of the buffer each where none do.
fn fine(
    rig: &Rig<'_, '_>,
    (outlet, outputs): (&Outlet, usize),
    octets: f64,
    taken: &impl Fn(FrameSize) -> f64,
) -> FrameSize {
    let mut sizes = rig.spec.sizes.clone();
    sizes.retain(|size| rig.keeps_up(outlet, outputs, *size));
    sizes.push(rig.spec.size);
    sizes.sort();
    let enough = sizes.iter().rev().find(|size| octets / taken(**size) >= FINE);
    let least = || sizes.iter().min_by(|a, b| taken(**a).total_cmp(&taken(**b)));
    enough.or_else(least).copied().unwrap_or(rig.spec.size)
}

fn judge(size: FrameSize, frame: f64, points: Vec<Point>, blocks: u32, seed: u64) -> Sharing {
    let shared = match (points.first(), points.last()) {
        (Some(first), Some(last)) if first.outputs == 1 && last.outputs > 1 => {
            Some(last.held.high < first.held.low)
        }
        _ => None,
    };
    let fit = if shared == Some(true) { bootstrapped(&points, frame, seed) } else { None };
    Sharing { size, points, blocks, shared, fit }
}

/// Total and alpha of such points (n, octets held); `None` where no threshold makes them.
fn fitted(points: &[(f64, f64)], frame: f64) -> Option<(f64, f64)> {
    let mut over = vec![0.0; points.len()];
    let mut found = None;
    for _ in 0..ROUNDS {
        let own = points.iter().zip(&over).map(|((n, held), over)| (*n, held - over));
        let (total, alpha) = line(own)?;
        over = points.iter().map(|(n, _)| n * alpha * frame / (1.0 + n * alpha)).collect();
        found = Some((total, alpha));
    }
    found
}

/// Least squares of 1/Q on n. Q is known to a frame whatever it is, so 1/Q to that over Q².
fn line(points: impl Iterator<Item = (f64, f64)>) -> Option<(f64, f64)> {
    let (mut w, mut wx, mut wy, mut wxx, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (n, held) in points.filter(|(_, held)| *held > 0.0) {
        let (weight, y) = (held.powi(4), 1.0 / held);
        w += weight;
        wx += weight * n;
        wy += weight * y;
        wxx += weight * n * n;
        wxy += weight * n * y;
    }
    let slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
    let intercept = (wy - slope * wx) / w;
    let fits = slope.is_finite() && slope > 0.0 && intercept > 0.0;
    fits.then(|| (1.0 / slope, slope / intercept))
}

/// What a point leaves open is the same in every repeat (a frame is a frame), so each resample draws
/// once for a point, not once for a repeat.
fn bootstrapped(points: &[Point], frame: f64, seed: u64) -> Option<Fit> {
    let middle: Vec<(f64, f64)> =
        points.iter().map(|p| (f64::from(p.outputs), p.held.value)).collect();
    let (total, alpha) = fitted(&middle, frame)?;
    let mut random = Pcg64::seed_from_u64(seed);
    let (mut totals, mut alphas) = (Vec::new(), Vec::new());
    for _ in 0..RESAMPLES {
        let drawn: Vec<(f64, f64)> = points
            .iter()
            .map(|p| (f64::from(p.outputs), random.random_range(p.held.low..=p.held.high)))
            .collect();
        // Where no threshold makes them, alpha is beyond any: the total is what is shared.
        let (total, alpha) = fitted(&drawn, frame).unwrap_or((total, f64::INFINITY));
        totals.push(total);
        alphas.push(alpha);
    }
    Some(Fit { total: (total, middle_of(totals)), alpha: (alpha, middle_of(alphas)) })
}

fn middle_of(mut values: Vec<f64>) -> Interval {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    let tail = (1.0 - CONFIDENCE) / 2.0;
    Interval { low: at(tail), high: at(1.0 - tail), confidence: CONFIDENCE }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(total: f64, alpha: f64, frame: f64) -> Vec<Point> {
        let of = |outputs: u32| {
            let n = f64::from(outputs);
            // As a buffer that compares before it counts holds whole frames.
            let most = alpha * (total + n * frame) / (1.0 + n * alpha);
            let frames = (most / frame).floor();
            let span = Span { low: frames - 1.0, value: frames + 0.5, high: frames + 2.0 };
            Point { outputs, held: span.times(frame) }
        };
        (1..=4).map(of).collect()
    }

    #[test]
    fn total_and_alpha_come_back() {
        for total in [65_536.0, 1e6, 12e6] {
            for alpha in [0.25, 0.5, 1.0, 2.0, 8.0] {
                let sharing = judge(FrameSize::MIN, 64.0, points(total, alpha, 64.0), 6, 7);
                assert_eq!(sharing.shared, Some(true));
                let fit = sharing.fit.expect("a fit");
                let (value, interval) = fit.total;
                assert!((value / total - 1.0).abs() < 0.01, "{total} {alpha}: {fit:?}");
                assert!(
                    interval.low <= total && total <= interval.high,
                    "{total} {alpha}: {fit:?}"
                );
                let (value, interval) = fit.alpha;
                assert!((value / alpha - 1.0).abs() < 0.05, "{total} {alpha}: {fit:?}");
                assert!(
                    interval.low <= alpha && alpha <= interval.high,
                    "{total} {alpha}: {fit:?}"
                );
            }
        }
    }

    #[test]
    fn outputs_with_their_own_are_not_called_shared() {
        let held = Span { low: 99_936.0, value: 100_000.0, high: 100_128.0 };
        let points = (1..=4).map(|outputs| Point { outputs, held }).collect();
        let sharing = judge(FrameSize::MIN, 64.0, points, 6, 7);
        assert_eq!((sharing.shared, sharing.fit), (Some(false), None));
    }
}
