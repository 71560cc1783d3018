//! Frame size, and the sizes of what it contains.
//!
//! RFC 1242 §3.5 and RFC 2544 §9: from the first octet after the preamble through the FCS. Payload,
//! IP length and frame size are three numbers for one packet; this is the one place that converts.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::UnitError;

/// Preamble with start delimiter (8) and inter-frame gap (12): what a frame costs beyond itself.
pub const WIRE_OVERHEAD_OCTETS: u32 = 20;
/// Octets of an untagged frame beyond its IP packet: MAC header and FCS (IEEE 802.3 §3.1.1).
pub const FRAMING_OCTETS: u32 = MAC_HEADER + FCS;

const MAC_HEADER: u32 = 14;
const FCS: u32 = 4;
const IPV4_HEADER: u32 = 20;
const UDP_HEADER: u32 = 8;
const TCP_HEADER: u32 = 20;
const TCP_TIMESTAMPS: u32 = 12;

/// Octets from the destination address through the FCS, 64…9018.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct FrameSize(u32);

impl FrameSize {
    /// The shortest legal Ethernet frame.
    pub const MIN: Self = Self(64);
    /// A 9,000-octet MTU.
    pub const MAX: Self = Self(9018);
    /// The largest frame of a 1,500-octet MTU.
    pub const STANDARD_MAX: Self = Self(1518);

    /// A size in octets with FCS; refuses what lies outside 64…9018.
    pub fn new(octets: u32) -> Result<Self, UnitError> {
        if (Self::MIN.0..=Self::MAX.0).contains(&octets) {
            Ok(Self(octets))
        } else {
            Err(UnitError::OutOfRange {
                value: octets.to_string(),
                quantity: "frame size",
                low: Self::MIN.0.into(),
                high: Self::MAX.0.into(),
            })
        }
    }

    /// Octets with FCS, without preamble and gap.
    pub const fn octets(self) -> u32 {
        self.0
    }

    /// Octets as a socket or a capture sees them: without FCS.
    pub const fn octets_without_fcs(self) -> u32 {
        self.0 - FCS
    }

    /// Octets of wire time: L + 20.
    pub const fn wire_octets(self) -> u32 {
        self.0 + WIRE_OVERHEAD_OCTETS
    }

    /// The IP packet's total length: L - 18.
    pub const fn ip_length(self) -> u32 {
        self.0 - MAC_HEADER - FCS
    }

    /// The UDP payload over IPv4: L - 46. An ICMP echo's payload is the same.
    pub const fn udp_payload_v4(self) -> u32 {
        self.ip_length() - IPV4_HEADER - UDP_HEADER
    }

    /// The TCP payload over IPv4: L - 58, or L - 70 with the time-stamp option; `None` where
    /// nothing is left.
    pub const fn tcp_payload_v4(self, timestamps: bool) -> Option<u32> {
        let header = IPV4_HEADER + TCP_HEADER + if timestamps { TCP_TIMESTAMPS } else { 0 };
        match self.ip_length().checked_sub(header) {
            Some(0) | None => None,
            some => some,
        }
    }

    /// The smallest MTU that carries this frame.
    pub const fn mtu(self) -> u32 {
        self.ip_length()
    }
}

impl fmt::Display for FrameSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl TryFrom<u32> for FrameSize {
    type Error = UnitError;
    fn try_from(octets: u32) -> Result<Self, UnitError> {
        Self::new(octets)
    }
}

impl From<FrameSize> for u32 {
    fn from(size: FrameSize) -> Self {
        size.0
    }
}
