//! Both directions over a virtual cable, frame for frame against the kernel's counters.
//!
//! Needs root, or for sending a user namespace, and says so otherwise. Asserts no rate and no time.

use std::io;
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

use measure::Nanos;
use netlink::Netlink;
use wire::Probe;

use super::cable::{Cable, Layout, PORT, TOKEN, selection, soon, without};
use super::receive::Receive;
use super::transmit::Transmit;
use crate::packet_ring;
use crate::tap;
use crate::unfit::Unfit;
use crate::xdp::bpf::{self, Mode, ProgramKind};

const CAP_NET_RAW: u32 = 13;
const CAP_SYS_ADMIN: u32 = 21;
const CAP_BPF: u32 = 39;
const CAP_NET_ADMIN: u32 = 12;

const PATIENCE: Nanos = Nanos::from_millis(500);

fn way_out(cable: &Cable, largest: usize) -> Transmit {
    let (index, name) = (cable.link("h1").index, cable.interface("h1"));
    let (way, how) =
        cable.inside("h1", || Transmit::open(index, name, largest)).expect("open way out");
    assert!(how.contains("queue 0"), "{how}");
    way
}

fn way_in(cable: &Cable, largest: usize) -> Receive {
    let (index, name) = (cable.link("h2").index, cable.interface("h2"));
    let (way, how) = cable
        .inside("h2", || Receive::bind(index, name, &selection(), largest))
        .expect("bind way in");
    eprintln!("{how}");
    way
}

/// Sends every frame in order, offering again what was refused; how many the driver dropped.
fn send_all(way: &mut Transmit, frames: &[Vec<u8>]) -> u64 {
    let (mut next, mut drops) = (0, 0);
    while next < frames.len() {
        match way.send(frames[next..].iter().take(64).map(Vec::as_slice)) {
            Ok(taken) => next += taken,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) if e.raw_os_error() == Some(libc::ENOBUFS) => drops += 1,
            Err(e) => panic!("{e}"),
        }
    }
    drops
}

#[track_caller]
fn not_here<T>(answer: Result<T, Unfit>) -> String {
    match answer {
        Err(Unfit::NotHere(why)) => why,
        Err(Unfit::Failed(e)) => panic!("failed: {e}"),
        Ok(_) => panic!("it works"),
    }
}

#[test]
fn what_is_sent_is_what_the_kernel_counts() {
    let Some(cable) = Cable::lay(false) else { return };
    let _reserved = cable.reserve();
    for octets in [60, 61, 1514, 2048, 2049, 4096] {
        let frames = cable.frames(Layout::new(octets), 5_000);
        let mut way = way_out(&cable, octets);
        let (tx, rx) = (cable.counters("h1"), cable.counters("h2"));
        let drops = send_all(&mut way, &frames);
        assert_eq!(way.drain(PATIENCE), 5_000);
        let (tx, rx) = (cable.counters("h1").since(&tx), cable.counters("h2").since(&rx));
        assert_eq!(tx.tx_packets, way.sent(), "{octets} octets");
        assert_eq!(tx.tx_dropped, drops, "{octets} octets");
        assert_eq!(tx.tx_bytes, 5_000 * octets as u64);
        assert_eq!(rx.rx_packets, 5_000, "a cable loses nothing");
    }
}

#[test]
fn frames_come_as_they_were_sent_and_in_their_order() {
    let Some(cable) = Cable::lay(true) else { return };
    let layouts = [
        Layout::new(60),
        Layout { vlan: Some(42), ..Layout::new(64) },
        Layout { v6: true, ..Layout::new(80) },
        Layout { v6: true, vlan: Some(7), ..Layout::new(84) },
        Layout::new(1514),
        Layout::new(3_800),
    ];
    for layout in layouts {
        let frames = cable.frames(layout, 2_000);
        let (mut out, mut into) =
            (way_out(&cable, 4_096), way_in(&cable, layout.octets_without_fcs));
        let mut came: Vec<Vec<u8>> = Vec::new();
        let mut stamps = Vec::new();
        let before = crate::clock::monotonic();
        send_all(&mut out, &frames);
        let all = soon(|| {
            into.receive(Nanos::from_millis(5), |arrival| {
                came.push(arrival.octets.to_vec());
                stamps.push(arrival.at);
            })
            .expect("receive");
            came.len() >= frames.len()
        });
        assert!(all && came == frames, "{layout:?}: {} came", came.len());
        assert!(stamps.is_sorted() && stamps[0] > before, "{layout:?}");
        assert!(stamps[stamps.len() - 1] <= crate::clock::monotonic());
        assert_eq!(into.close(|_| panic!("one more")).expect("close"), 0);
    }
}

