//! Whether a trial may be used. Pure: counts in, outcome out.
//!
//! Owns the gates. Never decides what a loss means; it only says that a trial's loss can't be laid
//! at the device's door.

mod lifted;

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

/// Largest share by which the offered load may differ from what was asked.
pub const OFFERED_LOAD_TOLERANCE: f64 = 0.001;

/// Largest share of frames that an emulated device may have handed over late: more is a device that
/// falls behind, less is a machine with other business.
pub const EMULATOR_LATE_TOLERANCE: f64 = 0.05;

/// Largest share of frames that may have reached the device at another time than they were to, in a
/// trial that lost some: so much, at most, may the lost share be wrong by. It holds of frames that
/// the sender sent late, and of those that an emulated device's model was shown late.
pub const UNTIMELY_TOLERANCE: f64 = 0.01;

/// Other programs' share of a host's processors, the hypervisor's among it, from which on a loss
/// may be theirs, if that is also more than was left over. Below it is what any system does by
/// itself.
pub const FOREIGN_SHARE: f64 = 0.1;

/// What part of the residual time a sender may run into: what it hands over by then has as long
/// again to come.
const OVERRUN_SHARE: u64 = 2;

/// How well a program knows when its first and last frame left: it may have been woken late for
/// either. In trials of a second or more this is within the tolerance anyway.
pub const EDGE: Nanos = Nanos::from_millis(1);

/// Judges a trial that ran to its end. `flows` are in the trial's order.
///
/// Under [`Gate::Flood`] only a link that flapped and a flow that arrived nowhere make it invalid,
/// and where flows wait for answers an emulated device that fell behind: what it does late they
/// send late. Under [`Gate::Uneven`] all counts that strict trials do, but for late frames, busy
/// processors, other people's frames, and a device that pauses hosts whose flows all wait for
/// answers or for room. Under neither of these two gates do those spoil a trial: figures say so.
/// Exchanges are never spoilt by a device that pauses. A device to which something is done during
/// the trial may take its links down. What is only suspected of the tester, that others had its
/// processors or that its frames were late, does not count where the books place each lost frame in
/// the device.
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

/// Every counter that shows a loss on the tester's side, whatever the gate.
///
/// Three counters can't tell the trial's frames from others: `rx_dropped` also counts protocols
/// that nobody speaks (a switch's spanning tree), `tx_dropped` and `softnet_dropped` may be the
/// device's where hosts and device share a kernel. They count only when one of the trial's own
/// frames is missing; `tx_dropped` only beyond what the device's ports dropped on receipt, and
/// `softnet_dropped` only where no port tells its own share of it by `rx_dropped`.
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

/// Whether PAUSE frames that hosts see are the device's answer and no loss of the tester's: flows
/// that wait for answers, or for room, are only slowed by them. An exchange has no other load than
/// what it gets, whatever the gate. Over a direct cable only another host can have sent them.
fn may_pause(trial: &Trial) -> bool {
    let exchanges = |flow: &Flow| matches!(flow.kind, FlowKind::Exchange(_));
    let waits = |flow: &Flow| !matches!(flow.kind, FlowKind::Datagrams(_));
    let flows = &trial.flows;
    trial.path == Path::Device
        && (flows.iter().all(exchanges) || (trial.gate == Gate::Uneven && flows.iter().all(waits)))
}

/// What an emulated device says of itself that makes its figures doubtful, where `lost` frames did
/// not come. A frame that its model was shown late leaves a queue idle before, and meets others
/// after.
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

/// Flows that lost frames and whose senders handed the last over when receivers were about to
/// close, or had closed: whatever came of those, nobody was there to count it.
fn overruns(trial: &Trial, flows: &[FlowRecord]) -> Vec<Defect> {
    let near = (trial.phases.residual / OVERRUN_SHARE).max(EDGE);
    let defect = |(flow, record): (&Flow, &FlowRecord)| {
        let FlowRecord::Datagrams(seen) = record else { return None };
        let (by, lost) = (seen.overran, missed(record));
        (by > near && lost > 0).then_some(Defect::Overrun { flow: flow.id, by, lost })
    };
    trial.flows.iter().zip(flows).filter_map(defect).collect()
}

/// Hosts whose processors others had, in a trial that lost something.
fn foreign_load(flows: &[FlowRecord], hosts: &[HostUsage]) -> Vec<Defect> {
    if flows.iter().all(|flow| missed(flow) == 0) {
        return Vec::new();
    }
    let defect = |host: &HostUsage| {
        taken_by_others(host).map(|share| Defect::ForeignLoad { host: host.host.clone(), share })
    };
    hosts.iter().filter_map(defect).collect()
}

/// Ports that carried other people's frames beside the trial's: whatever it shows is then of both.
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

/// The share of a host's processors that other programs and the hypervisor had, 0…1, where it is
/// [`FOREIGN_SHARE`] or more, and more than was left over: else the scheduler had a place for
/// everybody.
pub fn taken_by_others(host: &HostUsage) -> Option<f64> {
    let Usage { busy, stolen, .. } = host.usage;
    let (share, left) = (host.usage.by_others(), 1.0 - busy - stolen);
    (share >= FOREIGN_SHARE && share > left).then_some(share)
}

