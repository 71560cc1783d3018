//! A flow: one conversation between two ports, of one of five kinds. Data only; never knows how a
//! host does it.

mod datagrams;
mod storage;

use measure::{ByteCount, FrameRate, FrameSize, Nanos};
use serde::{Deserialize, Serialize};

use crate::topology::{Pair, PortRef};
pub use datagrams::{
    Backend, CountsOnly, Datagrams, Destination, Headers, IpVersion, Reception, Spread, VlanId,
    one_sender,
};
pub use storage::{Jobs, Pattern, QueueDepth, ReadPercent, ServedMemory, Storage, fio_octets};

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

impl Flow {
    /// The one that a trial is about, from a pair's first port to its second.
    pub fn measured(pair: &Pair, kind: FlowKind) -> Self {
        Self { id: 1, from: pair.from.clone(), to: pair.to.clone(), role: Role::Measured, kind }
    }

    /// Such flows of one kind, one for each pair, numbered from 1.
    pub fn each_measured<'p>(
        pairs: impl IntoIterator<Item = &'p Pair>,
        kind: &FlowKind,
    ) -> Vec<Self> {
        let flow = |(id, pair)| Self { id, ..Self::measured(pair, kind.clone()) };
        (1..).zip(pairs).map(flow).collect()
    }
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
    /// Messages both ways at once, timed at their receipt.
    Exchange(Exchange),
    /// Reads and writes of blocks: a job of fio's, or what stands in for it.
    Storage(Storage),
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
    /// Over TCP: requests and answers of other sizes than one frame's; none, where each is a frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Messages>,
}

/// What a request and its answer carry, cut into as many frames as they need: an operation's own
/// sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Messages {
    /// Payload of a request.
    pub request: ByteCount,
    /// Payload of its answer.
    pub answer: ByteCount,
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
    /// Datagrams only: so many frames back to back, as fast as they go, and no more.
    Burst(u64),
    /// Datagrams only: paced, from one rate to another at a moment of the load (RFC 2544 §26.5).
    Falling {
        /// Until then.
        from: FrameRate,
        /// From then on.
        to: FrameRate,
        /// The moment, from the load's start.
        after: Nanos,
    },
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

/// Two ports that swap messages: each end sends one, waits until the other's has come whole, and
/// goes on, as a message-passing program's neighbours do. A round so lasts as long as the slower
/// way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// Payload of one message.
    pub message: ByteCount,
    /// What carries it.
    pub carrier: Carrier,
    /// How often the receipts are summed up: the worst of these intervals is a figure.
    pub interval: Nanos,
}

/// What carries the messages of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carrier {
    /// One connection for both ways, Nagle off: what is lost is sent again.
    Tcp,
    /// UDP frames of the largest size, at most so many under way that the peer has not credited:
    /// what is lost stays lost and is counted, and its message is given up.
    Datagrams {
        /// Frames under way.
        credits: u16,
    },
}
