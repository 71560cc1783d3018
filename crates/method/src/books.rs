//! Where lost frames went: the sequence numbers' count against the kernel's own counters.
//!
//! Never decides whether a trial is valid; never guesses: what no counter explains is left over.

use trial::counters::{HOST_LOSS, QDISC_DROPS, RX_DROPPED, RX_MISSED, TX_DROPPED, sum};
use trial::record::{DatagramsRecord, FlowRecord, PortCounters, Side, TrialRecord};
use trial::{Flow, FlowKind, Trial};

/// The books of one flow of datagrams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reconciliation {
    /// Frames the kernel took from the sender and the receiver never saw.
    pub lost: u64,
    /// Of these, dropped by counters on the device's side.
    pub device: u64,
    /// Dropped by counters on the tester's side.
    pub tester: u64,
    /// `lost - device - tester`; negative where counters moved for frames that were not the flow's.
    pub unexplained: i64,
    /// Every counter behind it, none of them zero.
    pub entries: Vec<Entry>,
}

/// One counter's share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The port, as in the record.
    pub place: String,
    /// Whose it is.
    pub side: Side,
    /// The counter's name.
    pub counter: String,
    /// Frames attributed to it.
    pub frames: u64,
}

/// Balances the trial's one datagram flow; `None` where it has none or several, or no record of it.
///
/// A frame that a veth's peer refuses is counted at both ends of the cable: it is put down to the
/// end that refused it. A full receive queue of the device is so the device's loss, and a full
/// backlog of the receiving host the tester's.
pub fn reconcile(trial: &Trial, record: &TrialRecord) -> Option<Reconciliation> {
    let (flow, seen) = only_datagrams(trial, record)?;
    let mut entries = Vec::new();
    sender_side(flow, record, &mut entries);
    device_side(flow, record, &mut entries);
    receiver_side(flow, seen, record, &mut entries);
    entries.retain(|entry| entry.frames > 0);
    let total = |side| entries.iter().filter(|e| e.side == side).map(|e| e.frames).sum::<u64>();
    let lost = seen.received.lost(seen.sent);
    let (device, tester) = (total(Side::Device), total(Side::Tester));
    let unexplained = lost as i64 - device as i64 - tester as i64;
    Some(Reconciliation { lost, device, tester, unexplained, entries })
}

fn only_datagrams<'a>(
    trial: &'a Trial,
    record: &'a TrialRecord,
) -> Option<(&'a Flow, &'a DatagramsRecord)> {
    let mut flows = trial.flows.iter().enumerate();
    let (at, flow) = flows.find(|(_, f)| matches!(f.kind, FlowKind::Datagrams(_)))?;
    if flows.any(|(_, f)| matches!(f.kind, FlowKind::Datagrams(_))) {
        return None;
    }
    match record.flows.get(at)? {
        FlowRecord::Datagrams(seen) => Some((flow, seen)),
        _ => None,
    }
}

/// The tester's ports on a host, however many interfaces the flow's port spreads over.
fn ports_of<'a>(record: &'a TrialRecord, host: &'a str) -> impl Iterator<Item = &'a PortCounters> {
    let on_host = move |p: &&PortCounters| {
        p.side == Side::Tester && p.place.split_once('/').is_some_and(|(name, _)| name == host)
    };
    record.ports.iter().filter(on_host)
}

fn device_ports(record: &TrialRecord) -> impl Iterator<Item = &PortCounters> {
    record.ports.iter().filter(|p| p.side == Side::Device)
}

fn read(port: &PortCounters, counter: &str) -> u64 {
    port.counters.get(counter).copied().unwrap_or(0)
}

fn entry(place: &str, side: Side, counter: &str, frames: u64) -> Entry {
    Entry { place: place.to_owned(), side, counter: counter.to_owned(), frames }
}

/// The sender's queue, and its driver's drops beyond those that the other end owns to.
fn sender_side(flow: &Flow, record: &TrialRecord, entries: &mut Vec<Entry>) {
    let mut refused: u64 = if device_ports(record).next().is_some() {
        sum(&record.ports, Side::Device, RX_DROPPED)
    } else {
        ports_of(record, &flow.to.host).map(|p| read(p, RX_DROPPED)).sum()
    };
    for port in ports_of(record, &flow.from.host) {
        let drops = read(port, QDISC_DROPS);
        entries.push(entry(&port.place, Side::Tester, QDISC_DROPS, drops));
        entries.push(less_refused(port, Side::Tester, &mut refused));
    }
}

fn device_side(flow: &Flow, record: &TrialRecord, entries: &mut Vec<Entry>) {
    let mut refused = ports_of(record, &flow.to.host).map(|p| read(p, RX_DROPPED)).sum();
    for port in device_ports(record) {
        for counter in [RX_DROPPED, RX_MISSED, QDISC_DROPS] {
            entries.push(entry(&port.place, Side::Device, counter, read(port, counter)));
        }
        entries.push(less_refused(port, Side::Device, &mut refused));
    }
}

/// A port's drops on the way out, less those that the cable's other end has counted.
fn less_refused(port: &PortCounters, side: Side, refused: &mut u64) -> Entry {
    let out = read(port, TX_DROPPED);
    let others = out.min(*refused);
    *refused -= others;
    entry(&port.place, side, TX_DROPPED, out - others)
}

/// The receiver's NIC and backlog, then its socket, by the socket's own counter or the host's.
fn receiver_side(
    flow: &Flow,
    seen: &DatagramsRecord,
    record: &TrialRecord,
    entries: &mut Vec<Entry>,
) {
    for port in ports_of(record, &flow.to.host) {
        for counter in [RX_DROPPED, RX_MISSED] {
            entries.push(entry(&port.place, Side::Tester, counter, read(port, counter)));
        }
    }
    let host = record.hosts.iter().find(|h| h.host == flow.to.host);
    let counted = HOST_LOSS.iter().filter_map(|name| host?.usage.counters.get(*name)).sum::<u64>();
    let socket = seen.socket_drops.max(counted);
    entries.push(entry(&flow.to.to_string(), Side::Tester, "socket_drops", socket));
}
