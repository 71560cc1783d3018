//! Passage between two hosts over a cable or through a device: pings small and of full size, UDP
//! and TCP, from either end; or, to an iperf3 server, TCP streams.
//!
//! Owns these small trials, and which ways open a conversation. Never a figure: only whether
//! anything came back.

mod largest;
mod rates;

use std::net::IpAddr;

use measure::units::FRAMING_OCTETS;
use measure::{FrameRate, FrameSize, Nanos};
use trial::topology::{CableEnd, Opening, Pair, PortRef, Runs};
use trial::{Backend, Datagrams, Echo, Flow, FlowKind, Gate, Offloads, Phases, Protocol, Schedule};
use trial::{FlowRecord, Outcome, Testbed, TestbedError, Topology, Trial, TrialRecord};

pub use largest::Largest;
use rates::bulk;
pub use rates::{BestRates, carried};

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
/// Octets of a small frame.
const SMALL: u32 = 128;

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
    /// What opens from `from` to `to`; `None` to an iperf3 server, which is not asked.
    pub forward: Option<Opening>,
    /// What opens from `to` to `from`.
    pub back: Option<Opening>,
    /// What became of UDP, if neither end has an answer, in the agents' words.
    pub unanswered: Vec<String>,
    /// True if UDP from `from` arrives at `to` under an address outside the testbed, which nobody
    /// answers.
    pub from_outside: bool,
}

impl Passage {
    /// True if the agents have no answer by UDP from either end, while something else passes, and
    /// nothing has shown a translated address that may be answered.
    fn answers_nobody(&self) -> bool {
        let ways = [&self.forward, &self.back].map(Option::as_ref);
        let [udp, other] = [|way: &Opening| way.udp, |way: &Opening| way.icmp || way.tcp]
            .map(|opens: fn(&Opening) -> bool| ways.iter().flatten().any(|way| opens(way)));
        self.forward.as_ref().is_some_and(|way| way.translated.is_none()) && !udp && other
    }

    /// True if TCP opens from either end.
    pub fn opens_tcp(&self) -> bool {
        [&self.forward, &self.back].into_iter().flatten().any(|way| way.tcp)
    }

    /// What opens each way, if the two differ or an address is translated.
    pub fn one_sided(&self) -> Option<[&Opening; 2]> {
        let (forward, back) = (self.forward.as_ref()?, self.back.as_ref()?);
        let opens = |way: &Opening| (way.icmp, way.udp, way.tcp);
        let translated = forward.translated.is_some() || back.translated.is_some();
        (opens(forward) != opens(back) || translated).then_some([forward, back])
    }
}

