//! A whole frame of ours, ready for a packet socket: Ethernet, IPv4, UDP, probe, zeros.
//!
//! Everything but sequence and time is written once. Never sends, and never asks for an address: the
//! caller has resolved both MAC addresses.

use std::net::SocketAddrV4;

use crate::{
    Checksum, EtherType, EthernetHeader, IpProtocol, Ipv4Header, MacAddr, Probe, UdpHeader,
    WireError,
};

const IP_AT: usize = EthernetHeader::LEN;
const UDP_AT: usize = IP_AT + Ipv4Header::LEN;
const PROBE_AT: usize = UDP_AT + UdpHeader::LEN;

/// The hop limit that Linux sends with; what a router leaves of it tells how many there were.
const TIME_TO_LIVE: u8 = 64;

/// From whom to whom a frame goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UdpEndpoints {
    /// The sending port's MAC address.
    pub source_mac: MacAddr,
    /// The next hop's MAC address.
    pub destination_mac: MacAddr,
    /// Source address and port.
    pub source: SocketAddrV4,
    /// Destination address and port.
    pub destination: SocketAddrV4,
}

/// A frame whose sequence and time can be set again and again. Clone it for a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UdpFrame {
    octets: Vec<u8>,
    udp: UdpHeader,
    /// Of everything under the UDP checksum except sequence and time.
    constant: Checksum,
}

impl UdpFrame {
    /// The shortest frame that holds the headers and a probe: 64 octets less the FCS.
    pub const MIN_OCTETS: usize = PROBE_AT + Probe::LEN;
    /// The longest that an IPv4 header can tell.
    pub const MAX_OCTETS: usize = IP_AT + u16::MAX as usize;

    /// A frame of `octets_without_fcs` octets with sequence and time 0.
    pub fn new(
        endpoints: &UdpEndpoints,
        token: u32,
        flow: u16,
        octets_without_fcs: usize,
    ) -> Result<Self, WireError> {
        if !(Self::MIN_OCTETS..=Self::MAX_OCTETS).contains(&octets_without_fcs) {
            return Err(WireError::FrameLength { octets: octets_without_fcs });
        }
        let mut octets = vec![0; octets_without_fcs];
        let ethernet = EthernetHeader {
            destination: endpoints.destination_mac,
            source: endpoints.source_mac,
            ether_type: EtherType::IPV4,
        };
        let ipv4 = Ipv4Header {
            source: *endpoints.source.ip(),
            destination: *endpoints.destination.ip(),
            protocol: IpProtocol::UDP,
            total_length: (octets_without_fcs - IP_AT) as u16,
            traffic_class: 0,
            // RFC 6864 §4.1: without fragments the identification is free, so it stays constant.
            identification: 0,
            dont_fragment: true,
            time_to_live: TIME_TO_LIVE,
        };
        let udp = UdpHeader {
            source: endpoints.source.port(),
            destination: endpoints.destination.port(),
            length: (octets_without_fcs - UDP_AT) as u16,
            checksum: 0,
        };
        ethernet.emit(&mut octets);
        ipv4.emit(&mut octets[IP_AT..]);
        udp.emit(&mut octets[UDP_AT..]);
        Probe { token, flow, sequence: 0, time_ns: 0 }.emit(&mut octets[PROBE_AT..]);
        let constant = Checksum::new()
            .with_pseudo_v4(ipv4.source, ipv4.destination, udp.length)
            .with(&octets[UDP_AT..]);
        let mut frame = Self { octets, udp, constant };
        frame.stamp(0, 0);
        Ok(frame)
    }

    /// Sets sequence and time, and the UDP checksum with them.
    ///
    /// The checksum is a true one, though IPv4 allows none: six additions a frame are cheap, receivers
    /// that merge datagrams (UDP GRO) want it, and a device that damages a payload is found out.
    #[inline]
    pub fn stamp(&mut self, sequence: u32, time_ns: u64) {
        Probe::stamp(&mut self.octets[PROBE_AT..], sequence, time_ns);
        // Both lie at even offsets of the datagram, so their words add as they are.
        self.udp.checksum = self.constant.with_u32(sequence).with_u64(time_ns).finish_udp();
        self.udp.emit_checksum(&mut self.octets[UDP_AT..]);
    }

    /// The frame from destination address through payload, as a packet socket takes it.
    #[inline]
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }
}
