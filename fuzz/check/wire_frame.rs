//! What must hold of any octets that the packet parser is given: it returns, and what it accepts it
//! writes back as it was. The fuzz target and a stable test of `wire` both include this file.

/// Panics where the parser breaks its promise on `frame`.
pub fn wire_frame(frame: &[u8]) {
    // Total over every prefix type: neither may panic, and the second refuses whatever the first
    // does.
    let captured = wire::classify(frame);
    let parsed = wire::parse_udp_probe(frame);
    assert!(captured.is_ok() || parsed.is_err(), "a frame refused as a frame carried a probe");
    let _ = wire::Probe::parse(frame);

    // The receivers' quick look reads at known places, and never past the end.
    let glances = [(false, false), (true, false), (false, true), (true, true)]
        .map(|(ipv6, tagged)| wire::FrameLayout { ipv6, tagged }.glance(frame));
    assert!(glances.iter().flatten().count() <= 1, "a frame of two layouts");

    let Ok(parsed) = parsed else { return };
    let glance = glances.into_iter().flatten().next().expect("a probe that no layout holds");
    assert_eq!(glance.source, parsed.network.source());
    assert_eq!(glance.destination, parsed.network.destination());
    assert_eq!(
        (glance.source_port, glance.destination_port),
        (parsed.udp.source, parsed.udp.destination)
    );
    assert_eq!(glance.payload.len(), parsed.payload_octets);
    assert_eq!(glance.vlan, parsed.vlan.map(|tag| tag.id));
    let mut written = vec![0; frame.len()];
    let length = parsed.emit(&mut written);
    assert!(parsed.frame_octets_with_fcs() - 4 <= frame.len(), "a frame longer than its octets");

    // RFC 1071 counts 0x0000 and 0xffff as one number, so an IPv4 header checksum of 0xffff
    // verifies where 0x0000 is what a sender computes. It is the only field with two spellings.
    let checksum = 14 + if parsed.vlan.is_some() { 4 } else { 0 } + 10;
    let mut expected = frame[..length].to_vec();
    if matches!(parsed.network, wire::Network::V4(_))
        && expected[checksum..checksum + 2] == [0xff; 2]
    {
        expected[checksum..checksum + 2].fill(0);
    }
    assert_eq!(written[..length], expected, "what was parsed is not what is emitted");
}
