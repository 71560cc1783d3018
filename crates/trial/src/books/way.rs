//! Losses that no counter names: frames that entered a place on the path and did not leave it.
//!
//! Owns how SNMP agents and drivers differ in what they count as received and as sent. Never reads
//! more into a counter than it says: a port without counters of received and sent frames has no
//! sum.

use std::collections::BTreeMap;

use crate::counters::{
    QDISC_DROPS, RX_CRC_ERRORS, RX_DROPPED, RX_ERRORS, RX_MISSED, RX_PACKETS, TX_DROPPED,
    TX_ERRORS, TX_PACKETS,
};
use crate::record::{DatagramsRecord, PortCounters, Side};
use crate::{FlowKind, PortRef, Trial};
use measure::Nanos;

use super::{Counts, Death, Place, Seen, death, device_ports, read};

/// Margin before a receiver closes: frames that arrive within it may not have been the last ones.
const NEARLY: Nanos = Nanos::from_millis(20);

/// Frames that reached a device's port damaged. Those with a wrong FCS are lost on the cable, the
/// others at the port.
pub(super) fn damaged(port: &PortCounters) -> Vec<Death> {
    let (crc, errors) = (read(port, RX_CRC_ERRORS), read(port, RX_ERRORS));
    let cable = match &port.cable {
        Some(from) => Place::CableIn { from: from.clone(), to: port.place.clone() },
        None => Place::Ingress(port.place.clone()),
    };
    let others = errors.saturating_sub(crc);
    vec![
        death(cable, RX_CRC_ERRORS, crc),
        death(Place::Ingress(port.place.clone()), RX_ERRORS, others),
    ]
}

/// Frames that reached a host's port with a wrong FCS, if the device port at the other end is
/// known. Other errors of the host's driver are left out: another counter may include them too.
pub(super) fn damaged_at_host(port: &PortCounters, record: Counts<'_>) -> Option<Death> {
    let far = device_ports(record).find(|far| far.cable.as_ref() == Some(&port.place))?;
    let cable = Place::CableOut { from: far.place.clone(), to: port.place.clone() };
    Some(death(cable, RX_CRC_ERRORS, read(port, RX_CRC_ERRORS)))
}

/// Frame counts of one device port and its cable.
struct Crossing<'a> {
    port: &'a PortCounters,
    host: &'a str,
    /// Frames that the host sent and did not drop itself, and frames that reached the host. The
    /// latter include those that it dropped or found damaged.
    sent: u64,
    arrived: u64,
    /// Frames by the device's own counters.
    received: u64,
    forwarded: u64,
}

impl Crossing<'_> {
    /// Frames lost before the port that no counter of the port explains.
    fn missing_before(&self) -> u64 {
        self.unreceived().saturating_sub(self.dropped_in())
    }

    /// Frames that entered the port, whether or not it counts its own drops as received.
    fn entered(&self) -> u64 {
        self.received + self.unreceived().min(self.dropped_in())
    }

    /// Frames sent that the port counts neither as received nor as damaged.
    fn unreceived(&self) -> u64 {
        let damaged = read(self.port, RX_ERRORS).max(read(self.port, RX_CRC_ERRORS));
        self.sent.saturating_sub(self.received).saturating_sub(damaged)
    }

    fn dropped_in(&self) -> u64 {
        read(self.port, RX_DROPPED) + read(self.port, RX_MISSED)
    }

    fn dropped_out(&self) -> u64 {
        [TX_DROPPED, QDISC_DROPS, TX_ERRORS].iter().map(|name| read(self.port, name)).sum()
    }
}

/// Losses that only sums reveal. Requires that all flows are datagrams and that every port in use
/// counts received and sent frames: otherwise other frames would be taken for theirs.
pub(super) fn sums(
    trial: &Trial,
    flows: &Seen<'_>,
    record: Counts<'_>,
    named: &[Death],
) -> Vec<Death> {
    let all_datagrams = trial.flows.iter().all(|flow| matches!(flow.kind, FlowKind::Datagrams(_)));
    let Some(crossings) = crossings(flows, record, named).filter(|_| all_datagrams) else {
        return Vec::new();
    };
    let kept = total(&crossings, Crossing::entered)
        - total(&crossings, Crossing::dropped_in)
        - total(&crossings, |c| c.forwarded);
    let dropped_out = total(&crossings, Crossing::dropped_out);
    // RFC 2863 has agents count frames that were to be sent; most count frames that were sent. The
    // device is taken to follow the rule under which fewer frames are missing.
    let to_be_sent = kept.abs() < (kept - dropped_out).abs();
    let inside = if to_be_sent { kept } else { kept - dropped_out };
    let mut deaths = Vec::new();
    let still_coming = still_coming(trial, flows);
    let mut add = |place: Place, frames: u64| {
        // Frames that arrived after the receiver closed are not lost.
        let untold = still_coming && matches!(place, Place::CableOut { .. });
        if frames > 0 && !untold {
            deaths.push(Death { place, counter: None, frames });
        }
    };
    for crossing in &crossings {
        let (host, port) = (crossing.host.to_owned(), crossing.port.place.clone());
        let unsent = if to_be_sent { crossing.dropped_out() } else { 0 };
        let gone = crossing.forwarded.saturating_sub(unsent).saturating_sub(crossing.arrived);
        add(Place::CableIn { from: host.clone(), to: port.clone() }, crossing.missing_before());
        add(Place::CableOut { from: port, to: host }, gone);
    }
    let name = |port: &PortCounters| {
        port.place.split_once('/').map_or_else(|| port.place.clone(), |(name, _)| name.to_owned())
    };
    let mut names: Vec<String> = crossings.iter().map(|crossing| name(crossing.port)).collect();
    names.dedup();
    add(Place::Inside(names.join(" and ")), u64::try_from(inside).unwrap_or(0));
    deaths
}

