//! The study `latency`: how slow is a path, by size and protocol, at rest and under a stated load.
//!
//! Owns its request and the order of its trials. What the records mean is in `figures`; never
//! reports an absolute switch latency, because software stamps contain the hosts' own stacks.

use measure::{FrameRate, FrameSize, Nanos};
use serde::{Deserialize, Serialize};

use super::{Profile, SpecProblem};
use crate::trial::{Protocol, Schedule};
use crate::{Figure, Testbed, TestbedError, Topology};

/// What to measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencySpec {
    /// Over what.
    pub protocols: Vec<Protocol>,
    /// Sizes of request and response on the wire.
    pub sizes: Vec<FrameSize>,
    /// What else the path carries meanwhile.
    pub loads: Vec<Load>,
    /// Closed loop (`Greedy`) or open loop (`Paced`).
    pub schedule: Schedule,
    /// The load phase of each trial.
    pub duration: Nanos,
    /// Repeats of everything, in random order; the sampling unit.
    pub blocks: u32,
    /// The phases around.
    pub profile: Profile,
    /// How often one trial is tried before it is given up; at least 1.
    pub tries: u32,
}

/// What the path carries beside the round trips.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// Nothing.
    Idle,
    /// Paced UDP frames in the requests' direction.
    Datagrams {
        /// Their size.
        frame_size: FrameSize,
        /// How many.
        rate: FrameRate,
    },
    /// TCP streams as fast as they go, in the requests' direction.
    Bulk {
        /// How many connections.
        streams: u16,
        /// Their congestion control: `cubic`.
        congestion_control: String,
    },
}

impl LatencySpec {
    /// A look: two sizes, three protocols, at rest, six blocks of 300 ms.
    pub fn quick() -> Self {
        Self {
            protocols: vec![Protocol::Icmp, Protocol::Udp, Protocol::Tcp],
            sizes: vec![FrameSize::MIN, FrameSize::STANDARD_MAX],
            loads: vec![Load::Idle],
            schedule: Schedule::Greedy,
            duration: Nanos::from_millis(300),
            blocks: 6,
            profile: Profile::Quick,
            tries: 3,
        }
    }

    /// RFC 2544's sizes, a minute each, ten blocks.
    pub fn strict() -> Self {
        Self {
            sizes: super::rfc2544_sizes(),
            duration: Nanos::from_secs(60),
            blocks: 10,
            profile: Profile::Strict,
            ..Self::quick()
        }
    }

    /// See [`super::StudySpec::estimate`].
    pub fn estimate(&self, _topology: &Topology) -> Nanos {
        Nanos::ZERO
    }

    /// See [`super::StudySpec::check`].
    pub fn check(&self, _topology: &Topology) -> Result<(), SpecProblem> {
        Ok(())
    }

    /// See [`super::StudySpec::run`].
    pub fn run(&self, _testbed: &mut dyn Testbed, _seed: u64) -> Result<Vec<Figure>, TestbedError> {
        Ok(Vec::new())
    }
}
