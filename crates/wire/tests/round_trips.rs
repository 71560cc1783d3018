//! parse(emit(x)) == x for every header, and the refusals by name.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4};

use proptest::prelude::*;
use wire::{
    EtherType, EthernetHeader, IcmpEcho, IcmpEchoKind, IpProtocol, Ipv4Header, Ipv6Header, MacAddr,
    Probe, UdpChecksum, UdpEndpoints, UdpFrame, UdpHeader, VlanTag, WireError, parse_udp_probe,
};

prop_compose! {
    fn ipv4_header(payload: u16)(
        source: u32, destination: u32, protocol: u8, traffic_class: u8, identification: u16,
        dont_fragment: bool, time_to_live: u8,
    ) -> Ipv4Header {
        Ipv4Header {
            source: Ipv4Addr::from(source),
            destination: Ipv4Addr::from(destination),
            protocol: IpProtocol(protocol),
            total_length: 20 + payload,
            traffic_class,
            identification,
            dont_fragment,
            time_to_live,
        }
    }
}

prop_compose! {
    fn probe()(token: u32, flow: u16, sequence: u32, time_ns: u64) -> Probe {
        Probe { token, flow, sequence, time_ns }
    }
}

prop_compose! {
    fn endpoints()(
        macs: ([u8; 6], [u8; 6]), source: u32, destination: u32, ports: (u16, u16),
    ) -> UdpEndpoints {
        UdpEndpoints {
            source_mac: MacAddr(macs.0),
            destination_mac: MacAddr(macs.1),
            source: SocketAddrV4::new(Ipv4Addr::from(source), ports.0),
            destination: SocketAddrV4::new(Ipv4Addr::from(destination), ports.1),
        }
    }
}

