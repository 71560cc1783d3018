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
use crate::session::{Session, Tried};
use crate::verdict::{Bracket, Driven};
use crate::ways::Way;
use trial::record::{Failures, SessionsRecord};
use trial::{FASTEST_OPENING, Result, Transport};

/// First number of connections at once.
const FIRST: u64 = 1_000;

/// Rate at which connections to be held are opened if no rate was found.
const OPENING: f64 = 1_000.0;

/// Share of the rate found at which connections to be held are opened.
const OPENING_SHARE: f64 = 0.5;

/// Connections of which each is silent for another time, evenly up to the longest.
const IDLE: u64 = 1_500;

/// First rate of UDP flows, and how far above the one that failed they are searched once more if it
/// passes after a rest.
const FIRST_RATE: f64 = 100.0;
const HIGHER: f64 = 4.0;

/// Factor by which as many UDP flows as failed are opened more slowly: a table that they fill is
/// full then too, and a limit of the rate is not reached.
const SLOWER: f64 = 10.0;

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
    /// True if the flows of the load that failed also fail when they are opened slowly: then their
    /// number is too high, and the limit of the rate is not known.
    pub(super) filled: bool,
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

/// Extent of the search for a rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Highest rate to try.
    pub(super) ceiling: f64,
    /// Time in which the device forgets UDP flows.
    pub(super) rest: Nanos,
}

/// Searches the highest rate of new connections. Failures of UDP flows are believed after a rest
/// only, as those of earlier trials may have filled the device's table.
pub(super) fn rate(
    spec: &SessionsSpec,
    session: &mut Session<'_>,
    way: Way,
    Pace { ceiling, rest }: Pace,
) -> Result<Searched> {
    let found = Searched::default();
    let mut rates = Rates { spec, session, way, rest, found, asked: Vec::new() };
    let most = match spec.transport {
        Transport::Tcp => rates.greedy()?.min(ceiling),
        Transport::Udp => rates.ascend(ceiling)?,
    };
    if most <= 0.0 {
        rates.found.broken = true;
        return Ok(rates.found);
    }
    rates.search(most, false)?;
    if spec.transport == Transport::Udp {
        rates.confirm((most * HIGHER).min(ceiling))?;
    }
    rates.found.trials = rates.asked.len() as u64 + u64::from(spec.transport.is_tcp());
    Ok(rates.found)
}

/// Trials of a search for a rate.
struct Rates<'a, 's> {
    spec: &'a SessionsSpec,
    session: &'a mut Session<'s>,
    way: Way,
    rest: Nanos,
    found: Searched,
    asked: Vec<(f64, Nanos)>,
}

impl Rates<'_, '_> {
    /// Highest rate to try, from a trial that opens as many connections as it can.
    fn greedy(&mut self) -> Result<f64> {
        let (way, test, duration) = (self.way, SessionsTest::Rate, self.spec.duration);
        let greedy =
            Offer { way, test, load: Load::Greedy, duration, before: 0, rest: Nanos::ZERO };
        let tried = greedy.run(self.spec, self.session)?;
        self.found.noted.observe(&tried);
        Ok(cell::record_of(&tried).map_or(0.0, fastest))
    }

    /// Highest rate to try, by doubling it until flows fail: more of them would only fill the
    /// device's table.
    fn ascend(&mut self, ceiling: f64) -> Result<f64> {
        let mut rate = FIRST_RATE.min(ceiling);
        loop {
            let tried = self.try_one(rate, self.spec.duration, Nanos::ZERO)?;
            if !passes(&tried) || rate >= ceiling {
                return Ok(rate);
            }
            rate = (rate * 2.0).min(ceiling);
        }
    }

