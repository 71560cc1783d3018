//! Accounting of a trial's frames: how many were lost, and where.
//!
//! Owns the meaning of each counter on a frame's path, and the sums of frames into and out of a
//! place. Never decides whether a trial is valid, and never guesses: losses that neither a counter
//! nor a sum explains stay unexplained.

mod held;
mod way;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::counters::{
    HOST_LOSS, QDISC_DROPS, RX_DROPPED, RX_MISSED, TUNNEL_DROPS, TX_DROPPED, TX_ERRORS,
};
use crate::record::{DatagramsRecord, FlowRecord, HostUsage, PortCounters, Side, TrialRecord};
use crate::{Flow, FlowKind, PortRef, Trial};

pub use held::{Held, pause_counts};

/// Tolerance for frames that hosts and devices send beside the load: sums may exceed the frames
/// lost by one in `OTHERS`, or by `FEW`.
const OTHERS: u64 = 100;
const FEW: u64 = 8;

/// Frame accounting of a trial's datagram flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Books {
    /// Number of datagram flows.
    pub flows: usize,
    /// True if other flows ran at the same time: port counters include their frames too.
    pub mixed: bool,
    /// Frames that the sender's kernel accepted and no receiver saw.
    pub lost: u64,
    /// Places where frames were lost, each with at least one frame; empty if nothing was lost.
    pub deaths: Vec<Death>,
    /// `lost` minus the frames in `deaths`; negative if counters moved for frames of others.
    pub unexplained: i64,
    /// Frames by which device and host counters contradict each other: a device reports more frames
    /// in or out than its hosts can have sent and lost.
    pub contradicted: u64,
}

/// Frames lost in one place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Death {
    /// Place of the loss.
    pub place: Place,
    /// Counter that reports the loss; `None` if it follows from the difference of two counts.
    pub counter: Option<String>,
    /// Number of frames lost here.
    pub frames: u64,
}

/// Place on a frame's path, in path order. Ports are named as in records.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A sending host's queue or driver.
    Sender(String),
    /// The queue of a sending host's tunnel, which is a part of the path.
    Tunnel(String),
    /// The cable from a host to a device.
    CableIn {
        /// The host's port.
        from: String,
        /// The device's port.
        to: String,
    },
    /// A device's receiving port.
    Ingress(String),
    /// Inside a device, between its ports: the device's name.
    Inside(String),
    /// A device's sending port.
    Egress(String),
    /// The cable from a device to a host.
    CableOut {
        /// The device's port.
        from: String,
        /// The host's port.
        to: String,
    },
    /// A receiving host: its port or its socket.
    Receiver(String),
}

impl Place {
    /// True if the tester itself lost the frames.
    pub const fn is_tester(&self) -> bool {
        matches!(self, Self::Sender(_) | Self::Receiver(_))
    }

    /// True if the place is a cable.
    pub const fn is_cable(&self) -> bool {
        matches!(self, Self::CableIn { .. } | Self::CableOut { .. })
    }

    /// True if the place is in a device.
    pub const fn is_device(&self) -> bool {
        matches!(self, Self::Ingress(_) | Self::Inside(_) | Self::Egress(_))
    }
}

/// Formats the place as in tables: `sw1/2, egress`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sender(port) => write!(f, "{port}, the sender"),
            Self::Tunnel(port) => write!(f, "{port}, the tunnel's queue"),
            Self::CableIn { from, to } | Self::CableOut { from, to } => {
                write!(f, "cable {from} → {to}")
            }
            Self::Ingress(port) => write!(f, "{port}, ingress"),
            Self::Inside(device) => write!(f, "{device}, between its ports"),
            Self::Egress(port) => write!(f, "{port}, egress"),
            Self::Receiver(port) => write!(f, "{port}, the receiver"),
        }
    }
}

impl Books {
    /// Counts frames lost in the places that `is` selects.
    pub fn died(&self, is: impl Fn(&Place) -> bool) -> u64 {
        self.deaths.iter().filter(|death| is(&death.place)).map(|death| death.frames).sum()
    }

    /// Frames that the tester itself dropped.
    pub fn tester(&self) -> u64 {
        self.died(Place::is_tester)
    }

    /// True if every lost frame is accounted for, and none twice.
    pub const fn closed(&self) -> bool {
        self.unexplained == 0 && self.contradicted == 0
    }
}

/// Counters of both ends and all ports: a record without its outcome.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counts<'a> {
    pub(crate) flows: &'a [FlowRecord],
    pub(crate) ports: &'a [PortCounters],
    pub(crate) hosts: &'a [HostUsage],
}

