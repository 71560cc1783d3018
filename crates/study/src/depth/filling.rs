//! Measurement of one output: bursts until it overflows, then every estimator, repeatedly.
//!
//! Owns the lengths of bursts. Counts frames, never octets.

use measure::FrameSize;

use super::burst::Burst;
use super::outlets::Outlet;
use super::rig::{Load, OVERFILLED, Overload, Rig, Seen};
use super::shot::{Drain, Shot, Span, between};
use crate::search::{Answer, Within, largest};
use trial::{Result, TestbedError};

/// Frames of the first burst.
const FIRST: u64 = 64;
/// Share of the maximum possible loss above which a burst kept the queue full for long enough.
const FULL: f64 = 0.4;
/// Smallest loss that counts, in frames; fewer may be lost anywhere.
const LEAST_LOST: u64 = 4;
/// Maximum number of doublings of a burst that should overflow but loses nothing.
const MOST_DOUBLINGS: u32 = 3;
/// Relative width at which the search for a burst ends; at least one frame.
const WIDTH: f64 = 0.002;

/// Outcome of filling an output.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Reach {
    /// The output overflowed with bursts of this length.
    Filled(Burst),
    /// The longest burst was not lost: at least this much fits.
    AtLeast(Span),
    /// The hosts send no faster than the output does.
    NotOverfilled,
    /// The device sent PAUSE frames.
    Paused,
    /// No valid trial.
    NoTrial,
}

/// Estimates of one output, in frames, one per block.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Filling {
    pub(super) outlet: Outlet,
    /// Size of the frames that filled the output.
    pub(super) size: FrameSize,
    pub(super) drain: Option<Drain>,
    pub(super) reach: Reach,
    pub(super) one_shot: Vec<Span>,
    pub(super) delay: Vec<Span>,
    pub(super) burst: Vec<Span>,
}

impl Filling {
    fn only(outlet: Outlet, size: FrameSize, drain: Option<Drain>, reach: Reach) -> Self {
        let (one_shot, delay, burst) = (Vec::new(), Vec::new(), Vec::new());
        Self { outlet, size, drain, reach, one_shot, delay, burst }
    }

    pub(super) fn is_filled(&self) -> bool {
        matches!(self.reach, Reach::Filled(_)) && !self.one_shot.is_empty()
    }

    pub(super) const fn burst(&self) -> Option<Burst> {
        match self.reach {
            Reach::Filled(burst) => Some(burst),
            _ => None,
        }
    }

    /// Queued frames: median of the one-shot bursts.
    pub(super) fn frames(&self) -> Option<f64> {
        let values: Vec<f64> = self.one_shot.iter().map(|span| span.value).collect();
        measure::quantile::median(&values)
    }
}

/// Measures one output; if `whole`, also searches for the longest burst without loss.
pub(super) fn measure_output(
    rig: &mut Rig<'_, '_>,
    outlet: &Outlet,
    size: FrameSize,
    whole: bool,
) -> Result<Filling> {
    let mut outlet = outlet.clone();
    let drain = loop {
        let missing = match rig.overload(&outlet, size)? {
            Overload::Overfilled(drain) => break drain,
            _ if rig.paused => Reach::Paused,
            Overload::KeptUp => Reach::NotOverfilled,
            Overload::NoTrial => Reach::NoTrial,
        };
        if outlet.senders.len() < 2 || outlet.others.is_empty() {
            return Ok(Filling::only(outlet, size, None, missing));
        }
        let more = outlet.others.remove(0);
        outlet.senders.push(more);
    };
    let reach = grow(rig, &outlet, size, drain)?;
    let mut found = Filling::only(outlet, size, Some(drain), reach);
    let Reach::Filled(mut burst) = reach else { return Ok(found) };
    for block in 0..rig.spec.blocks.get() {
        let mut shot = alone(rig, &found, burst, drain, block)?;
        // The burst is too short if a sender was delayed while its length was searched for.
        for _ in 0..MOST_DOUBLINGS {
            if shot.as_ref().is_none_or(|shot| shot.lost() >= LEAST_LOST) {
                break;
            }
            burst = Burst::new(burst.frames * 2, drain.rate, burst.share());
            found.reach = Reach::Filled(burst);
            shot = alone(rig, &found, burst, drain, block)?;
        }
        if let Some(shot) = shot.filter(|shot| shot.lost() >= LEAST_LOST) {
            found.one_shot.push(shot.occupied(drain));
            found.delay.extend(shot.occupancy_from_delay(drain));
        }
        if whole {
            let middle = found.frames().unwrap_or(0.0);
            found.burst.extend(search(rig, &found, middle, burst, drain, block)?);
        }
    }
    Ok(found)
}

