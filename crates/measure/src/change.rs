//! Online change detection over the repetitions of one quantity, for unattended series: whether it
//! changed, since when, and by how much.
//!
//! Owns what a repetition is, when an alarm is raised, and what is reported of the change. Assumes
//! no noise distribution: a repetition is ranked among earlier ones of the same time of day, the
//! rank is bet on (`bets`), and the sum of bets since any moment is compared with a threshold. The
//! threshold bounds the false alarms of an unchanged series. Memory is bounded (`past`); `estimate`
//! dates and sizes the change. Never reads a clock, never attributes a change.
//!
//! Sources: Shin, Ramdas & Rinaldo, "E-detectors: a nonparametric framework for sequential change
//! detection", New England J. Stat. Data Sci. 2, 2023; Roberts, Technometrics 8, 1966 (the sum);
//! Vovk, Nouretdinov & Gammerman, "Testing exchangeability on-line", ICML 2003 (bets on ranks).

mod bets;
mod estimate;
mod past;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Interval;
use bets::Bets;
use past::{Past, Point};

pub use estimate::split;

/// Longest distance between a change and its alarm, in repetitions. Earlier bets are not in the
/// sum, unless the change began slowly.
const RECENT: usize = 40;

/// Value of one repetition in a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Repetition {
    /// Median, rate or similar: zero or more, and relative changes matter.
    Level(f64),
    /// Frames lost out of frames sent: absolute changes of the share matter.
    Loss {
        /// Frames lost.
        lost: u64,
        /// Frames sent.
        of: u64,
    },
}

/// Dependence of the values on the time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Season {
    /// No dependence: a testbed that nobody else uses.
    None,
    /// Daily pattern from other people's traffic: values are compared with the same time of day.
    Daily,
}

/// Settings of a detector.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Relative change of a level that does not matter.
    pub margin: f64,
    /// Change of a share of lost frames that does not matter.
    pub margin_of_loss: f64,
    /// Mean number of repetitions between false alarms in an unchanged series.
    pub run_length: f64,
    /// Dependence on the time of day.
    pub season: Season,
}

impl Default for Settings {
    fn default() -> Self {
        Self { margin: 0.01, margin_of_loss: 0.000_2, run_length: 5e4, season: Season::Daily }
    }
}

/// Direction of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The values are larger than before.
    Up,
    /// The values are smaller than before.
    Down,
}

/// Form in which the size of a change is stated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Amount {
    /// After / before: for levels above zero.
    Ratio,
    /// After - before: for shares of lost frames, and where one side is zero.
    Difference,
}

/// Moment in a series, by the caller's count and by the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Index of the repetition, from 0, in the order given to the detector.
    pub repetition: u64,
    /// Nanoseconds since 1970.
    pub unix_ns: u64,
}

/// Change that was detected.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Moment of detection.
    pub seen: Moment,
    /// Most likely first repetition after the change.
    pub since: Moment,
    /// Earliest first repetition after the change, at `confidence`.
    pub earliest: Moment,
    /// Latest first repetition after the change, at `confidence`.
    pub latest: Moment,
    /// Confidence of `earliest` and `latest`.
    pub confidence: f64,
    /// Direction of the change.
    pub direction: Direction,
    /// Form of `value` and `interval`.
    pub amount: Amount,
    /// Size of the change, without the time of day.
    pub value: f64,
    /// Interval of the size; few repetitions lower its confidence.
    pub interval: Interval,
    /// Median before the change, as measured.
    pub before: f64,
    /// Median after the change, as measured.
    pub after: f64,
}

/// Reason why a repetition is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refused {
    /// Not a number that a measurement can have.
    #[error("take a repetition into a series: its value is not a finite number of zero or more")]
    NoNumber,
    /// More frames lost than sent, or none sent.
    #[error("take a repetition into a series: it lost more frames than it sent, or sent none")]
    NoCount,
    /// A level in a series of shares of lost frames, or the other way round.
    #[error("take a repetition into a series: it is of another kind than those before")]
    OtherKind,
}

/// Change detector for one series.
#[derive(Debug, Clone)]
pub struct Detector {
    settings: Settings,
    kind: Option<Amount>,
    taken: u64,
    past: Past,
    bets: Bets,
    /// First repetition after the last change, until enough have followed it.
    fresh: Option<Moment>,
}

impl Detector {
    /// Creates a detector for a series without history.
    pub fn new(settings: Settings) -> Self {
        let (past, bets) = (Past::default(), Bets::default());
        Self { settings, kind: None, taken: 0, past, bets, fresh: None }
    }

    /// Takes the next repetition and returns the change that it reveals, if any. A rejected
    /// repetition leaves the detector unchanged.
    pub fn take(
        &mut self,
        unix_ns: u64,
        repetition: Repetition,
    ) -> Result<Option<Change>, Refused> {
        let (kind, value) = valued(repetition)?;
        if self.kind.is_some_and(|known| known != kind) {
            return Err(Refused::OtherKind);
        }
        self.kind = Some(kind);
        let at = Moment { repetition: self.taken, unix_ns };
        self.taken += 1;
        let scaled = on_scale(kind, value);
        let (level, is_whole) = self.past.level(scaled);
        let reference = self.past.reference(unix_ns, level, self.settings.season);
        let mut point = Point { at, value, scaled, level, is_whole, usual: None };
        if let Some(reference) = reference {
            point.usual = reference.usual();
            let margin = self.margin(kind) + reference.allowance(kind);
            let (above, below) = reference.chances(scaled - level, margin);
            self.bets.place(above, below);
        }
        self.past.push(point);
        self.fresh = self.fresh.filter(|first| self.past.settle(*first));
        let Some(direction) = self.bets.alarm(self.settings.run_length) else { return Ok(None) };
        self.bets = Bets::default();
        Ok(self.found(at, kind, direction))
    }

    fn margin(&self, kind: Amount) -> f64 {
        match kind {
            Amount::Ratio => self.settings.margin.ln_1p(),
            Amount::Difference => self.settings.margin_of_loss,
        }
    }

    /// Number of repetitions in memory; bounded, however many were taken.
    pub fn stored_count(&self) -> usize {
        self.past.len()
    }

    /// Number of repetitions taken.
    pub const fn repetition_count(&self) -> u64 {
        self.taken
    }

    fn found(&mut self, seen: Moment, kind: Amount, direction: Direction) -> Option<Change> {
        let points = self.past.latest();
        let residual: Vec<f64> = points.iter().map(Point::residual).collect();
        let when = split(&residual, direction, RECENT)?;
        let change = estimate::change(&points, &when, seen, kind, direction)?;
        let first = points[when.first].at;
        self.fresh = self.past.settle(first).then_some(first);
        Some(change)
    }
}

/// Converts a repetition to a number and the form of its changes.
fn valued(repetition: Repetition) -> Result<(Amount, f64), Refused> {
    match repetition {
        Repetition::Level(value) if value.is_finite() && value >= 0.0 => Ok((Amount::Ratio, value)),
        Repetition::Level(_) => Err(Refused::NoNumber),
        Repetition::Loss { lost, of } if of > 0 && lost <= of => {
            Ok((Amount::Difference, lost as f64 / of as f64))
        }
        Repetition::Loss { .. } => Err(Refused::NoCount),
    }
}

/// Scale for comparison: levels by their logarithms, with zero as the smallest positive double.
fn on_scale(kind: Amount, value: f64) -> f64 {
    match kind {
        Amount::Ratio => value.max(f64::MIN_POSITIVE).ln(),
        Amount::Difference => value,
    }
}
