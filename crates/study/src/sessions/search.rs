//! Searches of the sessions study: the highest rate of new connections, by the search for a
//! throughput, and the largest number at once, by that for a whole number.
//!
//! Owns the order of their trials on a path. Never makes a figure.

use measure::{FrameRate, Nanos};

use super::cell::{self, Load, Offer};
use super::{SessionsSpec, SessionsTest};
use crate::Noted;
use crate::search::{
    Answer, FailedBy, Goal, GoalName, GoalResult, Largest, LoadRange, Scale, Within, begin,
    carry_out, largest,
};
use crate::session::Session;
use crate::verdict::{Bracket, Driven};
use crate::ways::Way;
use trial::record::{Failures, SessionsRecord};
use trial::{FASTEST_OPENING, Result};

/// First number of connections at once.
const FIRST: u64 = 1_000;

/// Rate at which connections to be held are opened if no rate was found.
const OPENING: f64 = 1_000.0;

/// Share of the rate found at which connections to be held are opened.
const OPENING_SHARE: f64 = 0.5;
/// Factor up to which rates are searched above that of a tester whose SYNs were dropped.
const ABOVE_HELD_UP: f64 = 64.0;

/// Result of a search on one path.
#[derive(Debug, Clone, Default)]
pub(super) struct Searched {
    /// Highest load that passed, and the lowest that failed on the path.
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    /// Failed connections of the loads that did not pass.
    pub(super) failed: Failures,
    /// Rate at which connections to be held were opened.
    pub(super) opening: Option<f64>,
    pub(super) trials: u64,
    pub(super) noted: Noted,
    /// True if a trial failed for another reason than the tester's limits.
    pub(super) broken: bool,
}

impl Searched {
    /// Bounds as evidence: those of the path.
    pub(super) const fn bracket(&self) -> Bracket {
        Bracket { low: self.low, high: self.high }
    }

    /// Connections that failed beyond the value were lost on the path.
    pub(super) fn driven(&self) -> Driven {
        Driven::if_lost(self.high.is_some())
    }
}

/// Goal of the search for a rate: in one of two trials no connection fails (loss verification of
/// ETSI GS NFV-TST 009 §12.3.3).
fn goal(spec: &SessionsSpec) -> Goal {
    Goal {
        initial_duration: spec.duration.min(spec.final_duration),
        final_duration: spec.final_duration,
        duration_sum: spec.final_duration * 2,
        width: spec.precision.get(),
        tester_width: spec.precision.get().max(0.05),
        ..Goal::quick(GoalName::Tst009)
    }
}

/// Highest rate at which the tester may open connections, from a trial that opened as many as it
/// could. An unanswered SYN keeps its place until it times out: the rate is then no limit of the
/// tester, which is searched above it.
fn fastest(seen: &SessionsRecord) -> f64 {
    let begun = seen.begin_rate().0;
    let held_up = seen.failed.timed_out > 0;
    if held_up { (begun * ABOVE_HELD_UP).min(FASTEST_OPENING.0) } else { begun }
}

/// Searches the highest rate of new connections, up to `ceiling`.
pub(super) fn rate(
    spec: &SessionsSpec,
    session: &mut Session<'_>,
    way: Way,
    ceiling: f64,
) -> Result<Searched> {
    let mut found = Searched::default();
    let test = SessionsTest::Rate;
    let greedy = Offer { way, test, load: Load::Greedy, duration: spec.duration, before: 0 };
    let tried = greedy.run(spec, session)?;
    found.noted.observe(&tried);
    let most = cell::record_of(&tried).map_or(0.0, fastest).min(ceiling);
    if most <= 0.0 {
        found.broken = true;
        return Ok(found);
    }
    let range = LoadRange::below(FrameRate(most), spec.final_duration);
    let mut search = begin(&[goal(spec)], range);
    let mut asked: Vec<(f64, Nanos)> = Vec::new();
    let results = carry_out(search.as_mut(), |attempt| {
        let (rate, duration) = (attempt.rate.0, attempt.duration);
        let before = asked.iter().filter(|other| **other == (rate, duration)).count() as u32;
        asked.push((rate, duration));
        let offer = Offer { way, test, load: Load::Rate(rate), duration, before };
        let tried = offer.run(spec, session)?;
        found.noted.observe(&tried);
        if let Some(seen) = cell::valid(&tried) {
            found.failed.add(&seen.failed);
        }
        Ok(cell::searched(&tried))
    })?;
    found.trials = asked.len() as u64 + 1;
    match results.as_deref() {
        Some([result, ..]) => found.take(result),
        _ => found.broken = true,
    }
    Ok(found)
}

impl Searched {
    fn take(&mut self, result: &GoalResult) {
        self.low = result.relevant_lower.map(|rate| rate.0);
        let on_path = |failure: &crate::search::Failure| failure.by == FailedBy::Loss;
        self.high = result.relevant_upper.filter(on_path).map(|failure| failure.rate.0);
    }

    fn take_number(&mut self, found: &Largest) {
        self.low = found.holds.map(|number| number as f64);
        self.high = found.fails.filter(|_| !found.by_tester).map(|number| number as f64);
        self.broken = found.broken;
    }
}

/// Rate at which connections to be held are opened on a path.
pub(super) fn opening(spec: &SessionsSpec, rate: Option<&Searched>) -> f64 {
    let half = rate.and_then(|found| found.low).map(|low| low * OPENING_SHARE);
    spec.opening.map(super::spec::OpeningRate::get).or(half).unwrap_or(OPENING).max(1.0)
}

/// Extent of the search for a number of connections at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Filling {
    /// Largest number to try.
    pub(super) most: u64,
    /// Rate at which they are opened, a second.
    pub(super) opening: f64,
}

/// Searches the largest number of connections at once.
pub(super) fn concurrent(
    spec: &SessionsSpec,
    session: &mut Session<'_>,
    way: Way,
    Filling { most, opening }: Filling,
) -> Result<Searched> {
    let mut found = Searched { opening: Some(opening), ..Searched::default() };
    let within = Within {
        width: spec.precision.get(),
        scale: Scale::Logarithmic,
        verifications: 1,
        ..Within::exactly(FIRST.min(most), most)
    };
    let mut asked: Vec<u64> = Vec::new();
    let result = largest(within, |count| {
        let before = asked.iter().filter(|other| **other == count).count() as u32;
        asked.push(count);
        let load = Load::Held { count, opening };
        let (test, duration) = (SessionsTest::Concurrent, spec.hold);
        let tried = Offer { way, test, load, duration, before }.run(spec, session)?;
        found.noted.observe(&tried);
        Ok(match cell::valid(&tried) {
            Some(seen) => {
                found.failed.add(&seen.failed);
                Answer::from(seen.failed.total() == 0 && seen.opened >= count)
            }
            None if tried.beyond_tester() => Answer::BeyondTester,
            None => Answer::Unknown,
        })
    })?;
    found.trials = asked.len() as u64;
    found.take_number(&result);
    Ok(found)
}