#[test]
fn everything_else_reaches_the_stack() {
    let Some(cable) = Cable::lay(true) else { return };
    let other = PORT + 1;
    let address = cable.address("h2");
    let socket = cable
        .inside("h2", || -> io::Result<[UdpSocket; 2]> {
            Ok([UdpSocket::bind((address, other))?, UdpSocket::bind((address, PORT))?])
        })
        .expect("bind");
    let (mut out, into) = (way_out(&cable, 60), way_in(&cable, 60));
    let mut frames = cable.frames(Layout { port: other, ..Layout::new(60) }, 10);
    frames.extend(cable.frames(Layout { token: TOKEN ^ 1, ..Layout::new(60) }, 10));
    send_all(&mut out, &frames);
    for socket in &socket {
        socket.set_read_timeout(Some(Duration::from_secs(2))).expect("set timeout");
        for sequence in 0..10 {
            let mut payload = [0; 64];
            let octets = socket.recv(&mut payload).expect("receive from the stack");
            assert_eq!(Probe::parse(&payload[..octets]).expect("a probe").sequence, sequence);
        }
    }
    // ARP and TCP, both ways.
    let listener =
        cable.inside("h2", || std::net::TcpListener::bind((address, 80))).expect("listen");
    let stream = cable.inside("h1", || std::net::TcpStream::connect((address, 80)));
    drop((listener, stream.expect("connect")));
    assert_eq!(into.close(|_| panic!("not the flow's")).expect("close"), 0);
}

#[test]
fn what_finds_no_room_is_counted() {
    let Some(cable) = Cable::lay(true) else { return };
    let count = 40_000;
    let frames = cable.frames(Layout::new(60), count);
    let (mut out, into) = (way_out(&cable, 60), way_in(&cable, 60));
    let rx = cable.counters("h2");
    send_all(&mut out, &frames);
    out.drain(PATIENCE);
    let came_in = || cable.counters("h2").since(&rx).rx_packets >= u64::from(count);
    assert!(soon(came_in), "the interface counts all");
    let mut came = 0_u64;
    let drops = into.close(|_| came += 1).expect("close");
    eprintln!("{came} came, {drops} found no room");
    assert!(drops > 0 && came + drops == u64::from(count));
}

