//! A flow: one conversation between two ports, of one of six kinds. Data only; never knows how a
//! host carries it out.

mod datagrams;
mod sessions;
mod storage;

use measure::{ByteCount, FrameRate, FrameSize, Nanos};
use serde::{Deserialize, Serialize};

use crate::collective::RankPair;
use crate::topology::{Pair, PortRef};
pub use datagrams::{
    Backend, CountsOnly, Datagrams, Destination, Headers, IpVersion, Reception, Spread, VlanId,
    one_sender,
};
pub use sessions::{
    FASTEST_OPENING, Hold, MOST_SESSIONS, Opening, SPEAKS_EVERY, SessionRate, Sessions, Transport,
};
pub use storage::{Jobs, Pattern, QueueDepth, ReadPercent, ServedMemory, Storage, fio_octets};

/// Conversation between two ports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Identifier, unique in the trial and carried by every packet.
    pub id: u16,
    /// Sending or client port.
    pub from: PortRef,
    /// Receiving or server port.
    pub to: PortRef,
    /// Purpose of the flow in its trial.
    pub role: Role,
    /// Kind of traffic, with its settings.
    pub kind: FlowKind,
}

impl Flow {
    /// Creates the measured flow of a trial, from a pair's first port to its second.
    pub fn measured(pair: &Pair, kind: FlowKind) -> Self {
        Self { id: 1, from: pair.from.clone(), to: pair.to.clone(), role: Role::Measured, kind }
    }

    /// Creates measured flows of one kind, one per pair, numbered from 1.
    pub fn each_measured<'p>(
        pairs: impl IntoIterator<Item = &'p Pair>,
        kind: &FlowKind,
    ) -> Vec<Self> {
        let flow = |(id, pair)| Self { id, ..Self::measured(pair, kind.clone()) };
        (1..).zip(pairs).map(flow).collect()
    }

    /// Leaves first choices alone, as journals of 0.3 and before hold them.
    pub(crate) fn keep_first_choice(&mut self) {
        if let FlowKind::Bulk(bulk) = &mut self.kind {
            bulk.congestion_control = bulk.preferred_control().to_owned();
        }
    }
}

/// Purpose of a flow: the traffic measured, or background load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Results come from this flow.
    Measured,
    /// Background load that only keeps the path busy.
    Load,
}

/// Kinds of flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowKind {
    /// Request and response, one after another or on a schedule.
    Echo(Echo),
    /// Paced, sequence-numbered UDP frames in one direction.
    Datagrams(Datagrams),
    /// TCP at full speed.
    Bulk(Bulk),
    /// Messages in both directions at once, timed at their receipt.
    Exchange(Exchange),
    /// Reads and writes of blocks: an fio job or its stand-in.
    Storage(Storage),
    /// TCP connections opened at a rate, each closed at once or held.
    Sessions(Sessions),
}

/// Round-trip flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Echo {
    /// Protocol of requests and responses.
    pub protocol: Protocol,
    /// Size of request and response on the wire.
    pub frame_size: FrameSize,
    /// Schedule of the requests.
    pub schedule: Schedule,
    /// Message sizes over TCP other than one frame; `None` if each message is one frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Messages>,
}

/// Payload sizes of a request and its answer, each cut into as many frames as it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Messages {
    /// Payload of a request.
    pub request: ByteCount,
    /// Payload of its answer.
    pub answer: ByteCount,
}

/// Protocol that carries an echo.
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
    /// Name of the protocol: `icmp`, `udp`, `tcp`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Icmp => "icmp",
            Self::Udp => "udp",
            Self::Tcp => "tcp",
        }
    }
}

/// Schedule of a flow's frames.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// Echo: as soon as the last answer is in. Datagrams: at full speed.
    Greedy,
    /// Constant rate, whatever comes back; latency counts from the intended send time.
    Paced(FrameRate),
    /// Datagrams only: this many frames back to back at full speed, and no more.
    Burst(u64),
    /// Datagrams only: paced, with one change of rate during the load (RFC 2544 §26.5).
    Falling {
        /// Rate before the change.
        from: FrameRate,
        /// Rate after the change.
        to: FrameRate,
        /// Time of the change after the load's start.
        after: Nanos,
    },
}

/// TCP streams.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bulk {
    /// Number of connections.
    pub streams: u16,
    /// Congestion control, such as `cubic`, set on every socket: the host's default has no effect.
    /// Of several, separated by spaces, the first that the host has and permits.
    pub congestion_control: String,
    /// Interval at which `tcp_info` is read.
    pub interval: Nanos,
}

/// Congestion control of streams whose algorithm is nobody's question. Where a host's default is
/// neither of the two, only root may use cubic; every user may use reno.
pub const BY_LOSS: &str = "cubic reno";

impl Bulk {
    /// First choice of congestion control.
    pub fn preferred_control(&self) -> &str {
        self.congestion_control.split_whitespace().next().unwrap_or_default()
    }
}

/// Two ports that swap messages. Each end sends one, waits for the whole message of the other, and
/// goes on, as neighbours in a message-passing program do. A round lasts as long as the slower
/// direction. As a part of a collective, the ports swap its parts when these are due instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// Payload of one message.
    pub message: ByteCount,
    /// Transport of the messages.
    pub carrier: Carrier,
    /// Interval over which receipts are summed; the worst interval is reported.
    pub interval: Nanos,
    /// Collective that the exchange is a part of; `None` for messages by themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collective: Option<RankPair>,
}

/// Transport of an exchange's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carrier {
    /// One connection for both directions, Nagle off: lost segments are retransmitted.
    Tcp,
    /// UDP frames of the largest size, with a limit on frames in flight that the peer has not
    /// credited. Lost frames are counted and not sent again, and their message is given up.
    Datagrams {
        /// Most frames in flight.
        credits: u16,
    },
}
