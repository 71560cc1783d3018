//! At an alarm: which repetition was the first after the change, and how large the change is.
//!
//! Owns the two estimates and their intervals. Never decides whether there is a change.

use std::ops::Range;

use crate::Interval;
use crate::change::past::Point;
use crate::change::{Amount, Change, Direction, Moment};
use crate::quantile::median;
use crate::ranks::Shift;

/// Of the interval for the moment, and of that for the amount.
pub const CONFIDENCE: f64 = 0.95;

/// How far the log-likelihood may fall below its largest within the interval: for a jump, the two
/// sides' largest excesses are independent and exponential, so that both stay below x with the
/// chance (1 - e^-x)^2 (Siegmund, "Confidence sets in change-point problems", Int. Stat. Rev. 56,
/// 1988).
const WITHIN: f64 = 5.0;

/// Costs that differ by less are the same.
const ROUNDING: f64 = 1e-6;

/// How much less likely an outlier's value is by its own law than one beside the level is by its.
const OUTLYING: f64 = 20.0;

/// So many deviations from its side's median a repetition counts at most.
const WINSORISED: f64 = 2.5;

/// Where a series is split in two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// The first of the second part.
    pub first: usize,
    /// The smallest that it may be.
    pub earliest: usize,
    /// The largest.
    pub latest: usize,
}

/// The most likely split of a series into two levels that differ in that direction; `None` where
/// there are fewer than three, or no split has the second part on that side. The second part is no
/// longer than `most`.
pub fn split(values: &[f64], direction: Direction, most: usize) -> Option<Split> {
    let firsts = values.len().saturating_sub(most).max(1)..values.len();
    let mut best = roughly(&tamed(values)?, direction, firsts.clone())?;
    let mut found = None;
    // The levels follow from the split, and the split from the levels: twice is enough.
    for _ in 0..2 {
        let sides = Sides::of(values, best)?;
        let costs = sides.costs(values);
        let least = firsts.clone().map(|at| costs[at]).min_by(f64::total_cmp)?;
        // Of splits that are as likely the earliest: rounding is not to choose.
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

/// Where two means instead of one leave the least behind.
fn roughly(values: &[f64], direction: Direction, firsts: Range<usize>) -> Option<usize> {
    let all: f64 = values.iter().sum();
    let (mut before, mut best, mut most) = (0.0, None, 0.0);
    for first in 1..values.len() {
        before += values[first - 1];
        let (m, k) = (first as f64, (values.len() - first) as f64);
        let apart = (all - before) / k - before / m;
        let is_its = if direction == Direction::Up { apart > 0.0 } else { apart < 0.0 };
        // By how much the sum of squares is smaller with two levels than with one.
        let gain = apart * apart * m * k / (m + k);
        if firsts.contains(&first) && is_its && gain > most {
            (best, most) = (Some(first), gain);
        }
    }
    best
}

/// Outliers brought in: no value further from the median of its neighbours than a few deviations.
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

/// Of a normal law with such a median distance from its median, which is 0.6745 deviations.
fn deviation(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    let off: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    Some(median(&off)? / 0.674_5)
}

/// What is before a split and what after it.
struct Sides {
    before: f64,
    after: f64,
    /// Of the side that varies more.
    deviation: f64,
}

impl Sides {
    fn of(values: &[f64], first: usize) -> Option<Self> {
        let (before, after) = values.split_at(first);
        Some(Self {
            before: median(before)?,
            after: median(after)?,
            deviation: deviation(before)?.max(deviation(after)?),
        })
    }

    /// By split: the squares of what each repetition is off from its side's level, none of them
    /// more than an outlier's. Where outliers are many one of them says little of where it belongs:
    /// its share's logarithm is what it can say (a normal law contaminated by a wide one, Huber,
    /// Ann. Math. Stat. 35, 1964).
    fn costs(&self, values: &[f64]) -> Vec<f64> {
        let far = WINSORISED * self.deviation;
        let outlies =
            |value: &&f64| (*value - self.before).abs() > far && (*value - self.after).abs() > far;
        let outliers = values.iter().filter(outlies).count().max(1);
        let says = (OUTLYING * values.len() as f64 / outliers as f64).ln();
        // Where nothing varies nothing is an outlier.
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

    /// What a log-likelihood of 1 is of the costs.
    fn unit(&self) -> f64 {
        2.0 * self.deviation.powi(2)
    }
}

/// What is said of a change that splits these repetitions.
pub fn change(
    points: &[Point],
    split: &Split,
    (seen, kind, direction): (Moment, Amount, Direction),
) -> Option<Change> {
    let (before, after) = points.split_at(split.first);
    let typical = |part: &[Point]| median(&part.iter().map(|p| p.value).collect::<Vec<f64>>());
    let (old, new) = (typical(before)?, typical(after)?);
    let is_ratio = kind == Amount::Ratio && points.iter().all(|point| point.value > 0.0);
    let of = |part: &[Point]| -> Vec<f64> {
        // Where a logarithm says nothing, the values themselves.
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

/// Repetitions near each other are alike: what as many of them in a row as there are afterwards
/// differ by before the change is in the interval too.
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
