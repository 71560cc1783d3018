//! Number of new stations a second that the device learns.
//!
//! Owns the search for the rate, and the correction for a queue that absorbs some at once.
//! Overloads with two numbers of stations separate queue and rate exactly, as two durations
//! separate a buffer from a port. A few stations fit into any queue, so they show nothing of a
//! rate.

use super::trials::{Shown, Speech, Trials, Unknown};
use crate::search::{Answer, Within, largest};
use page::Caveat;
use trial::{Result, TestbedError};

/// RFC 2889 §5.8: numbers of stations to try; the largest that the table surely holds is used.
pub(super) const STATIONS: [u64; 4] = [4_096, 2_048, 1_024, 512];
/// Frames that each station sends in the check that the table holds them all.
pub(super) const ROUNDS: u32 = 3;
/// First rate, in frames a second.
pub(super) const FIRST_RATE: u64 = 1_000;
/// Number of controls at the slowest rate, to count stations that miss a frame.
pub(super) const CONTROLS: u32 = 3;
/// Standard deviations of a significant difference.
const FAR: f64 = 4.0;
/// Share of the stations in the queue above which the rate is undetermined.
const MOST_QUEUED: f64 = 0.25;
/// Queue that would go unnoticed if no rate was too high.
const UNSEEN_QUEUE: f64 = 64.0;

/// Share of the control's frames that may be lost or late by chance.
const MOST_OF_KNOWN: f64 = 0.002;

/// Result of the search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LearningRate {
    /// Number of stations to learn.
    pub(super) stations: u64,
    /// Frames a second, with minimum and maximum; no maximum if no rate was too high.
    pub(super) rate: (f64, f64, Option<f64>),
    /// Stations that are absorbed at once in addition; `None` if no rate was too high.
    pub(super) queue: Option<f64>,
    /// True if known frames are not forwarded any faster. The limit may then be forwarding, and is
    /// only a lower bound of learning.
    pub(super) by_forwarding: bool,
}

/// Searches for the rate; the inner error is the reason if there is none.
pub(super) fn find(
    trials: &mut Trials<'_, '_, '_>,
    most: u64,
) -> Result<Result<LearningRate, Caveat>> {
    if !trials.floods_are_seen()? {
        return Ok(Err(Caveat::FloodsNotSeen));
    }
    let Some(stations) = fitting(trials)? else { return Ok(Err(Caveat::LearningConfounded)) };
    let slowest = Speech::slowest(stations, 1).rate;
    // A few controls without loss do not show that frames are never lost.
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
        // Frames lost by chance are rarely lost twice.
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
    // Control: as many frames at the same rate, from one known address.
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
        // A queue that the overload did not fill affects the learned stations, but not the control.
        let least = least.min(fails as f64 * (1.0 - short / all));
        (least, least, None)
    } else {
        (less(queue), least, Some(fails as f64))
    };
    Ok(Ok(LearningRate { stations, rate, queue: Some(queued), by_forwarding }))
}

/// Maximum number of stations that the table holds at the slowest possible rate.
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

/// Number of stations not learned after one frame each.
fn unknown(trials: &mut Trials<'_, '_, '_>, stations: u64, rate: u64) -> Result<Option<Unknown>> {
    Ok(match trials.ask(stations as u32, Speech { rate, rounds: 1 })? {
        Shown::Known => Some(Unknown { stations: 0.0, error: 0.0 }),
        Shown::Flooded(unknown) => Some(unknown),
        Shown::Unusable | Shown::Lossy => None,
    })
}

/// Number of stations that are learned at once at any rate, with its error. Of N stations at an
/// overload, N * R / rate + queue are learned; of N / 2, half as many and the queue.
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
    // One or two frames at the edges, and the error from losses.
    let error = 2.0 + FAR * (2.0 * of_half.error).hypot(of_all.error);
    Ok(Some((queue, error)))
}