/// Balances a trial's datagram flows; `None` if it has none or no record of them.
///
/// A frame that a veth's peer refuses is counted at both ends of the cable. It is attributed to the
/// end that refused it: a full receive queue of a lab device is the device's loss, a full backlog
/// of the receiving host is the tester's. A device that reports its own counters has no such peer.
pub fn balance(trial: &Trial, record: &TrialRecord) -> Option<Books> {
    let TrialRecord { flows, ports, hosts, .. } = record;
    balance_counts(trial, Counts { flows, ports, hosts })
}

/// Balances the datagram flows of a trial that has not been judged yet.
pub(crate) fn balance_counts(trial: &Trial, record: Counts<'_>) -> Option<Books> {
    let flows = datagrams(trial, record);
    if flows.is_empty() {
        return None;
    }
    let mut deaths = Vec::new();
    let hosts = |end: fn(&Flow) -> &str| -> BTreeSet<&str> {
        flows.iter().map(|(flow, _)| end(flow)).collect()
    };
    let receivers = hosts(|flow| &flow.to.host);
    for sender in hosts(|flow| &flow.from.host) {
        sender_side(sender, &receivers, record, &mut deaths);
    }
    device_side(&receivers, record, &mut deaths);
    let mut sockets: BTreeMap<&PortRef, u64> = BTreeMap::new();
    for (flow, seen) in &flows {
        *sockets.entry(&flow.to).or_default() += seen.socket_drops;
    }
    for receiver in &receivers {
        let of_host = |(port, drops): (&&PortRef, &u64)| {
            (port.host == *receiver).then(|| (port.to_string(), *drops))
        };
        let own = sockets.iter().filter_map(of_host).collect();
        receiver_side(receiver, own, record, &mut deaths);
    }
    deaths.retain(|death| death.frames > 0);
    let lost: u64 = flows.iter().map(|(_, seen)| seen.received.lost(seen.sent)).sum();
    let named: u64 = deaths.iter().map(|death| death.frames).sum();
    let beyond = named.saturating_sub(lost);
    // One frame of others that crossed beside the load may be among a counter's. With several
    // counters there is no telling which.
    if let [only] = &mut deaths[..]
        && lost > 0
        && beyond <= way::others(&flows, record)
    {
        only.frames -= beyond;
    }
    let left = lost.saturating_sub(named);
    let sums = way::sums(trial, &flows, record, &deaths);
    let by_sums: u64 = sums.iter().map(|death| death.frames).sum();
    let contradicted = by_sums.saturating_sub(left);
    if contradicted <= (left / OTHERS).max(FEW.min(left / 2)) {
        deaths.extend(less(sums, contradicted));
    }
    deaths.sort();
    let explained: u64 = deaths.iter().map(|death| death.frames).sum();
    let unexplained = lost as i64 - explained as i64;
    // Without a loss, the counters moved for frames that the trial does not know.
    if lost == 0 {
        deaths.clear();
    }
    let mixed = flows.len() < trial.flows.len();
    Some(Books { flows: flows.len(), mixed, lost, deaths, unexplained, contradicted })
}

/// Subtracts up to `frames` frames from the losses, smallest places first. These are frames that
/// others may have sent beside the load, so a loss this small may be none.
fn less(mut deaths: Vec<Death>, mut frames: u64) -> Vec<Death> {
    let before: u64 = deaths.iter().map(|death| death.frames).sum();
    deaths.retain(|death| death.frames > frames);
    let after: u64 = deaths.iter().map(|death| death.frames).sum();
    frames = frames.saturating_sub(before - after);
    deaths.sort_by_key(|death| death.frames);
    for death in &mut deaths {
        let off = death.frames.min(frames);
        death.frames -= off;
        frames -= off;
    }
    deaths.retain(|death| death.frames > 0);
    deaths
}

type Seen<'a> = Vec<(&'a Flow, &'a DatagramsRecord)>;

fn datagrams<'a>(trial: &'a Trial, record: Counts<'a>) -> Seen<'a> {
    let pairs = trial.flows.iter().zip(record.flows);
    let of = |(flow, record): (&'a Flow, &'a FlowRecord)| match (&flow.kind, record) {
        (FlowKind::Datagrams(_), FlowRecord::Datagrams(seen)) => Some((flow, seen)),
        _ => None,
    };
    pairs.filter_map(of).collect()
}

