//! Data types of single readings: rejected packets at a data port, timestamp sources, the state of
//! a TCP sender. The data plane fills them, records keep them; nothing is computed here.

use serde::{Deserialize, Serialize};

use crate::{ByteCount, Nanos, Rate};

/// Packets at a data port that did not belong to the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Rejected {
    /// Packets too short or not a probe.
    pub malformed: u64,
    /// Probes of another trial, or from an address outside the flow.
    pub foreign: u64,
}

impl Rejected {
    /// Adds the counts of another port.
    pub const fn merge(&mut self, other: &Self) {
        self.malformed += other.malformed;
        self.foreign += other.foreign;
    }
}

/// Timestamp sources of send and receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamps {
    /// Source of the request's departure time.
    pub sent: Stamp,
    /// Source of the answer's arrival time.
    pub received: Stamp,
}

/// Place where a timestamp was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stamp {
    /// In the program, around the system call.
    User,
    /// In the kernel (SO_TIMESTAMPING software).
    Kernel,
    /// In the NIC.
    Hardware,
    /// Intended send time by the schedule.
    Intended,
}

/// Negotiated properties of a TCP connection that decide how payload becomes frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// Largest payload of one segment, in octets.
    pub mss: u32,
    /// True if every segment carries the timestamp option (RFC 7323), 12 octets of header.
    pub timestamps: bool,
}

impl Segment {
    /// Size of the IP packet of a full segment, in octets, for an IP header of `ip_header` octets.
    pub const fn ip_packet(self, ip_header: u32) -> u32 {
        const TCP_HEADER: u32 = 20;
        const TIMESTAMPS: u32 = 12;
        self.mss + TCP_HEADER + ip_header + if self.timestamps { TIMESTAMPS } else { 0 }
    }
}

/// Reading of a sender's tcp_info; counters are totals since the connection began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamPoint {
    /// Time since the load's start.
    pub at: Nanos,
    /// Acknowledged payload.
    pub acked: ByteCount,
    /// Retransmitted segments.
    pub retransmits: u64,
    /// Congestion window in bytes.
    pub cwnd: ByteCount,
    /// Smoothed round-trip time.
    pub srtt: Nanos,
    /// Smallest round-trip time the kernel has seen.
    pub min_rtt: Nanos,
    /// Delivery rate estimated by the kernel, in bits per second of payload.
    pub delivery_rate: Rate,
    /// Time with data in flight or queued.
    pub busy: Nanos,
    /// Part of `busy` that was stalled by the receiver's window.
    pub rwnd_limited: Nanos,
    /// Part of `busy` that was stalled by the sender's own buffer.
    pub sndbuf_limited: Nanos,
}
