//! Request for the tcp study: ports, directions, number of streams and durations.
//!
//! Owns its checks and its estimate. Never requests a trial.

use measure::Nanos;
use serde::{Deserialize, Serialize};

use crate::ways::Ways;
use crate::{
    Agents, BLOCKS, Between, Blocks, Estimate, Known, Needs, Profile, SpecProblem, Streams, TRIES,
    Tries, problem, varied,
};
use trial::{Offloads, Protocol, Result, Subject, Topology};

/// Request of the tcp study, fully resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TcpSpec {
    /// Devices under test, in their variants; if empty, the first device as found.
    pub subjects: Vec<Subject>,
    /// Pair of ports; if not named, those of the first hosts.
    #[serde(default, skip_serializing_if = "Between::is_open")]
    pub between: Between,
    /// Directions of TCP, each a case of its own.
    pub directions: Vec<TcpDirection>,
    /// Connections per direction.
    pub streams: Streams,
    /// Congestion control of the connections.
    pub congestion_control: String,
    /// Warm-up before values count, as iperf3's `-O`.
    pub omit: Nanos,
    /// Measured time after the warm-up.
    pub duration: Nanos,
    /// Time between two readings of the senders.
    pub interval: Nanos,
    /// Repetitions of everything, in random order; the sampling unit.
    pub blocks: Blocks,
    /// Profile of the phases around the load.
    pub profile: Profile,
    /// Attempts at one trial before it is given up; at least 1.
    pub tries: Tries,
}

/// Direction of TCP in a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TcpDirection {
    /// From the first end to the second.
    Forward,
    /// From the second end to the first.
    Reverse,
    /// Bidirectional: both directions at once.
    Bidirectional,
}

impl TcpDirection {
    /// All directions.
    pub const ALL: [Self; 3] = [Self::Forward, Self::Reverse, Self::Bidirectional];

    /// Name in rows and labels.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Reverse => "reverse",
            Self::Bidirectional => "bidirectional",
        }
    }
}

impl TcpSpec {
    /// First word of the label of each trial of this study.
    pub const LABEL: &str = "goodput";
    /// Offloads of the hosts: TCP runs as in any program.
    pub const OFFLOADS: Offloads = Offloads::AsFound;

    /// Short request: one cubic stream for three seconds after one, in each direction, ten blocks.
    pub fn quick() -> Self {
        Self {
            subjects: Vec::new(),
            between: Between::default(),
            directions: TcpDirection::ALL.to_vec(),
            streams: Streams::known(1),
            congestion_control: "cubic".to_owned(),
            omit: Nanos::from_secs(1),
            duration: Nanos::from_secs(3),
            interval: Nanos::from_millis(100),
            blocks: BLOCKS,
            profile: Profile::Quick,
            tries: TRIES,
        }
    }

    /// Request for publication: thirty seconds after five.
    pub fn strict() -> Self {
        Self {
            omit: Nanos::from_secs(5),
            duration: Nanos::from_secs(30),
            profile: Profile::Strict,
            ..Self::quick()
        }
    }

    /// See [`crate::StudySpec::estimate`].
    pub fn estimate(&self, topology: &Topology) -> Estimate {
        let ways = self.ways(topology).map_or(0, |ways| ways.all().len());
        let trials = u64::from(self.blocks.get()) * (ways * self.directions.len()) as u64;
        self.profile.trial(self.omit + self.duration) * trials
    }

    /// See [`crate::StudySpec::check`].
    pub(crate) fn check(&self, known: Known<'_>) -> Result<(), SpecProblem> {
        problem::some("direction", &self.directions)?;
        problem::lasts(self.duration)?;
        if self.interval == Nanos::ZERO || self.interval > self.duration {
            let range = "above 0 and at most the duration";
            return Err(problem::out_of_range("the interval", &self.interval, range));
        }
        let Some(topology) = known.topology else { return Ok(()) };
        self.ways(topology).map(drop)
    }

    /// See [`crate::StudySpec::needs`].
    pub fn needs(&self) -> Needs {
        Needs {
            connections: true,
            protocols: vec![Protocol::Tcp],
            offloads: Self::OFFLOADS,
            agents: Agents::NotAtServers,
            printed_after: Some(self.omit),
            ..Needs::default()
        }
    }

    /// Paths of the trials.
    pub(super) fn ways(&self, topology: &Topology) -> Result<Ways, SpecProblem> {
        Ways::between(topology, &self.between, &self.subjects)
    }
}

varied::repeated!(TcpSpec);
