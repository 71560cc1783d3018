//! A trial: a set of flows run together for a while. Data only; this is what a study asks for, what
//! the journal keys its records by, and what a testbed carries out.
//!
//! Three of the five kinds of flow are here; `Exchange` and `Storage` come with their studies.

use measure::{FrameRate, FrameSize, Nanos};
use serde::{Deserialize, Serialize};

use crate::topology::PortRef;

/// What a study asks a testbed to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// What it is for, in a few words: `rtt udp 64 idle`. Shown while it runs.
    pub label: String,
    /// The path it takes: the device, or the direct cable beside it.
    pub path: Path,
    /// Which block of the study it belongs to, from 0. The block is the sampling unit.
    pub block: u32,
    /// Which try this is, from 0: an invalid trial is asked for again under the next number.
    pub attempt: u32,
    /// All flows; they start together.
    pub flows: Vec<Flow>,
    /// How long each phase lasts.
    pub phases: Phases,
    /// Segmentation and receive offloads of the ports in use.
    pub offloads: Offloads,
    /// What makes it invalid.
    pub gate: Gate,
}

/// Which way a trial's measured flows go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Path {
    /// Through the device under test (or, where the testbed is only a cable, the cable).
    Device,
    /// The direct cable between the same hosts.
    Bypass,
}

/// The phases of RFC 2544 §23 around the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phases {
    /// Wait after the learning frames, before the load.
    pub learned: Nanos,
    /// The load itself.
    pub load: Nanos,
    /// Receivers stay open this long for residual frames.
    pub residual: Nanos,
    /// Rest before the next trial.
    pub settle: Nanos,
}

impl Phases {
    /// The RFC's: two seconds, the load, two seconds, five seconds.
    pub const fn strict(load: Nanos) -> Self {
        Self {
            learned: Nanos::from_secs(2),
            load,
            residual: Nanos::from_secs(2),
            settle: Nanos::from_secs(5),
        }
    }

    /// Shortened for a look; figures from it carry [`crate::Caveat::QuickProfile`].
    pub const fn quick(load: Nanos) -> Self {
        Self {
            learned: Nanos::from_millis(20),
            load,
            residual: Nanos::from_millis(100),
            settle: Nanos::from_millis(50),
        }
    }

    /// All phases together.
    pub fn total(&self) -> Nanos {
        self.learned + self.load + self.residual + self.settle
    }
}

/// What the kernel may do with several frames at once on the ports in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Offloads {
    /// TSO, GSO and GRO off, so that a frame is a frame. Restored afterwards.
    Off,
    /// As the host has them; only recorded.
    AsFound,
}

/// What a moved tester counter means (METHODS: a valid trial).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gate {
    /// Any tester-side loss, or an offered load off by more than 0.1 %, makes the trial invalid.
    Strict,
    /// A flood: the tester is meant to be at its limit, so its own loss makes the figure a lower
    /// bound instead.
    Flood,
}

/// One conversation between two ports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Unique in the trial; carried by every packet.
    pub id: u16,
    /// Sends, or asks.
    pub from: PortRef,
    /// Receives, or answers.
    pub to: PortRef,
    /// What it is there for.
    pub role: Role,
    /// What it does.
    pub kind: FlowKind,
}

/// Whether a flow is the thing measured or the load beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Figures come from it.
    Measured,
    /// It only keeps the path busy.
    Load,
}

/// The kinds of flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowKind {
    /// Request and response, one after another or on a schedule.
    Echo(Echo),
    /// Paced, sequence-numbered UDP frames one way.
    Datagrams(Datagrams),
    /// TCP as fast as it goes.
    Bulk(Bulk),
}

/// A round-trip flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Echo {
    /// Over what.
    pub protocol: Protocol,
    /// The size of request and response on the wire.
    pub frame_size: FrameSize,
    /// When the next request goes out.
    pub schedule: Schedule,
}

/// What carries an echo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// ICMP echo, answered by the peer's kernel.
    Icmp,
    /// UDP, answered by our reflector.
    Udp,
    /// TCP with Nagle off, answered by our reflector.
    Tcp,
}

impl Protocol {
    /// `icmp`, `udp`, `tcp`
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Icmp => "icmp",
            Self::Udp => "udp",
            Self::Tcp => "tcp",
        }
    }
}

/// When a flow sends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// Echo: as soon as the last answer is in. Datagrams: as fast as it goes.
    Greedy,
    /// So many a second, whatever comes back; latency counts from the intended send time.
    Paced(FrameRate),
}

/// A one-way flow of UDP frames.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Datagrams {
    /// Frames of this size, with FCS.
    pub frame_size: FrameSize,
    /// How fast.
    pub schedule: Schedule,
    /// What sends them.
    pub backend: Backend,
    /// The most frames a late sender may send back to back to catch up.
    pub burst_limit: u32,
}

/// What puts frames on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// The fastest that works here; the record says which and why.
    Auto,
    /// A UDP socket and sendmmsg.
    Udp,
    /// AF_PACKET and sendmmsg, past the qdisc.
    Packet,
}

/// TCP streams.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bulk {
    /// How many connections.
    pub streams: u16,
    /// Set on every socket, so that the host's default decides nothing: `cubic`.
    pub congestion_control: String,
    /// How often tcp_info is read.
    pub interval: Nanos,
}
