//! Frame classification: a total function over any octets, with a named reason for every refusal.
//!
//! A capture on a virtual cable shows UDP checksums that the sender left for hardware to fill. A
//! wrong one is reported with the result and never refused.

use std::net::{IpAddr, SocketAddr};

use crate::{
    Checksum, EtherType, EthernetHeader, IcmpEcho, IcmpVersion, IpProtocol, Ipv4Header, Ipv6Header,
    Probe, UdpHeader, VlanTag, WireError,
};

/// A frame read down to its transport header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Captured<'a> {
    /// The outermost header.
    pub ethernet: EthernetHeader,
    /// 802.1Q tag; `None` if the frame has none.
    pub vlan: Option<VlanTag>,
    /// Content after the EtherType.
    pub content: Content<'a>,
}

/// Content of an Ethernet frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content<'a> {
    /// An IP packet.
    Ip(Network, Transport<'a>),
    /// Anything else: ARP, LLDP, a second tag…
    Other(EtherType),
}

/// The IP header of either version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// IPv4 without options.
    V4(Ipv4Header),
    /// IPv6.
    V6(Ipv6Header),
}

/// Transport protocol of an IP packet, with its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport<'a> {
    /// A UDP datagram.
    Udp {
        /// UDP header.
        header: UdpHeader,
        /// Result of the checksum verification.
        checksum: UdpChecksum,
        /// UDP payload.
        payload: &'a [u8],
    },
    /// An ICMP echo over IPv4.
    IcmpEcho {
        /// ICMP header.
        header: IcmpEcho,
        /// Echoed payload.
        payload: &'a [u8],
    },
    /// Anything else, unread: other ICMP messages, TCP, IPv6 extension headers.
    Other(IpProtocol),
}

/// Result of verifying a datagram's checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UdpChecksum {
    /// No checksum sent.
    Absent,
    /// Correct.
    Right,
    /// Incorrect: damage, or an offload that never filled the field.
    Wrong,
}

/// A frame that carries a probe in UDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UdpProbe {
    /// The outermost header.
    pub ethernet: EthernetHeader,
    /// 802.1Q tag; `None` if the frame has none.
    pub vlan: Option<VlanTag>,
    /// The IP header.
    pub network: Network,
    /// The UDP header.
    pub udp: UdpHeader,
    /// Result of the checksum verification.
    pub checksum: UdpChecksum,
    /// The probe.
    pub probe: Probe,
    /// Octets of UDP payload, the probe included.
    pub payload_octets: usize,
}

impl Network {
    /// Source address.
    pub const fn source(&self) -> IpAddr {
        match self {
            Self::V4(header) => IpAddr::V4(header.source),
            Self::V6(header) => IpAddr::V6(header.source),
        }
    }

    /// Destination address.
    pub const fn destination(&self) -> IpAddr {
        match self {
            Self::V4(header) => IpAddr::V4(header.destination),
            Self::V6(header) => IpAddr::V6(header.destination),
        }
    }

    fn udp_checksum(&self, header: UdpHeader, datagram: &[u8]) -> UdpChecksum {
        let pseudo = match self {
            Self::V4(_) if header.checksum == 0 => return UdpChecksum::Absent,
            Self::V4(ip) => {
                Checksum::new().with_pseudo_v4(ip.source, ip.destination, header.length)
            }
            // RFC 8200 §8.1: over IPv6 a zero is not "none" but an error.
            Self::V6(_) if header.checksum == 0 => return UdpChecksum::Wrong,
            Self::V6(ip) => {
                Checksum::new().with_pseudo_v6(ip.source, ip.destination, header.length)
            }
        };
        let covered = &datagram[..usize::from(header.length)];
        if pseudo.with(covered).verifies() { UdpChecksum::Right } else { UdpChecksum::Wrong }
    }
}

impl UdpProbe {
    /// Source address and port.
    pub const fn source(&self) -> SocketAddr {
        SocketAddr::new(self.network.source(), self.udp.source)
    }

    /// Destination address and port.
    pub const fn destination(&self) -> SocketAddr {
        SocketAddr::new(self.network.destination(), self.udp.destination)
    }

