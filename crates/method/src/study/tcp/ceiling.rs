//! What a path could carry of TCP payload.
//!
//! Owns the arithmetic of full segments on Ethernet, and of a lab's limiters, which count less of a
//! frame. Pure; silent where a rate or a segment's size is not known.

use std::net::IpAddr;

use measure::Rate;
use measure::reading::Segment;
use trial::topology::{Pair, PortRef, Topology};

/// MAC header.
const MAC: u32 = 14;
/// FCS, preamble and gap: what a wire carries beside what the kernel counts.
const ON_THE_WIRE: u32 = 4 + 20;

/// The most payload that full segments bring over a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ceiling {
    /// Payload, bits a second.
    pub(super) payload: f64,
    /// The IP packet of a full segment, in octets.
    pub(super) mtu: u32,
    /// What holds the path to it.
    pub(super) of: Of,
}

/// Whose rate it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// The slower link's: nobody gets more.
    Link,
    /// The rate that a lab holds its device's ports to: the device's own limit.
    PortLimit,
}

impl Of {
    /// As figures write it.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::PortLimit => "port limit",
        }
    }
}

/// What a pair's path is held to, and by what, where that is known.
pub(super) fn rate(topology: &Topology, pair: &Pair) -> Option<(Rate, Of)> {
    let slower = |rate: fn(&Topology, &PortRef) -> Option<Rate>| {
        Some(rate(topology, &pair.from)?.min(rate(topology, &pair.to)?))
    };
    let link = slower(Topology::rate).map(|link| (link, Of::Link));
    link.or_else(|| Some((slower(Topology::limit)?, Of::PortLimit)))
}

/// Of a pair's path, in full segments from its first port to its second.
pub(super) fn ceiling(topology: &Topology, pair: &Pair, segment: Segment) -> Option<Ceiling> {
    const IPV4: u32 = 20;
    const IPV6: u32 = 40;
    let ip_header = match topology.port(&pair.from)?.address {
        IpAddr::V4(_) => IPV4,
        IpAddr::V6(_) => IPV6,
    };
    let mtu = segment.ip_packet(ip_header);
    let (rate, of) = rate(topology, pair)?;
    // A lab's cable is held to its rate by the limiters that its devices' ports have, too.
    let by_kernel = of == Of::PortLimit || (topology.is_lab() && topology.devices.is_empty());
    let octets = mtu + MAC + if by_kernel { 0 } else { ON_THE_WIRE };
    let payload = rate.bits_per_second() * f64::from(segment.mss) / f64::from(octets);
    Some(Ceiling { payload, mtu, of })
}