/// What a testbed keeps of the passages: ways that do not simply open.
pub fn openings(passages: &[Passage]) -> Vec<Opening> {
    let ways = passages.iter().filter_map(Passage::one_sided).flatten();
    ways.filter(|way| !way.is_plain()).cloned().collect()
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

/// Tries everything on every pair at once, and then those that had no answer for longer, so that a
/// long path is not taken for a broken one.
pub fn try_passages(
    testbed: &mut dyn Testbed,
    pairs: &[Pair],
    mtu: &dyn Fn(&PortRef) -> u32,
) -> Result<Vec<Passage>, TestbedError> {
    let topology = testbed.topology();
    let of = |pair| tries(pair, mtu(&pair.from), server(topology, &pair.to).is_some());
    let each: Vec<Vec<Try>> = pairs.iter().map(of).collect();
    let asked: Vec<&Try> = each.iter().flatten().collect();
    let mut told = answers(testbed, &asked, &SHORT)?;
    // One failure among several of a way may be a busy machine's: only a way that is silent in
    // everything is taken for shut at once, and asked again only from the first end.
    let is_left = |at: &usize| {
        let is_shut = is_shut(&asked, &told, *at);
        let is_worth_it = asked[*at].is_first && !is_answered_back(&asked, &told, *at);
        told[*at].is_silence() && (!is_shut || is_worth_it)
    };
    let left: Vec<usize> = (0..asked.len()).filter(is_left).collect();
    if !left.is_empty() {
        let again: Vec<&Try> = left.iter().map(|at| asked[*at]).collect();
        for (at, late) in left.iter().zip(answers(testbed, &again, &LONG)?) {
            told[*at] = late;
        }
    }
    let (mut all, mut told) = (Vec::new(), told.as_slice());
    for (pair, tries) in pairs.iter().zip(&each) {
        let (own, others) = told.split_at(tries.len());
        told = others;
        let mut passage = passage(testbed.topology(), pair, own, mtu(&pair.from));
        for passage in passage.iter_mut().filter(|passage| passage.answers_nobody()) {
            passage.from_outside = arrives_from_elsewhere(testbed, pair)?;
        }
        all.extend(passage);
    }
    for passage in all.iter_mut().filter(|passage| passage.small && !passage.full) {
        passage.largest = largest::find(testbed, passage)?;
    }
    Ok(all)
}

/// Runs a trial; `None` if an agent refuses it.
fn run_unless_refused(
    testbed: &mut dyn Testbed,
    trial: &Trial,
) -> Result<Option<TrialRecord>, TestbedError> {
    match testbed.run(trial) {
        Ok(record) => Ok(Some(record)),
        Err(TestbedError::Unavailable { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// True if frames of a flow arrive from an address that is neither the sender's nor one of a router
/// beside the receiver.
fn arrives_from_elsewhere(testbed: &mut dyn Testbed, pair: &Pair) -> Result<bool, TestbedError> {
    let Ok(size) = FrameSize::new(SMALL) else { return Ok(false) };
    let schedule = Schedule::Paced(FrameRate(50.0));
    let flow = FlowKind::Datagrams(Datagrams::plain(size, schedule, Backend::Udp, 8));
    let load = Nanos::from_millis(200);
    let trial = Trial {
        offloads: Offloads::AsFound,
        ..Trial::quick(
            format!("{} > {}", pair.from, pair.to),
            vec![Flow::measured(pair, flow)],
            load,
            Gate::Flood,
        )
    };
    let Some(record) = run_unless_refused(testbed, &trial)? else { return Ok(false) };
    Ok(match record.flows.first() {
        Some(FlowRecord::Datagrams(seen)) => seen.received.unique == 0 && seen.rejected.foreign > 0,
        _ => false,
    })
}

/// True if every try of the same way failed before it began.
fn is_shut(asked: &[&Try], told: &[Reply], at: usize) -> bool {
    let mut same_way = asked.iter().zip(told).filter(|(other, _)| other.pair == asked[at].pair);
    same_way.all(|(_, reply)| reply.silence().is_some())
}

/// True if the same was answered the other way: the path is known to be no longer than that.
fn is_answered_back(asked: &[&Try], told: &[Reply], at: usize) -> bool {
    let is_back = |other: &Try| other.pair == asked[at].pair.back() && other.kind == asked[at].kind;
    asked.iter().zip(told).any(|(other, reply)| is_back(other) && reply.arrived())
}

/// Builds the passage of a pair from the replies in the order of its tries.
fn passage(topology: &Topology, pair: &Pair, told: &[Reply], mtu: u32) -> Option<Passage> {
    let to_address = topology.port(&pair.to)?.address;
    let refused = told.iter().find_map(|reply| match reply {
        Reply::Refused(why) => Some(why.clone()),
        _ => None,
    });
    let came = |at: usize| told.get(at).is_some_and(Reply::arrived);
    let opening = |pair: &Pair, [icmp, udp, tcp]: [usize; 3]| {
        let seen = [udp, tcp].into_iter().find_map(|at| told.get(at)?.seen_from());
        Opening {
            from: pair.from.clone(),
            to: pair.to.clone(),
            icmp: came(icmp),
            udp: came(udp),
            tcp: came(tcp),
            translated: seen,
        }
    };
    let both_ways = told.len() == BOTH_WAYS;
    let words = [UDP, BACK[1]].into_iter().filter_map(|at| told.get(at)?.silence().cloned());
    Some(Passage {
        from: pair.from.clone(),
        to: pair.to.clone(),
        to_address,
        small: came(ICMP),
        full: came(FULL),
        full_size: mtu + FRAMING_OCTETS,
        largest: None,
        served: came(UDP),
        server: server(topology, &pair.to),
        refused,
        forward: both_ways.then(|| opening(pair, [ICMP, UDP, TCP])),
        back: both_ways.then(|| opening(&pair.back(), BACK)),
        unanswered: words.collect(),
        from_outside: false,
    })
}

/// Places of a pair's tries.
const ICMP: usize = 0;
const FULL: usize = 1;
const UDP: usize = 2;
const TCP: usize = 3;
const BACK: [usize; 3] = [4, 5, 6];
/// Number of tries of a pair of agents.
const BOTH_WAYS: usize = 7;

/// One kind of frames between two ports.
struct Try {
    pair: Pair,
    /// True for pings and UDP from the first end, and for an iperf3 server's test.
    is_first: bool,
    /// Kind of frames; `None` for a size that no frame has.
    kind: Option<FlowKind>,
}

/// Result of a try.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Reply {
    /// Something came, in requests from this address if it is not the asking port's own.
    Came(Option<IpAddr>),
    /// Nothing came, in the agents' words if they have any.
    Silence(Option<String>),
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
    const fn arrived(&self) -> bool {
        matches!(self, Self::Came(_))
    }

    const fn is_silence(&self) -> bool {
        matches!(self, Self::Silence(_))
    }

    /// Translated address of the asking port.
    const fn seen_from(&self) -> Option<IpAddr> {
        match self {
            Self::Came(seen) => *seen,
            Self::Silence(_) | Self::Refused(_) => None,
        }
    }

    /// Words of the agents about the silence.
    const fn silence(&self) -> Option<&String> {
        match self {
            Self::Silence(words) => words.as_ref(),
            Self::Came(_) | Self::Refused(_) => None,
        }
    }

    /// Returns the reply to one try alone. A server that does not take a test says why.
    fn without(why: NotBegun, asked: &Try) -> Self {
        match (why, &asked.kind) {
            (NotBegun::Refused(why), _) | (NotBegun::Failed(why), Some(FlowKind::Bulk(_))) => {
                Self::Refused(why)
            }
            (NotBegun::Failed(why), _) => Self::Silence(Some(why)),
        }
    }
}

/// Returns the tries of a pair, in the order of their places; three to an iperf3 server.
fn tries(pair: &Pair, mtu: u32, server: bool) -> Vec<Try> {
    let (schedule, messages) = (Schedule::Greedy, None);
    let echo = |protocol, octets| {
        let frame_size = FrameSize::new(octets).ok()?;
        Some(FlowKind::Echo(Echo { protocol, frame_size, schedule, messages }))
    };
    let one = |pair: &Pair, is_first, kind| Try { pair: pair.clone(), is_first, kind };
    let [icmp, udp, tcp] =
        [Protocol::Icmp, Protocol::Udp, Protocol::Tcp].map(|protocol| echo(protocol, SMALL));
    let full = echo(Protocol::Icmp, mtu + FRAMING_OCTETS);
    if server {
        return [icmp, full, Some(bulk())].map(|kind| one(pair, true, kind)).into();
    }
    let first = [icmp.clone(), full, udp.clone()].map(|kind| one(pair, true, kind));
    let back = [icmp, udp, tcp.clone()].map(|kind| one(&pair.back(), false, kind));
    first.into_iter().chain([one(pair, false, tcp)]).chain(back).collect()
}

/// Returns one reply each. A try that cannot begin does not affect the others.
fn answers(
    testbed: &mut dyn Testbed,
    tries: &[&Try],
    asking: &Asking,
) -> Result<Vec<Reply>, TestbedError> {
    match answers_at_once(testbed, tries, asking)? {
        Ok(all) => Ok(all),
        Err(_) if tries.is_empty() => Ok(Vec::new()),
        Err(_) => {
            let alone = |one: &&Try| {
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
    tries: &[&Try],
    asking: &Asking,
) -> Result<Result<Vec<Reply>, NotBegun>, TestbedError> {
    let flow = |(number, one): (u16, &&Try)| {
        let mut kind = one.kind.clone()?;
        if let FlowKind::Echo(echo) = &mut kind {
            echo.schedule = asking.schedule;
        }
        Some(Flow { id: number, ..Flow::measured(&one.pair, kind) })
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
            Some(FlowRecord::Echo(echo)) if echo.answers.unique > 0 => Reply::Came(echo.seen_from),
            Some(FlowRecord::Bulk(bulk)) if bulk.received.0 > 0 => Reply::Came(None),
            _ => Reply::Silence(None),
        }
    };
    Ok(Ok((1..).zip(tries).map(|(number, _)| reply(number)).collect()))
}
