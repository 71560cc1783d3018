//! Did a series change, since when, by how much: an online detector over the repetitions of one
//! quantity, for series that nobody watches.
//!
//! Owns what a repetition is, when an alarm is raised, and what is said of the change then. Needs
//! no law of the noise: a repetition is ranked among earlier ones of the same time of day, the rank
//! is bet on (`bets`), and the sum of all bets since any moment is held against a threshold that
//! bounds how often a series without a change raises an alarm. Memory is bounded (`past`); when and
//! how much is `estimate`'s. Never reads a clock, never says whose doing it is.
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

/// A change that is seen began with one of so many repetitions: bets on earlier ones are not in the
/// sum, but where it began slowly.
const RECENT: usize = 40;

/// One repetition's value of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Repetition {
    /// Something like a median, or a rate: zero or more, and what matters of it is a share.
    Level(f64),
    /// Frames lost of frames sent: what matters is the share itself.
    Loss {
        /// So many were lost.
        lost: u64,
        /// Of so many.
        of: u64,
    },
}

/// What repetitions have of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Season {
    /// Nothing: a testbed that nobody else uses.
    None,
    /// Other people's traffic comes and goes with the hour: like is compared with like.
    Daily,
}

/// What a detector is asked to find.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// What does not matter: a share of a level.
    pub margin: f64,
    /// What does not matter of a share of lost frames.
    pub margin_of_loss: f64,
    /// One false alarm in so many repetitions, on average, where nothing changes.
    pub run_length: f64,
    /// Whether the time of day is in the series.
    pub season: Season,
}

impl Default for Settings {
    fn default() -> Self {
        Self { margin: 0.01, margin_of_loss: 0.000_2, run_length: 5e4, season: Season::Daily }
    }
}

/// Which way a series went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The values are larger than before.
    Up,
    /// They are smaller.
    Down,
}

/// What the amount of a change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Amount {
    /// Afterwards / before: of levels above zero.
    Ratio,
    /// Afterwards - before: of shares of lost frames, and where one side is zero.
    Difference,
}

/// A moment, as the caller counts and as the clock does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Of the repetition, counted from 0 in the order in which the detector was given them.
    pub repetition: u64,
    /// Nanoseconds since 1970.
    pub unix_ns: u64,
}

/// A change that was found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// When it was seen.
    pub seen: Moment,
    /// The first repetition after it, most likely.
    pub since: Moment,
    /// Between these two repetitions lies the first after it, at `confidence`.
    pub earliest: Moment,
    /// The later of the two.
    pub latest: Moment,
    /// Of `earliest` and `latest`.
    pub confidence: f64,
    /// Which way.
    pub direction: Direction,
    /// What `value` and `interval` are.
    pub amount: Amount,
    /// By how much, the time of day taken out.
    pub value: f64,
    /// With so much confidence as few repetitions have.
    pub interval: Interval,
    /// The median before, as measured.
    pub before: f64,
    /// The median afterwards.
    pub after: f64,
}

/// Why a repetition is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refused {
    /// It is no number that a measurement can have.
    #[error("take a repetition into a series: its value is not a finite number of zero or more")]
    NoNumber,
    /// More lost than sent, or nothing sent.
    #[error("take a repetition into a series: it lost more frames than it sent, or sent none")]
    NoCount,
    /// A level among shares of lost frames, or the other way.
    #[error("take a repetition into a series: it is of another kind than those before")]
    OtherKind,
}

/// Over the repetitions of one series.
#[derive(Debug, Clone)]
pub struct Detector {
    settings: Settings,
    kind: Option<Amount>,
    taken: u64,
    past: Past,
    bets: Bets,
    /// The first repetition after the last change, until enough have followed it.
    fresh: Option<Moment>,
}

impl Detector {
    /// Of a series of which nothing is known yet.
    pub fn new(settings: Settings) -> Self {
        let (past, bets) = (Past::default(), Bets::default());
        Self { settings, kind: None, taken: 0, past, bets, fresh: None }
    }

    /// Takes the next repetition; a change where it is the one that shows it. What is refused
    /// leaves the detector as it was.
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

    /// How many repetitions it holds: never more than a bound, however many it took.
    pub fn held(&self) -> usize {
        self.past.len()
    }

    /// How many repetitions it took.
    pub const fn taken(&self) -> u64 {
        self.taken
    }

    fn found(&mut self, seen: Moment, kind: Amount, direction: Direction) -> Option<Change> {
        let points = self.past.latest();
        let residual: Vec<f64> = points.iter().map(Point::residual).collect();
        let when = split(&residual, direction, RECENT)?;
        let change = estimate::change(&points, &when, (seen, kind, direction))?;
        let first = points[when.first].at;
        self.fresh = self.past.settle(first).then_some(first);
        Some(change)
    }
}

/// As a number, and what is to be said of its changes.
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

/// Levels are compared by their logarithms; zero is as far below everything as a double can say.
fn on_scale(kind: Amount, value: f64) -> f64 {
    match kind {
        Amount::Ratio => value.max(f64::MIN_POSITIVE).ln(),
        Amount::Difference => value,
    }
}
