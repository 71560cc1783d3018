//! Live frames into the counter, frame for frame against the kernel's counters: greedy, paced,
//! bursts, and every kind of header.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use measure::{FrameMix, FrameRate, FrameSize, Nanos};
use trial::Schedule;
use trial::topology::AddressBlock;

use super::{
    Asked, Cable, IDENTITY, cable, check_conserved, every, receiver_spec, report, run, run_meddled,
    sender_spec,
};
use crate::datagram::{Spread, Way};
use crate::xdp::accept_frames;
use crate::xdp::counter::Counter;
use crate::xdp::live::LiveSender;
use crate::{Halt, Window, clock};

#[test]
fn greedy_frames_match_the_kernels_counters() {
    let Some(cable) = cable() else { return };
    for octets in [64, 512, 1518] {
        let frames = FrameMix::from_size(FrameSize::new(octets).expect("a size"));
        let ran = run(&cable, &Asked { frames, ..Asked::default() });
        check_conserved(&ran);
        assert_eq!(ran.sent.sent * u64::from(octets - 4), ran.tx.counters["tx_bytes"]);
    }
}

#[test]
fn paced_frames_are_exactly_as_many_as_due() {
    let Some(cable) = cable() else { return };
    for pps in [1_000_u64, 100_000, 1_000_000] {
        let schedule = every(1e9 / pps as f64);
        let ran =
            run(&cable, &Asked { load: Nanos::from_millis(500), schedule, ..Asked::default() });
        check_conserved(&ran);
        assert_eq!(ran.sent.offered, pps / 2);
    }
}

#[test]
fn headers_sizes_and_spreads_of_every_kind_are_counted() {
    let Some(cable) = cable() else { return };
    let mix: FrameMix = "imix".parse().expect("a mix");
    let size = |octets| FrameMix::from_size(FrameSize::new(octets).expect("a size"));
    let spread = |cable: &Cable, version| {
        let asked = Asked { version, ..Asked::default() };
        let range = |host, count| AddressBlock { first: cable.address(host, &asked), count };
        Spread {
            source_ports: 7,
            destination_ports: 3,
            sources: Some(range("h1", 5)),
            destinations: Some(range("h2", 4)),
        }
    };
    let plain = Asked { load: Nanos::from_millis(50), ..Asked::default() };
    let cases = [
        Asked { vlan: Some(5), frames: size(68), ..plain.clone() },
        Asked { version: 6, frames: size(84), ..plain.clone() },
        Asked { version: 6, vlan: Some(4094), frames: size(88), ..plain.clone() },
        Asked { spread: spread(&cable, 4), ..plain.clone() },
        Asked { version: 6, frames: size(128), spread: spread(&cable, 6), ..plain.clone() },
        Asked { frames: mix.clone(), ..plain.clone() },
        Asked { frames: mix, spread: spread(&cable, 4), schedule: every(1e4), ..plain },
    ];
    for asked in cases {
        eprintln!("ipv{} vlan {:?} {}", asked.version, asked.vlan, asked.frames);
        let ran = run(&cable, &asked);
        check_conserved(&ran);
        let octets =
            |sent: u64| (0..sent).map(|i| u64::from(asked.frames.at(i).octets_without_fcs())).sum();
        let expected: u64 = octets(ran.sent.sent);
        assert_eq!(ran.tx.counters["tx_bytes"], expected);
    }
}

#[test]
fn bursts_and_falling_loads_are_as_long_as_asked() {
    let Some(cable) = cable() else { return };
    let ran = run(&cable, &Asked { schedule: Schedule::Burst(12_345), ..Asked::default() });
    check_conserved(&ran);
    assert_eq!((ran.sent.offered, ran.sent.sent), (12_345, 12_345));
    let schedule = Schedule::Falling {
        from: FrameRate(5e4),
        to: FrameRate(1e4),
        after: Nanos::from_millis(100),
    };
    let ran = run(&cable, &Asked { schedule, ..Asked::default() });
    check_conserved(&ran);
    assert_eq!(ran.sent.offered, 5_000 + 1_000);
}

#[test]
fn a_halt_ends_a_load_within_milliseconds() {
    let Some(cable) = cable() else { return };
    let ran =
        run(&cable, &Asked { halted_after: Some(Nanos::from_millis(60)), ..Asked::default() });
    check_conserved(&ran);
}

