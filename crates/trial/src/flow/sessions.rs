//! Flows of connections: how many are opened each second, and how long each is held. Data only.

use measure::Nanos;
use serde::{Deserialize, Serialize};

use super::Protocol;

/// Largest number of connections of one flow. Each takes a few KiB of kernel memory at both ends.
pub const MOST_SESSIONS: u64 = 1_000_000;

/// Largest number of new connections a second that a flow may ask for.
pub const FASTEST_OPENING: SessionRate = SessionRate(1_000_000.0);

/// Silence after which a held UDP flow speaks again: a third of Linux's shortest time-out.
pub const SPEAKS_EVERY: Nanos = Nanos::from_secs(10);

/// Connections of one listening port that a flow holds at most. A client address has about 28,000
/// ports to one port of a server (`ip_local_port_range`), and some of them may be taken.
const SESSIONS_OF_A_PORT: u64 = 20_000;

/// Listening ports of UDP flows that are not held: each flow has addresses and ports of its own.
const PORTS_OF_NEW_FLOWS: u16 = 64;

/// Connections from one port to another (after RFC 9411 §7.2 and §7.5, without HTTP). One of TCP is
/// a handshake, one small message each way, and a close by reset, so that none leaves an entry in
/// TIME_WAIT at the tester. One of UDP is the two messages alone, between two ports that no other
/// flow of the trial has; nothing tells a device that it is over.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sessions {
    /// Protocol of the connections.
    #[serde(default, skip_serializing_if = "Transport::is_tcp")]
    pub transport: Transport,
    /// Schedule of the new connections.
    pub opening: Opening,
    /// Largest number of connections to open; `None` if only the load's end is the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u64>,
    /// Time that each connection is held open.
    pub hold: Hold,
    /// Time between the first message of a connection and its last one, if it is held in silence
    /// then; `None` if there is one message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<Nanos>,
    /// Time after which a handshake, or the answer to a message, counts as timed out. Below 1 s,
    /// the kernel's first retransmission of a SYN (RFC 6298 §2), a lost SYN is a time-out.
    pub timeout: Nanos,
}

impl Sessions {
    /// Number of listening ports that hold `connections` at once.
    pub const fn ports_for(connections: u64) -> u16 {
        let ports = connections.div_ceil(SESSIONS_OF_A_PORT);
        if ports == 0 { 1 } else { ports as u16 }
    }

    /// Number of listening ports of the flow.
    pub const fn ports(&self) -> u16 {
        match (self.hold, self.most, self.transport) {
            (Hold::UntilEnd | Hold::Idle, Some(most), _) => Self::ports_for(most),
            (Hold::Answered, _, Transport::Udp) => PORTS_OF_NEW_FLOWS,
            _ => 1,
        }
    }

    /// True if the far end speaks first at the load's end: what arrives then shows that the device
    /// still knows the connection, and does not make it anew.
    pub const fn far_end_asks(&self) -> bool {
        match self.hold {
            Hold::Answered => false,
            Hold::UntilEnd => matches!(self.transport, Transport::Udp),
            Hold::Idle => true,
        }
    }
}

/// Protocol of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP.
    #[default]
    Tcp,
    /// UDP: a connection is whatever has the same addresses and ports.
    Udp,
}

impl Transport {
    /// True for TCP.
    pub const fn is_tcp(&self) -> bool {
        matches!(self, Self::Tcp)
    }

    /// Protocol by its general name.
    pub const fn protocol(self) -> Protocol {
        match self {
            Self::Tcp => Protocol::Tcp,
            Self::Udp => Protocol::Udp,
        }
    }
}

/// Schedule of new connections.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Opening {
    /// Constant rate, whatever becomes of the connections.
    Paced(SessionRate),
    /// As many as possible, with at most this many handshakes and first messages under way.
    Greedy(u32),
}

/// New connections per second.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct SessionRate(pub f64);

/// Time that a connection is held open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hold {
    /// Closed once its message is answered.
    Answered,
    /// Held until the load's end, and asked once more then. UDP flows speak every few seconds
    /// meanwhile, so that a device has no reason to forget them.
    UntilEnd,
    /// Held in silence until the load's end, and asked by the far end then.
    Idle,
}