/// Whether what a flow sends depends on when its answers came.
const fn waits_for_answers(record: &FlowRecord) -> bool {
    matches!(record, FlowRecord::Bulk(_) | FlowRecord::Exchange(_) | FlowRecord::Storage(_))
}

/// How many frames of the flow did not come (for TCP: had to be sent again).
fn missed(record: &FlowRecord) -> u64 {
    match record {
        FlowRecord::Echo(echo) => echo.answers.lost(echo.sent),
        FlowRecord::Datagrams(datagrams) => datagrams.received.lost(datagrams.sent),
        FlowRecord::Bulk(bulk) => bulk.retransmits(),
        FlowRecord::Exchange(exchange) => exchange.forward.lost + exchange.backward.lost,
        FlowRecord::Storage(storage) => storage.reads.errors + storage.writes.errors,
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
        _ => return Err(format!("flow {} reported as another kind of flow", flow.id)),
    };
    if let FlowRecord::Datagrams(seen) = record
        && let Some(defect) = miscounted(flow.id, seen)
    {
        return Ok(vec![defect]);
    }
    if arrived == 0 {
        return Ok(vec![Defect::NothingReceived { flow: flow.id }]);
    }
    // What a measured flow sent stands in its record; a load beside it is what was asked for, or
    // nothing.
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

/// What is wrong with a device's count, whatever the gate: then there is none.
fn miscounted(flow: u16, seen: &DatagramsRecord) -> Option<Defect> {
    let count = seen.at_device.as_ref()?;
    let place = count.port.clone();
    if count.frames.is_none() {
        return Some(Defect::Uncounted { flow, place });
    }
    let counted = count.too_many(seen.sent)?;
    Some(Defect::Overcounted { flow, place, counted, sent: seen.sent })
}

/// Any payload at all, either way: a pair that a device starves to less than a message still has a
/// figure, while one that never spoke has none.
fn payload_seen(record: &ExchangeRecord) -> u64 {
    let of = |end: &ReceiptRecord| end.octets.0.max(end.intervals.iter().map(|o| o.0).sum());
    of(&record.forward) + of(&record.backward)
}

/// RFC 2544's constant load: the frames whose time came must have left, at the rate asked for. Of a
/// burst every frame must have left, and no more. One frame more or less is no deviation of a rate,
/// however few there are.
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
            paced_load(id, asked, record, (rate, due))
        }
        Schedule::Falling { from, to, after } => {
            let (high, low) = (sending.min(after), sending.saturating_sub(after));
            let due = from.0 * high.as_secs_f64() + to.0 * low.as_secs_f64();
            let mean = due / sending.as_secs_f64().max(f64::MIN_POSITIVE);
            // A sender that stopped before the fall has not shown the load after it.
            let mut defects = paced_load(id, asked, record, (FrameRate(mean), due));
            if sending <= after && defects.is_empty() {
                let sent = record.sending_rate().0;
                defects.push(Defect::OfferedLoad { flow: id, asked: to.0, sent });
            }
            defects
        }
    }
}

/// `due` frames were to follow the first, at a mean of `rate`.
fn paced_load(
    id: u16,
    asked: &Datagrams,
    record: &DatagramsRecord,
    (rate, due): (FrameRate, f64),
) -> Vec<Defect> {
    let mut defects = Vec::new();
    let gaps = record.sent.saturating_sub(1) as f64;
    let edge = rate.0 * EDGE.as_secs_f64();
    let lost = record.received.lost(record.sent);
    let refused = deviates(record.sent as f64, record.offered as f64);
    // All that were due left, the first of them late, and all came: the path passed more than was
    // asked of it.
    let begun_late = gaps > due && record.late > 0 && lost == 0;
    let off_rate = deviates(gaps, due) && (gaps - due).abs() > edge && !begun_late;
    if refused || off_rate || record.sent < 2 {
        let taken = record.sent as f64 / record.offered.max(1) as f64;
        // Of frames that were refused the share counts, however fast the others left.
        let most = if refused { rate.0 * taken } else { f64::INFINITY };
        let sent = record.sending_rate().0.min(most);
        defects.push(Defect::OfferedLoad { flow: id, asked: rate.0, sent });
    }
    if record.longest_burst > u64::from(asked.burst_limit) {
        let (longest, limit) = (record.longest_burst, asked.burst_limit);
        defects.push(Defect::Burst { flow: id, longest, limit });
    }
    // A device has to hold what comes at once after a pause: as many frames as were late. So many
    // more than the device would have lost by itself may be gone: those that found its queue full,
    // for each of which it was idle before.
    let many = record.late as f64 > UNTIMELY_TOLERANCE * record.sent as f64;
    if lost > 0 && (lost <= record.late || many) {
        defects.push(Defect::Late { flow: id, late: record.late, lost });
    }
    defects
}

/// An open loop's requests must all have left; when each of them did is in its latency already.
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
