//! Flows towards hosts on which nothing runs: the device port of such a host counts the transmitted
//! frames, which replaces the receiver.
//!
//! Pure. Owns the interpretation of such a count, and the values that are unknown for such a flow.
//! Never reads a device.

use std::collections::BTreeMap;

use trial::counters::TX_PACKETS;
use trial::record::{
    DatagramsRecord, DeviceCount, FlowRecord, PortCounters, ReadingDoubt, ReadingRecord, Side,
};
use trial::topology::{CableEnd, PortRef, Runs, Topology};
use trial::{Datagrams, Flow, FlowKind};

use super::assemble::Sides;

/// Destination port of frames that no program receives: discard (RFC 863).
const DISCARD: u16 = 9;
/// First destination port if there are several: no service listens there (RFC 6335 §6).
const DYNAMIC: u16 = 49_152;

/// Returns the first UDP destination port of such a flow.
pub fn udp_port(datagrams: &Datagrams) -> u16 {
    if datagrams.headers.spread.destination_ports > 1 { DYNAMIC } else { DISCARD }
}

/// A device port whose far end is a host on which nothing runs.
struct Counter<'a> {
    device: &'a str,
    port: &'a str,
}

impl<'a> Counter<'a> {
    fn before(end: &PortRef, topology: &'a Topology) -> Option<Self> {
        let port = topology.port(end).filter(|_| topology.runs_at(end) == Runs::Nothing)?;
        match &port.cable {
            CableEnd::Device { device, port } => Some(Self { device, port }),
            CableEnd::Host(_) => None,
        }
    }

    fn place(&self) -> String {
        format!("{}/{}", self.device, self.port)
    }

    /// True if the device's doubt affects this port's count of transmitted frames.
    fn is_doubted_by(&self, doubt: &ReadingDoubt) -> bool {
        match doubt {
            ReadingDoubt::Unread { .. } | ReadingDoubt::Restarted | ReadingDoubt::Moving => true,
            ReadingDoubt::WentBack { port, counter } => port == self.port && counter == TX_PACKETS,
            ReadingDoubt::Gone { port } | ReadingDoubt::Untold { port } => port == self.port,
        }
    }

    fn count(&self, ports: &[PortCounters], readings: &[ReadingRecord]) -> DeviceCount {
        let place = self.place();
        let reading = readings.iter().find(|reading| reading.device == self.device);
        let told = reading
            .is_some_and(|reading| !reading.doubts.iter().any(|doubt| self.is_doubted_by(doubt)));
        let of = |port: &&PortCounters| port.side == Side::Reported && port.place == place;
        let port = ports.iter().find(of).filter(|_| told);
        let frames = port.and_then(|port| port.counters.get(TX_PACKETS)).copied();
        let others = reading.and_then(|reading| reading.others.get(&place)).copied();
        DeviceCount { port: place, frames, others: others.unwrap_or(0) }
    }
}

/// Inserts a placeholder for each missing receiver: a record that names the counter, without its
/// reading.
pub fn stand_in(flows: &[Flow], topology: &Topology, sides: &mut Sides) {
    for flow in flows {
        let Some(counter) = Counter::before(&flow.to, topology) else { continue };
        let record = DatagramsRecord {
            receiver: format!("device counter {}", counter.place()),
            receiver_reason: format!("host `{}` runs nothing", flow.to.host),
            ..DatagramsRecord::default()
        };
        sides.waited.insert(flow.id, FlowRecord::Datagrams(record));
    }
}

/// Sums the frames sent to each port at whose host nothing runs.
pub fn sent(flows: &[Flow], records: &[FlowRecord], topology: &Topology) -> BTreeMap<PortRef, u64> {
    let mut all = BTreeMap::new();
    for (flow, record) in flows.iter().zip(records) {
        if Counter::before(&flow.to, topology).is_some() {
            *all.entry(flow.to.clone()).or_default() += record.frames_sent().unwrap_or(0);
        }
    }
    all
}

/// Fills the devices' counts into the records of such flows.
pub fn fill_in(
    flows: &[Flow],
    records: &mut [FlowRecord],
    topology: &Topology,
    ports: &[PortCounters],
    readings: &[ReadingRecord],
) {
    for (flow, record) in flows.iter().zip(records) {
        if let (Some(counter), FlowRecord::Datagrams(seen)) =
            (Counter::before(&flow.to, topology), record)
        {
            let count = counter.count(ports, readings);
            seen.received.unique = count.max_departed(seen.sent);
            seen.at_device = Some(Box::new(count));
        }
    }
}

/// True if a device counts the flow, false if a receiver does. The error is the reason why a device
/// cannot count a flow that it would have to.
pub fn counts(flow: &Flow, trial: &[Flow], topology: &Topology) -> Result<bool, String> {
    if topology.runs_at(&flow.from) == Runs::Nothing {
        return Err(format!("host `{}` runs nothing, so nobody sends from there", flow.from.host));
    }
    if topology.runs_at(&flow.to) != Runs::Nothing {
        return Ok(false);
    }
    let to = &flow.to;
    let plain = |d: &Datagrams| d.destination.is_receiver() && !d.conversations;
    if !matches!(&flow.kind, FlowKind::Datagrams(datagrams) if plain(datagrams)) {
        let why =
            format!("host `{}` runs nothing, and a device counts frames one way only", to.host);
        return Err(why);
    }
    // Parts of one flow are added up; another flow's frames would be counted with them.
    let others = |other: &&Flow| other.to == *to && other.from != flow.from;
    match trial.iter().find(others) {
        Some(other) => {
            Err(format!("{to} is counted by a device, and flow {} goes there too", other.id))
        }
        None => Ok(true),
    }
}

#[cfg(test)]
mod tests;
