//! Validity of trials. Pure: counts in, outcome out.
//!
//! Owns the gates. Never decides what a loss means; only says that it cannot be attributed to the
//! device.

mod lifted;
mod sessions;

use measure::{FrameRate, Nanos};

use crate::books::Counts;
pub use crate::counters::{
    EMULATOR_DELIVERED, EMULATOR_DISPLACED, EMULATOR_ENTERED, EMULATOR_LATE, EMULATOR_OVERFLOW,
    EMULATOR_REFUSED,
};
use crate::counters::{
    HOST_LOSS, LINK_CHANGES, RX_DROPPED, SOFTNET_DROPPED, TESTER_LOSS, TX_DROPPED, is_pause, sum,
};
use crate::other_traffic::{OtherTraffic, other_traffic};
use crate::record::{
    DatagramsRecord, Defect, EchoRecord, ExchangeRecord, FlowRecord, HostUsage, Outcome,
    PortCounters, ReceiptRecord, Side, Usage,
};
use crate::{Datagrams, Echo, Flow, FlowKind, Gate, Path, Role, Schedule, Trial};

/// Largest relative difference between offered and requested load.
pub const OFFERED_LOAD_TOLERANCE: f64 = 0.001;

/// Largest share of frames that an emulated device may hand over late. Above it the device falls
/// behind; below it the machine was merely busy.
pub const EMULATOR_LATE_TOLERANCE: f64 = 0.05;

/// Largest share of frames that may reach the device at the wrong time in a trial with losses; the
/// loss ratio is wrong by at most this much. Applies to frames sent late, and to frames that an
/// emulated device's model saw late.
pub const UNTIMELY_TOLERANCE: f64 = 0.01;

/// Least share of a host's processors used by other programs and the hypervisor that may explain a
/// loss, if it also exceeds the idle share. Any system uses less than this by itself.
pub const FOREIGN_SHARE: f64 = 0.1;

/// Divisor of the residual time: a sender may run into this part of it, so that its last frames
/// have at least as long to arrive.
const OVERRUN_SHARE: u64 = 2;

/// Uncertainty of a program's first and last departure: it may have been woken late for either.
/// Within the tolerance anyway in trials of a second or more.
pub const EDGE: Nanos = Nanos::from_millis(1);

/// Judges a trial that ran to its end. `flows` are in the trial's order.
///
/// Under [`Gate::Flood`] a trial is invalid only if a link flapped or a flow delivered nothing.
/// Flows that wait for answers also need an emulated device that kept up: its delays become theirs.
///
/// Under [`Gate::Uneven`] all counts of strict trials apply, with exceptions: late frames, busy
/// processors, foreign frames, and a device that pauses hosts whose flows all wait for answers or
/// for room. Under neither gate do those make a trial invalid: results state them instead.
///
/// PAUSE frames from a device never invalidate an exchange. A device that is acted on during the
/// trial may take its links down. Mere suspicions, other programs on the processors or late frames,
/// do not count if the accounting places each lost frame in the device.
pub fn judge(
    trial: &Trial,
    flows: &[FlowRecord],
    ports: &[PortCounters],
    hosts: &[HostUsage],
) -> Outcome {
    if flows.len() != trial.flows.len() {
        let (got, asked) = (flows.len(), trial.flows.len());
        return Outcome::Failed { reason: format!("{got} of {asked} flows reported") };
    }
    let mut reasons = if trial.events.is_empty() { link_flaps(ports) } else { Vec::new() };
    for (flow, record) in trial.flows.iter().zip(flows) {
        match flow_defects(flow, record, trial) {
            Ok(defects) => reasons.extend(defects),
            Err(reason) => return Outcome::Failed { reason },
        }
    }
    match trial.gate {
        Gate::Strict => {
            reasons.extend(tester_losses(trial, flows, ports, hosts));
            reasons.extend(overruns(trial, flows));
            reasons.extend(foreign_load(flows, hosts));
            reasons.extend(others_frames(trial, flows, ports, hosts));
            lifted::lift(&mut reasons, trial, Counts { flows, ports, hosts });
        }
        Gate::Uneven => {
            reasons.extend(tester_losses(trial, flows, ports, hosts));
            reasons.extend(overruns(trial, flows));
        }
        Gate::Flood if flows.iter().any(waits_for_answers) => {
            reasons.extend(ports.iter().flat_map(|port| emulator_defects(port, 0)));
        }
        Gate::Flood => {}
    }
    if reasons.is_empty() { Outcome::Valid } else { Outcome::Invalid { reasons } }
}

