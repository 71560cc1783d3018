//! Passage between two hosts over a cable or through a device: pings small and of full size, and
//! UDP, or, to an iperf3 server, TCP.
//!
//! Owns these three small trials. Never a figure: only whether anything came back.

mod largest;

use std::collections::BTreeMap;
use std::net::IpAddr;

use measure::{FrameRate, FrameSize, Nanos, Rate};
use trial::topology::{CableEnd, Pair, PortRef, Runs};
use trial::{Bulk, Echo, Flow, FlowKind, Gate, Offloads, Phases, Protocol, Schedule};
use trial::{FlowRecord, Outcome, Testbed, TestbedError, Topology, Trial};

pub use largest::Largest;

/// Timing of a try.
struct Asking {
    schedule: Schedule,
    load: Nanos,
    /// Time for which answers are still waited for.
    residual: Nanos,
}

/// Timing for an answer over a short path.
const SHORT: Asking = Asking {
    schedule: Schedule::Greedy,
    load: Nanos::from_millis(100),
    residual: Nanos::from_millis(100),
};
/// Timing for the longest path on Earth, or for a device that forwards a handful of frames a
/// second. It is slow: asking again before an answer can arrive would fill a slow path's queue.
const LONG: Asking = Asking {
    schedule: Schedule::Paced(FrameRate(4.0)),
    load: Nanos::from_millis(1500),
    residual: Nanos::from_secs(1),
};
/// Length of a TCP test: on a short path, a connection has reached its pace by then.
const BULK_LOAD: Nanos = Nanos::from_millis(300);
const BULK_INTERVAL: Nanos = Nanos::from_millis(100);
/// Octets of a small frame.
const SMALL: u32 = 128;
/// A frame's octets beyond its IP packet: Ethernet header and FCS.
const FRAMING: u32 = 18;

/// Passage of frames from one port to another, and back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Sending port.
    pub from: PortRef,
    /// Receiving port.
    pub to: PortRef,
    /// Address of that port.
    pub to_address: IpAddr,
    /// Pings in frames of 128 octets.
    pub small: bool,
    /// Pings in the longest frames of the sending port.
    pub full: bool,
    /// Octets of these frames, with their FCS.
    pub full_size: u32,
    /// Largest packet that comes back, where small ones do and the longest do not.
    pub largest: Option<Largest>,
    /// UDP in frames of 128 octets; where an iperf3 server is there, TCP streams to it.
    pub served: bool,
    /// Port of the iperf3 server; `None` without one.
    pub server: Option<u16>,
    /// Reason why the agent would not begin one of them, or what failed at the server.
    pub refused: Option<String>,
}

/// Pairs each host's first port toward each device with the next host's, and both ends of each
/// direct cable.
pub fn pairs(topology: &Topology) -> Vec<Pair> {
    let mut all = Vec::new();
    for device in &topology.devices {
        let mut ports = topology.ports_of(Some(&device.name));
        ports.dedup_by(|a, b| a.host == b.host);
        let next = ports.iter().cycle().skip(1);
        let around = ports.iter().zip(next).take(if ports.len() < 3 { 1 } else { ports.len() });
        let two = around.filter(|(from, to)| from.host != to.host);
        let pairs = two.map(|(from, to)| Pair { from: from.clone(), to: to.clone() });
        all.extend(pairs.filter_map(|pair| from_an_agent(topology, pair)));
    }
    for host in &topology.hosts {
        for port in &host.ports {
            let from = PortRef { host: host.name.clone(), port: port.name.clone() };
            // A direct cable is named at both ends: once is enough.
            if let CableEnd::Host(to) = &port.cable
                && from.to_string() < to.to_string()
            {
                all.extend(from_an_agent(topology, Pair { from, to: to.clone() }));
            }
        }
    }
    all
}

/// Returns the pair, or its reverse, so that an agent begins; `None` for two iperf3 servers, and
/// for a host on which nothing runs: nobody there need answer.
fn from_an_agent(topology: &Topology, pair: Pair) -> Option<Pair> {
    match [&pair.from, &pair.to].map(|end| topology.runs_at(end)) {
        [Runs::Nothing, _] | [_, Runs::Nothing] => None,
        [Runs::Agent, _] => Some(pair),
        [_, Runs::Agent] => Some(pair.back()),
        _ => None,
    }
}

/// Port of the iperf3 server on a port's host, if that is all that runs there.
fn server(topology: &Topology, port: &PortRef) -> Option<u16> {
    topology.runs_at(port).iperf3_port()
}

