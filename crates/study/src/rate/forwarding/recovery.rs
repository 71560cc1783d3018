//! Recovery time of a device after an overload (RFC 2544 §26.5): 110 % of its throughput, then 50
//! %. The time runs from the fall to the departure of the last lost frame.
//!
//! Owns the arithmetic of the falling schedule. Never calls a device recovered that lost the last
//! frame.

use measure::{FrameRate, Nanos};

use super::super::counts::{lost, valid_flows};
use super::ForwardingTest;
use super::finding::{EachWay, Overload, RecoveryCase};
use super::rig::{ByDirection, Cell, Direction, Notes, Offer, Rig, each_way, set_direction};
use crate::verdict::Evidence;
use page::{Caveat, Key, Metric, Unit};
use trial::record::DatagramsRecord;
use trial::{Result, Schedule};

const TEST: ForwardingTest = ForwardingTest::Recovery;

/// RFC 2544 §26.5: overload as a ratio to the throughput, limited by the medium's maximum rate.
const OVERLOAD: f64 = 1.10;

/// Smaller overloads for a tester that cannot offer the usual one.
const LESSER: [f64; 2] = [1.05, 1.02];

/// RFC 2544 §26.5: load after the fall, as a ratio to the throughput.
const AFTER: f64 = 0.5;

/// Load that falls once.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Fall {
    from: FrameRate,
    to: FrameRate,
    after: Nanos,
}

impl Fall {
    const fn schedule(self) -> Schedule {
        Schedule::Falling { from: self.from, to: self.to, after: self.after }
    }

    /// Due time of frame `number` after the fall; zero before it.
    fn due(self, number: u64) -> Nanos {
        let before = self.from.0 * self.after.as_secs_f64();
        Nanos::from_secs_f64((number as f64 - before).max(0.0) / self.to.0)
    }
}

/// Result of one trial.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Told {
    /// No frame was lost, so there was nothing to recover from.
    NoLoss,
    /// Time from the fall to the departure of the last lost frame.
    Recovered(Nanos),
    /// The last frame was lost too.
    NotRecovered,
}

impl Told {
    fn from_flow(seen: &DatagramsRecord, fall: Fall) -> Self {
        match seen.received.last_lost(seen.sent) {
            None => Self::NoLoss,
            Some(number) if number + 1 >= seen.sent => Self::NotRecovered,
            Some(number) => Self::Recovered(fall.due(number)),
        }
    }
}

/// Trials of a cell under one overload.
#[derive(Debug, Clone, Default)]
struct Side {
    told: ByDirection<Told>,
    /// True if no trial lost frames.
    lossless: bool,
    trials: u64,
    notes: Notes,
}

/// Measures the recovery from the highest overload that the tester can offer, in every block; over
/// the cable once.
pub(super) fn run(rig: &mut Rig<'_, '_>, cell: Cell) -> Result<RecoveryCase> {
    let Some(found) = rig.found(cell) else {
        return Ok(nothing(rig, cell, Caveat::NoThroughput));
    };
    // The tester's own limit does not define an overload.
    if !found.driven {
        return Ok(nothing(rig, cell, Caveat::DeviceNotDriven));
    }
    let Some(most) = rig.most(cell)? else {
        return Ok(nothing(rig, cell, Caveat::NoValidTrial));
    };
    let line = rig.line_rate(cell).map_or(f64::INFINITY, |line| line.0);
    let asked = OVERLOAD.min(line / found.rate);
    let first = asked.min(most.0 / found.rate);
    let lesser = LESSER.into_iter().filter(|overload| *overload < first);
    let overloads = std::iter::once(first).chain(lesser).filter(|overload| *overload >= LESSER[1]);
    for overload in overloads.collect::<Vec<f64>>() {
        let from = FrameRate(found.rate * overload);
        let to = FrameRate(found.rate * AFTER);
        let fall = Fall { from, to, after: rig.spec.overload_duration };
        let Some(device) = measure(rig, cell, fall, rig.spec.blocks.get())? else { continue };
        let mut bypass = None;
        if let Some(cable) = rig.bypass_of(cell) {
            bypass = measure(rig, cable, fall, 1)?;
        }
        let cable_lossless = bypass.is_some_and(|bypass| bypass.lossless);
        let below = overload < asked;
        return Ok(of_side(rig, cell, fall, below, &device, cable_lossless));
    }
    Ok(nothing(rig, cell, Caveat::DeviceNotDriven))
}

