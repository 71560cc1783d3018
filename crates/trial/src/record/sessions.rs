//! Records of connections: what became of each, and the times of their handshakes.
//!
//! Owns the form and the arithmetic within one record. Never judges: the study does.

use measure::reading::Rejected;
use measure::{Histogram, Nanos};
use serde::{Deserialize, Serialize};

use crate::flow::SessionRate;

/// Connections of a flow. Each begun connection is counted once among the opened and the failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionsRecord {
    /// Connections begun: their SYN was handed to the kernel.
    pub begun: u64,
    /// Connections that the tester was due to begin and could not: no port, descriptor or memory.
    pub not_begun: u64,
    /// Connections begun more than 1 ms after they were due.
    pub late: u64,
    /// Connections whose handshake was completed and whose first message was answered; held ones
    /// also until the load's end.
    pub opened: u64,
    /// Failed connections by the way in which they failed.
    pub failed: Failures,
    /// Time from the first connection's begin to the last one's.
    pub beginning: Nanos,
    /// Largest number of connections open at once.
    pub most_held: u64,
    /// Held connections that were asked again at the load's end.
    pub asked_again: u64,
    /// Held connections that answered then.
    pub still_answering: u64,
    /// Longest silence of an idle connection after which the far end's question still arrived;
    /// `None` if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_alive: Option<Nanos>,
    /// Shortest silence after which it arrived no more, or after which the connection was reset;
    /// `None` if all were alive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub youngest_silent: Option<Nanos>,
    /// Times from a SYN's hand-over to the completed handshake, or from a UDP flow's message to its
    /// answer, on the opener's clock.
    pub handshakes: Histogram,
    /// Connections that the far end accepted.
    pub accepted: u64,
    /// Connections that the far end's kernel dropped because its program accepted too slowly
    /// (`ListenDrops`), and refusals to accept for want of a descriptor; of UDP, messages that its
    /// sockets dropped.
    pub listen_drops: u64,
    /// Rejected connections of others at the far end.
    #[serde(default)]
    pub rejected: Rejected,
}

/// Failed connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Failures {
    /// First packet answered by a reset (RFC 9293 §3.5.2), or by ICMP's *port unreachable*.
    pub refused: u64,
    /// First packet without an answer within the time-out.
    pub timed_out: u64,
    /// First packet answered by another ICMP error: unreachable or prohibited.
    pub unreachable: u64,
    /// Handshake completed, but the message was not answered within the time-out; of UDP, answered
    /// at first, and not reached by the far end at the load's end.
    pub unanswered: u64,
    /// Reset or closed by another than the tester after the handshake.
    pub reset: u64,
}

impl Failures {
    /// Number of failed connections.
    pub const fn total(&self) -> u64 {
        self.refused + self.timed_out + self.unreachable + self.unanswered + self.reset
    }

    /// Adds the failures of another part.
    pub const fn add(&mut self, other: &Self) {
        self.refused += other.refused;
        self.timed_out += other.timed_out;
        self.unreachable += other.unreachable;
        self.unanswered += other.unanswered;
        self.reset += other.reset;
    }
}

impl SessionsRecord {
    /// Rate at which connections were begun; zero for fewer than two.
    pub fn begin_rate(&self) -> SessionRate {
        let seconds = self.beginning.as_secs_f64();
        let known = self.begun >= 2 && seconds > 0.0;
        SessionRate(if known { (self.begun - 1) as f64 / seconds } else { 0.0 })
    }

    /// Adds the far end's record of the same connections.
    pub(crate) fn merge(&mut self, acceptor: &Self) {
        self.accepted += acceptor.accepted;
        self.listen_drops += acceptor.listen_drops;
        self.rejected.merge(&acceptor.rejected);
    }
}

/// Empty record; its distribution takes no memory.
impl Default for SessionsRecord {
    fn default() -> Self {
        Self {
            begun: 0,
            not_begun: 0,
            late: 0,
            opened: 0,
            failed: Failures::default(),
            beginning: Nanos::ZERO,
            most_held: 0,
            asked_again: 0,
            still_answering: 0,
            oldest_alive: None,
            youngest_silent: None,
            handshakes: Histogram::growing(),
            accepted: 0,
            listen_drops: 0,
            rejected: Rejected::default(),
        }
    }
}