#[test]
fn a_link_that_goes_down_costs_frames_and_no_numbers() {
    let Some(cable) = Cable::lay(true) else { return };
    let all = cable.frames(Layout::new(60), 30_000);
    let (mut out, mut into) = (way_out(&cable, 60), way_in(&cable, 60));
    let before = cable.counters("h1");
    let (mut next, mut down, mut dropped) = (0, 0, 0);
    let mut offer = |way: &mut Transmit, until: usize, tries: usize| {
        for _ in 0..tries {
            if next >= until {
                break;
            }
            match way.send(all[next..until].iter().take(48).map(Vec::as_slice)) {
                Ok(taken) => next += taken,
                Err(e) => match e.raw_os_error() {
                    Some(libc::ENETDOWN) => down += 1,
                    Some(libc::ENOBUFS) => dropped += 1,
                    _ if e.kind() == io::ErrorKind::WouldBlock => {}
                    _ => panic!("{e}"),
                },
            }
        }
    };
    let mut came = Vec::new();
    let mut fetch = |into: &mut Receive| {
        into.receive(Nanos::from_millis(20), |arrival| {
            came.push(Probe::parse(&arrival.octets[42..]).expect("a probe").sequence);
        })
        .expect("receive")
    };
    // The link is taken down under a sender that does not look.
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(3));
            cable.set_up("h1", false);
        });
        for _ in 0..2_000 {
            offer(&mut out, 10_000, 1);
            thread::sleep(Duration::from_micros(5));
        }
    });
    let at_down = next_of(&mut offer, &mut out);
    assert_eq!(at_down, 0, "a link that is down takes nothing");
    cable.set_up("h1", true);
    while fetch(&mut into) > 0 {}
    // The far end is taken down: here the driver takes frames and drops them.
    cable.set_up("h2", false);
    offer(&mut out, 30_000, 100);
    cable.set_up("h2", true);
    offer(&mut out, 30_000, 1_000_000);
    out.drain(PATIENCE);
    while fetch(&mut into) > 0 {}
    let sent = out.sent();
    eprintln!("{sent} sent, {down} refused, {dropped} dropped, {} came", came.len());
    assert!(down > 0 && dropped > 0);
    assert_eq!(sent, next as u64);
    let counted = cable.counters("h1").since(&before);
    assert_eq!(counted.tx_packets, sent);
    assert!(came.is_sorted_by(|a, b| a < b), "no number twice, none out of order");
}

/// How many frames a refused offer takes.
fn next_of(offer: &mut impl FnMut(&mut Transmit, usize, usize), way: &mut Transmit) -> u64 {
    let before = way.sent();
    offer(way, 30_000, 10);
    way.sent() - before
}

#[test]
fn a_foreign_program_is_left_alone() {
    /// `return XDP_PASS`.
    const PASS: [u64; 2] = [0x0000_0002_0000_00b7, 0x95];
    let Some(cable) = Cable::lay(true) else { return };
    let (index, name) = (cable.link("h2").index, cable.interface("h2"));
    let kind = ProgramKind::Xdp { fragments: true };
    let program = bpf::load_program("foreign", kind, &PASS).expect("load");
    let attach = |mode| cable.inside("h2", || bpf::attach(&program, index, mode));
    let bind = || cable.inside("h2", || Receive::bind(index, name, &selection(), 60));
    for mode in [Mode::Native, Mode::Generic] {
        let foreign = attach(mode).expect("attach");
        let why = not_here(bind());
        assert!(why.contains(name) && why.contains("left alone"), "{why}");
        assert!(attach(mode).is_err(), "it is still there");
        drop(foreign);
    }
    // And ours is taken for what it is, and goes with its descriptor.
    let ours = bind().expect("bind");
    assert!(attach(Mode::Native).is_err());
    drop(ours);
    attach(Mode::Native).expect("nothing is left");
}

#[test]
fn what_a_full_device_refuses_leaves_later_and_once() {
    let Some(cable) = Cable::lay(false) else { return };
    // A TAP device holds some hundred frames until they are read.
    let (device, index) = cable.inside("h1", || {
        let device = tap::open("full").expect("open tap");
        let mut netlink = Netlink::open().expect("open netlink");
        let index = netlink.link("full").expect("read link").index;
        netlink.set_up(index).expect("take up");
        (device, index)
    });
    let before = cable.inside("h1", || Netlink::open()?.link("full")).expect("read link").stats;
    let (mut way, how) =
        cable.inside("h1", || Transmit::open(index, "full", 60)).expect("open way out");
    let frames = cable.frames(Layout::new(60), 5_000);
    let (mut next, mut drops, mut refusals, mut partial) = (0, 0, 0, 0);
    let mut came = Vec::new();
    // Batches of every length, so that they are cut at every place.
    for batch in (1..=64).cycle() {
        let offered = &frames[next..(next + batch).min(frames.len())];
        match way.send(offered.iter().map(Vec::as_slice)) {
            Ok(taken) => {
                partial += usize::from(taken < offered.len());
                next += taken;
            }
            Err(e) => {
                drops += u64::from(e.raw_os_error() == Some(libc::ENOBUFS));
                refusals += 1;
                read_some(&device, 37, &mut came);
            }
        }
        if next == frames.len() {
            break;
        }
    }
    way.drain(PATIENCE);
    read_some(&device, usize::MAX, &mut came);
    let after = cable.inside("h1", || Netlink::open()?.link("full")).expect("read link").stats;
    eprintln!("{how}: {refusals} refusals, {drops} drops, {partial} batches cut");
    assert!(refusals > 10 && partial > 10, "the device was full");
    assert_eq!(way.sent(), 5_000);
    assert_eq!(after.since(&before).tx_dropped, drops);
    assert!(came == frames, "each once and in order: {} of {}", came.len(), frames.len());
}

