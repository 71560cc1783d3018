//! How many stations the device knows at once: the largest number of which none was flooded for.
//!
//! Owns the search and what is asked before a flood may be called a full table: again, more slowly,
//! and of twice as many. A table's size is the same however fast stations speak; a slow learner's
//! is not.

use super::trials::{Shown, Speech, Trials, Unknown};
use crate::search::{Answer, Within, largest};
use page::Caveat;
use trial::{Result, TestbedError};

/// How often each station speaks: with a loss of 1 in 1,000 one of a thousand million stays
/// unknown.
const ROUNDS: u32 = 3;
/// The first number of stations to try.
pub(super) const FEW: u64 = 64;
/// At least so many fill whatever queue stands before a table that learns slowly.
const MANY: u64 = 1_024;
/// By how much more slowly stations speak to tell a full table from a slow learner.
pub(super) const SLOWER: u64 = 8;
/// Less than this is no difference that a slow learner would have to show.
const AT_LEAST_SLOWER: u64 = 2;
/// Of the stations beyond what a table holds at least this share is flooded for.
const BEYOND: f64 = 0.1;
/// Standard deviations that make a difference.
const FAR: f64 = 4.0;
/// How often a search may go on at a slower rate.
const MOST_SEARCHES: u32 = 12;

/// What was found, without the ports' own addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Capacity {
    /// So many were all known.
    pub(super) known: Option<u64>,
    pub(super) limit: Limit,
    /// Frames a second at which stations spoke in the end.
    pub(super) learn_rate: u64,
}

/// What ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// One of so many was flooded for, and only the table's size explains it.
    Full(u64),
    /// No more were tried.
    Tried,
    /// Something that is no full table, or that can't be told from one.
    Untold(Caveat),
}

/// What floods for so many stations were.
enum Cause {
    Table,
    /// Fewer were flooded for as stations spoke at this rate, or none.
    Rate(u64),
    Untold(Caveat),
}

/// The most of `most` stations that were known.
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
        match cause(trials, (fails, most), learn_rate)? {
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

/// Why some of `fails` stations were flooded for at a rate: the same again more slowly, which
/// neither a lost frame nor a slow learner floods for twice; then so many that a table must flood
/// for most of them, at both rates.
fn cause(trials: &mut Trials<'_, '_, '_>, (fails, most): (u64, u64), rate: u64) -> Result<Cause> {
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
        // The longer it takes the fewer are known: it forgets.
        Cause::Untold(Caveat::LearningConfounded)
    } else if grows(slow, many - fails) {
        Cause::Table
    } else {
        Cause::Untold(Caveat::TableNotShown)
    })
}

/// Whether floods are for a good part of the stations that are too many.
fn grows(unknown: Unknown, beyond: u64) -> bool {
    unknown.stations + 1.0 >= BEYOND * beyond as f64
}
