//! Request for RTTs: protocols, sizes, loads and ports, and whether it can be carried out.
//!
//! Owns the checks and the estimate. Never runs a trial.

use measure::{FrameSize, Nanos, Rate};
use serde::{Deserialize, Serialize};

use super::load::{DirectedLoad, Load};
use crate::tcp::TcpDirection;
use crate::{
    Agents, BLOCKS, Between, Blocks, Bypass, Estimate, Known, Needs, PacedFrames, Profile,
    SpecProblem, TRIES, Tries, Varied, Ways, problem, rate,
};
use trial::topology::Pair;
use trial::{Protocol, Schedule, Subject, Topology};

/// Request for RTTs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencySpec {
    /// Protocols of the round trips.
    pub protocols: Vec<Protocol>,
    /// Sizes of request and response on the wire.
    pub sizes: Vec<FrameSize>,
    /// Background loads on the path.
    pub loads: Vec<Load>,
    /// Directions of TCP loads relative to the requests, each a case of its own.
    #[serde(default = "forward", skip_serializing_if = "is_forward")]
    pub load_directions: Vec<TcpDirection>,
    /// Devices under test, in their variants; if empty, the first device as found.
    pub subjects: Vec<Subject>,
    /// Pair of ports; if not named, those of the first hosts.
    #[serde(default, skip_serializing_if = "Between::is_open")]
    pub between: Between,
    /// Closed loop (`Greedy`) or open loop (`Paced`).
    pub schedule: Schedule,
    /// Load phase of each trial.
    pub duration: Nanos,
    /// Repetitions of everything, in random order; the sampling unit.
    pub blocks: Blocks,
    /// Profile of the phases around the load.
    pub profile: Profile,
    /// Attempts at one trial before it is given up; at least 1.
    pub tries: Tries,
}

/// Requests' direction alone, as earlier requests had it.
fn forward() -> Vec<TcpDirection> {
    vec![TcpDirection::Forward]
}

fn is_forward(directions: &[TcpDirection]) -> bool {
    directions == [TcpDirection::Forward]
}

impl LatencySpec {
    /// First look: two sizes, three protocols, idle, ten blocks of 300 ms.
    pub fn quick() -> Self {
        Self {
            protocols: vec![Protocol::Icmp, Protocol::Udp, Protocol::Tcp],
            sizes: vec![FrameSize::MIN, FrameSize::STANDARD_MAX],
            loads: vec![Load::Idle],
            load_directions: forward(),
            subjects: Vec::new(),
            between: Between::default(),
            schedule: Schedule::Greedy,
            duration: Nanos::from_millis(300),
            blocks: BLOCKS,
            profile: Profile::Quick,
            tries: TRIES,
        }
    }

    /// Sizes of RFC 2544, one minute each, ten blocks.
    pub fn strict() -> Self {
        Self {
            sizes: rate::suite::RFC2544.frames(),
            duration: Nanos::from_secs(60),
            profile: Profile::Strict,
            ..Self::quick()
        }
    }

    /// See [`crate::StudySpec::estimate`].
    pub fn estimate(&self, topology: &Topology) -> Estimate {
        let ways = self.ways(topology).map_or(0, |ways| ways.all().len());
        let trials = u64::from(self.blocks.get()) * (ways * self.combinations()) as u64;
        self.profile.trial(self.duration) * trials
    }

    /// See [`crate::StudySpec::check`].
    pub(crate) fn check(&self, known: Known<'_>) -> Result<(), SpecProblem> {
        problem::some("protocol", &self.protocols)?;
        problem::some("frame size", &self.sizes)?;
        problem::some("load", &self.loads)?;
        problem::some("direction of the load", &self.load_directions)?;
        problem::lasts(self.duration)?;
        let Some(topology) = known.topology else { return Ok(()) };
        let ways = self.ways(topology)?;
        for way in ways.subjects() {
            self.check_let_in(topology, ways.pair(way))?;
        }
        let link = ways.link(topology);
        if let Schedule::Paced(rate) = self.schedule {
            for &size in &self.sizes {
                problem::rate("the schedule's rate", rate, size, link)?;
            }
        }
        self.loads.iter().try_for_each(|load| load.check(link))
    }

    /// Refuses a pair of which the first end may not begin in any of the protocols.
    fn check_let_in(&self, topology: &Topology, pair: &Pair) -> Result<(), SpecProblem> {
        let Some(way) = topology.opening(pair) else { return Ok(()) };
        let opens = |protocol: &Protocol| match protocol {
            Protocol::Icmp => way.icmp,
            Protocol::Udp => way.udp,
            Protocol::Tcp => way.tcp,
        };
        if self.protocols.iter().any(opens) {
            return Ok(());
        }
        Err(SpecProblem::NotLetIn { from: pair.from.to_string(), to: pair.to.to_string() })
    }

    /// Rate of the slowest link that takes part; `None` if unknown.
    pub fn link(&self, topology: &Topology) -> Option<Rate> {
        self.ways(topology).ok()?.slowest_link()
    }

    /// See [`crate::StudySpec::needs`].
    pub fn needs(&self) -> Needs {
        let largest = self.sizes.iter().max().copied().unwrap_or(FrameSize::MIN);
        let open = match self.schedule {
            Schedule::Paced(rate) => Some(PacedFrames { size: largest, rate }),
            _ => None,
        };
        let loads: Vec<_> = self.loads.iter().filter_map(Load::frames).collect();
        // The kernel of a server responds to pings.
        let pings = self.protocols.iter().all(|protocol| *protocol == Protocol::Icmp);
        let carried = self.loads.iter().filter_map(Load::protocol);
        Needs {
            protocols: self.protocols.iter().copied().chain(carried).collect(),
            sizes: self.sizes.iter().copied().chain(loads.iter().map(|load| load.size)).collect(),
            loads: loads.into_iter().chain(open).collect(),
            agents: if pings { Agents::NotAtServers } else { Agents::Everywhere },
            bypass: Bypass::Recorded,
            ..Needs::default()
        }
    }

    pub(super) fn ways(&self, topology: &Topology) -> Result<Ways, SpecProblem> {
        Ways::between(topology, &self.between, &self.subjects)
    }

    /// Loads in their directions.
    pub(super) fn directed_loads(&self) -> Vec<DirectedLoad> {
        let each = |load| DirectedLoad::in_each(load, &self.load_directions);
        self.loads.iter().flat_map(each).collect()
    }

    /// Number of combinations of load, protocol and size.
    fn combinations(&self) -> usize {
        self.directed_loads().len() * self.protocols.len() * self.sizes.len()
    }
}

impl Varied for LatencySpec {
    fn subjects(&self) -> Vec<Subject> {
        self.subjects.clone()
    }

    fn set_subject(&mut self, subject: Subject) {
        self.subjects = vec![subject];
    }

    fn set_size(&mut self, size: FrameSize) -> bool {
        self.sizes = vec![size];
        true
    }

    fn blocks(&mut self) -> Option<&mut Blocks> {
        Some(&mut self.blocks)
    }

    fn keep_repeated(&mut self) -> bool {
        true
    }

    /// Number of compared figures: the median and p99 of the RTTs.
    fn compared_figures(&self) -> Option<usize> {
        Some(2 * self.combinations())
    }
}
