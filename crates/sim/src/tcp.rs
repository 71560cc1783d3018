//! One TCP connection's two ends, as far as one way of payload goes: what to send and when.
//!
//! Owns sequence space, congestion control, loss recovery and their timers. Sans-IO: the caller
//! passes time in, carries segments and acknowledgements, and asks when to call again. Octet
//! numbers are 64 bits wide and begin at 0; there is no handshake and no close. Never knows a frame
//! or a host.

mod config;
mod control;
mod meters;
mod rack;
mod ranges;
mod receiver;
mod recovery;
mod scoreboard;
mod sender;
mod timeout;

pub use config::{Algorithm, Config};
pub use receiver::Receiver;
pub use sender::Sender;

use measure::{ByteCount, Picos};

/// Payload octets on their way to the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// The first octet's number.
    pub from: u64,
    /// How many, 1…MSS.
    pub octets: u32,
    /// When it was sent: the timestamp option (RFC 7323), which an acknowledgement gives back.
    pub stamp: Picos,
    /// Sent before.
    pub again: bool,
}

/// An acknowledgement on its way back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// All octets below this number have come.
    pub upto: u64,
    /// What else has come, newest first (RFC 2018): from, to. Three blocks fit beside timestamps.
    pub blocks: [(u64, u64); 3],
    /// How many of these count.
    pub block_count: u8,
    /// Octets beyond `upto` that the receiver has room for.
    pub window: u64,
    /// The stamp of the segment that it answers.
    pub echo: Picos,
}

/// What tcp_info would tell of a sender now; counters are totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// Acknowledged payload.
    pub acked: ByteCount,
    /// Segments sent again.
    pub retransmits: u64,
    /// The congestion window.
    pub cwnd: ByteCount,
    /// Smoothed round-trip time (RFC 6298).
    pub srtt: Picos,
    /// The smallest round-trip time seen.
    pub min_rtt: Picos,
    /// Payload bits a second, over the last round trip.
    pub delivery_bits_per_second: u64,
    /// Time with something in flight or to send.
    pub busy: Picos,
    /// Of that, stalled by the receiver's window.
    pub rwnd_limited: Picos,
    /// The slow-start threshold; none before the first loss.
    pub ssthresh: Option<ByteCount>,
    /// Octets thought to be on their way (RFC 6675's pipe).
    pub in_flight: ByteCount,
    /// How often the window was reduced for a loss, timeouts apart.
    pub recoveries: u64,
    /// How often the retransmission timer ran out.
    pub timeouts: u64,
    /// Tail loss probes sent.
    pub probes: u64,
}
