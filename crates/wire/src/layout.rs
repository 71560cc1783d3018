//! Headers of a test frame and the offset of each: the one place for these numbers. Lengths are
//! without FCS.
//!
//! Owns the quick check that a receiver makes on each frame: it reads the flow's identifying fields
//! at known offsets. Never verifies a checksum: a virtual cable carries UDP checksums that nobody
//! filled in, and on a real one the FCS reveals damage.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::octets::{array, u16_at};
use crate::{
    EtherType, EthernetHeader, IpProtocol, Ipv4Header, Ipv6Header, Probe, UdpHeader, VlanTag,
};

/// Headers of a flow's frames: Ethernet, an optional tag, one IP version, UDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameLayout {
    /// True for IPv6, false for IPv4.
    pub ipv6: bool,
    /// True with an 802.1Q tag.
    pub tagged: bool,
}

/// Fields that a receiver reads from one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glance<'a> {
    /// VLAN of the tag; `None` if the layout has no tag.
    pub vlan: Option<u16>,
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// The datagram's payload.
    pub payload: &'a [u8],
}

impl FrameLayout {
    /// Offset of the IP header in octets.
    #[inline]
    pub const fn ip_at(self) -> usize {
        EthernetHeader::LEN + if self.tagged { VlanTag::LEN } else { 0 }
    }

    /// Offset of the UDP header in octets.
    #[inline]
    pub const fn udp_at(self) -> usize {
        self.ip_at() + if self.ipv6 { Ipv6Header::LEN } else { Ipv4Header::LEN }
    }

    /// Octets of all headers, which is the offset of the probe.
    #[inline]
    pub const fn header_octets(self) -> usize {
        self.udp_at() + UdpHeader::LEN
    }

    /// Length of the shortest frame that holds the headers and a probe: 60 octets over IPv4, 80
    /// over IPv6, and 4 more with a tag.
    pub const fn min_octets(self) -> usize {
        self.header_octets() + Probe::LEN
    }

    /// Length of the longest frame that the IP header can express. IPv4's length includes the
    /// header, IPv6's does not.
    pub const fn max_octets(self) -> usize {
        self.ip_at() + u16::MAX as usize + if self.ipv6 { Ipv6Header::LEN } else { 0 }
    }

    /// EtherType of the IP version, as found after any tag.
    pub const fn ether_type(self) -> EtherType {
        if self.ipv6 { EtherType::IPV6 } else { EtherType::IPV4 }
    }

    /// Reads a frame of this layout; `None` for a frame of another layout and for one that is too
    /// short. Padding after the datagram is left out.
    #[inline]
    pub fn glance(self, frame: &[u8]) -> Option<Glance<'_>> {
        let frame = match frame.get(..self.header_octets()) {
            Some(_) => frame,
            None => return None,
        };
        let vlan = if self.tagged {
            let (tag, _) = VlanTag::parse(&frame[EthernetHeader::LEN..]).ok()?;
            let announced = u16_at(frame, 12..14) == EtherType::VLAN.0;
            (announced && tag.ether_type == self.ether_type()).then_some(())?;
            Some(tag.id)
        } else {
            (u16_at(frame, 12..14) == self.ether_type().0).then_some(())?;
            None
        };
        let ip = &frame[self.ip_at()..];
        let (source, destination) = if self.ipv6 { glance_v6(ip)? } else { glance_v4(ip)? };
        let (udp, payload) = UdpHeader::parse(&frame[self.udp_at()..]).ok()?;
        Some(Glance {
            vlan,
            source,
            destination,
            source_port: udp.source,
            destination_port: udp.destination,
            payload,
        })
    }
}

/// Reads the addresses of an IPv4 packet that carries a whole UDP datagram and has no options.
#[inline]
fn glance_v4(ip: &[u8]) -> Option<(IpAddr, IpAddr)> {
    const MORE_OR_OFFSET: u16 = 0x3fff;
    let whole = u16_at(ip, 6..8) & MORE_OR_OFFSET == 0;
    (ip[0] == 0x45 && ip[9] == IpProtocol::UDP.0 && whole).then(|| {
        let address = |at: usize| Ipv4Addr::from(array::<4>(ip, at..at + 4)).into();
        (address(12), address(16))
    })
}

/// Reads the addresses of an IPv6 packet whose next header is UDP.
#[inline]
fn glance_v6(ip: &[u8]) -> Option<(IpAddr, IpAddr)> {
    (ip[0] >> 4 == 6 && ip[6] == IpProtocol::UDP.0).then(|| {
        let address = |at: usize| Ipv6Addr::from(array::<16>(ip, at..at + 16)).into();
        (address(8), address(24))
    })
}