/// Sends longer and longer bursts until one loses enough.
fn grow(rig: &mut Rig<'_, '_>, outlet: &Outlet, size: FrameSize, drain: Drain) -> Result<Reach> {
    let mut frames = FIRST;
    loop {
        let load = Load::Burst(frames, frames as f64 / drain.rate);
        let shot = match rig.shoot(&[outlet], size, load, 0)? {
            Seen::Shots(mut shots) => shots.remove(0),
            Seen::Paused => return Ok(Reach::Paused),
            Seen::Nothing => return Ok(Reach::NoTrial),
        };
        if shot.offered < OVERFILLED * drain.rate {
            return Ok(Reach::NotOverfilled);
        }
        let share = drain.rate / shot.offered;
        let most = (rig.spec.longest.as_secs_f64() * shot.offered) as u64;
        let enough = FULL * (1.0 - share) * frames as f64;
        if shot.lost() >= LEAST_LOST && shot.lost() as f64 >= enough {
            let waiting = shot.occupied(drain).value.max(0.0) + shot.held_up(drain);
            let burst = Burst::beyond(waiting, drain.rate, share);
            return Ok(Reach::Filled(Burst::new(
                burst.frames.min(most.max(frames)),
                drain.rate,
                share,
            )));
        }
        if frames >= most {
            let overflowed = shot.lost() >= LEAST_LOST;
            let burst = Burst::new(frames, drain.rate, share);
            let least = shot.occupied(drain);
            return Ok(if overflowed { Reach::Filled(burst) } else { Reach::AtLeast(least) });
        }
        let next = if shot.lost() > 0 {
            let waiting = shot.occupied(drain).value + shot.held_up(drain);
            Burst::beyond(waiting, drain.rate, share).frames.max(frames * 2)
        } else {
            frames * 4
        };
        frames = next.min(most);
    }
}

/// Sends one burst into the output.
fn alone(
    rig: &mut Rig<'_, '_>,
    found: &Filling,
    burst: Burst,
    drain: Drain,
    block: u32,
) -> Result<Option<Shot>> {
    let shots = rig.shoot_evenly(&[&found.outlet], found.size, burst, drain, block)?;
    Ok(shots.and_then(|shots| shots.into_iter().next()))
}

/// Searches for the longest burst without loss, near the estimate of the one-shot burst.
fn search(
    rig: &mut Rig<'_, '_>,
    found: &Filling,
    middle: f64,
    burst: Burst,
    drain: Drain,
    block: u32,
) -> Result<Option<Span>> {
    let expected = middle / (1.0 - burst.share());
    let around = |factor: f64| (expected * factor) as u64;
    let most = burst.frames;
    let first = around(0.95).min(most.saturating_sub(1)).max(1);
    let second = Some((around(1.05) + 2).max(first + 1));
    let within = Within { second, width: WIDTH, ..Within::exactly(first, most) };
    let (mut passed, mut failed): (Option<Shot>, Option<Shot>) = (None, None);
    let searched = largest(within, |frames| {
        let burst = Burst::new(frames, drain.rate, burst.share());
        let Some(shot) = alone(rig, found, burst, drain, block)? else {
            return Ok::<_, TestbedError>(Answer::Unknown);
        };
        let whole = shot.lost() == 0;
        let kept = if whole { &mut passed } else { &mut failed };
        if kept.as_ref().is_none_or(|known| (shot.sent > known.sent) == whole) {
            *kept = Some(shot);
        }
        Ok(Answer::from(whole))
    })?;
    let both = passed.zip(failed).filter(|_| !searched.broken);
    Ok(both.map(|(passed, failed)| between(&passed, &failed, drain)))
}
