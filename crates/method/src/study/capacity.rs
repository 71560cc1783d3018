//! What a path can carry of TCP payload.
//!
//! Owns the arithmetic of segments on Ethernet, and of a lab's limiters, which count less of a
//! frame. Pure; silent where a rate or a segment's size is not known.

use std::net::IpAddr;

use measure::Rate;
use measure::reading::Segment;
use trial::topology::{Pair, PortRef, Topology};

/// MAC header.
const MAC: u32 = 14;
/// What a wire is silent for between two frames, in octets.
const GAP: f64 = 12.0;
/// FCS, preamble and gap: what a wire carries beside what the kernel counts.
const ON_THE_WIRE: u32 = 4 + 20;

/// What holds a path, and what a segment takes of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Capacity {
    /// Bits a second of frames as they are counted there.
    rate: f64,
    /// What holds the path to it.
    pub(super) of: Of,
    /// The most payload that one segment takes, in octets.
    mss: u32,
    /// The IP packet of a full segment, in octets.
    pub(super) mtu: u32,
    /// What a segment takes beside its payload, in octets; an acknowledgement takes as much.
    around: u32,
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
            Self::PortLimit => "port-limit",
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

impl Capacity {
    /// Of a pair's path from its first port to its second.
    pub(super) fn of(topology: &Topology, pair: &Pair, segment: Segment) -> Option<Self> {
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
        let around = mtu - segment.mss + MAC + if by_kernel { 0 } else { ON_THE_WIRE };
        Some(Self { rate: rate.bits_per_second(), of, mss: segment.mss, mtu, around })
    }

    /// The most payload that full segments bring, in bits a second.
    pub(super) fn payload(&self) -> f64 {
        self.rate * f64::from(self.mss) / f64::from(self.mss + self.around)
    }

    /// The same where as much comes the other way, and every second full segment of that is
    /// acknowledged (RFC 5681 section 4.2). A kernel that joins segments acknowledges fewer.
    pub(super) fn payload_both_ways(&self) -> f64 {
        let (mss, around) = (f64::from(self.mss), f64::from(self.around));
        self.rate * mss / (mss + around + around / 2.0)
    }

    /// The share of the path's time that messages of so many octets take, so many a second. Each
    /// begins a segment of its own: where a kernel joins them, it is a little less.
    pub(super) fn share(&self, octets: f64, per_second: f64) -> f64 {
        let segments = (octets / f64::from(self.mss)).ceil().max(1.0);
        per_second * (octets + segments * f64::from(self.around)) * 8.0 / self.rate
    }

    /// Nanoseconds from the first bit of such a message on a wire to its last.
    pub(super) fn wire_ns(&self, octets: f64) -> f64 {
        (self.share(octets, 1.0) - GAP * 8.0 / self.rate).max(0.0) * 1e9
    }

    /// And that acknowledgements of such messages take, coming back: at least, and at most where
    /// the last segment of each has one to itself.
    pub(super) fn share_of_answers(&self, octets: f64, per_second: f64) -> [f64; 2] {
        let pairs = octets / f64::from(self.mss) / 2.0;
        let of = |count: f64| per_second * count * f64::from(self.around) * 8.0 / self.rate;
        [of(pairs.floor()), of(pairs.ceil())]
    }
}
