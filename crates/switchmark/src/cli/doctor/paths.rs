//! What passes between two hosts over a cable or through a device: pings small and of full size,
//! and UDP.
//!
//! Owns these three small trials. Never a figure: only whether anything came back.

use std::net::IpAddr;

use measure::{FrameSize, Nanos};
use trial::topology::{CableEnd, Pair, PortRef};
use trial::{Echo, Flow, FlowKind, Gate, Offloads, Protocol, Schedule};
use trial::{FlowRecord, Outcome, Testbed, TestbedError, Topology, Trial};

/// Long enough for an answer over a short way.
const LOAD: Nanos = Nanos::from_millis(100);
/// And over the longest on Earth, or through what forwards a handful of frames a second.
const LONG_LOAD: Nanos = Nanos::from_millis(1500);
/// Octets of a small frame.
const SMALL: u32 = 128;
/// A frame's octets beyond its IP packet: Ethernet header and FCS.
const FRAMING: u32 = 18;

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

/// Tries all three on every pair: all at once, and then those that had no answer for longer, so
/// that a long way is not taken for a broken one.
pub fn try_passages(
    testbed: &mut dyn Testbed,
    pairs: &[Pair],
    mtu: &dyn Fn(&PortRef) -> u32,
) -> Result<Vec<Passage>, TestbedError> {
    let asked: Vec<Try> = pairs.iter().flat_map(|pair| tries(pair, mtu(&pair.from))).collect();
    let mut passed = answered(testbed, &asked.iter().collect::<Vec<_>>(), LOAD)?;
    let left = || passed.iter().enumerate().filter(|(_, passed)| !**passed).map(|(at, _)| at);
    let left: Vec<usize> = left().collect();
    if !left.is_empty() {
        let again: Vec<&Try> = left.iter().map(|at| &asked[*at]).collect();
        for (at, late) in left.iter().zip(answered(testbed, &again, LONG_LOAD)?) {
            passed[*at] = late;
        }
    }
    let passage = |(pair, passed): (&Pair, &[bool])| {
        let to_address = testbed.topology().port(&pair.to)?.address;
        let (from, to) = (pair.from.clone(), pair.to.clone());
        let full_size = mtu(&pair.from) + FRAMING;
        let &[small, full, udp] = passed else { return None };
        Some(Passage { from, to, to_address, small, full, full_size, udp })
    };
    Ok(pairs.iter().zip(passed.chunks(3)).filter_map(passage).collect())
}

/// One kind of frames between two ports.
struct Try<'a> {
    pair: &'a Pair,
    protocol: Protocol,
    octets: u32,
}

/// In the order of [`Passage`]'s fields.
fn tries(pair: &Pair, mtu: u32) -> [Try<'_>; 3] {
    let full = (Protocol::Icmp, mtu + FRAMING);
    [(Protocol::Icmp, SMALL), full, (Protocol::Udp, SMALL)].map(|(protocol, octets)| Try {
        pair,
        protocol,
        octets,
    })
}

/// Which of them had an answer. One that can't even be begun takes none of the others with it.
fn answered(
    testbed: &mut dyn Testbed,
    tries: &[&Try<'_>],
    load: Nanos,
) -> Result<Vec<bool>, TestbedError> {
    if let Some(answered) = answered_at_once(testbed, tries, load)? {
        return Ok(answered);
    }
    let alone = |one: &&Try<'_>| {
        let answered = answered_at_once(testbed, &[*one], load)?;
        Ok(answered.is_some_and(|answered| answered[0]))
    };
    if tries.len() > 1 { tries.iter().map(alone).collect() } else { Ok(vec![false]) }
}

/// The same in one trial; none where it failed.
fn answered_at_once(
    testbed: &mut dyn Testbed,
    tries: &[&Try<'_>],
    load: Nanos,
) -> Result<Option<Vec<bool>>, TestbedError> {
    let (schedule, messages) = (Schedule::Greedy, None);
    let flow = |(number, one): (u16, &&Try<'_>)| {
        let frame_size = FrameSize::new(one.octets).ok()?;
        let protocol = one.protocol;
        let echo = FlowKind::Echo(Echo { protocol, frame_size, schedule, messages });
        Some(Flow { id: number, ..Flow::measured(one.pair, echo) })
    };
    let flows: Vec<Flow> = (1..).zip(tries).filter_map(flow).collect();
    let label = match tries {
        [one] => format!("{} > {}", one.pair.from, one.pair.to),
        all => format!("{} paths", all.len()),
    };
    // Single small packets: nothing is merged or split, and no privilege is needed.
    let trial =
        Trial { offloads: Offloads::AsFound, ..Trial::quick(label, flows, load, Gate::Strict) };
    let record = match testbed.run(&trial) {
        Ok(record) => record,
        // An agent that refuses, because the way leads elsewhere: nothing passes by this one.
        Err(TestbedError::Unavailable { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    if matches!(record.outcome, Outcome::Failed { .. }) {
        return Ok(None);
    }
    let has = |number: u16| {
        let of = trial.flows.iter().position(|flow| flow.id == number);
        let flow = of.and_then(|at| record.flows.get(at));
        matches!(flow, Some(FlowRecord::Echo(echo)) if echo.answers.unique > 0)
    };
    Ok(Some((1..).zip(tries).map(|(number, _)| has(number)).collect()))
}