/// Returns every counter that shows a loss on the tester's side, whatever the gate.
///
/// Three counters cannot tell the trial's frames from others. `rx_dropped` also counts protocols
/// without a listener (a switch's spanning tree). `tx_dropped` and `softnet_dropped` may be the
/// device's if hosts and device share a kernel. They count only if one of the trial's own frames is
/// missing. `tx_dropped` counts only beyond what the device's ports dropped on receipt, and
/// `softnet_dropped` only if no port reports its share of it by `rx_dropped`.
pub fn tester_losses(
    trial: &Trial,
    flows: &[FlowRecord],
    ports: &[PortCounters],
    hosts: &[HostUsage],
) -> Vec<Defect> {
    let lost = flows.iter().map(missed).sum();
    let missing = lost > 0;
    let mut found: Vec<Defect> =
        ports.iter().flat_map(|port| emulator_defects(port, lost)).collect();
    let mut moved = |place: &str, counter: &str, by: u64| {
        if by > 0 {
            let (place, counter) = (place.to_owned(), counter.to_owned());
            found.push(Defect::TesterCounter { place, counter, by });
        }
    };
    let pauses = |name: &str| is_pause(name) && (!may_pause(trial) || name.starts_with("tx"));
    let mut crossed = sum(ports, Side::Device, RX_DROPPED);
    for port in ports.iter().filter(|p| p.side == Side::Tester) {
        for (name, &by) in &port.counters {
            let certain = TESTER_LOSS.contains(&name.as_str()) || pauses(name);
            if certain || (missing && name == RX_DROPPED) {
                moved(&port.place, name, by);
            } else if missing && name == TX_DROPPED {
                let devices = by.min(crossed);
                crossed -= devices;
                moved(&port.place, name, by - devices);
            }
        }
    }
    let told_by_port =
        |p: &PortCounters| p.side == Side::Tester && p.counters.contains_key(RX_DROPPED);
    let softnet_matters = missing && !ports.iter().any(told_by_port);
    for host in hosts {
        for (name, &by) in &host.usage.counters {
            let softnet = softnet_matters && name == SOFTNET_DROPPED;
            if softnet || HOST_LOSS.contains(&name.as_str()) {
                moved(&host.host, name, by);
            }
        }
    }
    for (flow, record) in trial.flows.iter().zip(flows) {
        if let FlowRecord::Datagrams(record) = record {
            moved(&flow.to.to_string(), "socket_drops", record.socket_drops);
        }
    }
    found
}

/// True if PAUSE frames at the hosts are the device's backpressure, not a loss of the tester's.
/// Flows that wait for answers or for room are only slowed by them. An exchange is always such a
/// flow, whatever the gate. Over a direct cable only another host can have sent them.
fn may_pause(trial: &Trial) -> bool {
    let exchanges = |flow: &Flow| matches!(flow.kind, FlowKind::Exchange(_));
    let waits = |flow: &Flow| !matches!(flow.kind, FlowKind::Datagrams(_));
    let flows = &trial.flows;
    trial.path == Path::Device
        && (flows.iter().all(exchanges) || (trial.gate == Gate::Uneven && flows.iter().all(waits)))
}

