//! One-way flows of UDP frames of an exact size: a paced or greedy sender, and a receiver that
//! counts.
//!
//! Owns the transport of frames (a UDP socket, or AF_PACKET past the qdisc), their departure times,
//! and their accounting by sequence number. Never fragments, never retries a frame whose time has
//! passed, never counts a packet without the trial's token. Conservation: `offered` >= `sent`, and
//! the receiver's `unique` plus the lost frames is `sent`, because only a frame that the kernel
//! took uses a number.

mod answering;
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

pub use answering::{CalledSender, CallingReceiver};
pub use receiver::Receiver;
pub use sender::Sender;
pub(crate) use way::Way;

use measure::{FrameRate, Nanos};
use serde::{Deserialize, Serialize};
use trial::topology::AddressBlock;
use trial::{Datagrams, VlanId};

/// Specification of a datagram flow for one of its ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// Load requested by the trial, as one sender's share. Frame sizes follow the sequence numbers.
    pub asked: Datagrams,
    /// Source addresses, in place of the sender's own.
    pub sources: Option<AddressBlock>,
    /// Destination addresses, in place of the receiver's own.
    pub destinations: Option<AddressBlock>,
    /// Receiver's MAC address in the low 48 bits, if stated: the receiver need not answer ARP. With
    /// several stations, the first one's.
    pub mac: Option<u64>,
    /// Sequence numbers run from 0 to below this; memory for them (limit / 8 bytes) is taken at
    /// once by the receiver.
    pub limit: u64,
    /// Processor that this end runs on.
    pub cpu: Option<usize>,
    /// True if a virtual cable's frames are received on the receiver's `cpu` too, instead of on the
    /// sender's. About twice as many frames then get through from a sender that uses the kernel's
    /// stack. Waking that processor costs the sender of a light load more than it saves.
    pub relieves_sender: bool,
    /// Delay of the sender after the window's start: senders that share a load take turns.
    pub phase: Nanos,
    /// Offset added to the time in every frame: the least that the receiver's clock is ahead of the
    /// sender's. `xdp-live` cannot add it, and stamps by its own clock.
    pub receiver_ahead_ns: i64,
}

/// Ports and addresses that a flow's frames cycle through: frame i uses value i modulo each count,
/// from the base upwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    /// Source ports, at least 1.
    pub source_ports: u16,
    /// Destination ports, at least 1.
    pub destination_ports: u16,
    /// See [`Traffic::sources`].
    pub sources: Option<AddressBlock>,
    /// See [`Traffic::destinations`].
    pub destinations: Option<AddressBlock>,
}

impl Spread {
    /// Spread of a single conversation.
    pub const NONE: Self =
        Self { source_ports: 1, destination_ports: 1, sources: None, destinations: None };
}

impl Traffic {
    /// Specifies frames between the ends' own addresses, numbered up to `limit`.
    pub const fn new(asked: Datagrams, limit: u64) -> Self {
        Self {
            asked,
            sources: None,
            destinations: None,
            mac: None,
            limit,
            cpu: None,
            relieves_sender: false,
            phase: Nanos::ZERO,
            receiver_ahead_ns: 0,
        }
    }

    /// Returns the ports and addresses that the flow's frames cycle through.
    pub const fn spread(&self) -> Spread {
        let trial::Spread { source_ports, destination_ports, .. } = self.asked.headers.spread;
        let (sources, destinations) = (self.sources, self.destinations);
        Spread { source_ports, destination_ports, sources, destinations }
    }

    /// VLAN number of the frames' tag; `None` for untagged frames.
    pub(crate) fn vlan(&self) -> Option<u16> {
        self.asked.headers.vlan.map(VlanId::get)
    }
}

/// Nanoseconds between frames; a fraction matters at high rates.
pub(crate) fn gap_ns(rate: FrameRate) -> f64 {
    1e9 / rate.0
}
