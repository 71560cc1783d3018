//! Date and size of a change at an alarm: the first repetition after it, and its amount.
//!
//! Owns the two estimates and their intervals. Never decides whether there is a change.

use std::ops::Range;

use crate::Interval;
use crate::change::past::Point;
use crate::change::{Amount, Change, Direction, Moment};
use crate::quantile::median;
use crate::ranks::Shift;

/// Confidence of the intervals of moment and amount.
pub const CONFIDENCE: f64 = 0.95;

/// Largest drop of the log-likelihood below its maximum within the interval. For a jump, the two
/// sides' largest excesses are independent and exponential, so both stay below x with probability
/// (1 - e^-x)^2 (Siegmund, "Confidence sets in change-point problems", Int. Stat. Rev. 56, 1988).
const WITHIN: f64 = 5.0;

/// Largest difference between costs that counts as rounding.
const ROUNDING: f64 = 1e-6;

/// Likelihood of a value near the level over that of an outlier, each under its own law.
const OUTLYING: f64 = 20.0;

/// Largest distance from its side's median that a repetition counts with, in standard deviations.
const WINSORISED: f64 = 2.5;

/// Split of a series in two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// First index of the second part.
    pub first: usize,
    /// Smallest index that it may be.
    pub earliest: usize,
    /// Largest index that it may be.
    pub latest: usize,
}

/// Returns the most likely split of a series into two levels that differ in that direction. `None`
/// with fewer than three values, or if no split has its second part on that side. The second part
/// has at most `most` values.
pub fn split(values: &[f64], direction: Direction, most: usize) -> Option<Split> {
    let firsts = values.len().saturating_sub(most).max(1)..values.len();
    let mut best = roughly(&tamed(values)?, direction, firsts.clone())?;
    let mut found = None;
    // The levels follow from the split, and the split from the levels: two iterations are enough.
    for _ in 0..2 {
        let sides = Sides::from_split(values, best)?;
        let costs = sides.costs(values);
        let least = firsts.clone().map(|at| costs[at]).min_by(f64::total_cmp)?;
        // Among equally likely splits the earliest is taken, so that rounding does not decide.
        best = firsts.clone().find(|at| costs[*at] <= least + ROUNDING * sides.unit())?;
        let is_within = |at: &usize| costs[*at] - costs[best] <= WITHIN * sides.unit();
        found = Some(Split {
            first: best,
            earliest: firsts.clone().find(is_within).unwrap_or(best),
            latest: firsts.clone().rev().find(is_within).unwrap_or(best),
        });
    }
    found
}

/// Returns the split at which two means instead of one leave the smallest sum of squares.
fn roughly(values: &[f64], direction: Direction, firsts: Range<usize>) -> Option<usize> {
    let all: f64 = values.iter().sum();
    let (mut before, mut best, mut most) = (0.0, None, 0.0);
    for first in 1..values.len() {
        before += values[first - 1];
        let (m, k) = (first as f64, (values.len() - first) as f64);
        let apart = (all - before) / k - before / m;
        let is_its = if direction == Direction::Up { apart > 0.0 } else { apart < 0.0 };
        // Reduction of the sum of squares with two levels instead of one.
        let gain = apart * apart * m * k / (m + k);
        if firsts.contains(&first) && is_its && gain > most {
            (best, most) = (Some(first), gain);
        }
    }
    best
}

/// Limits outliers: no value is further than a few deviations from the median of its neighbours.
fn tamed(values: &[f64]) -> Option<Vec<f64>> {
    const BESIDE: usize = 3;
    if values.len() < 3 {
        return None;
    }
    let smooth = |at: usize| {
        let (low, high) = (at.saturating_sub(BESIDE), (at + BESIDE + 1).min(values.len()));
        median(&values[low..high]).unwrap_or(values[at])
    };
    let smoothed: Vec<f64> = (0..values.len()).map(smooth).collect();
    let off: Vec<f64> = values.iter().zip(&smoothed).map(|(v, s)| v - s).collect();
    let limit = WINSORISED * deviation(&off)?;
    Some(values.iter().zip(&smoothed).map(|(v, s)| v.clamp(s - limit, s + limit)).collect())
}

