//! How many new stations a second the device learns.
//!
//! Owns the search for the rate, and what is taken off for a queue that takes some in at once:
//! overloads of two numbers of stations tell the queue from the rate exactly, as two durations tell
//! a buffer from a port. Few stations fit into any queue, so that they tell nothing of a rate.

use super::trials::{Shown, Speech, Trials, Unknown};
use crate::search::{Answer, Within, largest};
use page::Caveat;
use trial::{Result, TestbedError};

/// RFC 2889 §5.8: as many stations as are known for sure, of these the most that are.
pub(super) const STATIONS: [u64; 4] = [4_096, 2_048, 1_024, 512];
/// How often each of them speaks to see whether the table holds them all.
pub(super) const ROUNDS: u32 = 3;
/// The first rate.
pub(super) const FIRST_RATE: u64 = 1_000;
/// How often stations speak at the slowest rate, to see for how many a frame is lost.
pub(super) const CONTROLS: u32 = 3;
/// Standard deviations that make a difference.
const FAR: f64 = 4.0;
/// A queue that takes in more than this share of the stations leaves nothing to tell a rate by.
const MOST_QUEUED: f64 = 0.25;
/// A queue of so many would not show where no rate was too high.
const UNSEEN_QUEUE: f64 = 64.0;

/// Of the control's frames more than this share are not lost or late by chance.
const MOST_OF_KNOWN: f64 = 0.002;

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LearningRate {
    /// How many stations had to be learned.
    pub(super) stations: u64,
    /// Frames a second, of which the least and the most; no most where no rate was too high.
    pub(super) rate: (f64, f64, Option<f64>),
    /// How many are taken in at once on top.
    pub(super) queue: Option<f64>,
    /// Frames that teach nothing are not forwarded any faster: the limit may be the device's at
    /// forwarding, and only bounds it at learning.
    pub(super) by_forwarding: bool,
}

/// The rate, or why there is none.
pub(super) fn find(
    trials: &mut Trials<'_, '_, '_>,
    most: u64,
) -> Result<Result<LearningRate, Caveat>> {
    if !trials.floods_are_seen()? {
        return Ok(Err(Caveat::FloodsNotSeen));
    }
    let Some(stations) = fitting(trials)? else { return Ok(Err(Caveat::LearningConfounded)) };
    let slowest = Speech::slowest(stations, 1).rate;
    // That no frame was lost in so few controls does not say that none ever is.
    let mut missed: f64 = 1.0;
    for _ in 0..CONTROLS {
        let Some(unknown) = unknown(trials, stations, slowest)? else {
            return Ok(Err(Caveat::NoValidTrial));
        };
        missed = missed.max(unknown.stations);
    }
    let allowed = missed + FAR * missed.sqrt();
    let within = Within {
        known: Some(slowest),
        width: trials.rig.spec.precision.get(),
        // A frame that was lost by chance is not lost twice.
        verifications: 1,
        ..Within::exactly(FIRST_RATE.clamp(slowest + 1, most.max(slowest + 1)), most)
    };
    let found = largest(within, |rate| {
        let unknown = unknown(trials, stations, rate)?;
        let answer = |unknown: Unknown| Answer::from(unknown.stations <= allowed);
        Ok::<_, TestbedError>(unknown.map_or(Answer::Unknown, answer))
    })?;
    let (Some(holds), false) = (found.holds, found.broken) else {
        return Ok(Err(Caveat::NoValidTrial));
    };
    let all = stations as f64;
    let Some(fails) = found.fails else {
        let least = holds as f64 * (1.0 - UNSEEN_QUEUE / all);
        return Ok(Ok(LearningRate {
            stations,
            rate: (least, least, None),
            queue: None,
            by_forwarding: false,
        }));
    };
    // The control: as many frames as fast, of one address that is known.
    let controlled = trials.has_control();
    let short = if controlled { trials.short_of_known(stations, fails)? } else { Some(0.0) };
    let Some(short) = short else { return Ok(Err(Caveat::NoValidTrial)) };
    let by_forwarding = short > allowed.min(MOST_OF_KNOWN * all);
    let Some((queue, error)) = queue(trials, stations, (2 * fails).min(most.max(fails)))? else {
        return Ok(Err(Caveat::NoValidTrial));
    };
    if queue + error > MOST_QUEUED * all {
        return Ok(Err(Caveat::LearningConfounded));
    }
    let less = |queue: f64| holds as f64 * (1.0 - queue.max(0.0) / all);
    let (least, queued) = (less(queue + error + allowed), queue.max(0.0));
    let rate = if by_forwarding {
        // A queue that the overload did not fill hides in what was learned, not in the control.
        let least = least.min(fails as f64 * (1.0 - short / all));
        (least, least, None)
    } else {
        (less(queue), least, Some(fails as f64))
    };
    Ok(Ok(LearningRate { stations, rate, queue: Some(queued), by_forwarding }))
}

/// The most stations that the table holds, where they speak as slowly as there is time for.
fn fitting(trials: &mut Trials<'_, '_, '_>) -> Result<Option<u64>> {
    let asked = u64::from(trials.rig.spec.stations.get());
    for stations in STATIONS.into_iter().filter(|stations| *stations <= asked) {
        let speech = Speech::slowest(stations, ROUNDS);
        if trials.ask(stations as u32, speech)? == Shown::Known {
            return Ok(Some(stations));
        }
    }
    Ok(None)
}

/// How many of them were not learned as each spoke once.
fn unknown(trials: &mut Trials<'_, '_, '_>, stations: u64, rate: u64) -> Result<Option<Unknown>> {
    Ok(match trials.ask(stations as u32, Speech { rate, rounds: 1 })? {
        Shown::Known => Some(Unknown { stations: 0.0, error: 0.0 }),
        Shown::Flooded(unknown) => Some(unknown),
        Shown::Unusable | Shown::Lossy => None,
    })
}

/// How many stations are learned at once, whatever the rate, and the error of that: of N at an
/// overload N * R / rate + queue are learned, of N / 2 half as many and the queue.
fn queue(
    trials: &mut Trials<'_, '_, '_>,
    stations: u64,
    overload: u64,
) -> Result<Option<(f64, f64)>> {
    let half = stations / 2;
    let of_all = unknown(trials, stations, overload)?;
    let of_half = unknown(trials, half, overload)?;
    let (Some(of_all), Some(of_half)) = (of_all, of_half) else { return Ok(None) };
    let learned = |stations: u64, unknown: Unknown| stations as f64 - unknown.stations;
    let queue = 2.0 * learned(half, of_half) - learned(stations, of_all);
    // A frame or two at the edges, and what losses add.
    let error = 2.0 + FAR * (2.0 * of_half.error).hypot(of_all.error);
    Ok(Some((queue, error)))
}
