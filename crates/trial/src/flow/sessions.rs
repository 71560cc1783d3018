//! Flows of TCP connections: how many are opened each second, and how long each is held. Data only.

use measure::Nanos;
use serde::{Deserialize, Serialize};

/// Largest number of connections of one flow. Each takes a few KiB of kernel memory at both ends.
pub const MOST_SESSIONS: u64 = 1_000_000;

/// Largest number of new connections a second that a flow may ask for.
pub const FASTEST_OPENING: SessionRate = SessionRate(1_000_000.0);

/// Connections of one listening port that a flow holds at most. A client address has about 28,000
/// ports to one port of a server (`ip_local_port_range`), and some of them may be taken.
const SESSIONS_OF_A_PORT: u64 = 20_000;

/// TCP connections from one port to another (after RFC 9411 §7.2 and §7.5, without HTTP): each is
/// a handshake, one small message each way, and a close by reset, so that none leaves an entry in
/// TIME_WAIT at the tester.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sessions {
    /// Schedule of the new connections.
    pub opening: Opening,
    /// Largest number of connections to open; `None` if only the load's end is the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u64>,
    /// Time that each connection is held open.
    pub hold: Hold,
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
        match (self.hold, self.most) {
            (Hold::UntilEnd, Some(most)) => Self::ports_for(most),
            _ => 1,
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
    /// Held until the load's end, and asked once more then.
    UntilEnd,
}
