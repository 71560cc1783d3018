//! Both ends of one TCP connection, for one direction of payload: what to send and when.
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
    /// Number of the first octet.
    pub from: u64,
    /// Number of octets, 1…MSS.
    pub octets: u32,
    /// Time of sending: the timestamp option (RFC 7323), which an acknowledgement echoes.
    pub stamp: Picos,
    /// True if it was sent before.
    pub again: bool,
}

/// Acknowledgement on its way back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// Cumulative acknowledgement: all octets below this number have arrived.
    pub upto: u64,
    /// Further received ranges, newest first (RFC 2018): from, to. Three blocks fit beside
    /// timestamps.
    pub blocks: [(u64, u64); 3],
    /// Number of valid blocks.
    pub block_count: u8,
    /// Octets beyond `upto` that the receiver has room for.
    pub window: u64,
    /// Stamp of the segment that it answers.
    pub echo: Picos,
}

/// Reading of a sender, as tcp_info would report it; counters are totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// Acknowledged payload.
    pub acked: ByteCount,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Congestion window.
    pub cwnd: ByteCount,
    /// Smoothed round-trip time (RFC 6298).
    pub srtt: Picos,
    /// Smallest round-trip time seen.
    pub min_rtt: Picos,
    /// Payload rate over the last round trip, in bits per second.
    pub delivery_bits_per_second: u64,
    /// Time with something in flight or to send.
    pub busy: Picos,
    /// Part of the busy time stalled by the receiver's window.
    pub rwnd_limited: Picos,
    /// Slow-start threshold; `None` before the first loss.
    pub ssthresh: Option<ByteCount>,
    /// Octets estimated to be in flight (RFC 6675's pipe).
    pub in_flight: ByteCount,
    /// Number of window reductions for a loss, without time-outs.
    pub recoveries: u64,
    /// Number of expiries of the retransmission timer.
    pub timeouts: u64,
    /// Tail loss probes sent.
    pub probes: u64,
}