proptest! {
    #[test]
    fn mac_addresses_are_read_as_written(octets: [u8; 6]) {
        let address = MacAddr(octets);
        prop_assert_eq!(address.to_string().parse::<MacAddr>(), Ok(address));
        prop_assert_eq!(address.to_string().to_uppercase().parse::<MacAddr>(), Ok(address));
    }

    #[test]
    fn mac_addresses_never_panic(text in ".{0,24}") {
        let _ = text.parse::<MacAddr>();
    }

    #[test]
    fn ethernet(to: [u8; 6], from: [u8; 6], ether_type: u16, payload: Vec<u8>) {
        let header = EthernetHeader {
            destination: MacAddr(to), source: MacAddr(from), ether_type: EtherType(ether_type),
        };
        let mut frame = vec![0; EthernetHeader::LEN];
        header.emit(&mut frame);
        frame.extend(&payload);
        prop_assert_eq!(EthernetHeader::parse(&frame), Ok((header, &payload[..])));
    }

    #[test]
    fn vlan(priority in 0u8..8, drop_eligible: bool, id in 0u16..4096, ether_type: u16) {
        let tag = VlanTag { priority, drop_eligible, id, ether_type: EtherType(ether_type) };
        let mut octets = [0; VlanTag::LEN];
        tag.emit(&mut octets);
        prop_assert_eq!(VlanTag::parse(&octets), Ok((tag, &[][..])));
    }

    #[test]
    fn ipv4(header in ipv4_header(5), padding in 0usize..40) {
        let mut packet = vec![0x5a; 25 + padding];
        header.emit(&mut packet);
        prop_assert_eq!(Ipv4Header::parse(&packet), Ok((header, &[0x5a; 5][..])));
    }

    #[test]
    fn one_wrong_bit_in_an_ipv4_header_is_refused(header in ipv4_header(0), bit in 0usize..160) {
        let mut packet = [0; 20];
        header.emit(&mut packet);
        packet[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(Ipv4Header::parse(&packet).is_err());
    }

    #[test]
    fn ipv6(
        source: u128, destination: u128, next: u8, traffic_class: u8,
        flow_label in 0u32..1 << 20, hop_limit: u8, padding in 0usize..40,
    ) {
        let header = Ipv6Header {
            source: Ipv6Addr::from(source), destination: Ipv6Addr::from(destination),
            next_header: IpProtocol(next), payload_length: 7, traffic_class, flow_label, hop_limit,
        };
        let mut packet = vec![0x5a; Ipv6Header::LEN + 7 + padding];
        header.emit(&mut packet);
        prop_assert_eq!(Ipv6Header::parse(&packet), Ok((header, &[0x5a; 7][..])));
    }

    #[test]
    fn udp(source: u16, destination: u16, checksum: u16, payload in 0u16..100, slack in 0usize..9) {
        let header = UdpHeader { source, destination, length: 8 + payload, checksum };
        let mut datagram = vec![0x5a; usize::from(header.length) + slack];
        header.emit(&mut datagram);
        let expected = vec![0x5a; payload.into()];
        prop_assert_eq!(UdpHeader::parse(&datagram), Ok((header, &expected[..])));
    }

    #[test]
    fn icmp_echo(reply: bool, identifier: u16, sequence: u16, payload: Vec<u8>) {
        let kind = if reply { IcmpEchoKind::Reply } else { IcmpEchoKind::Request };
        let header = IcmpEcho { kind, identifier, sequence };
        let mut message = vec![0; IcmpEcho::LEN];
        message.extend(&payload);
        header.emit(&mut message);
        prop_assert_eq!(IcmpEcho::parse(&message), Ok((header, &payload[..])));
    }

    #[test]
    fn probes(probe in probe(), filler: Vec<u8>) {
        let mut payload = vec![0; Probe::LEN];
        probe.emit(&mut payload);
        payload.extend(&filler);
        prop_assert_eq!(Probe::parse(&payload), Ok(probe));
    }

    #[test]
    fn a_stamped_probe_is_as_if_emitted(probe in probe(), sequence: u32, time_ns: u64) {
        let (mut stamped, mut emitted) = ([0; Probe::LEN], [0; Probe::LEN]);
        probe.emit(&mut stamped);
        Probe::stamp(&mut stamped, sequence, time_ns);
        Probe { sequence, time_ns, ..probe }.emit(&mut emitted);
        prop_assert_eq!(stamped, emitted);
    }

    /// The incremental checksum is compared with one computed over the whole datagram by `classify`.
    #[test]
    fn a_frame_is_read_as_built(
        ends in endpoints(), first in probe(), second in probe(), octets in 60usize..1600,
    ) {
        let mut frame = UdpFrame::new(&ends, first.token, first.flow, octets).expect("in range");
        for probe in [first, Probe { token: first.token, flow: first.flow, ..second }] {
            frame.stamp(probe.sequence, probe.time_ns);
            let read = parse_udp_probe(frame.octets()).expect("our own frame");
            prop_assert_eq!(frame.octets().len(), octets);
            prop_assert_eq!(read.frame_octets_with_fcs(), octets + 4);
            prop_assert_eq!(read.probe, probe);
            prop_assert_eq!(read.checksum, UdpChecksum::Right);
            prop_assert_eq!(read.source(), ends.source.into());
            prop_assert_eq!(read.destination(), ends.destination.into());
            prop_assert_eq!(read.ethernet.source, ends.source_mac);
            prop_assert_eq!(read.ethernet.destination, ends.destination_mac);
        }
    }

    #[test]
    fn a_damaged_payload_is_told(ends in endpoints(), at in 42usize..100, bit in 0u8..8) {
        let mut octets = UdpFrame::new(&ends, 1, 2, 100).expect("in range").octets().to_vec();
        octets[at] ^= 1 << bit;
        let read = parse_udp_probe(&octets).expect("still a probe");
        prop_assert_eq!(read.checksum, UdpChecksum::Wrong);
    }
}

#[test]
fn texts_that_are_no_mac_address() {
    for text in [
        "",
        "02:00:00:00:00",
        "02:00:00:00:00:01:",
        "2:0:0:0:0:1",
        "02-00-00-00-00-01",
        "+2:00:00:00:00:01",
    ] {
        assert_eq!(text.parse::<MacAddr>(), Err(WireError::MacText), "{text}");
    }
    assert!(MacAddr([2, 0, 0, 0, 0, 1]).is_unicast());
    assert!(!MacAddr::BROADCAST.is_unicast());
}

#[test]
fn frame_lengths_that_cannot_be() {
    let ends = UdpEndpoints {
        source_mac: MacAddr::default(),
        destination_mac: MacAddr::default(),
        source: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1),
        destination: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 2),
    };
    for octets in [0, 59, 65_550] {
        assert_eq!(UdpFrame::new(&ends, 0, 0, octets), Err(WireError::FrameLength { octets }));
    }
    for octets in [60, 9014, 65_549] {
        assert!(UdpFrame::new(&ends, 0, 0, octets).is_ok(), "{octets}");
    }
    assert_eq!((UdpFrame::MIN_OCTETS, UdpFrame::MAX_OCTETS), (60, 65_549));
}
