//! Capacity of the address table: the largest number of stations without flooding.
//!
//! Owns the search and the checks before a flood counts as a full table: again, more slowly, and
//! with twice as many. The size of a table does not depend on the stations' rate; a slow learner's
//! limit does.

use super::trials::{Shown, Speech, Trials, Unknown};
use crate::search::{Answer, Within, largest};
use page::Caveat;
use trial::{Result, TestbedError};

/// Frames that each station sends: with a loss of 1 in 1,000, one of a thousand million stations
/// stays unknown.
const ROUNDS: u32 = 3;
/// First number of stations to try.
pub(super) const FEW: u64 = 64;
/// Number of stations that fills any queue before a table that learns slowly.
const MANY: u64 = 1_024;
/// Factor by which stations send more slowly, to separate a full table from a slow learner.
pub(super) const SLOWER: u64 = 8;
/// Smallest factor at which a slow learner would show a difference.
const AT_LEAST_SLOWER: u64 = 2;
/// Minimum share of the stations beyond a table's size that must be flooded.
const BEYOND: f64 = 0.1;
/// Standard deviations of a significant difference.
const FAR: f64 = 4.0;
/// Maximum number of times that a search may continue at a slower rate.
const MOST_SEARCHES: u32 = 12;

/// Result of the search, without the ports' own addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Capacity {
    /// Number of stations that were all known; `None` if none.
    pub(super) known: Option<u64>,
    pub(super) limit: Limit,
    /// Frames a second that stations sent in the end.
    pub(super) learn_rate: u64,
}

/// Reason for the end of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// With this many stations, frames were flooded, and only the table's size explains it.
    Full(u64),
    /// No more stations were tried.
    Tried,
    /// Undetermined: no full table, or not distinguishable from one.
    Untold(Caveat),
}

/// Cause of floods for some stations.
enum Cause {
    Table,
    /// The learning rate: at this rate fewer or no stations were flooded.
    Rate(u64),
    Untold(Caveat),
}

/// Searches for the maximum number of known stations, up to `most`.
pub(super) fn find(trials: &mut Trials<'_, '_, '_>, most: u64) -> Result<Capacity> {
    let mut learn_rate = trials.rig.spec.learn_rate.get().min(trials.link_rate());
    let mut known = None;
    let done = |known, limit, learn_rate| Ok(Capacity { known, limit, learn_rate });
    if !trials.floods_are_seen()? {
        return done(known, Limit::Untold(Caveat::FloodsNotSeen), learn_rate);
    }
    let mut first = FEW.min(most);
    for _ in 0..MOST_SEARCHES {
        let mut doubt = Caveat::NoValidTrial;
        let within = Within { known, ..Within::exactly(first, most) };
        let found = largest(within, |stations| {
            Ok::<_, TestbedError>(match trials.ask(stations as u32, at(learn_rate, stations))? {
                Shown::Known => Answer::Holds,
                Shown::Flooded(_) => Answer::Fails,
                Shown::Unusable => Answer::Unknown,
                Shown::Lossy => {
                    doubt = Caveat::TableNotShown;
                    Answer::Unknown
                }
            })
        })?;
        known = found.holds;
        let fails = match found.fails {
            _ if found.broken => return done(known, Limit::Untold(doubt), learn_rate),
            None => return done(known, Limit::Tried, learn_rate),
            Some(fails) => fails,
        };
        match cause(trials, fails, most, learn_rate)? {
            Cause::Table => return done(known, Limit::Full(fails), learn_rate),
            Cause::Untold(doubt) => return done(known, Limit::Untold(doubt), learn_rate),
            Cause::Rate(slower) => (learn_rate, first) = (slower, fails),
        }
    }
    done(known, Limit::Untold(Caveat::LearningConfounded), learn_rate)
}

pub(super) fn at(rate: u64, stations: u64) -> Speech {
    Speech { rate, rounds: ROUNDS }.in_time(stations)
}

/// Finds the cause of floods with `fails` stations. Repeats the trial more slowly, as lost frames
/// or slow learning would not cause a second flood. Then tries so many stations at both rates that
/// a table must flood most of them.
fn cause(trials: &mut Trials<'_, '_, '_>, fails: u64, most: u64, rate: u64) -> Result<Cause> {
    let in_time = Speech::most_stations(rate / AT_LEAST_SLOWER, ROUNDS);
    let many = (2 * fails).max(MANY).min(most).min(in_time).max(fails);
    let fast = at(rate, many);
    let slow = at(rate / SLOWER, many);
    if slow.rate * AT_LEAST_SLOWER > fast.rate {
        return Ok(Cause::Untold(Caveat::LearningConfounded));
    }
    match trials.ask(fails as u32, slow)? {
        Shown::Known => return Ok(Cause::Rate(slow.rate)),
        Shown::Flooded(_) => {}
        Shown::Unusable => return Ok(Cause::Untold(Caveat::NoValidTrial)),
        Shown::Lossy => return Ok(Cause::Untold(Caveat::TableNotShown)),
    }
    let (fast, slow) =
        (trials.ask(many as u32, fast)?, (trials.ask(many as u32, slow)?, slow.rate));
    let (Shown::Flooded(fast), (Shown::Flooded(slow), slow_rate)) = (fast, slow) else {
        return Ok(Cause::Untold(Caveat::TableNotShown));
    };
    let difference = fast.stations - slow.stations;
    let resolved = 1.0 + FAR * fast.error.hypot(slow.error);
    Ok(if difference > resolved {
        Cause::Rate(slow_rate)
    } else if difference < -resolved {
        // The longer it takes, the fewer are known: the device forgets.
        Cause::Untold(Caveat::LearningConfounded)
    } else if grows(slow, many - fails) {
        Cause::Table
    } else {
        Cause::Untold(Caveat::TableNotShown)
    })
}

/// True if floods cover a sufficient part of the excess stations.
fn grows(unknown: Unknown, beyond: u64) -> bool {
    unknown.stations + 1.0 >= BEYOND * beyond as f64
}