/// What a checksum is over: IP header, and pseudo-header with datagram.
#[test]
fn frames_on_the_wire_are_well_formed() {
    let Some(cable) = cable() else { return };
    let interface = cable.interface("h2");
    let Ok(accepting) = cable.inside("h2", || accept_frames(&interface)) else {
        panic!("attach the program that lets frames through")
    };
    for (version, vlan, octets) in [(4, None, 64), (6, None, 84), (4, None, 999), (6, None, 1_401)]
    {
        let asked = Asked { version, vlan, ..Asked::default() };
        let (from, to) = (cable.address("h1", &asked), cable.address("h2", &asked));
        let socket = cable.inside("h2", || UdpSocket::bind((to, 0))).expect("bind");
        socket.set_read_timeout(Some(Duration::from_secs(2))).expect("bound the wait");
        let port = socket.local_addr().expect("a port").port();
        let mut spec = sender_spec(&asked, from, SocketAddr::new(to, port));
        spec.flow.asked.frames = FrameMix::from_size(FrameSize::new(octets).expect("a size"));
        spec.flow.asked.schedule = Schedule::Burst(40);
        let opened = cable.inside("h1", || LiveSender::open(&spec, Way::find(&spec)?));
        let (mut sender, _) = opened.expect("open");
        sender.learn().expect("learn");
        let start = clock::monotonic();
        let stop = start + Nanos::from_millis(100);
        let sent = sender.run(Window { start, stop, closed: stop }, &Halt::new()).expect("send");
        assert_eq!(sent.sent, 40);
        // The kernel refuses a wrong checksum, so what the socket gets was right.
        let mut payload = [0; 2_048];
        let mut numbers = Vec::new();
        while numbers.last() != Some(&39) {
            let (length, peer) = socket.recv_from(&mut payload).expect("receive");
            let probe = wire::Probe::parse(&payload[..length]).expect("a probe");
            assert_eq!((peer.ip(), probe.token, probe.flow), (from, IDENTITY.token, IDENTITY.flow));
            if probe.sequence < 1_000 {
                let headers = if version == 4 { 46 } else { 66 };
                assert_eq!(length, octets as usize - headers);
                assert!((start.0..clock::monotonic().0).contains(&probe.time_ns));
                numbers.push(probe.sequence);
            }
        }
        assert_eq!(numbers, (0..40).collect::<Vec<u32>>());
    }
    drop(accepting);
}

#[test]
fn flows_both_ways_at_once_are_counted_apart() {
    let Some(cable) = cable() else { return };
    let asked = Asked { load: Nanos::from_millis(100), ..Asked::default() };
    let start = clock::monotonic() + Nanos::from_millis(300);
    let stop = start + asked.load;
    let window = Window { start, stop, closed: stop + Nanos::from_millis(100) };
    let halt = Halt::new();
    let ends = [("h1", "h2"), ("h2", "h1")];
    // Both receivers first, for each is what lets the other's sender through.
    let counters = ends.map(|(from, to)| {
        let (from, to) = (cable.address(from, &asked), (to, cable.address(to, &asked)));
        let reserved = cable.inside(to.0, || UdpSocket::bind((to.1, 0))).expect("reserve a port");
        let spec = receiver_spec(&asked, to.1, from);
        let (counter, _) = cable.inside(to.0, || Counter::bind(&spec, &reserved)).expect("bind");
        (counter, reserved.local_addr().expect("a port"))
    });
    let remotes = counters.each_ref().map(|(_, remote)| *remote);
    std::thread::scope(|scope| {
        let received = counters.map(|(counter, _)| scope.spawn(|| counter.run(window, &halt)));
        let sent = [0, 1].map(|which| {
            let local = cable.address(ends[which].0, &asked);
            let spec = sender_spec(&asked, local, remotes[which]);
            let opened = cable.inside(ends[which].0, || LiveSender::open(&spec, Way::find(&spec)?));
            let (sender, _) = opened.expect("open");
            scope.spawn(|| sender.run(window, &halt))
        });
        for (sent, received) in sent.into_iter().zip(received) {
            let sent = sent.join().expect("sender").expect("send");
            let got = received.join().expect("receiver").expect("receive");
            assert!(sent.sent > 0);
            assert_eq!(got.received.unique, sent.sent);
            assert_eq!(
                (got.received.highest, got.received.last_missing),
                (sent.sent.checked_sub(1), None)
            );
            assert_eq!(got.received.reordered + got.received.duplicated, 0);
        }
    });
}

#[test]
fn what_the_driver_refuses_uses_no_number() {
    let Some(cable) = cable() else { return };
    // A receiver on another processor is overrun now and then: its ring holds 256 frames.
    let ran = run(&cable, &Asked { relieves_sender: true, ..Asked::default() });
    check_conserved(&ran);
    assert_eq!(ran.sent.offered - ran.sent.sent, ran.tx.counters["tx_dropped"]);
    eprintln!("{} of {} refused", ran.tx.counters["tx_dropped"], ran.sent.offered);
}

#[test]
fn a_link_that_goes_down_costs_turns_and_no_numbers() {
    let Some(cable) = cable() else { return };
    let asked = Asked { schedule: every(1e5), load: Nanos::from_millis(400), ..Asked::default() };
    for host in ["h1", "h2"] {
        let interface = cable.interface(host);
        let ran = run_meddled(&cable, &asked, || {
            std::thread::sleep(Duration::from_millis(120));
            cable.lab.set_link(host, &interface, false).expect("take down");
            std::thread::sleep(Duration::from_millis(100));
            cable.lab.set_link(host, &interface, true).expect("take up");
        });
        report(&ran);
        assert_eq!(ran.sent.offered, 4_000);
        assert!((1..4_000).contains(&ran.sent.sent), "a closed way takes nothing");
        // What lay in the ring of an end that went down is lost, and counted as sent.
        assert!(ran.sent.sent - ran.got.received.unique <= 256);
        assert_eq!(ran.got.received.highest, ran.sent.sent.checked_sub(1), "numbers have no holes");
        assert_eq!(ran.got.received.reordered + ran.got.received.duplicated, 0);
    }
}
