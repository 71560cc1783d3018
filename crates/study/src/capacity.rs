//! Capacity of a path in TCP payload.
//!
//! Owns the arithmetic of segments on Ethernet, and of a lab's rate limiters, which count fewer
//! octets per frame. Pure; returns `None` if a rate or a segment's size is unknown.

use std::net::IpAddr;

use measure::Rate;
use measure::reading::Segment;
use trial::topology::{Pair, PortRef, Topology};

/// MAC header.
const MAC: u32 = 14;
/// Inter-frame gap on a wire, in octets.
const GAP: f64 = 12.0;
/// Frame check sequence.
const FCS: u32 = 4;
/// FCS, preamble and gap: octets on a wire that the kernel does not count.
const ON_THE_WIRE: u32 = FCS + 20;

/// Rate limit of a path, and the octets that a segment takes of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Capacity {
    /// Bits a second of frames, as the limiter counts them.
    rate: f64,
    /// Component that limits the path to this rate.
    pub(super) of: Of,
    /// Maximum payload of one segment, in octets.
    mss: u32,
    /// IP packet of a full segment, in octets.
    pub(super) mtu: u32,
    /// Octets of a segment in addition to its payload; an acknowledgement takes as many.
    around: u32,
}

/// Component that sets the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// Slower link of the path.
    Link,
    /// Rate limit that a lab sets on its device's ports: the device's own limit.
    PortLimit,
}

impl Of {
    /// Name in figures.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::PortLimit => "port-limit",
        }
    }
}

/// Rate limit of a pair's path and the component that sets it; `None` if unknown.
pub(super) fn rate(topology: &Topology, pair: &Pair) -> Option<(Rate, Of)> {
    let slower = |rate: fn(&Topology, &PortRef) -> Option<Rate>| {
        Some(rate(topology, &pair.from)?.min(rate(topology, &pair.to)?))
    };
    let link = slower(Topology::rate).map(|link| (link, Of::Link));
    link.or_else(|| Some((slower(Topology::limit)?, Of::PortLimit)))
}

/// IP packet of a full segment from a pair's first port, in octets; `None` for an unknown port.
fn ip_packet(topology: &Topology, pair: &Pair, segment: Segment) -> Option<u32> {
    const IPV4: u32 = 20;
    const IPV6: u32 = 40;
    let ip_header = match topology.port(&pair.from)?.address {
        IpAddr::V4(_) => IPV4,
        IpAddr::V6(_) => IPV6,
    };
    Some(segment.ip_packet(ip_header))
}

/// Frame of a full segment with FCS and without a VLAN tag, in octets; `None` for an unknown port.
pub(super) fn full_frame(topology: &Topology, pair: &Pair, segment: Segment) -> Option<u32> {
    Some(ip_packet(topology, pair, segment)? + MAC + FCS)
}

impl Capacity {
    /// Capacity of a pair's path from its first port to its second.
    pub(super) fn for_pair(topology: &Topology, pair: &Pair, segment: Segment) -> Option<Self> {
        let mtu = ip_packet(topology, pair, segment)?;
        let (rate, of) = rate(topology, pair)?;
        // A lab's cable has the same rate limiters as the ports of a lab's devices.
        let by_kernel = of == Of::PortLimit || (topology.is_lab() && topology.devices.is_empty());
        let around = mtu - segment.mss + MAC + if by_kernel { 0 } else { ON_THE_WIRE };
        Some(Self { rate: rate.bits_per_second(), of, mss: segment.mss, mtu, around })
    }

    /// Maximum payload of full segments, in bits a second.
    pub(super) fn payload(&self) -> f64 {
        self.rate * f64::from(self.mss) / f64::from(self.mss + self.around)
    }

    /// Maximum payload of full segments with as much in the other direction, in bits a second.
    /// Every second full segment is acknowledged (RFC 5681 section 4.2). A kernel that merges
    /// segments acknowledges fewer.
    pub(super) fn payload_both_ways(&self) -> f64 {
        let (mss, around) = (f64::from(self.mss), f64::from(self.around));
        self.rate * mss / (mss + around + around / 2.0)
    }

    /// Share of the path's time that messages of `octets` take at a rate of `per_second`. Messages
    /// begin a new segment; if a kernel merges them, the share is slightly smaller.
    pub(super) fn share(&self, octets: f64, per_second: f64) -> f64 {
        let segments = (octets / f64::from(self.mss)).ceil().max(1.0);
        per_second * (octets + segments * f64::from(self.around)) * 8.0 / self.rate
    }

    /// Nanoseconds from the first bit of a message on a wire to its last.
    pub(super) fn wire_ns(&self, octets: f64) -> f64 {
        (self.share(octets, 1.0) - GAP * 8.0 / self.rate).max(0.0) * 1e9
    }

    /// Share of the path's time that the acknowledgements of such messages take: minimum and
    /// maximum. In the maximum, each message's last segment has an acknowledgement of its own.
    pub(super) fn share_of_answers(&self, octets: f64, per_second: f64) -> [f64; 2] {
        let pairs = octets / f64::from(self.mss) / 2.0;
        let of = |count: f64| per_second * count * f64::from(self.around) * 8.0 / self.rate;
        [of(pairs.floor()), of(pairs.ceil())]
    }
}