/// Counters of an emulated device that make its results doubtful, given `lost` missing frames. A
/// frame that the model sees late leaves a queue idle first and competes with others later.
fn emulator_defects(port: &PortCounters, lost: u64) -> Vec<Defect> {
    let told = |name: &str| port.counters.get(name).copied().unwrap_or(0);
    let exceeds = |name: &str, share: f64, of: &str| told(name) as f64 > share * told(of) as f64;
    let displaced = told(EMULATOR_DISPLACED);
    let untimely = exceeds(EMULATOR_DISPLACED, UNTIMELY_TOLERANCE, EMULATOR_ENTERED);
    let found = [
        (EMULATOR_LATE, exceeds(EMULATOR_LATE, EMULATOR_LATE_TOLERANCE, EMULATOR_DELIVERED)),
        (EMULATOR_DISPLACED, untimely || (1..=displaced).contains(&lost)),
        (EMULATOR_OVERFLOW, told(EMULATOR_OVERFLOW) > 0),
        (EMULATOR_REFUSED, told(EMULATOR_REFUSED) > 0),
    ];
    let broken = found.into_iter().filter(|(_, broken)| *broken);
    let defect = |(name, _): (&str, bool)| Defect::TesterCounter {
        place: port.place.clone(),
        counter: name.to_owned(),
        by: told(name),
    };
    broken.map(defect).collect()
}

/// Flows with losses whose senders handed over their last frames when receivers were about to
/// close, or had closed: nobody was there to count those frames.
fn overruns(trial: &Trial, flows: &[FlowRecord]) -> Vec<Defect> {
    let near = (trial.phases.residual / OVERRUN_SHARE).max(EDGE);
    let defect = |(flow, record): (&Flow, &FlowRecord)| {
        let FlowRecord::Datagrams(seen) = record else { return None };
        let (by, lost) = (seen.overran, missed(record));
        (by > near && lost > 0).then_some(Defect::Overrun { flow: flow.id, by, lost })
    };
    trial.flows.iter().zip(flows).filter_map(defect).collect()
}

/// Hosts whose processors were used by others, in a trial with losses.
fn foreign_load(flows: &[FlowRecord], hosts: &[HostUsage]) -> Vec<Defect> {
    if flows.iter().all(|flow| missed(flow) == 0) {
        return Vec::new();
    }
    let defect = |host: &HostUsage| {
        taken_by_others(host).map(|share| Defect::ForeignLoad { host: host.host.clone(), share })
    };
    hosts.iter().filter_map(defect).collect()
}

/// Ports with foreign frames beside the trial's: their counters show both.
fn others_frames(
    trial: &Trial,
    flows: &[FlowRecord],
    ports: &[PortCounters],
    hosts: &[HostUsage],
) -> Vec<Defect> {
    let others = other_traffic(trial, flows, ports, hosts).into_iter();
    others
        .map(|OtherTraffic { place, rate }| Defect::OtherTraffic { place, rate: rate.0 })
        .collect()
}

/// Share of a host's processors used by other programs and the hypervisor, 0…1. `None` if it is
/// below [`FOREIGN_SHARE`], or no more than the idle share: the scheduler then had room for
/// everybody.
pub fn taken_by_others(host: &HostUsage) -> Option<f64> {
    let Usage { busy, stolen, .. } = host.usage;
    let (share, left) = (host.usage.by_others(), 1.0 - busy - stolen);
    (share >= FOREIGN_SHARE && share > left).then_some(share)
}

/// True if a flow's sending depends on the arrival of answers.
const fn waits_for_answers(record: &FlowRecord) -> bool {
    matches!(
        record,
        FlowRecord::Bulk(_)
            | FlowRecord::Exchange(_)
            | FlowRecord::Storage(_)
            | FlowRecord::Sessions(_)
    )
}

