//! A flow of datagrams: frames of which sizes, when, to whom, from what and counted by what.
//!
//! Data only. Never knows how a host does it.

use std::fmt;

use measure::sequence::repeats_after;
use measure::{FrameMix, Nanos};
use serde::{Deserialize, Serialize};

use super::Schedule;

/// A one-way flow of UDP frames.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Datagrams {
    /// The sizes of its frames, with FCS.
    pub frames: FrameMix,
    /// How fast.
    pub schedule: Schedule,
    /// What sends them.
    pub backend: Backend,
    /// What counts them.
    #[serde(default)]
    pub receiver: Reception,
    /// The most frames a late sender may send back to back to catch up.
    pub burst_limit: u32,
    /// How many threads share the load, each with a processor and where it can a queue of its own;
    /// at least 1. Frames of different threads may overtake each other.
    #[serde(default = "one_sender", skip_serializing_if = "is_one")]
    pub senders: u16,
    /// What stands before the payload, and what varies of it.
    #[serde(default)]
    pub headers: Headers,
    /// To whom they are addressed on the link.
    #[serde(default, skip_serializing_if = "Destination::is_receiver")]
    pub destination: Destination,
    /// Whether what came of each of its conversations is told apart.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub conversations: bool,
    /// Whether only its counts are read.
    #[serde(skip)]
    pub counts_only: CountsOnly,
}

/// Whether nobody reads a flow's distributions, so that a journal need not keep them. It is no part
/// of what is asked: a flow is the same with and without.
#[derive(Debug, Clone, Copy, Default)]
pub struct CountsOnly(pub bool);

impl PartialEq for CountsOnly {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

/// To whom a datagram flow's frames are addressed on the link, by MAC address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Destination {
    /// To the receiving port, or the next hop to it.
    #[default]
    Receiver,
    /// To everybody; the receiving port counts its own copies (RFC 2889 §5.10).
    Broadcast,
    /// To stations behind the receiving port, in turn. Before the load the port sends a frame from
    /// each of them to the flow's sender, in the same order (RFC 2889 §5.7, §5.8).
    Stations {
        /// How many, at least 1.
        count: u32,
        /// Frames a second before the load, at least 1.
        learn_rate: u64,
        /// How often each of them speaks. With 0 nobody does: addresses that no other trial uses,
        /// so that the device can't know them.
        #[serde(default = "once")]
        rounds: u32,
    },
}

const fn once() -> u32 {
    1
}

impl Destination {
    /// Whether it is the usual one.
    pub fn is_receiver(&self) -> bool {
        *self == Self::Receiver
    }

    /// How many frames stations send before the load.
    pub fn announcements(&self) -> u64 {
        match self {
            Self::Stations { count, rounds, .. } => u64::from(*count) * u64::from(*rounds),
            Self::Receiver | Self::Broadcast => 0,
        }
    }

    /// How long stations take to speak.
    pub fn learning(&self) -> Nanos {
        match self {
            Self::Stations { learn_rate, .. } => {
                let frames = self.announcements() * 1_000_000_000;
                Nanos(frames.div_ceil((*learn_rate).max(1)))
            }
            Self::Receiver | Self::Broadcast => Nanos::ZERO,
        }
    }
}

measure::ranged! {
    /// VLAN of an 802.1Q tag. IEEE 802.1Q §9.6: 0 is no VLAN, and 4095 is reserved.
    #[derive(Eq, Ord, Hash)]
    VlanId(u16 as i64, 1..=4094, "VLAN IDs", "give the tag's VLAN ID, which is also how the device's ports are set");
}

/// The headers of a datagram flow.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Headers {
    /// Which IP.
    pub version: IpVersion,
    /// The 802.1Q tag's VLAN; the tag is part of the frame's size.
    pub vlan: Option<VlanId>,
    /// How many distinct values the frames go round through.
    pub spread: Spread,
}

impl Headers {
    /// By how many octets a frame is larger than its IP packet: destination, source, type, the tag,
    /// and the FCS (IEEE 802.3 §3.1.1).
    pub const fn above_ip(self) -> u32 {
        const ETHERNET: u32 = 18;
        const TAG: u32 = 4;
        if self.vlan.is_some() { ETHERNET + TAG } else { ETHERNET }
    }

