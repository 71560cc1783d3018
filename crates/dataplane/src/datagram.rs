//! One-way flows of UDP frames of an exact size: a paced or greedy sender, and a receiver that counts.
//!
//! Owns how frames leave (a UDP socket, or AF_PACKET past the qdisc), when they leave, and what came
//! of them by sequence number. Never fragments, never retries a frame whose time has passed, never
//! counts a packet without the trial's token. Conservation: `offered` >= `sent`, and the receiver's
//! `unique` plus what was lost is `sent`, because only a frame that the kernel took uses a number.

mod batch;
mod learning;
mod output;
mod pacer;
mod packet;
mod receiver;
mod sender;
mod socket;
mod udp;

pub use receiver::Receiver;
pub use sender::Sender;

use std::net::{IpAddr, SocketAddr};

use measure::reading::Rejected;
use measure::sequence::SequenceCounts;
use measure::{FrameSize, Histogram, Nanos};
use serde::{Deserialize, Serialize};

use crate::{Identity, Pace};

/// What puts frames on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SenderBackend {
    /// `Packet` where it is permitted and the route leaves by Ethernet, else `Udp`; the report says why.
    Auto,
    /// A connected UDP socket and sendmmsg.
    Udp,
    /// AF_PACKET and sendmmsg, past the qdisc.
    Packet,
}

/// Where a receiver listens and what it accepts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiverSpec {
    /// The address to listen at; the kernel chooses the port.
    pub local: IpAddr,
    /// The only address whose frames count.
    pub peer: IpAddr,
    /// The only token and flow that count.
    pub identity: Identity,
    /// The only size that counts.
    pub frame_size: FrameSize,
    /// Sequence numbers run from 0 to below this; memory for them (limit / 8 bytes) is taken at once.
    pub limit: u64,
    /// The processor to run on.
    pub cpu: Option<usize>,
}

/// What a receiver saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReceiverReport {
    /// By sequence number.
    pub received: SequenceCounts,
    /// What else came in. Learning frames of the flow itself are neither received nor rejected.
    pub rejected: Rejected,
    /// From first to last accepted arrival, by the kernel's receive stamps.
    pub receiving: Nanos,
    /// Gaps between accepted arrivals, by the kernel's receive stamps.
    pub arrivals: Histogram,
    /// Dropped at this socket by the kernel (its buffer was full, or a checksum was wrong).
    pub socket_drops: u64,
}

/// Where a sender sends, what and when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SenderSpec {
    /// The address to send from; the kernel chooses the port.
    pub local: IpAddr,
    /// The receiver.
    pub remote: SocketAddr,
    /// What every frame carries.
    pub identity: Identity,
    /// The size of every frame, with FCS.
    pub frame_size: FrameSize,
    /// When frames leave.
    pub pace: Pace,
    /// What sends them.
    pub backend: SenderBackend,
    /// The most frames a late paced sender sends back to back; at least 1.
    pub burst_limit: u32,
    /// The most frames it may send: the receiver's limit.
    pub limit: u64,
    /// The processor to run on.
    pub cpu: Option<usize>,
}

/// What a sender did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SenderReport {
    /// `udp` or `packet`.
    pub backend: String,
    /// Why that one, in a sentence.
    pub backend_reason: String,
    /// Paced: frames whose time came. Greedy: frames handed to the kernel, taken or not.
    pub offered: u64,
    /// Frames the kernel took.
    pub sent: u64,
    /// From before the first frame was handed to the kernel until it had taken the last.
    pub sending: Nanos,
    /// Gaps between departures by this host's clock, read once a batch: one entry a frame after the
    /// first, and frames of one batch have gap 0.
    pub departures: Histogram,
    /// Paced: the most frames sent back to back in one go; 1 when never late. Greedy: 0.
    pub longest_burst: u64,
    /// Paced: frames that left over 500 µs after their time, in catching up. Greedy: 0.
    pub late: u64,
}
