//! What a detector remembers: the latest repetitions one by one, and earlier ones of up to eight
//! days, thinned where they come faster than every few minutes.
//!
//! Owns the reference that a repetition is ranked among: earlier ones of the same time of day, each
//! less the level of the day that it was in. Never holds more than a bound.

use std::collections::VecDeque;

use crate::change::{Amount, Moment, Season};
use crate::quantile::median;

/// So many of the latest are no part of any reference: a change is to be found against what was
/// before it, and not to be taken into that first.
const LATEST: usize = 40;

/// What is beside the latest when a change is dated.
const DATED: usize = 80;

const MINUTE: u64 = 60_000_000_000;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Of what lies further back one repetition in so long is kept.
const THINNED: u64 = 9 * MINUTE;
const KEPT_FOR: u64 = 8 * DAY;
/// A bound of the memory, whatever the clock says: eight days of one in nine minutes.
const MOST: usize = 1_280;

/// The same time of day, give or take.
const SAME_TIME: u64 = 90 * MINUTE;
/// A day's pattern is known from so many days.
const DAYS: usize = 3;
/// Fewer are no reference.
const LEAST: usize = 20;
/// What a day without a known pattern is compared with.
const NEAREST: usize = 100;
/// Within so long the time of day hardly matters.
const SHORT: u64 = 90 * MINUTE;
/// By how much more a level may move before its day is known: as a logarithm, and as a share of
/// frames.
const UNKNOWN_DAY: (f64, f64) = (0.35, 0.002);

/// A repetition as it is remembered.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    pub at: Moment,
    /// As measured.
    pub value: f64,
    /// On the scale that changes are judged on.
    pub scaled: f64,
    /// Of the day before it, on that scale.
    pub level: f64,
    /// Whether that was a whole day.
    pub is_whole: bool,
    /// By how much such a time of day usually differs from the day's level; none while that is not
    /// known.
    pub usual: Option<f64>,
}

impl Point {
    /// What is left of it without the day's level and the time of day.
    pub fn residual(&self) -> f64 {
        self.scaled - self.level - self.usual.unwrap_or(0.0)
    }
}

/// What a repetition is ranked among, ascending.
#[derive(Debug)]
pub struct Reference {
    values: Vec<f64>,
    is_day_known: bool,
    is_same_time: bool,
}

impl Reference {
    /// Their median, where they are of the same time of day.
    pub fn usual(&self) -> Option<f64> {
        self.is_same_time.then(|| self.values[self.values.len() / 2])
    }

    /// What a repetition may differ by beside the margin.
    pub const fn allowance(&self, kind: Amount) -> f64 {
        match kind {
            _ if self.is_day_known => 0.0,
            Amount::Ratio => UNKNOWN_DAY.0,
            Amount::Difference => UNKNOWN_DAY.1,
        }
    }

    /// The chances of a rank as high, and as low, as the value's, each less the margin. Ties count
    /// for the reference.
    pub fn chances(&self, value: f64, margin: f64) -> (f64, f64) {
        let n = self.values.len();
        let below = self.values.partition_point(|known| *known < value - margin);
        let not_above = self.values.partition_point(|known| *known <= value + margin);
        let chance = |others: usize| (others + 1) as f64 / (n + 1) as f64;
        (chance(n - below), chance(not_above))
    }
}

/// All that is remembered.
#[derive(Debug, Clone, Default)]
pub struct Past {
    earlier: VecDeque<Point>,
    latest: VecDeque<Point>,
}

impl Past {
    /// How many repetitions are held.
    pub fn len(&self) -> usize {
        self.earlier.len() + self.latest.len()
    }

    /// What lies further back than the latest, newest first: those are no reference yet.
    fn settled(&self) -> impl Iterator<Item = &Point> {
        let of_latest = self.latest.len().saturating_sub(LATEST);
        self.latest.iter().take(of_latest).rev().chain(self.earlier.iter().rev())
    }

    /// The level of the last whole day that is no part of the latest; its own where nothing is
    /// known.
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

    /// What a repetition at that time is ranked among; none while too little is known.
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

    /// Those of the same time of day, on as many earlier days as make it known.
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

    /// The next repetition.
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

    /// Those that a change is dated among, oldest first: the latest of which the time of day is
    /// known, or of none of which.
    pub fn latest(&self) -> Vec<Point> {
        let is_known = self.latest.back().is_some_and(|point| point.usual.is_some());
        let alike = self.latest.iter().rev().take_while(|p| p.usual.is_some() == is_known);
        let mut points: Vec<Point> = alike.copied().collect();
        points.reverse();
        points
    }

    /// The series changed with the repetition `first`: what was before is remembered as if it had
    /// been so all along, so that the time of day need not be learnt again. By how much is known
    /// better with each repetition; whether more of them are needed.
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
