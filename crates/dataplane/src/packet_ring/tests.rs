//! The ring over a virtual cable, frame for frame against what was sent and what the kernel counts.
//!
//! Needs root or a user namespace, and says so otherwise. Frames are sent by AF_XDP, whose own
//! tests hold it against the kernel. Asserts no rate and no time.

use std::net::UdpSocket;

use measure::Nanos;

use super::{Receive, Selection};
use crate::af_xdp::cable::{Cable, Layout, PORT, TOKEN, selection, soon};
use crate::af_xdp::transmit::Transmit;
use crate::clock;

const PATIENCE: Nanos = Nanos::from_millis(500);

fn way_out(cable: &Cable) -> Transmit {
    let (index, name) = (cable.link("h1").index, cable.interface("h1"));
    cable.inside("h1", || Transmit::open(index, name, 4_096)).expect("open way out").0
}

fn ring(cable: &Cable, host: &str, selection: &Selection) -> Receive {
    let (index, name) = (cable.link(host).index, cable.interface(host));
    cable.inside(host, || Receive::bind(index, name, selection)).expect("bind ring")
}

fn send_all(way: &mut Transmit, frames: &[Vec<u8>]) {
    let mut next = 0;
    while next < frames.len() {
        // A refusal costs a turn; the frame is offered again.
        next += way.send(frames[next..].iter().take(64).map(Vec::as_slice)).unwrap_or(0);
    }
    way.drain(PATIENCE);
}

#[test]
fn frames_come_as_they_were_sent_and_in_their_order() {
    let Some(cable) = Cable::lay(false) else { return };
    let _reserved = cable.reserve();
    let mut out = way_out(&cable);
    let layouts = [
        Layout::new(60),
        Layout { vlan: Some(42), ..Layout::new(64) },
        Layout { v6: true, ..Layout::new(80) },
        Layout { v6: true, vlan: Some(7), ..Layout::new(84) },
        Layout::new(1_514),
        Layout::new(4_096),
    ];
    for layout in layouts {
        let frames = cable.frames(layout, 2_000);
        let mut ring = ring(&cable, "h2", &selection());
        let (mut came, mut stamps) = (Vec::new(), Vec::new());
        let before = clock::monotonic();
        send_all(&mut out, &frames);
        let all = soon(|| {
            ring.receive(Nanos::from_millis(5), |arrival| {
                came.push(arrival.octets.to_vec());
                stamps.push(arrival.at);
            })
            .expect("receive");
            came.len() >= frames.len()
        });
        assert!(all && came == frames, "{layout:?}: {} came", came.len());
        // Both clocks are read a moment apart.
        let doubt = Nanos::from_micros(20);
        assert!(stamps[0] + doubt > before, "{layout:?}");
        assert!(stamps[stamps.len() - 1] <= clock::monotonic() + doubt);
        assert!(stamps.windows(2).all(|two| two[0] <= two[1] + doubt), "{layout:?}");
        assert_eq!(ring.close(|_| panic!("one more")).expect("close"), 0);
    }
}

#[test]
fn closing_loses_nothing_that_came() {
    let Some(cable) = Cable::lay(false) else { return };
    let _reserved = cable.reserve();
    let mut out = way_out(&cable);
    for count in [0, 1, 3, 500, 20_000] {
        let frames = cable.frames(Layout::new(60), count);
        let before = cable.counters("h2").rx_packets;
        let ring = ring(&cable, "h2", &selection());
        send_all(&mut out, &frames);
        assert!(soon(|| cable.counters("h2").rx_packets - before >= u64::from(count)));
        let mut came = 0;
        let drops = ring.close(|_| came += 1).expect("close");
        assert_eq!((came, drops), (count, 0));
    }
}

#[test]
fn what_finds_no_room_is_counted() {
    let Some(cable) = Cable::lay(false) else { return };
    let _reserved = cable.reserve();
    let mut out = way_out(&cable);
    // 40,000 frames of 1514 octets are twice the ring.
    let count = 40_000;
    let frames = cable.frames(Layout::new(1_514), count);
    let before = cable.counters("h2").rx_packets;
    let ring = ring(&cable, "h2", &selection());
    send_all(&mut out, &frames);
    assert!(soon(|| cable.counters("h2").rx_packets - before >= u64::from(count)));
    let mut came = 0_u64;
    let drops = ring.close(|_| came += 1).expect("close");
    eprintln!("{came} came, {drops} found no room");
    assert!(drops > 0 && came + drops == u64::from(count));
}

#[test]
fn only_the_flow_gets_in() {
    let Some(cable) = Cable::lay(false) else { return };
    let address = cable.address("h2");
    let sockets = cable.inside("h2", || {
        [PORT - 1, PORT, PORT + 2].map(|port| UdpSocket::bind((address, port)).expect("bind"))
    });
    let mut out = way_out(&cable);
    let wide = Selection { ports: PORT..=PORT + 1, token: TOKEN };
    let ring = ring(&cable, "h2", &wide);
    let one = |layout| cable.frames(layout, 1);
    let plain = Layout::new(60);
    let ours = [one(plain), one(Layout { port: PORT + 1, ..plain })].concat();
    let others = [
        one(Layout { port: PORT - 1, ..plain }),
        one(Layout { port: PORT + 2, ..plain }),
        one(Layout { token: TOKEN ^ 0x8000_0000, ..plain }),
        one(Layout { v6: true, port: PORT + 2, ..Layout::new(80) }),
    ];
    // A fragment, and another protocol, with the flow's octets where they would be.
    let (mut fragment, mut icmp) = (one(plain), one(plain));
    fragment[0][20] |= 0x20;
    icmp[0][23] = 1;
    send_all(&mut out, &[others.concat(), fragment, ours.clone(), icmp].concat());
    let mut came = Vec::new();
    ring.close(|arrival| came.push(arrival.octets.to_vec())).expect("close");
    assert_eq!(came, ours);
    drop(sockets);
}

#[test]
fn what_leaves_is_not_what_comes() {
    let Some(cable) = Cable::lay(false) else { return };
    let _reserved = cable.reserve();
    let here = ring(&cable, "h1", &selection());
    let there = ring(&cable, "h2", &selection());
    // Past the stack and through it.
    send_all(&mut way_out(&cable), &cable.frames(Layout::new(60), 10));
    let (from, to) = (cable.address("h1"), cable.address("h2"));
    cable.inside("h1", || {
        let socket = UdpSocket::bind((from, 0)).expect("bind");
        for _ in 0..10 {
            socket.send_to(&TOKEN.to_be_bytes(), (to, PORT)).expect("send");
        }
    });
    let mut came = 0;
    there.close(|_| came += 1).expect("close");
    assert_eq!(came, 20);
    here.close(|_| panic!("an outgoing frame")).expect("close");
}