    /// By how many octets a frame is larger than its UDP payload.
    pub const fn above_payload(self) -> u32 {
        const UDP: u32 = 8;
        let ip = match self.version {
            IpVersion::V4 => 20,
            IpVersion::V6 => 40,
        };
        self.above_ip() + ip + UDP
    }
}

/// The version of IP.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum IpVersion {
    /// IPv4.
    #[default]
    V4,
    /// IPv6 (RFC 5180).
    V6,
}

impl fmt::Display for IpVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::V4 => "ipv4",
            Self::V6 => "ipv6",
        })
    }
}

/// How many conversations one flow looks like to a device that hashes headers (RSS, ECMP): frame i
/// uses value i modulo each count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Spread {
    /// Source ports.
    pub source_ports: u16,
    /// Destination ports.
    pub destination_ports: u16,
    /// Source and destination addresses, out of the blocks behind the two ports.
    pub addresses: u16,
}

impl Spread {
    /// One conversation.
    pub const NONE: Self = Self { source_ports: 1, destination_ports: 1, addresses: 1 };

    /// How many conversations these are: frame i is of number i modulo so many.
    pub fn conversations(self) -> u64 {
        let counts = [self.source_ports, self.destination_ports, self.addresses];
        repeats_after(counts.map(u64::from))
    }
}

impl Default for Spread {
    fn default() -> Self {
        Self::NONE
    }
}

impl Datagrams {
    /// Frames of one kind, plain UDP over IPv4, counted by what the testbed finds best.
    pub fn plain(
        frames: impl Into<FrameMix>,
        schedule: Schedule,
        backend: Backend,
        burst_limit: u32,
    ) -> Self {
        Self {
            frames: frames.into(),
            schedule,
            backend,
            receiver: Reception::Auto,
            burst_limit,
            senders: 1,
            headers: Headers::default(),
            destination: Destination::default(),
            conversations: false,
            counts_only: CountsOnly::default(),
        }
    }
}

/// How many threads send a flow where nothing is said.
pub const fn one_sender() -> u16 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
const fn is_one(senders: &u16) -> bool {
    *senders == 1
}

/// What puts frames on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// The fastest that works here; the record says which and why.
    #[default]
    Auto,
    /// The kernel makes the frames itself: BPF_PROG_TEST_RUN with live frames.
    XdpLive,
    /// An AF_XDP socket.
    AfXdp,
    /// AF_PACKET and sendmmsg, past the qdisc.
    Packet,
    /// A UDP socket and sendmmsg.
    Udp,
    /// A UDP socket whose super-frames the kernel cuts up: bursts, so for overload only.
    UdpGso,
}

impl Backend {
    /// `auto`, `xdp-live`, `af-xdp`, `packet`, `udp`, `udp-gso`
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::XdpLive => "xdp-live",
            Self::AfXdp => "af-xdp",
            Self::Packet => "packet",
            Self::Udp => "udp",
            Self::UdpGso => "udp-gso",
        }
    }
}

/// What counts frames at the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reception {
    /// The fastest that works here; the record says which and why.
    #[default]
    Auto,
    /// An XDP program that counts in the kernel.
    Xdp,
    /// An AF_XDP socket.
    AfXdp,
    /// An AF_PACKET ring.
    Packet,
    /// A UDP socket and recvmmsg.
    Udp,
}

impl Reception {
    /// `auto`, `xdp`, `af-xdp`, `packet`, `udp`
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Xdp => "xdp",
            Self::AfXdp => "af-xdp",
            Self::Packet => "packet",
            Self::Udp => "udp",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_take_room() {
        let check = |version, vlan, above: (u32, u32)| {
            let headers = Headers { version, vlan, ..Headers::default() };
            assert_eq!((headers.above_ip(), headers.above_payload()), above);
        };
        check(IpVersion::V4, None, (18, 46));
        check(IpVersion::V4, Some(VlanId::known(1)), (22, 50));
        check(IpVersion::V6, None, (18, 66));
        check(IpVersion::V6, Some(VlanId::known(4094)), (22, 70));
    }
}
