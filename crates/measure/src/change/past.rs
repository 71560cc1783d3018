//! Memory of a detector: the latest repetitions one by one, and earlier ones of up to eight days,
//! thinned if they come more often than every few minutes.
//!
//! Owns the reference that a repetition is ranked among: earlier ones of the same time of day, each
//! minus the level of its day. Never holds more than a bound.

use std::collections::VecDeque;

use crate::change::{Amount, Moment, Season};
use crate::quantile::median;

/// Number of latest repetitions that are in no reference: a change must be compared with earlier
/// values, not absorbed into them.
const LATEST: usize = 40;

/// Further repetitions, besides [`LATEST`], that are kept to date a change.
const DATED: usize = 80;

const MINUTE: u64 = 60_000_000_000;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Least time between older repetitions that are kept.
const THINNED: u64 = 9 * MINUTE;
const KEPT_FOR: u64 = 8 * DAY;
/// Bound of the memory, whatever the clock says: eight days of one in nine minutes.
const MOST: usize = 1_280;

/// Tolerance of the same time of day.
const SAME_TIME: u64 = 90 * MINUTE;
/// Number of days from which a daily pattern is known.
const DAYS: usize = 3;
/// Least number of values in a reference.
const LEAST: usize = 20;
/// Size of the reference for a day without a known pattern.
const NEAREST: usize = 100;
/// Time span within which the time of day hardly matters.
const SHORT: u64 = 90 * MINUTE;
/// Additional margin before the daily pattern is known: for logarithms of levels, and for shares of
/// lost frames.
const UNKNOWN_DAY: (f64, f64) = (0.35, 0.002);

/// Repetition in memory.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    pub at: Moment,
    /// Value as measured.
    pub value: f64,
    /// Value on the scale of comparison.
    pub scaled: f64,
    /// Level of the preceding day, on that scale.
    pub level: f64,
    /// True if the level is that of a whole day.
    pub is_whole: bool,
    /// Usual difference of this time of day from the day's level; `None` while unknown.
    pub usual: Option<f64>,
}

impl Point {
    /// Value without the day's level and the time of day.
    pub fn residual(&self) -> f64 {
        self.scaled - self.level - self.usual.unwrap_or(0.0)
    }
}

/// Values that a repetition is ranked among, ascending.
#[derive(Debug)]
pub struct Reference {
    values: Vec<f64>,
    is_day_known: bool,
    is_same_time: bool,
}

impl Reference {
    /// Median of the reference, if its values have the same time of day; `None` otherwise.
    pub fn usual(&self) -> Option<f64> {
        self.is_same_time.then(|| self.values[self.values.len() / 2])
    }

    /// Allowed difference of a repetition in addition to the margin.
    pub const fn allowance(&self, kind: Amount) -> f64 {
        match kind {
            _ if self.is_day_known => 0.0,
            Amount::Ratio => UNKNOWN_DAY.0,
            Amount::Difference => UNKNOWN_DAY.1,
        }
    }

    /// Returns the chances of a rank at least as high, and at least as low, as the value's, each
    /// beyond the margin. Ties count for the reference.
    pub fn chances(&self, value: f64, margin: f64) -> (f64, f64) {
        let n = self.values.len();
        let below = self.values.partition_point(|known| *known < value - margin);
        let not_above = self.values.partition_point(|known| *known <= value + margin);
        let chance = |others: usize| (others + 1) as f64 / (n + 1) as f64;
        (chance(n - below), chance(not_above))
    }
}

/// All repetitions in memory.
#[derive(Debug, Clone, Default)]
pub struct Past {
    earlier: VecDeque<Point>,
    latest: VecDeque<Point>,
}

impl Past {
    /// Number of repetitions in memory.
    pub fn len(&self) -> usize {
        self.earlier.len() + self.latest.len()
    }

    /// Repetitions older than the latest, newest first; the latest are in no reference yet.
    fn settled(&self) -> impl Iterator<Item = &Point> {
        let of_latest = self.latest.len().saturating_sub(LATEST);
        self.latest.iter().take(of_latest).rev().chain(self.earlier.iter().rev())
    }