fn nothing(rig: &Rig<'_, '_>, cell: Cell, why: Caveat) -> RecoveryCase {
    let missing = rig.nothing(TEST, cell, why, Metric::RecoveryTime, Unit::Nanoseconds);
    let times = EachWay::from([(None, missing)]);
    RecoveryCase { traffic: rig.traffic(cell), overload: None, times }
}

/// Measures a cell under the load; `None` if the tester cannot offer it.
fn measure(rig: &mut Rig<'_, '_>, cell: Cell, fall: Fall, blocks: u32) -> Result<Option<Side>> {
    let mut side = Side { lossless: true, ..Side::default() };
    for block in 0..blocks {
        let duration = fall.after + rig.spec.duration;
        let offer = Offer::new(TEST, cell, fall.schedule(), duration).in_block(block);
        let tried = rig.offer(&offer)?;
        side.notes.observe(&tried);
        let Some(flows) = valid_flows(&tried) else {
            if side.trials == 0 && tried.beyond_tester() {
                return Ok(None);
            }
            side.notes.doubt(Caveat::NoValidTrial);
            side.lossless = false;
            continue;
        };
        side.trials += 1;
        side.lossless &= lost(&flows) == 0;
        for (direction, one) in each_way(&flows) {
            side.told.entry(direction).or_default().push(Told::from_flow(one, fall));
        }
    }
    Ok(Some(side))
}

fn of_side(
    rig: &Rig<'_, '_>,
    cell: Cell,
    fall: Fall,
    below: bool,
    side: &Side,
    cable_lossless: bool,
) -> RecoveryCase {
    if side.told.is_empty() {
        return nothing(rig, cell, Caveat::NoValidTrial);
    }
    let ratio = fall.from.0 / fall.to.0 * AFTER;
    let overload = Overload {
        from: fall.from,
        to: fall.to,
        duration: fall.after,
        percent: (1_000.0 * ratio).round() / 10.0,
    };
    let one_way = |(name, told): (&Option<Direction>, &Vec<Told>)| {
        let mut row = rig.row(TEST, cell, &side.notes);
        set_direction(&mut row, *name);
        row.n = side.trials;
        row.set(Key::OverloadRate, overload.from.0);
        row.set(Key::LoadRate, overload.to.0);
        row.set(Key::OverloadPercent, overload.percent);
        row.set(Key::OverloadDuration, overload.duration.0);
        if below {
            row.caveats.insert(Caveat::LoadBelowAsked);
        }
        if told.contains(&Told::NotRecovered) {
            row.caveats.insert(Caveat::NotRecovered);
        }
        let times: Vec<f64> = told
            .iter()
            .filter_map(|told| match told {
                Told::Recovered(time) => Some(time.0 as f64),
                Told::NoLoss | Told::NotRecovered => None,
            })
            .collect();
        if told.iter().all(|told| *told == Told::NoLoss) {
            row.caveats.insert(Caveat::DeviceNotDriven);
        }
        // The cable under the same loads is the control.
        let evidence =
            Evidence::Sight { seen: !times.is_empty(), in_control: Some(!cable_lossless) };
        row.verdict = rig.session.ways.judge(cell.way, &evidence);
        // With one failure to recover, the recovery times of the others are not representative.
        let times = if told.contains(&Told::NotRecovered) { &[][..] } else { &times[..] };
        (*name, row.over_blocks(Metric::RecoveryTime, Unit::Nanoseconds, times))
    };
    let times = side.told.iter().map(one_way).collect();
    RecoveryCase { traffic: rig.traffic(cell), overload: Some(overload), times }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_due_by_the_rate_of_their_phase() {
        let fall =
            Fall { from: FrameRate(1_100.0), to: FrameRate(500.0), after: Nanos::from_secs(2) };
        let table = [(0, 0), (2_199, 0), (2_200, 0), (2_201, 2_000_000), (2_700, 1_000_000_000)];
        for (number, ns) in table {
            assert_eq!(fall.due(number), Nanos(ns), "{number}");
        }
    }
}