    /// Octets of the frame with its FCS, without link padding.
    pub const fn frame_octets_with_fcs(&self) -> usize {
        const FCS: usize = 4;
        self.payload_at() + self.payload_octets + FCS
    }

    /// Writes the headers and the probe as they were read, with the UDP checksum untouched. Returns
    /// the number of octets written; panics if `into` is shorter.
    pub fn emit(&self, into: &mut [u8]) -> usize {
        self.ethernet.emit(into);
        let mut at = EthernetHeader::LEN;
        if let Some(tag) = &self.vlan {
            tag.emit(&mut into[at..]);
            at += VlanTag::LEN;
        }
        match &self.network {
            Network::V4(header) => header.emit(&mut into[at..]),
            Network::V6(header) => header.emit(&mut into[at..]),
        }
        at = self.payload_at();
        self.udp.emit(&mut into[at - UdpHeader::LEN..]);
        self.probe.emit(&mut into[at..]);
        at + Probe::LEN
    }

    const fn payload_at(&self) -> usize {
        let tag = if self.vlan.is_some() { VlanTag::LEN } else { 0 };
        let ip = match self.network {
            Network::V4(_) => Ipv4Header::LEN,
            Network::V6(_) => Ipv6Header::LEN,
        };
        EthernetHeader::LEN + tag + ip + UdpHeader::LEN
    }
}

/// Reads a frame without FCS, as a packet socket or a capture gives it. Refuses damage at a level
/// that it reads; anything that it does not read comes back as `Other`.
pub fn classify(frame: &[u8]) -> Result<Captured<'_>, WireError> {
    let (ethernet, mut rest) = EthernetHeader::parse(frame)?;
    let (mut vlan, mut ether_type) = (None, ethernet.ether_type);
    if ether_type == EtherType::VLAN {
        let (tag, behind) = VlanTag::parse(rest)?;
        (vlan, ether_type, rest) = (Some(tag), tag.ether_type, behind);
    }
    let content = match ether_type {
        EtherType::IPV4 => {
            let (header, payload) = Ipv4Header::parse(rest)?;
            ip_content(Network::V4(header), header.protocol, payload)?
        }
        EtherType::IPV6 => {
            let (header, payload) = Ipv6Header::parse(rest)?;
            ip_content(Network::V6(header), header.next_header, payload)?
        }
        other => Content::Other(other),
    };
    Ok(Captured { ethernet, vlan, content })
}

fn ip_content(
    network: Network,
    protocol: IpProtocol,
    octets: &[u8],
) -> Result<Content<'_>, WireError> {
    let transport = match (protocol, &network) {
        (IpProtocol::UDP, _) => {
            let (header, payload) = UdpHeader::parse(octets)?;
            let checksum = network.udp_checksum(header, octets);
            Transport::Udp { header, checksum, payload }
        }
        (IpProtocol::ICMP, Network::V4(_)) => match IcmpEcho::parse(IcmpVersion::V4, octets) {
            Ok((header, payload)) => Transport::IcmpEcho { header, payload },
            Err(WireError::Unsupported { .. }) => Transport::Other(protocol),
            Err(broken) => return Err(broken),
        },
        _ => Transport::Other(protocol),
    };
    Ok(Content::Ip(network, transport))
}

/// Reads a frame without FCS that should carry a probe in UDP.
pub fn parse_udp_probe(frame: &[u8]) -> Result<UdpProbe, WireError> {
    let captured = classify(frame)?;
    let (network, transport) = match captured.content {
        Content::Ip(network, transport) => (network, transport),
        Content::Other(_) => return Err(WireError::NotUdp { found: "no ip packet" }),
    };
    let (udp, checksum, payload) = match transport {
        Transport::Udp { header, checksum, payload } => (header, checksum, payload),
        Transport::IcmpEcho { .. } => return Err(WireError::NotUdp { found: "an icmp echo" }),
        Transport::Other(_) => return Err(WireError::NotUdp { found: "another protocol" }),
    };
    Ok(UdpProbe {
        ethernet: captured.ethernet,
        vlan: captured.vlan,
        network,
        udp,
        checksum,
        probe: Probe::parse(payload)?,
        payload_octets: payload.len(),
    })
}
