//! The shapes of single readings: what was rejected at a data port, who stamped a packet, one look
//! at a TCP sender. The data plane takes them and a record keeps them; nothing is computed here.

use serde::{Deserialize, Serialize};

use crate::{ByteCount, Nanos, Rate};

/// Packets that reached a data port and were not the trial's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Rejected {
    /// Too short or not a probe.
    pub malformed: u64,
    /// A probe of another trial, or from an address outside the flow.
    pub foreign: u64,
}

impl Rejected {
    /// Adds what another port rejected.
    pub const fn merge(&mut self, other: &Self) {
        self.malformed += other.malformed;
        self.foreign += other.foreign;
    }
}

/// Who stamped the send and the receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamps {
    /// The request's departure.
    pub sent: Stamp,
    /// The answer's arrival.
    pub received: Stamp,
}

/// Where a time stamp was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stamp {
    /// In the program, around the system call.
    User,
    /// By the kernel (SO_TIMESTAMPING software).
    Kernel,
    /// By the NIC.
    Hardware,
    /// The time the schedule asked for.
    Intended,
}

/// What a TCP connection negotiated that decides how payload becomes frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// The most payload that one segment takes, in octets.
    pub mss: u32,
    /// Whether every segment carries the time-stamp option (RFC 7323), 12 octets of header.
    pub timestamps: bool,
}

impl Segment {
    /// The IP packet of a full segment, in octets, for an IP header of so many.
    pub const fn ip_packet(self, ip_header: u32) -> u32 {
        const TCP_HEADER: u32 = 20;
        const TIMESTAMPS: u32 = 12;
        self.mss + TCP_HEADER + ip_header + if self.timestamps { TIMESTAMPS } else { 0 }
    }
}

/// One reading of a sender's tcp_info; counters are totals since the connection began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamPoint {
    /// Since the load's start.
    pub at: Nanos,
    /// Acknowledged payload.
    pub acked: ByteCount,
    /// Segments sent again.
    pub retransmits: u64,
    /// Congestion window in bytes.
    pub cwnd: ByteCount,
    /// Smoothed round-trip time.
    pub srtt: Nanos,
    /// Smallest round-trip time the kernel has seen.
    pub min_rtt: Nanos,
    /// The kernel's delivery-rate estimate, bits a second of payload.
    pub delivery_rate: Rate,
    /// Time with data in flight or queued.
    pub busy: Nanos,
    /// Of that, stalled by the receiver's window.
    pub rwnd_limited: Nanos,
    /// Of that, stalled by the sender's own buffer.
    pub sndbuf_limited: Nanos,
}