/// Reads frames of the flow, at most `most`, until there are none.
fn read_some(device: &OwnedFd, most: usize, came: &mut Vec<Vec<u8>>) {
    let mut octets = [0; 2_048];
    for _ in 0..most {
        let Ok(length) = nix::unistd::read(device, &mut octets) else { return };
        // The stack's own frames are others.
        if length == 60 && octets[42..46] == TOKEN.to_be_bytes() {
            came.push(octets[..length].to_vec());
        }
    }
}

#[test]
fn each_socket_has_a_queue_of_its_own_while_there_are_any() {
    let Some(cable) = Cable::lay(false) else { return };
    let (index, name) = (cable.link("h1").index, cable.interface("h1"));
    let first = way_out(&cable, 60);
    let open = |largest| cable.inside("h1", || Transmit::open(index, name, largest));
    let queues = thread::available_parallelism().expect("processors").get();
    let others: Vec<Transmit> = (1..queues).map(|_| open(60).expect("a queue is free").0).collect();
    let why = not_here(open(60));
    assert!(why.contains(&format!("other af_xdp sockets have all {queues} queues")), "{why}");
    drop(others);
    let why = not_here(open(9_014));
    assert!(why.contains("4096") && why.contains("9014"), "{why}");
    drop(first);
    open(60).expect("the queue is free again");
}

#[test]
fn frames_beyond_a_chunk_are_refused_alone() {
    let Some(cable) = Cable::lay(false) else { return };
    let _reserved = cable.reserve();
    let (short, long) = (cable.frame(Layout::new(60), 0), cable.frame(Layout::new(4_000), 1));
    let mut way = way_out(&cable, 60);
    let both = [short.as_slice(), long.as_slice()];
    assert_eq!(way.send(both.into_iter()).expect("the first"), 1);
    let refused = way.send(both[1..].iter().copied()).expect_err("too long");
    assert_eq!(refused.raw_os_error(), Some(libc::EMSGSIZE));
    assert_eq!(way.drain(PATIENCE), 1);
}

#[test]
fn without_privileges_there_is_a_reason() {
    let Some(cable) = Cable::lay(true) else { return };
    let (index, name) = (cable.link("h2").index, cable.interface("h2"));
    let raw = [CAP_NET_RAW];
    let why = cable.inside("h2", || without(&raw, || not_here(Transmit::open(index, name, 60))));
    assert!(why.contains("CAP_NET_RAW"), "{why}");
    let why = cable.inside("h2", || {
        without(&raw, || not_here(packet_ring::Receive::bind(index, name, &selection())))
    });
    assert!(why.contains("CAP_NET_RAW"), "{why}");
    let bpf = [CAP_BPF, CAP_SYS_ADMIN, CAP_NET_ADMIN];
    let why = cable
        .inside("h2", || without(&bpf, || not_here(Receive::bind(index, name, &selection(), 60))));
    assert!(why.contains("CAP_BPF"), "{why}");
}

#[test]
fn one_thread_may_own_a_way_that_another_opened() {
    fn movable<T: Send>(_: &T) {}
    let Some(cable) = Cable::lay(true) else { return };
    let (out, into) = (way_out(&cable, 60), way_in(&cable, 60));
    movable(&out);
    movable(&into);
}
