//! A complete test frame, ready to send: Ethernet, optional 802.1Q tag, IPv4 or IPv6, UDP, probe,
//! zeros.
//!
//! Everything but sequence and time is written once. Never sends, and never resolves an address:
//! the caller supplies both MAC addresses.

use std::net::{IpAddr, SocketAddr};

use crate::octets::put_u16;
use crate::{
    Checksum, EtherType, EthernetHeader, FrameLayout, IpProtocol, Ipv4Header, Ipv6Header, MacAddr,
    Probe, UdpHeader, VlanTag, WireError,
};

/// Hop limit that Linux sends with. A receiver can derive the number of routers from what is left.
const TIME_TO_LIVE: u8 = 64;

/// Addresses and ports of a frame's sender and receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UdpEndpoints {
    /// The sending port's MAC address.
    pub source_mac: MacAddr,
    /// The next hop's MAC address.
    pub destination_mac: MacAddr,
    /// Source address and port.
    pub source: SocketAddr,
    /// Destination address and port, of the same IP version.
    pub destination: SocketAddr,
}

/// A frame whose sequence and time can be set repeatedly. Clone it for a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UdpFrame {
    octets: Vec<u8>,
    /// Offset of the UDP header in octets.
    udp_at: usize,
    /// Sum of everything that the UDP checksum covers except sequence and time.
    constant: Checksum,
}

impl UdpFrame {
    /// Builds a frame of `octets_without_fcs` octets, the tag included, with sequence and time 0.
    /// Only the low 12 bits of `vlan` are used.
    pub fn new(
        endpoints: &UdpEndpoints,
        vlan: Option<u16>,
        token: u32,
        flow: u16,
        octets_without_fcs: usize,
    ) -> Result<Self, WireError> {
        let UdpEndpoints { source, destination, .. } = endpoints;
        if source.is_ipv4() != destination.is_ipv4() {
            return Err(WireError::Versions);
        }
        let layout = FrameLayout { ipv6: source.is_ipv6(), tagged: vlan.is_some() };
        if !(layout.min_octets()..=layout.max_octets()).contains(&octets_without_fcs) {
            return Err(WireError::FrameLength {
                octets: octets_without_fcs,
                least: layout.min_octets(),
                most: layout.max_octets(),
            });
        }
        let mut octets = vec![0; octets_without_fcs];
        let udp_at = layout.udp_at();
        let udp = UdpHeader {
            source: source.port(),
            destination: destination.port(),
            length: (octets_without_fcs - udp_at) as u16,
            checksum: 0,
        };
        emit_link(endpoints, layout, vlan, &mut octets);
        emit_ip(source.ip(), destination.ip(), udp.length, &mut octets[layout.ip_at()..]);
        udp.emit(&mut octets[udp_at..]);
        Probe { token, flow, sequence: 0, time_ns: 0 }.emit(&mut octets[udp_at + UdpHeader::LEN..]);
        let constant = pseudo(source.ip(), destination.ip(), udp.length).with(&octets[udp_at..]);
        let mut frame = Self { octets, udp_at, constant };
        frame.stamp(0, 0);
        Ok(frame)
    }

    /// Sets sequence and time, and the UDP checksum with them.
    ///
    /// The checksum is always valid, though IPv4 allows none. It costs six additions a frame,
    /// receivers that merge datagrams (UDP GRO) need it, and it reveals a device that damages
    /// payloads. Over IPv6 it is mandatory (RFC 8200 §8.1).
    #[inline]
    pub fn stamp(&mut self, sequence: u32, time_ns: u64) {
        let datagram = &mut self.octets[self.udp_at..];
        Probe::stamp(&mut datagram[UdpHeader::LEN..], sequence, time_ns);
        // Both lie at even offsets of the datagram, so their words add as they are.
        let sum = self.constant.with_u32(sequence).with_u64(time_ns).finish_udp();
        put_u16(datagram, UdpHeader::CHECKSUM, sum);
    }

    /// The frame from destination address through payload, as a packet socket takes it.
    #[inline]
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// Offset of the UDP header in octets.
    pub fn udp_at(&self) -> usize {
        self.udp_at
    }
}

fn emit_link(ends: &UdpEndpoints, layout: FrameLayout, vlan: Option<u16>, into: &mut [u8]) {
    let carried = layout.ether_type();
    let ether_type = if vlan.is_some() { EtherType::VLAN } else { carried };
    EthernetHeader { destination: ends.destination_mac, source: ends.source_mac, ether_type }
        .emit(into);
    if let Some(id) = vlan {
        VlanTag { priority: 0, drop_eligible: false, id, ether_type: carried }
            .emit(&mut into[EthernetHeader::LEN..]);
    }
}

/// The IP header of a datagram of `length` octets; the versions are the same.
fn emit_ip(source: IpAddr, destination: IpAddr, length: u16, into: &mut [u8]) {
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => Ipv4Header {
            source,
            destination,
            protocol: IpProtocol::UDP,
            total_length: length + Ipv4Header::LEN as u16,
            traffic_class: 0,
            // RFC 6864 §4.1: without fragments the identification is free, so it stays constant.
            identification: 0,
            dont_fragment: true,
            time_to_live: TIME_TO_LIVE,
        }
        .emit(into),
        (IpAddr::V6(source), IpAddr::V6(destination)) => Ipv6Header {
            source,
            destination,
            next_header: IpProtocol::UDP,
            payload_length: length,
            traffic_class: 0,
            // RFC 6437 §3: a node that does not label flows sends zero.
            flow_label: 0,
            hop_limit: TIME_TO_LIVE,
        }
        .emit(into),
        _ => {}
    }
}

fn pseudo(source: IpAddr, destination: IpAddr, length: u16) -> Checksum {
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            Checksum::new().with_pseudo_v4(source, destination, length)
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            Checksum::new().with_pseudo_v6(source, destination, length)
        }
        _ => Checksum::new(),
    }
}