/// Tries all three on every pair at once, and then those that had no answer for longer, so that a
/// long path is not taken for a broken one.
pub fn try_passages(
    testbed: &mut dyn Testbed,
    pairs: &[Pair],
    mtu: &dyn Fn(&PortRef) -> u32,
) -> Result<Vec<Passage>, TestbedError> {
    let topology = testbed.topology();
    let of = |pair| tries(pair, mtu(&pair.from), server(topology, &pair.to).is_some());
    let asked: Vec<Try> = pairs.iter().flat_map(of).collect();
    let mut told = answers(testbed, &asked.iter().collect::<Vec<_>>(), &SHORT)?;
    let left: Vec<usize> = (0..asked.len()).filter(|at| told[*at] == Reply::Silence).collect();
    if !left.is_empty() {
        let again: Vec<&Try> = left.iter().map(|at| &asked[*at]).collect();
        for (at, late) in left.iter().zip(answers(testbed, &again, &LONG)?) {
            told[*at] = late;
        }
    }
    let passage = |(pair, told): (&Pair, &[Reply])| {
        let to_address = testbed.topology().port(&pair.to)?.address;
        let (from, to) = (pair.from.clone(), pair.to.clone());
        let full_size = mtu(&pair.from) + FRAMING;
        let refused = told.iter().find_map(|reply| match reply {
            Reply::Refused(why) => Some(why.clone()),
            _ => None,
        });
        let [small, full, served] = [0, 1, 2].map(|at| told[at] == Reply::Came);
        let server = server(testbed.topology(), &pair.to);
        let largest = None;
        Some(Passage {
            from,
            to,
            to_address,
            small,
            full,
            full_size,
            largest,
            served,
            server,
            refused,
        })
    };
    let mut passages: Vec<Passage> = pairs.iter().zip(told.chunks(3)).filter_map(passage).collect();
    for passage in passages.iter_mut().filter(|passage| passage.small && !passage.full) {
        passage.largest = largest::find(testbed, passage)?;
    }
    Ok(passages)
}

/// TCP payload rate from one port to another.
#[derive(Debug, Clone, PartialEq)]
pub struct Carried {
    /// Sending port.
    pub from: PortRef,
    /// Receiving port.
    pub to: PortRef,
    /// Payload rate.
    pub rate: Rate,
}

/// Best payload rate of each port over all its partners, by direction.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BestRates {
    /// Rate at which the port sends.
    pub sends: BTreeMap<PortRef, Rate>,
    /// Rate at which the port receives.
    pub receives: BTreeMap<PortRef, Rate>,
}

impl BestRates {
    /// Keeps the best of each port and direction.
    pub fn from_carried(carried: &[Carried]) -> Self {
        let mut best = Self::default();
        for one in carried {
            let ends = [(&mut best.sends, &one.from), (&mut best.receives, &one.to)];
            for (rates, port) in ends {
                let rate = rates.entry(port.clone()).or_insert(one.rate);
                *rate = one.rate.max(*rate);
            }
        }
        best
    }
}

/// Runs one TCP connection each way between each pair, one after another, for a moment each: enough
/// to see a port that is far slower than the others.
pub fn carried(testbed: &mut dyn Testbed, pairs: &[Pair]) -> Result<Vec<Carried>, TestbedError> {
    let mut all = Vec::new();
    for pair in pairs {
        for way in [pair.clone(), pair.back()] {
            let bulk = bulk();
            let label = format!("TCP {} > {}", way.from, way.to);
            let flows = vec![Flow::measured(&way, bulk)];
            let trial = Trial {
                offloads: Offloads::AsFound,
                ..Trial::quick(label, flows, BULK_LOAD, Gate::Uneven)
            };
            let record = match testbed.run(&trial) {
                Ok(record) => record,
                Err(TestbedError::Unavailable { .. }) => continue,
                Err(error) => return Err(error),
            };
            let Some(FlowRecord::Bulk(bulk)) = record.flows.first() else { continue };
            if bulk.elapsed > Nanos::ZERO {
                let rate = Rate(bulk.goodput() as u64);
                all.push(Carried { from: way.from, to: way.to, rate });
            }
        }
    }
    Ok(all)
}

/// One TCP connection.
fn bulk() -> FlowKind {
    let congestion_control = "cubic".to_owned();
    FlowKind::Bulk(Bulk { streams: 1, congestion_control, interval: BULK_INTERVAL })
}