/// Number of the flow's frames that did not arrive (for TCP: that were retransmitted).
fn missed(record: &FlowRecord) -> u64 {
    match record {
        FlowRecord::Echo(echo) => echo.answers.lost(echo.sent),
        FlowRecord::Datagrams(datagrams) => datagrams.received.lost(datagrams.sent),
        FlowRecord::Bulk(bulk) => bulk.retransmits(),
        FlowRecord::Exchange(exchange) => exchange.forward.lost + exchange.backward.lost,
        FlowRecord::Storage(storage) => storage.reads.errors + storage.writes.errors,
        FlowRecord::Sessions(sessions) => sessions.failed.total(),
    }
}

fn link_flaps(ports: &[PortCounters]) -> Vec<Defect> {
    let flapped = |p: &&PortCounters| {
        LINK_CHANGES.iter().any(|name| p.counters.get(*name).is_some_and(|by| *by > 0))
    };
    ports.iter().filter(flapped).map(|p| Defect::LinkFlap { place: p.place.clone() }).collect()
}

fn flow_defects(flow: &Flow, record: &FlowRecord, trial: &Trial) -> Result<Vec<Defect>, String> {
    let (arrived, defect) = match (&flow.kind, record) {
        (FlowKind::Echo(asked), FlowRecord::Echo(record)) => {
            (record.answers.unique, echo_load(flow.id, asked, record, trial))
        }
        (FlowKind::Datagrams(asked), FlowRecord::Datagrams(record)) => {
            (record.received.unique, datagram_load(flow.id, asked, record))
        }
        (FlowKind::Bulk(_), FlowRecord::Bulk(record)) => (record.received.0, Vec::new()),
        (FlowKind::Exchange(_), FlowRecord::Exchange(record)) => (payload_seen(record), Vec::new()),
        (FlowKind::Storage(_), FlowRecord::Storage(record)) => {
            (record.reads.count + record.writes.count, Vec::new())
        }
        (FlowKind::Sessions(asked), FlowRecord::Sessions(record)) => {
            return Ok(sessions::defects(flow.id, asked, record, trial.phases.load));
        }
        _ => return Err(format!("flow {} reported as another kind of flow", flow.id)),
    };
    if let FlowRecord::Datagrams(seen) = record
        && let Some(defect) = miscounted(flow.id, seen)
    {
        return Ok(vec![defect]);
    }
    if let FlowRecord::Echo(EchoRecord { remapped: frames @ 1.., .. }) = record {
        return Ok(vec![Defect::MappingChanged { flow: flow.id, frames: *frames }]);
    }
    if arrived == 0 {
        return Ok(vec![Defect::NothingReceived { flow: flow.id }]);
    }
    // A measured flow's record says what it sent; a background load must match its request.
    let uneven = |defect: &Defect| match defect {
        Defect::Late { .. } | Defect::Burst { .. } => true,
        Defect::OfferedLoad { .. } => flow.role == Role::Measured,
        _ => false,
    };
    Ok(match trial.gate {
        Gate::Strict => defect,
        Gate::Uneven => defect.into_iter().filter(|defect| !uneven(defect)).collect(),
        Gate::Flood => Vec::new(),
    })
}

/// Defect of a device's count that applies under any gate: the count is then unusable.
fn miscounted(flow: u16, seen: &DatagramsRecord) -> Option<Defect> {
    let count = seen.at_device.as_ref()?;
    let place = count.port.clone();
    if count.frames.is_none() {
        return Some(Defect::Uncounted { flow, place });
    }
    let counted = count.too_many(seen.sent)?;
    Some(Defect::Overcounted { flow, place, counted, sent: seen.sent })
}

/// Payload in either direction. A pair that a device starves to less than one message still has a
/// result; one that never delivered an octet has none.
fn payload_seen(record: &ExchangeRecord) -> u64 {
    let of = |end: &ReceiptRecord| end.octets.0.max(end.intervals.iter().map(|o| o.0).sum());
    of(&record.forward) + of(&record.backward)
}