    /// Searches up to `most`. If `rested`, loads that fail are tried once more after a rest; UDP
    /// loads of which nothing passes always are.
    fn search(&mut self, most: f64, rested: bool) -> Result<()> {
        let udp = self.spec.transport == Transport::Udp;
        let range = LoadRange::below(FrameRate(most), self.spec.final_duration);
        let mut search = begin(&[goal(self.spec)], range);
        let results = carry_out(search.as_mut(), |attempt| {
            let (rate, duration) = (attempt.rate.0, attempt.duration);
            let mut tried = self.try_one(rate, duration, Nanos::ZERO)?;
            let seen = cell::record_of(&tried).filter(|seen| seen.failed.total() > 0);
            if seen.is_some_and(|seen| rested || (udp && seen.opened == 0)) {
                tried = self.try_one(rate, duration, self.rest)?;
            }
            if let Some(seen) = cell::valid(&tried) {
                self.found.failed.add(&seen.failed);
            }
            Ok(cell::searched(&tried))
        })?;
        match results.as_deref() {
            Some([result, ..]) => self.found.take(result),
            _ => self.found.broken = true,
        }
        Ok(())
    }

    fn try_one(&mut self, rate: f64, duration: Nanos, rest: Nanos) -> Result<Tried> {
        let asked = (rate, duration);
        let before = self.asked.iter().filter(|other| **other == asked).count() as u32;
        self.asked.push(asked);
        let (way, test, load) = (self.way, SessionsTest::Rate, Load::Rate(rate));
        let offer = Offer { way, test, load, duration, before, rest };
        let tried = offer.run(self.spec, self.session)?;
        self.found.noted.observe(&tried);
        Ok(tried)
    }

    /// Tries the load that failed once more after a rest. If it passes then, the search is repeated
    /// with rests. If as many flows fail that are opened slowly, their rate is not the limit.
    fn confirm(&mut self, most: f64) -> Result<()> {
        let Some(high) = self.found.high else { return Ok(()) };
        let longest = self.spec.final_duration;
        if passes(&self.try_one(high, longest, self.rest)?) {
            self.search(most, true)?;
        }
        let Some(high) = self.found.high else { return Ok(()) };
        let slow = self.try_one(high / SLOWER, longest * SLOWER as u64, self.rest)?;
        if !passes(&slow) {
            (self.found.high, self.found.filled) = (None, true);
        }
        Ok(())
    }
}

fn passes(tried: &Tried) -> bool {
    cell::valid(tried).is_some_and(|seen| seen.failed.total() == 0)
}

/// Longest silence up to `longest` after which a device still lets the far end's packets in, by
/// one trial whose connections are silent for times of their own.
pub(super) fn idle(
    spec: &SessionsSpec,
    session: &mut Session<'_>,
    way: Way,
    longest: Nanos,
) -> Result<Searched> {
    let mut found = Searched { trials: 1, ..Searched::default() };
    let (test, load) = (SessionsTest::Idle, Load::Idle { count: IDLE });
    let duration = longest + spec.active.unwrap_or(Nanos::ZERO);
    let offer = Offer { way, test, load, duration, before: 0, rest: Nanos::ZERO };
    let tried = offer.run(spec, session)?;
    found.noted.observe(&tried);
    let Some(seen) = cell::valid(&tried) else {
        found.broken = true;
        return Ok(found);
    };
    found.failed = seen.failed;
    let [alive, silent] = [seen.oldest_alive, seen.youngest_silent];
    let alive = alive.unwrap_or(Nanos::ZERO).0 as f64;
    // Where some are silent sooner than others are alive, the time is anywhere between.
    let silent = silent.map(|silent| silent.0 as f64);
    found.low = Some(silent.map_or(alive, |silent| silent.min(alive)));
    found.high = silent.map(|silent| silent.max(alive));
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
    /// Time before the first trial, in which the device forgets the flows of other tests.
    pub(super) rest: Nanos,
    /// Rate at which they are opened, a second.
    pub(super) opening: f64,
}

/// Searches the largest number of connections at once.
pub(super) fn concurrent(
    spec: &SessionsSpec,
    session: &mut Session<'_>,
    way: Way,
    Filling { most, rest, opening }: Filling,
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
        let rest = if asked.is_empty() { rest } else { Nanos::ZERO };
        asked.push(count);
        let load = Load::Held { count, opening };
        let (test, duration) = (SessionsTest::Concurrent, spec.hold);
        let tried = Offer { way, test, load, duration, before, rest }.run(spec, session)?;
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
