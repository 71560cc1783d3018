//! One-way flows of UDP frames of an exact size: a paced or greedy sender, and a receiver that
//! counts.
//!
//! Owns how frames leave (a UDP socket, or AF_PACKET past the qdisc), when they leave, and what
//! came of them by sequence number. Never fragments, never retries a frame whose time has passed,
//! never counts a packet without the trial's token. Conservation: `offered` >= `sent`, and the
//! receiver's `unique` plus what was lost is `sent`, because only a frame that the kernel took uses
//! a number.

mod batch;
mod choice;
mod frames;
mod gso;
mod intake;
mod interface;
mod layout;
mod learning;
pub(crate) mod load;
mod output;
pub(crate) mod pacer;
mod packet;
mod ports;
mod receiver;
mod sender;
pub(crate) mod socket;
mod spread;
mod stations;
mod tally;
mod turns;
mod udp_socket;
mod way;

pub use receiver::Receiver;
pub use sender::Sender;
pub(crate) use way::Way;

use measure::reading::Rejected;
use measure::sequence::{Conversation, SequenceCounts};
use measure::{FrameMix, Histogram, Nanos};
use serde::{Deserialize, Serialize};
use trial::record::Ends;
use trial::topology::AddressBlock;
use trial::{Backend, Reception, VlanId};

/// What varies of a flow's headers: frame i uses value i modulo each count, from the base upwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// Source ports, at least 1.
    pub source_ports: u16,
    /// Destination ports, at least 1.
    pub destination_ports: u16,
    /// Source addresses, in place of the sender's own.
    pub sources: Option<AddressBlock>,
    /// Destination addresses, in place of the receiver's own.
    pub destinations: Option<AddressBlock>,
    /// To whom they are addressed on the link.
    #[serde(default)]
    pub addressee: Addressee,
}

/// To whom frames are addressed on the link, by MAC address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Addressee {
    /// The next hop.
    #[default]
    NextHop,
    /// The next hop, whose address is stated where it is the receiver itself: it need not answer
    /// who asks for it. In the low 48 bits.
    Stated(u64),
    /// Everybody.
    Everybody,
    /// Stations that do not exist, behind the receiver's interface, in turn: frame i goes to
    /// station i modulo their count.
    Stations(Stations),
}

/// Stations behind an interface: addresses that count upwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stations {
    /// The first one's MAC address, in the low 48 bits.
    pub first: u64,
    /// How many, at least 1.
    pub count: u32,
    /// Frames a second in which the receiver speaks for each of them, as it is bound.
    pub learn_rate: u64,
    /// How often it speaks for each of them, all in turn.
    pub rounds: u32,
}

impl Addressee {
    /// Whether all frames go to the next hop.
    pub(crate) const fn is_next_hop(self) -> bool {
        matches!(self, Self::NextHop | Self::Stated(_))
    }
}

impl Spread {
    /// Nothing varies.
    pub const NONE: Self = Self {
        source_ports: 1,
        destination_ports: 1,
        sources: None,
        destinations: None,
        addressee: Addressee::NextHop,
    };
}

impl Default for Spread {
    fn default() -> Self {
        Self::NONE
    }
}

/// What a receiver saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReceiverReport {
    /// `xdp`, `af-xdp`, `packet` or `udp`.
    pub backend: String,
    /// Why that one, in a sentence.
    pub backend_reason: String,
    /// Arrival less the probe's send time, where one clock stamped both.
    pub delays: Option<Histogram>,
    /// By sequence number.
    pub received: SequenceCounts,
    /// What came of each conversation, where they are told apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conversations: Vec<Conversation>,
    /// What else came in. Learning frames of the flow itself are neither received nor rejected.
    pub rejected: Rejected,
    /// From first to last accepted arrival, duplicates among them, by the kernel's stamps.
    pub receiving: Nanos,
    /// From the last of them until the window closed; none where nothing came, or nobody stamped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<Nanos>,
    /// Gaps between accepted arrivals, by the kernel's stamps.
    pub arrivals: Histogram,
    /// Dropped by the kernel at the input that counts: it had no room, or a UDP checksum was wrong.
    /// `xdp` drops none.
    pub socket_drops: u64,
}

/// When frames leave.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// As fast as it goes.
    Greedy,
    /// One every so many nanoseconds (a fraction matters at high rates).
    Every(f64),
    /// So many frames back to back, as fast as they go, and no more.
    Burst(u64),
    /// Paced, from one gap to another at a moment of the load.
    Falling {
        /// Nanoseconds between frames until then.
        from: f64,
        /// Nanoseconds between frames from then on.
        to: f64,
        /// The moment, from the load's start.
        after: Nanos,
    },
}

/// The frames of a datagram flow, as both ends are told of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// The sizes of successive frames, with FCS; a VLAN tag is part of it. Each counts only at its
    /// own numbers.
    pub frames: FrameMix,
    /// The VLAN of the frames' 802.1Q tag; none for untagged frames.
    pub vlan: Option<VlanId>,
    /// What varies of the headers.
    pub spread: Spread,
    /// When frames leave.
    pub pace: Pace,
    /// What sends them.
    pub backend: Backend,
    /// What counts them.
    pub receiver: Reception,
    /// The most frames a late paced sender sends back to back; at least 1.
    pub burst_limit: u32,
    /// Sequence numbers run from 0 to below this; memory for them (limit / 8 bytes) is taken at
    /// once by the receiver.
    pub limit: u64,
    /// The processor that this end is to run on.
    pub cpu: Option<usize>,
    /// Whether a virtual cable's frames are taken in on the receiver's `cpu` too, instead of on the
    /// sender's: about twice as many then get through from a sender that goes by the kernel's
    /// stack. Waking that processor costs the sender of a light load more than it saves.
    pub relieves_sender: bool,
    /// How long after the window's start the sender begins: senders that share a load take turns.
    pub phase: Nanos,
    /// Whether the receiver tells what came of each conversation: number n is of the n modulo their
    /// number.
    #[serde(default)]
    pub tells_apart: bool,
    /// Added to the time that every frame carries: by how much the receiver's clock is ahead of the
    /// sender's, at least. `xdp-live` can't, and stamps by its own clock.
    pub receiver_ahead_ns: i64,
}

/// What a sender did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SenderReport {
    /// `xdp-live`, `af-xdp`, `packet`, `udp` or `udp-gso`.
    pub backend: String,
    /// Why that one, in a sentence.
    pub backend_reason: String,
    /// Between which addresses and ports its first frame went.
    #[serde(default)]
    pub ends: Option<Ends>,
    /// Paced: frames whose time came. Greedy and bursts: frames handed to the kernel, taken or not.
    pub offered: u64,
    /// Frames the kernel took.
    pub sent: u64,
    /// From before the first frame was handed to the kernel until it had taken the last.
    pub sending: Nanos,
    /// Gaps between departures: one entry a frame after the first. `xdp-live` reads the clock as
    /// the driver takes each; the others when a call returned that the kernel took frames by, and
    /// frames of one call have gap 0.
    pub departures: Histogram,
    /// Paced: the most frames sent back to back in one go; 1 when never late. Otherwise 0.
    pub longest_burst: u64,
    /// Paced: frames that left over 500 µs after their time, in catching up. Otherwise 0.
    pub late: u64,
    /// How long after the window's stop the kernel had taken the last frame; zero where before.
    pub overran: Nanos,
}