/// One kind of frames between two ports.
struct Try<'a> {
    pair: &'a Pair,
    /// Kind of frames; `None` for a size that no frame has.
    kind: Option<FlowKind>,
}

/// Result of a try.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Reply {
    Came,
    Silence,
    /// The agent would not begin it, and why.
    Refused(String),
}

/// Reason why a trial brought no replies.
enum NotBegun {
    /// The agent refused it.
    Refused(String),
    /// The trial failed: if it was of one path alone, nothing passes there.
    Failed(String),
}

impl Reply {
    /// Returns the reply to one try alone. A server that does not take a test says why.
    fn without(why: NotBegun, asked: &Try<'_>) -> Self {
        match (why, &asked.kind) {
            (NotBegun::Refused(why), _) | (NotBegun::Failed(why), Some(FlowKind::Bulk(_))) => {
                Self::Refused(why)
            }
            (NotBegun::Failed(_), _) => Self::Silence,
        }
    }
}

/// Returns the tries in the order of [`Passage`]'s fields.
fn tries(pair: &Pair, mtu: u32, server: bool) -> [Try<'_>; 3] {
    let (schedule, messages) = (Schedule::Greedy, None);
    let echo = |protocol, octets| {
        let frame_size = FrameSize::new(octets).ok()?;
        Some(FlowKind::Echo(Echo { protocol, frame_size, schedule, messages }))
    };
    let served = if server { Some(bulk()) } else { echo(Protocol::Udp, SMALL) };
    let full = echo(Protocol::Icmp, mtu + FRAMING);
    [echo(Protocol::Icmp, SMALL), full, served].map(|kind| Try { pair, kind })
}

/// Returns one reply each. A try that cannot begin does not affect the others.
fn answers(
    testbed: &mut dyn Testbed,
    tries: &[&Try<'_>],
    asking: &Asking,
) -> Result<Vec<Reply>, TestbedError> {
    match answers_at_once(testbed, tries, asking)? {
        Ok(all) => Ok(all),
        Err(_) if tries.is_empty() => Ok(Vec::new()),
        Err(_) => {
            let alone = |one: &&Try<'_>| {
                let told = answers_at_once(testbed, &[*one], asking)?;
                Ok(told.map_or_else(|why| Reply::without(why, one), |mut told| told.remove(0)))
            };
            tries.iter().map(alone).collect()
        }
    }
}

/// Returns the replies of one trial, or why it failed.
fn answers_at_once(
    testbed: &mut dyn Testbed,
    tries: &[&Try<'_>],
    asking: &Asking,
) -> Result<Result<Vec<Reply>, NotBegun>, TestbedError> {
    let flow = |(number, one): (u16, &&Try<'_>)| {
        let mut kind = one.kind.clone()?;
        if let FlowKind::Echo(echo) = &mut kind {
            echo.schedule = asking.schedule;
        }
        Some(Flow { id: number, ..Flow::measured(one.pair, kind) })
    };
    let flows: Vec<Flow> = (1..).zip(tries).filter_map(flow).collect();
    let label = match tries {
        [one] => format!("{} > {}", one.pair.from, one.pair.to),
        all => format!("{} paths", all.len()),
    };
    // Single small packets: nothing is merged or split, and no privilege is needed.
    let trial = Trial {
        offloads: Offloads::AsFound,
        phases: Phases { residual: asking.residual, ..Phases::quick(asking.load) },
        ..Trial::quick(label, flows, asking.load, Gate::Strict)
    };
    let record = match testbed.run(&trial) {
        Ok(record) => record,
        // The agent refuses, because the path leads elsewhere: nothing passes by this one.
        Err(TestbedError::Unavailable { reason, .. }) => {
            return Ok(Err(NotBegun::Refused(reason)));
        }
        Err(error) => return Err(error),
    };
    if let Outcome::Failed { reason } = record.outcome {
        return Ok(Err(NotBegun::Failed(reason)));
    }
    let reply = |number: u16| {
        let of = trial.flows.iter().position(|flow| flow.id == number);
        let flow = of.and_then(|at| record.flows.get(at));
        match flow {
            Some(FlowRecord::Echo(echo)) if echo.answers.unique > 0 => Reply::Came,
            Some(FlowRecord::Bulk(bulk)) if bulk.received.0 > 0 => Reply::Came,
            _ => Reply::Silence,
        }
    };
    Ok(Ok((1..).zip(tries).map(|(number, _)| reply(number)).collect()))
}
