//! What passes between two hosts over a cable or through a device: pings small and of full size,
//! and UDP.
//!
//! Owns these three small trials. Never a figure: only whether anything came back.

use std::net::IpAddr;

use measure::{FrameSize, Nanos};
use trial::topology::{CableEnd, Pair, PortRef};
use trial::{Echo, Flow, FlowKind, Gate, Offloads, Protocol, Schedule};
use trial::{FlowRecord, Testbed, TestbedError, Topology, Trial};

/// Long enough for an answer.
const LOAD: Nanos = Nanos::from_millis(100);

/// What passed from one port to another, and back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// From here.
    pub from: PortRef,
    /// To there.
    pub to: PortRef,
    /// Its address.
    pub to_address: IpAddr,
    /// Pings in frames of 128 octets.
    pub small: bool,
    /// Pings in the longest frames of the sending port.
    pub full: bool,
    /// These frames' octets, with their FCS.
    pub full_size: u32,
    /// UDP in frames of 128 octets.
    pub udp: bool,
}

/// Each host's first port toward each device and the next host's, and both ends of each direct
/// cable.
pub fn pairs(topology: &Topology) -> Vec<Pair> {
    let mut all = Vec::new();
    for device in &topology.devices {
        let mut ports = topology.ports_of(Some(&device.name));
        ports.dedup_by(|a, b| a.host == b.host);
        let next = ports.iter().cycle().skip(1);
        let around = ports.iter().zip(next).take(if ports.len() < 3 { 1 } else { ports.len() });
        let two = around.filter(|(from, to)| from.host != to.host);
        all.extend(two.map(|(from, to)| Pair { from: from.clone(), to: to.clone() }));
    }
    for host in &topology.hosts {
        for port in &host.ports {
            let from = PortRef { host: host.name.clone(), port: port.name.clone() };
            // A direct cable is named at both ends: once is enough.
            if let CableEnd::Host(to) = &port.cable
                && from.to_string() < to.to_string()
            {
                all.push(Pair { from, to: to.clone() });
            }
        }
    }
    all
}

/// Tries all three.
pub fn try_passage(
    testbed: &mut dyn Testbed,
    pair: &Pair,
    mtu: u32,
) -> Result<Option<Passage>, TestbedError> {
    let Some(to) = testbed.topology().port(&pair.to) else { return Ok(None) };
    let to_address = to.address;
    let (small, full_size) = (128, mtu + 18);
    Ok(Some(Passage {
        from: pair.from.clone(),
        to: pair.to.clone(),
        to_address,
        small: passes(testbed, pair, Protocol::Icmp, small)?,
        full: passes(testbed, pair, Protocol::Icmp, full_size)?,
        full_size,
        udp: passes(testbed, pair, Protocol::Udp, small)?,
    }))
}

fn passes(
    testbed: &mut dyn Testbed,
    pair: &Pair,
    protocol: Protocol,
    octets: u32,
) -> Result<bool, TestbedError> {
    let Ok(frame_size) = FrameSize::new(octets) else { return Ok(false) };
    let (schedule, messages) = (Schedule::Greedy, None);
    let echo = FlowKind::Echo(Echo { protocol, frame_size, schedule, messages });
    let flows = vec![Flow::measured(pair, echo)];
    let label = format!("{} > {}", pair.from, pair.to);
    // Single small packets: nothing is merged or split, and no privilege is needed.
    let trial =
        Trial { offloads: Offloads::AsFound, ..Trial::quick(label, flows, LOAD, Gate::Strict) };
    let record = match testbed.run(&trial) {
        Ok(record) => record,
        // An agent that refuses, because the way leads elsewhere: nothing passes by this one.
        Err(TestbedError::Unavailable { .. }) => return Ok(false),
        Err(error) => return Err(error),
    };
    let answered =
        |flow: &FlowRecord| matches!(flow, FlowRecord::Echo(echo) if echo.answers.unique > 0);
    Ok(record.flows.iter().any(answered))
}