/// Standard deviation of a normal law with the same median distance from its median (0.6745
/// deviations).
fn deviation(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    let off: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    Some(median(&off)? / 0.674_5)
}

/// Levels before and after a split.
struct Sides {
    before: f64,
    after: f64,
    /// Standard deviation of the side that varies more.
    deviation: f64,
}

impl Sides {
    fn from_split(values: &[f64], first: usize) -> Option<Self> {
        let (before, after) = values.split_at(first);
        Some(Self {
            before: median(before)?,
            after: median(after)?,
            deviation: deviation(before)?.max(deviation(after)?),
        })
    }

    /// Costs by split: squared distances of all repetitions from their side's level, each limited
    /// to an outlier's. If outliers are common, one of them says little about its side: its weight
    /// is the logarithm of their share (a normal law contaminated by a wide one, Huber, Ann. Math.
    /// Stat. 35, 1964).
    fn costs(&self, values: &[f64]) -> Vec<f64> {
        let far = WINSORISED * self.deviation;
        let outlies =
            |value: &&f64| (*value - self.before).abs() > far && (*value - self.after).abs() > far;
        let outliers = values.iter().filter(outlies).count().max(1);
        let says = (OUTLYING * values.len() as f64 / outliers as f64).ln();
        // Without variation there are no outliers.
        let most = if self.deviation > 0.0 { self.unit() * says } else { f64::INFINITY };
        let off = |value: &f64, level: f64| (value - level).powi(2).min(most);
        let mut cost: f64 = values.iter().map(|value| off(value, self.after)).sum();
        let mut costs = vec![cost];
        for value in values {
            cost += off(value, self.before) - off(value, self.after);
            costs.push(cost);
        }
        costs
    }

    /// Cost of one unit of log-likelihood.
    fn unit(&self) -> f64 {
        2.0 * self.deviation.powi(2)
    }
}

/// Describes the change that splits these repetitions.
pub fn change(
    points: &[Point],
    split: &Split,
    seen: Moment,
    kind: Amount,
    direction: Direction,
) -> Option<Change> {
    let (before, after) = points.split_at(split.first);
    let typical = |part: &[Point]| median(&part.iter().map(|p| p.value).collect::<Vec<f64>>());
    let (old, new) = (typical(before)?, typical(after)?);
    let is_ratio = kind == Amount::Ratio && points.iter().all(|point| point.value > 0.0);
    let of = |part: &[Point]| -> Vec<f64> {
        // Without logarithms, the values themselves.
        let is_plain = kind == Amount::Ratio && !is_ratio;
        part.iter().map(|p| if is_plain { p.value } else { p.residual() }).collect()
    };
    let (news, olds) = (of(after), of(before));
    let shift = Shift::of_sides(&news, &olds)?;
    let interval = widened(shift.interval(CONFIDENCE), shift.estimate(), &olds, news.len());
    let back = |value: f64| if is_ratio { value.exp() } else { value };
    Some(Change {
        seen,
        since: points[split.first].at,
        earliest: points[split.earliest].at,
        latest: points[split.latest].at,
        confidence: CONFIDENCE,
        direction,
        amount: if is_ratio { Amount::Ratio } else { Amount::Difference },
        value: back(shift.estimate()),
        interval: Interval { low: back(interval.low), high: back(interval.high), ..interval },
        before: old,
        after: new,
    })
}

/// Widens the interval by the correlation of neighbouring repetitions: by the variation, before the
/// change, of as many in a row as there are after it.
fn widened(own: Interval, estimate: f64, before: &[f64], count: usize) -> Interval {
    const NEARLY_ALL: f64 = 2.6;
    let rows: Vec<f64> = before.rchunks_exact(count).filter_map(median).collect();
    let Some(mean) = (rows.len() > 2).then(|| rows.iter().sum::<f64>() / rows.len() as f64) else {
        return own;
    };
    let squares: f64 = rows.iter().map(|row| (row - mean).powi(2)).sum();
    let half = NEARLY_ALL * (squares / (rows.len() - 1) as f64).sqrt();
    Interval { low: own.low.min(estimate - half), high: own.high.max(estimate + half), ..own }
}