/// Frames of others that crossed beside the load from a sending host. Counted by its port or by the
/// device's port at the other end of the cable.
pub(super) fn others(flows: &Seen<'_>, record: Counts<'_>) -> u64 {
    let sent = |(host, own): (String, OfPort)| own.is_sender.then_some((host, own.sent));
    let beside = |(host, sent): (String, u64)| {
        let counted = record.ports.iter().map(|port| match port.side {
            Side::Tester if port.place == host => read(port, TX_PACKETS),
            Side::Reported if port.cable.as_ref() == Some(&host) => read(port, RX_PACKETS),
            _ => 0,
        });
        counted.max().unwrap_or(0).saturating_sub(sent)
    };
    by_port(flows).into_iter().filter_map(sent).map(beside).sum()
}

/// Totals of the flows of one host port.
#[derive(Debug, Clone, Copy, Default)]
struct OfPort {
    is_sender: bool,
    sent: u64,
    /// Frames that arrived, including duplicates and frames that the receiver rejected.
    arrived: u64,
    /// True if the device's own count replaces a receiver here.
    is_counted_by_device: bool,
}

/// Sums the flows of every port that sends or receives, by the port's name. Visits each flow once:
/// a mesh of n ports has about n² flows.
fn by_port(flows: &Seen<'_>) -> BTreeMap<String, OfPort> {
    let mut ports: BTreeMap<&PortRef, OfPort> = BTreeMap::new();
    for (flow, seen) in flows {
        let from = ports.entry(&flow.from).or_default();
        from.is_sender = true;
        from.sent += seen.sent;
        let to = ports.entry(&flow.to).or_default();
        let rejected = seen.rejected.malformed + seen.rejected.foreign;
        to.arrived += seen.received.unique + seen.received.duplicated + rejected;
        to.is_counted_by_device |= seen.at_device.is_some();
    }
    ports.into_iter().map(|(port, own)| (port.to_string(), own)).collect()
}

/// True if frames were still arriving, or may have been, when receivers closed: a sender was
/// delayed, or a queue was not empty yet.
fn still_coming(trial: &Trial, flows: &Seen<'_>) -> bool {
    let phases = trial.phases;
    let open = (phases.load + phases.residual).saturating_sub(NEARLY);
    let near = |seen: &DatagramsRecord| {
        seen.quiet.map_or(seen.receiving >= open, |quiet| quiet <= NEARLY)
            || seen.overran > phases.residual.saturating_sub(NEARLY)
    };
    flows.iter().any(|(_, seen)| near(seen))
}

fn total<'a>(crossings: &[Crossing<'a>], value: impl Fn(&Crossing<'a>) -> u64) -> i64 {
    crossings.iter().map(value).sum::<u64>() as i64
}

fn crossings<'a>(
    flows: &Seen<'_>,
    record: Counts<'a>,
    named: &[Death],
) -> Option<Vec<Crossing<'a>>> {
    let mut crossings: Vec<Crossing<'_>> = Vec::new();
    let ports = by_port(flows);
    for port in device_ports(record) {
        let Some(host) = port.cable.as_deref() else { continue };
        let Some(own_flows) = ports.get(host) else { continue };
        let died = |is: &dyn Fn(&Place) -> bool| -> u64 {
            named.iter().filter(|death| is(&death.place)).map(|death| death.frames).sum()
        };
        let sent = own_flows.sent;
        let arrived = own_flows.arrived
            + died(&|place| matches!(place, Place::Receiver(port) if port == host));
        // The host's other frames, such as ARP, cross the device too.
        let own = |name: &str| {
            let port = record.ports.iter().find(|p| p.side == Side::Tester && p.place == host);
            port.map_or(0, |port| read(port, name))
        };
        let damaged = died(&|place| matches!(place, Place::CableOut { to, .. } if to == host));
        let (sent, arrived) = (sent.max(own(TX_PACKETS)), arrived.max(own(RX_PACKETS)) + damaged);
        // Where the device's own count replaces the receiver, there is no cable left to lose frames
        // on.
        let left = if own_flows.is_counted_by_device { read(port, TX_PACKETS) } else { 0 };
        let arrived = arrived.max(left);
        // A host port that spreads over several cables has one total for all of them.
        if crossings.iter().any(|crossing| crossing.host == host) {
            return None;
        }
        let unsent = died(
            &|place| matches!(place, Place::Sender(port) | Place::Tunnel(port) if port == host),
        );
        let count = |name: &str| port.counters.get(name).copied();
        crossings.push(Crossing {
            port,
            host,
            sent: sent.saturating_sub(unsent),
            arrived,
            received: count(RX_PACKETS)?,
            forwarded: count(TX_PACKETS)?,
        });
    }
    // Frames that entered by a port without device counters cannot be accounted for.
    (ports.len() == crossings.len()).then_some(crossings)
}