/// Checks RFC 2544's constant load: due frames must have left, at the requested rate. A burst must
/// have sent exactly its frames. One frame more or less is never a deviation of a rate.
fn datagram_load(id: u16, asked: &Datagrams, record: &DatagramsRecord) -> Vec<Defect> {
    let sending = record.sending;
    match asked.schedule {
        Schedule::Greedy => Vec::new(),
        Schedule::Burst(frames) if record.sent == frames => Vec::new(),
        Schedule::Burst(frames) => {
            vec![Defect::BurstLength { flow: id, asked: frames, sent: record.sent }]
        }
        Schedule::Paced(rate) => {
            let due = rate.0 * sending.as_secs_f64();
            paced_load(id, asked, record, rate, due)
        }
        Schedule::Falling { from, to, after } => {
            let (high, low) = (sending.min(after), sending.saturating_sub(after));
            let due = from.0 * high.as_secs_f64() + to.0 * low.as_secs_f64();
            let mean = due / sending.as_secs_f64().max(f64::MIN_POSITIVE);
            // A sender that stopped before the change of rate has not shown the load after it.
            let mut defects = paced_load(id, asked, record, FrameRate(mean), due);
            if sending <= after && defects.is_empty() {
                let sent = record.sending_rate().0;
                defects.push(Defect::OfferedLoad { flow: id, asked: to.0, sent });
            }
            defects
        }
    }
}

/// Checks a paced load: `due` frames were to follow the first, at a mean of `rate`.
fn paced_load(
    id: u16,
    asked: &Datagrams,
    record: &DatagramsRecord,
    rate: FrameRate,
    due: f64,
) -> Vec<Defect> {
    let mut defects = Vec::new();
    let gaps = record.sent.saturating_sub(1) as f64;
    let edge = rate.0 * EDGE.as_secs_f64();
    let lost = record.received.lost(record.sent);
    let refused = deviates(record.sent as f64, record.offered as f64);
    // All due frames left, the first of them late, and all arrived: the path carried more than
    // asked.
    let begun_late = gaps > due && record.late > 0 && lost == 0;
    let off_rate = deviates(gaps, due) && (gaps - due).abs() > edge && !begun_late;
    if refused || off_rate || record.sent < 2 {
        let taken = record.sent as f64 / record.offered.max(1) as f64;
        // Where frames were refused, their share counts, however fast the others left.
        let most = if refused { rate.0 * taken } else { f64::INFINITY };
        let sent = record.sending_rate().0.min(most);
        defects.push(Defect::OfferedLoad { flow: id, asked: rate.0, sent });
    }
    if record.longest_burst > u64::from(asked.burst_limit) {
        let (longest, limit) = (record.longest_burst, asked.burst_limit);
        defects.push(Defect::Burst { flow: id, longest, limit });
    }
    // After a pause the device receives as many frames at once as were late. It may lose up to that
    // many more than otherwise: those that found its queue full, for each of which it was idle
    // before.
    let many = record.late as f64 > UNTIMELY_TOLERANCE * record.sent as f64;
    if lost > 0 && (lost <= record.late || many) {
        defects.push(Defect::Late { flow: id, late: record.late, lost });
    }
    defects
}

/// Checks an open loop: all requests must have left; their lateness is part of their latency.
fn echo_load(id: u16, asked: &Echo, record: &EchoRecord, trial: &Trial) -> Vec<Defect> {
    let Schedule::Paced(rate) = asked.schedule else { return Vec::new() };
    let seconds = trial.phases.load.as_secs_f64();
    let due = rate.0 * seconds;
    if !deviates(record.sent as f64, due) {
        return Vec::new();
    }
    vec![Defect::OfferedLoad { flow: id, asked: rate.0, sent: record.sent as f64 / seconds }]
}

fn deviates(count: f64, due: f64) -> bool {
    (count - due).abs() > (OFFERED_LOAD_TOLERANCE * due).max(1.0)
}
