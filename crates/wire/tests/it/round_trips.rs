//! parse(emit(x)) == x for every header, and the refusals by name.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use proptest::prelude::*;
use wire::{
    EtherType, EthernetHeader, FrameLayout, IcmpEcho, IcmpEchoKind, IcmpVersion, IpProtocol,
    Ipv4Header, Ipv6Header, MacAddr, Probe, UdpChecksum, UdpEndpoints, UdpFrame, UdpHeader,
    VlanTag, WireError, parse_udp_probe,
};

const LAYOUTS: [FrameLayout; 4] = [
    FrameLayout { ipv6: false, tagged: false },
    FrameLayout { ipv6: true, tagged: false },
    FrameLayout { ipv6: false, tagged: true },
    FrameLayout { ipv6: true, tagged: true },
];

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

fn ends(ipv6: bool, macs: [[u8; 6]; 2], addresses: [u128; 2], ports: [u16; 2]) -> UdpEndpoints {
    let socket = |end: usize| {
        let address: IpAddr = if ipv6 {
            Ipv6Addr::from(addresses[end]).into()
        } else {
            Ipv4Addr::from(addresses[end] as u32).into()
        };
        SocketAddr::new(address, ports[end])
    };
    UdpEndpoints {
        source_mac: MacAddr(macs[0]),
        destination_mac: MacAddr(macs[1]),
        source: socket(0),
        destination: socket(1),
    }
}

prop_compose! {
    fn endpoints()(
        ipv6: bool, macs: [[u8; 6]; 2], addresses: [u128; 2], ports: [u16; 2],
    ) -> UdpEndpoints {
        ends(ipv6, macs, addresses, ports)
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
    fn icmp_echo(reply: bool, v6: bool, identifier: u16, sequence: u16, payload: Vec<u8>) {
        let kind = if reply { IcmpEchoKind::Reply } else { IcmpEchoKind::Request };
        let header = IcmpEcho { kind, identifier, sequence };
        let mut message = vec![0; IcmpEcho::LEN];
        message.extend(&payload);
        let version = if v6 { IcmpVersion::V6 } else { IcmpVersion::V4 };
        header.emit(version, &mut message);
        prop_assert_eq!(IcmpEcho::parse(version, &message), Ok((header, &payload[..])));
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

    /// The incremental checksum is compared with one computed over the whole datagram by
    /// `classify`.
    #[test]
    fn a_frame_is_read_as_built(
        ends in endpoints(), vlan in prop::option::of(0u16..4096), first in probe(),
        second in probe(), beyond in 0usize..1600, padding in 0usize..40,
    ) {
        let layout = FrameLayout { ipv6: ends.source.is_ipv6(), tagged: vlan.is_some() };
        let octets = layout.min_octets() + beyond;
        let mut frame =
            UdpFrame::new(&ends, vlan, first.token, first.flow, octets).expect("in range");
        for probe in [first, Probe { token: first.token, flow: first.flow, ..second }] {
            frame.stamp(probe.sequence, probe.time_ns);
            let read = parse_udp_probe(frame.octets()).expect("our own frame");
            prop_assert_eq!(frame.octets().len(), octets);
            prop_assert_eq!(read.frame_octets_with_fcs(), octets + 4);
            prop_assert_eq!(read.probe, probe);
            prop_assert_eq!(read.checksum, UdpChecksum::Right);
            prop_assert_eq!(read.vlan.map(|tag| tag.id), vlan);
            prop_assert_eq!((read.source(), read.destination()), (ends.source, ends.destination));
            prop_assert_eq!(read.ethernet.source, ends.source_mac);
            prop_assert_eq!(read.ethernet.destination, ends.destination_mac);
        }
        let mut padded = frame.octets().to_vec();
        padded.resize(octets + padding, 0x5a);
        let glance = layout.glance(&padded).expect("our own frame");
        prop_assert_eq!(glance.vlan, vlan);
        let source = SocketAddr::new(glance.source, glance.source_port);
        let destination = SocketAddr::new(glance.destination, glance.destination_port);
        prop_assert_eq!((source, destination), (ends.source, ends.destination));
        prop_assert_eq!(glance.payload, &frame.octets()[layout.header_octets()..]);
        for other in LAYOUTS.into_iter().filter(|other| *other != layout) {
            prop_assert_eq!(other.glance(frame.octets()), None);
        }
    }

    /// Frames that the quick check accepts are read the same way by the whole parser, or refused
    /// for a checksum.
    #[test]
    fn a_glance_sees_what_the_parser_reads(
        ends in endpoints(), vlan in prop::option::of(0u16..4096), damage in any::<(u16, u8)>(),
        cut in 0usize..200,
    ) {
        let layout = FrameLayout { ipv6: ends.source.is_ipv6(), tagged: vlan.is_some() };
        let frame = UdpFrame::new(&ends, vlan, 1, 2, 120).expect("in range");
        let mut octets = frame.octets()[..cut.min(120)].to_vec();
        if let Some(octet) = octets.get_mut(usize::from(damage.0) % 120) {
            *octet = damage.1;
        }
        let Some(glance) = layout.glance(&octets) else { return Ok(()) };
        if let Ok(read) = parse_udp_probe(&octets) {
            prop_assert_eq!(glance.source, read.network.source());
            prop_assert_eq!(glance.destination_port, read.udp.destination);
            prop_assert_eq!(glance.payload.len(), read.payload_octets);
        }
    }

    #[test]
    fn a_damaged_payload_is_told(ends in endpoints(), at in 62usize..100, bit in 0u8..8) {
        let frame = UdpFrame::new(&ends, None, 1, 2, 100).expect("in range");
        let mut octets = frame.octets().to_vec();
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
}

#[test]
fn frame_lengths_that_cannot_be() {
    // The shortest and the longest of each layout: 64, 84, 68 and 88 octets with FCS at least.
    let table = [(60, 65_549), (80, 65_589), (64, 65_553), (84, 65_593)];
    for (layout, (least, most)) in LAYOUTS.into_iter().zip(table) {
        let ends = ends(layout.ipv6, [[2; 6]; 2], [1, 2], [1, 2]);
        let vlan = layout.tagged.then_some(7);
        for octets in [0, least - 1, most + 1] {
            let refusal = WireError::FrameLength { octets, least, most };
            assert_eq!(UdpFrame::new(&ends, vlan, 0, 0, octets), Err(refusal));
        }
        for octets in [least, 9014, most] {
            let frame = UdpFrame::new(&ends, vlan, 0, 0, octets).expect("in range");
            assert!(parse_udp_probe(frame.octets()).is_ok(), "{layout:?} {octets}");
        }
    }
}

#[test]
fn endpoints_of_two_versions_make_no_frame() {
    let source = ends(false, [[2; 6]; 2], [1, 2], [1, 2]).source;
    let mixed = UdpEndpoints { source, ..ends(true, [[2; 6]; 2], [1, 2], [1, 2]) };
    assert_eq!(UdpFrame::new(&mixed, None, 0, 0, 100), Err(WireError::Versions));
}
