//! Frames built by another implementation (Scapy 2, from the field values named in each test), byte
//! for byte, and the worked example of RFC 1071 §3. The frames are also the fuzz corpus.

use std::net::SocketAddr;

use wire::{
    Checksum, Content, EtherType, IcmpEchoKind, MacAddr, Probe, Transport, UdpChecksum,
    UdpEndpoints, UdpFrame, WireError, classify, parse_udp_probe,
};

macro_rules! corpus {
    ($name:literal) => {
        include_bytes!(concat!("../../../../fuzz/corpus/wire_frame/", $name))
    };
}

const PROBE: Probe =
    Probe { token: 0xdeca_fbad, flow: 7, sequence: 123_456, time_ns: 1_700_000_000_123_456_789 };

#[test]
fn checksum_of_rfc_1071() {
    let sum = Checksum::new().with(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
    assert_eq!(sum.finish(), !0xddf2);
    let in_parts = Checksum::new().with_u32(0xf4f5_f6f7).with(&[0x00, 0x01, 0xf2, 0x03]);
    assert_eq!(in_parts.finish(), sum.finish());
    assert_eq!(Checksum::new().with_u64(0x0001_f203_f4f5_f6f7).finish(), sum.finish());
}

#[test]
fn our_frame_is_scapys() {
    let mac = |last| MacAddr([2, 0, 0, 0, 0, last]);
    let address = |text: &str| text.parse::<SocketAddr>().expect("address");
    let v4 = ("198.18.0.1:49152", "198.18.0.2:7000");
    let v6 = ("[fd00::1]:1", "[fd00::2]:65535");
    for (expected, (source, destination), vlan) in [
        (&corpus!("udp4_64")[..], v4, None),
        (&corpus!("udp4_66_odd")[..], v4, None),
        (&corpus!("vlan_udp4")[..], v4, Some(100)),
        (&corpus!("udp6")[..], v6, None),
    ] {
        let ends = UdpEndpoints {
            source_mac: mac(1),
            destination_mac: mac(2),
            source: address(source),
            destination: address(destination),
        };
        let mut frame =
            UdpFrame::new(&ends, vlan, PROBE.token, PROBE.flow, expected.len()).expect("in range");
        frame.stamp(PROBE.sequence, PROBE.time_ns);
        // The tagged and the IPv6 one have a priority and a label, which ours never have.
        let alike = if vlan.is_some() || ends.source.is_ipv6() { frame.udp_at() } else { 0 };
        assert_eq!(frame.octets()[alike..], expected[alike..]);
    }
}

#[test]
fn probes_in_scapys_frames() {
    // source, destination, checksum, vlan
    let table = [
        (&corpus!("udp4_64")[..], "198.18.0.1:49152", "198.18.0.2:7000", UdpChecksum::Right, None),
        (
            &corpus!("vlan_udp4")[..],
            "198.18.0.1:49152",
            "198.18.0.2:7000",
            UdpChecksum::Right,
            Some(100),
        ),
        (&corpus!("udp6")[..], "[fd00::1]:1", "[fd00::2]:65535", UdpChecksum::Right, None),
        (&corpus!("udp4_nosum")[..], "10.0.0.1:1", "10.0.0.2:2", UdpChecksum::Absent, None),
    ];
    for (frame, source, destination, checksum, vlan) in table {
        let read = parse_udp_probe(frame).expect("a probe");
        assert_eq!(read.source().to_string(), source);
        assert_eq!(read.destination().to_string(), destination);
        assert_eq!(read.checksum, checksum);
        assert_eq!(read.vlan.map(|tag| tag.id), vlan);
        assert_eq!(read.probe, PROBE);
        assert_eq!(read.frame_octets_with_fcs(), frame.len() + 4);
    }
}

#[test]
fn what_carries_no_probe_is_named() {
    let not_udp = |found| WireError::NotUdp { found };
    let unsupported = |feature| WireError::Unsupported { what: "an ipv4 header", feature };
    let table = [
        (&corpus!("arp")[..], not_udp("no ip packet")),
        (&corpus!("qinq")[..], not_udp("no ip packet")),
        (&corpus!("tcp")[..], not_udp("another protocol")),
        (&corpus!("icmp_request")[..], not_udp("an icmp echo")),
        (&corpus!("ip_options")[..], unsupported("an option")),
        (&corpus!("fragment")[..], unsupported("a fragment")),
        (
            &corpus!("truncated")[..],
            WireError::Truncated { what: "an ipv4 packet", octets: 36, needed: 46 },
        ),
    ];
    for (frame, error) in table {
        assert_eq!(parse_udp_probe(frame), Err(error));
    }
}

#[test]
fn an_icmp_echo_and_an_arp_frame_are_told() {
    let captured = classify(corpus!("icmp_request")).expect("a frame");
    let Content::Ip(_, Transport::IcmpEcho { header, payload }) = captured.content else {
        panic!("not an echo: {captured:?}");
    };
    assert_eq!(
        (header.kind, header.identifier, header.sequence),
        (IcmpEchoKind::Request, 0x1234, 1)
    );
    assert_eq!(Probe::parse(payload), Ok(PROBE));
    let arp = classify(corpus!("arp")).expect("a frame");
    assert_eq!(arp.content, Content::Other(EtherType::ARP));
}

#[test]
fn a_wrong_icmp_checksum_is_an_error() {
    let mut frame = corpus!("icmp_request").to_vec();
    frame[50] ^= 1;
    let error = WireError::Checksum { what: "an icmp echo", found: 0x69d8 };
    assert_eq!(classify(&frame), Err(error));
    assert_eq!(error.to_string(), "read an icmp echo: wrong checksum 0x69d8");
}
