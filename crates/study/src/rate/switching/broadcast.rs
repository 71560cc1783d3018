//! Broadcast frames: the rate at which they reach every port, and their latency (RFC 2889 §5.10).
//!
//! One port sends, all others receive. A rate holds only if each of them got every frame. Ports
//! other than the flow's own count by their kernel's counters. Never counts a copy that returned to
//! the sender, nor the first frames of a token bucket, which storm control has.

use measure::{FrameRate, FrameSize};

use super::super::counts::{arrived, slowest_sender, valid_flows};
use super::super::sustained::{Deliveries, Delivery};
use super::super::throughput::{Searched, Terms};
use super::finding::{BroadcastCase, Delays, Receiver};
use super::rig::{Offer, Rig};
use super::{SearchRules, SwitchTest};
use crate::rate::ask_as_search;
use crate::search::{Attempt, Goal, LoadRange, Seen, begin, carry_out};
use crate::session::Tried;
use page::{Caveat, Figure, Key};
use trial::topology::PortRef;
use trial::{Destination, Flow, Gate, Result, Role, Schedule, TestbedError};

const TEST: SwitchTest = SwitchTest::Broadcast;

/// Index of the sending port.
const FROM: usize = 0;

/// Runs the test for every frame size.
pub(super) fn run(rig: &mut Rig<'_, '_>) -> Result<Vec<BroadcastCase>> {
    let [goal] = Terms::from(rig.spec).goals()[..] else { return Ok(Vec::new()) };
    let mut cases = Vec::new();
    for size in rig.spec.frames.clone() {
        let found = search(rig, size, &goal)?;
        let throughput = throughput(rig, size, &goal, &found);
        let mut receivers = Vec::new();
        if let Some(rate) = found.bracket(&goal).low.map(FrameRate) {
            for to in 1..rig.ports.len() {
                receivers.push(receiver(rig, size, rate, to)?);
            }
        }
        cases.push(BroadcastCase { size, throughput, receivers });
    }
    Ok(cases)
}

/// Flows of a trial: the load to all ports, counted by port `to`, and a frame from each other port
/// to make all part of the trial.
fn flows(rig: &Rig<'_, '_>, size: FrameSize, schedule: Schedule, to: usize) -> Vec<Flow> {
    let kind = rig.frames(size, schedule, Destination::Broadcast);
    let alive = rig.frames(FrameSize::MIN, Schedule::Burst(1), Destination::Receiver);
    let load = rig.flow(FROM, to, Role::Measured, kind);
    let others = (1..rig.ports.len()).filter(|port| *port != to);
    let others = others.map(|from| rig.flow(from, FROM, Role::Load, alive.clone()));
    std::iter::once(load).chain(others).collect()
}

fn search(rig: &mut Rig<'_, '_>, size: FrameSize, goal: &Goal) -> Result<Searched> {
    let Some(most) = highest(rig, size)? else { return Ok(Searched::default()) };
    let mut search = begin(&[*goal], LoadRange::below(most, goal.final_duration));
    let mut deliveries = Deliveries::default();
    let results = carry_out(search.as_mut(), |attempt| {
        let tried = ask_as_search(rig, true, |rig| offer(rig, size, attempt))?;
        if let Some(one) = delivery(&tried, &rig.ports, attempt, goal.width) {
            deliveries.push(one);
            return Ok(Some(one.search_result()));
        }
        let beyond = || Seen::BeyondTester { lossless: tried.lossless_load() };
        Ok::<_, TestbedError>(tried.beyond_tester().then(beyond))
    })?;
    let again = deliveries.another_length().filter(|_| rig.spec.rules == SearchRules::Buckets);
    if let Some((rate, duration)) = again {
        let attempt = Attempt { rate: FrameRate(rate.min(most.0)), duration };
        let tried = offer(rig, size, attempt)?;
        deliveries.extend(delivery(&tried, &rig.ports, attempt, goal.width).into_iter().collect());
    }
    Ok(Searched::from_results(results.unwrap_or_default(), deliveries))
}

/// Maximum rate of the port: as the rig knows it, otherwise from a broadcast flood.
fn highest(rig: &mut Rig<'_, '_>, size: FrameSize) -> Result<Option<FrameRate>> {
    if let Some(known) = rig.highest(size) {
        return Ok(Some(known));
    }
    if rig.spec.rules != SearchRules::Buckets {
        return Ok(None);
    }
    let tried = rig.offer(Offer {
        label: format!("{} {size} flood", TEST.as_str()),
        flows: flows(rig, size, Schedule::Greedy, 1),
        duration: rig.spec.duration,
        gate: Gate::Flood,
    })?;
    Ok(valid_flows(&tried).map(|_| slowest_sender(&tried)).filter(|rate| rate.0 > 0.0))
}

fn offer(rig: &mut Rig<'_, '_>, size: FrameSize, attempt: Attempt) -> Result<Tried> {
    rig.offer(Offer {
        label: format!("{} {size} {:.0}/s", TEST.as_str(), attempt.rate.0),
        flows: flows(rig, size, Schedule::Paced(attempt.rate), 1),
        duration: attempt.duration,
        gate: Gate::Strict,
    })
}

/// Delivery of a valid trial; its loss is that of the port that missed most.
fn delivery(tried: &Tried, ports: &[PortRef], attempt: Attempt, width: f64) -> Option<Delivery> {
    tried.valid()?;
    let flow = tried.measured().next()?;
    let got = ports.iter().skip(2).map(|port| arrived(&tried.record, port));
    let least = got.min().unwrap_or(u64::MAX).min(flow.received.unique);
    let mut one = Delivery::from_flows(&[flow], slowest_sender(tried), attempt.duration, width);
    one.lost = flow.sent.saturating_sub(least);
    Some(one)
}

fn throughput(rig: &Rig<'_, '_>, size: FrameSize, goal: &Goal, found: &Searched) -> Figure {
    let mut row = rig.row(TEST, Some(size));
    found.describe(goal, f64::from(size.octets()), &mut row);
    if rig.highest(size).is_none() {
        row.caveats.insert(Caveat::MediaRateUnknown);
    }
    let bypass = rig.flood_of_cables(size);
    row.verdict = rig.judge(&found.evidence(goal, bypass, rig.line_rate(size)));
    row.set(Key::From, rig.ports[FROM].to_string());
    found.figure(goal, 1.0, &row)
}

/// Measures the delays of a port's copies at the rate that reaches all ports.
fn receiver(
    rig: &mut Rig<'_, '_>,
    size: FrameSize,
    rate: FrameRate,
    to: usize,
) -> Result<Receiver> {
    let offer = Offer {
        label: format!("{} {size} latency to port {}", TEST.as_str(), to + 1),
        flows: flows(rig, size, Schedule::Paced(rate), to),
        duration: rig.spec.duration,
        gate: Gate::Strict,
    };
    let tried = rig.offer(offer)?;
    let mut row = rig.row(TEST, Some(size));
    row.set(Key::From, rig.ports[FROM].to_string());
    let port = rig.ports[to].to_string();
    row.set(Key::To, port.as_str());
    let delays = tried.valid().and_then(|_| tried.measured().next()?.delays.as_ref());
    Ok(Receiver { port, delays: Delays::new(delays.map(|delays| &delays.histogram), row) })
}