/// Returns the tester's ports on a host, on all interfaces of a flow's port.
fn ports_of<'a>(record: Counts<'a>, host: &'a str) -> impl Iterator<Item = &'a PortCounters> {
    let on_host = move |p: &&PortCounters| {
        p.side == Side::Tester && p.place.split_once('/').is_some_and(|(name, _)| name == host)
    };
    record.ports.iter().filter(on_host)
}

fn device_ports(record: Counts<'_>) -> impl Iterator<Item = &PortCounters> {
    record.ports.iter().filter(|p| p.side != Side::Tester)
}

fn read(port: &PortCounters, counter: &str) -> u64 {
    port.counters.get(counter).copied().unwrap_or(0)
}

fn refused_by<'a>(ports: impl Iterator<Item = &'a PortCounters>) -> u64 {
    ports.map(|port| read(port, RX_DROPPED)).sum()
}

fn refused_by_hosts(hosts: &BTreeSet<&str>, record: Counts<'_>) -> u64 {
    hosts.iter().map(|host| refused_by(ports_of(record, host))).sum()
}

fn death(place: Place, counter: &str, frames: u64) -> Death {
    Death { place, counter: Some(counter.to_owned()), frames }
}

/// Adds the sender's losses: queue drops, and driver drops that the cable's other end did not
/// count.
fn sender_side(
    sender: &str,
    receivers: &BTreeSet<&str>,
    record: Counts<'_>,
    deaths: &mut Vec<Death>,
) {
    let mut refused = match device_ports(record).next().map(|port| port.side) {
        None => refused_by_hosts(receivers, record),
        Some(Side::Device) => refused_by(device_ports(record)),
        Some(Side::Tester | Side::Reported) => 0,
    };
    for port in ports_of(record, sender) {
        let place = || Place::Sender(port.place.clone());
        deaths.push(death(place(), QDISC_DROPS, read(port, QDISC_DROPS)));
        deaths.push(death(place(), TX_DROPPED, less_refused(port, &mut refused)));
        let tunnel = Place::Tunnel(port.place.clone());
        deaths.push(death(tunnel, TUNNEL_DROPS, read(port, TUNNEL_DROPS)));
    }
}

fn device_side(receivers: &BTreeSet<&str>, record: Counts<'_>, deaths: &mut Vec<Death>) {
    let mut refused = refused_by_hosts(receivers, record);
    for port in device_ports(record) {
        let ingress = || Place::Ingress(port.place.clone());
        let egress = || Place::Egress(port.place.clone());
        for counter in [RX_DROPPED, RX_MISSED] {
            deaths.push(death(ingress(), counter, read(port, counter)));
        }
        deaths.extend(way::damaged(port));
        deaths.push(death(egress(), QDISC_DROPS, read(port, QDISC_DROPS)));
        let dropped = match port.side {
            Side::Reported => read(port, TX_DROPPED),
            Side::Device | Side::Tester => less_refused(port, &mut refused),
        };
        deaths.push(death(egress(), TX_DROPPED, dropped));
        deaths.push(death(egress(), TX_ERRORS, read(port, TX_ERRORS)));
    }
}

/// Returns a port's transmit drops without those that the cable's other end counted.
fn less_refused(port: &PortCounters, refused: &mut u64) -> u64 {
    let out = read(port, TX_DROPPED);
    let others = out.min(*refused);
    *refused -= others;
    out - others
}

/// Adds the receiver's losses: its NIC and backlog, then its sockets, by their own or the host's
/// counters.
fn receiver_side(
    receiver: &str,
    mut sockets: BTreeMap<String, u64>,
    record: Counts<'_>,
    deaths: &mut Vec<Death>,
) {
    for port in ports_of(record, receiver) {
        for counter in [RX_DROPPED, RX_MISSED] {
            deaths.push(death(Place::Receiver(port.place.clone()), counter, read(port, counter)));
        }
        deaths.extend(way::damaged_at_host(port, record));
    }
    let host = record.hosts.iter().find(|host| host.host == receiver);
    let counted = HOST_LOSS.iter().filter_map(|name| host?.usage.counters.get(*name)).sum::<u64>();
    let told: u64 = sockets.values().sum();
    // Drops that no socket reports belong to the host, whichever of its ports they came by.
    if let Some(first) = sockets.values_mut().next() {
        *first += counted.saturating_sub(told);
    }
    let drops = sockets.into_iter();
    deaths.extend(drops.map(|(port, drops)| death(Place::Receiver(port), "socket_drops", drops)));
}
