//! Datagram flows: frame sizes, schedule, addressing, and the methods of sending and counting.
//!
//! Data only. Never knows how a host carries them out.

use std::fmt;

use measure::sequence::repeats_after;
use measure::units::FRAMING_OCTETS;
use measure::{FrameMix, Nanos};
use serde::{Deserialize, Serialize};

use super::Schedule;

/// One-way flow of UDP frames.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Datagrams {
    /// Frame sizes, FCS included.
    pub frames: FrameMix,
    /// Schedule of the frames.
    pub schedule: Schedule,
    /// Method of sending.
    pub backend: Backend,
    /// Method of counting at the receiver.
    #[serde(default)]
    pub receiver: Reception,
    /// Most frames that a late sender may send back to back to catch up.
    pub burst_limit: u32,
    /// Number of sending threads, at least 1. Each has a processor and, where possible, a queue of
    /// its own. Frames of different threads may overtake each other.
    #[serde(default = "one_sender", skip_serializing_if = "is_one")]
    pub senders: u16,
    /// Headers before the payload, and which of their fields vary.
    #[serde(default)]
    pub headers: Headers,
    /// Link-layer destination of the frames.
    #[serde(default, skip_serializing_if = "Destination::is_receiver")]
    pub destination: Destination,
    /// True if received frames are counted per conversation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub conversations: bool,
    /// True if only the flow's counts are used.
    #[serde(skip)]
    pub counts_only: CountsOnly,
}

/// True if a flow's distributions are never used, so that a journal need not keep them. Not part of
/// a flow's identity: two flows that differ only in this compare equal.
#[derive(Debug, Clone, Copy, Default)]
pub struct CountsOnly(pub bool);

impl PartialEq for CountsOnly {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

/// Link-layer destination of a datagram flow's frames, by MAC address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Destination {
    /// The receiving port, or the next hop towards it.
    #[default]
    Receiver,
    /// Broadcast; the receiving port counts its own copies (RFC 2889 §5.10).
    Broadcast,
    /// Stations behind the receiving port, in turn. Before the load the port sends a frame from
    /// each of them to the flow's sender, in the same order (RFC 2889 §5.7, §5.8).
    Stations {
        /// Number of stations, at least 1.
        count: u32,
        /// Frames per second before the load, at least 1.
        learn_rate: u64,
        /// Learning frames per station. With 0 no station sends any: these addresses are used by no
        /// other trial, so the device cannot know them.
        #[serde(default = "once")]
        rounds: u32,
    },
}

const fn once() -> u32 {
    1
}

impl Destination {
    /// True if the destination is the default one.
    pub fn is_receiver(&self) -> bool {
        *self == Self::Receiver
    }

    /// Number of learning frames that stations send before the load.
    pub fn announcements(&self) -> u64 {
        match self {
            Self::Stations { count, rounds, .. } => u64::from(*count) * u64::from(*rounds),
            Self::Receiver | Self::Broadcast => 0,
        }
    }

    /// Time that the learning frames take.
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

/// Headers of a datagram flow.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Headers {
    /// IP version.
    pub version: IpVersion,
    /// VLAN of the 802.1Q tag; the tag is part of the frame size.
    pub vlan: Option<VlanId>,
    /// Number of distinct values that header fields cycle through.
    pub spread: Spread,
}

impl Headers {
    /// Octets of a frame beyond its IP packet: destination, source, type, tag and FCS (IEEE 802.3
    /// §3.1.1).
    pub const fn above_ip(self) -> u32 {
        const TAG: u32 = 4;
        if self.vlan.is_some() { FRAMING_OCTETS + TAG } else { FRAMING_OCTETS }
    }

    /// Octets of a frame beyond its UDP payload.
    pub const fn above_payload(self) -> u32 {
        const UDP: u32 = 8;
        let ip = match self.version {
            IpVersion::V4 => 20,
            IpVersion::V6 => 40,
        };
        self.above_ip() + ip + UDP
    }
}

/// Version of IP.
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

/// Number of conversations that one flow presents to a device that hashes headers (RSS, ECMP):
/// frame i uses value i modulo each count.
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

    /// Number of conversations n; frame i belongs to conversation i modulo n.
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
    /// Creates a flow of plain UDP over IPv4, counted by the best method of the testbed.
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

/// Default number of sending threads.
pub const fn one_sender() -> u16 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
const fn is_one(senders: &u16) -> bool {
    *senders == 1
}

/// Method of putting frames on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// Fastest method that works here; the record says which and why.
    #[default]
    Auto,
    /// BPF_PROG_TEST_RUN with live frames: the kernel makes the frames itself.
    XdpLive,
    /// AF_XDP socket.
    AfXdp,
    /// AF_PACKET and sendmmsg, past the qdisc.
    Packet,
    /// UDP socket and sendmmsg.
    Udp,
    /// UDP socket with segmentation offload: sends in bursts, so only for overload.
    UdpGso,
}

impl Backend {
    /// Name of the method: `auto`, `xdp-live`, `af-xdp`, `packet`, `udp`, `udp-gso`.
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

/// Method of counting frames at the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reception {
    /// Fastest method that works here; the record says which and why.
    #[default]
    Auto,
    /// XDP program that counts in the kernel.
    Xdp,
    /// AF_XDP socket.
    AfXdp,
    /// AF_PACKET ring.
    Packet,
    /// UDP socket and recvmmsg.
    Udp,
}

impl Reception {
    /// Name of the method: `auto`, `xdp`, `af-xdp`, `packet`, `udp`.
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