    /// Returns the level of the last whole day before the latest repetitions, and whether it was
    /// whole. `own` if nothing is known.
    pub fn level(&self, own: f64) -> (f64, bool) {
        if self.len() < LATEST + LEAST {
            let values: Vec<f64> = self.latest.iter().map(|point| point.scaled).collect();
            return (median(&values).unwrap_or(own), false);
        }
        let newest = self.settled().next().map_or(0, |point| point.at.unix_ns);
        let day = newest.saturating_sub(DAY);
        let mut values: Vec<f64> = Vec::new();
        let mut is_whole = false;
        for point in self.settled() {
            if point.at.unix_ns < day {
                is_whole = true;
                break;
            }
            values.push(point.scaled - point.usual.unwrap_or(0.0));
        }
        (median(&values).unwrap_or(own), is_whole)
    }

    /// Reference for a repetition at that time; `None` while too little is known.
    pub fn reference(&self, now: u64, level: f64, season: Season) -> Option<Reference> {
        if season == Season::Daily {
            let alike = self.same_time(now);
            if let Some(values) = alike {
                return Some(Reference {
                    values: ascending(values),
                    is_day_known: true,
                    is_same_time: true,
                });
            }
        }
        let nearest: Vec<&Point> = self.settled().take(NEAREST).collect();
        let first = nearest.last().filter(|_| nearest.len() >= LEAST)?.at.unix_ns;
        let is_day_known = season == Season::None || now.abs_diff(first) <= SHORT;
        let values = nearest.iter().map(|point| point.scaled - level).collect();
        Some(Reference { values: ascending(values), is_day_known, is_same_time: false })
    }

    /// Values of the same time of day, on enough earlier days; `None` with fewer.
    fn same_time(&self, now: u64) -> Option<Vec<f64>> {
        let mut values = Vec::new();
        let mut days = [false; 9];
        for point in self.settled() {
            let ago = now.saturating_sub(point.at.unix_ns);
            let nearest = (ago + DAY / 2) / DAY;
            if point.is_whole && nearest >= 1 && ago.abs_diff(nearest * DAY) <= SAME_TIME {
                days[(nearest as usize).min(8)] = true;
                values.push(point.scaled - point.level);
            }
        }
        let seen = days.iter().filter(|seen| **seen).count();
        (seen >= DAYS && values.len() >= LEAST).then_some(values)
    }

    /// Adds the next repetition.
    pub fn push(&mut self, point: Point) {
        self.latest.push_back(point);
        if self.latest.len() <= LATEST + DATED {
            return;
        }
        let Some(oldest) = self.latest.pop_front() else { return };
        let last = self.earlier.back().map(|last| last.at.unix_ns);
        if last.is_none_or(|last| oldest.at.unix_ns.abs_diff(last) >= THINNED) {
            self.earlier.push_back(oldest);
        }
        let now = point.at.unix_ns;
        while self.earlier.len() > MOST
            || self.earlier.front().is_some_and(|p| now.saturating_sub(p.at.unix_ns) > KEPT_FOR)
        {
            self.earlier.pop_front();
        }
    }

    /// Repetitions among which a change is dated, oldest first: the latest ones, either all with
    /// known time of day or all without.
    pub fn latest(&self) -> Vec<Point> {
        let is_known = self.latest.back().is_some_and(|point| point.usual.is_some());
        let alike = self.latest.iter().rev().take_while(|p| p.usual.is_some() == is_known);
        let mut points: Vec<Point> = alike.copied().collect();
        points.reverse();
        points
    }

    /// Moves all repetitions before `first`, the first one after a change, to the new level, so
    /// that the daily pattern need not be learnt again. Each further repetition improves the
    /// estimate. True if more are needed.
    pub fn settle(&mut self, first: Moment) -> bool {
        let is_before = |point: &Point| point.at.repetition < first.repetition;
        let alike = self.latest();
        let of = |wanted: bool| -> Vec<f64> {
            let side = alike.iter().filter(|point| is_before(point) == wanted);
            side.map(Point::residual).collect()
        };
        let (before, after) = (of(true), of(false));
        let (Some(old), Some(new)) = (median(&before), median(&after)) else { return false };
        for point in self.earlier.iter_mut().chain(&mut self.latest) {
            if is_before(point) {
                point.scaled += new - old;
            }
            point.level += new - old;
        }
        after.len() < LATEST
    }
}

fn ascending(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}
