//! Datagram flows over virtual cables of our own: every backend, frame for frame against the
//! kernel's counters. Needs root or a user namespace, and says so otherwise. Traffic stays in the
//! lab's namespaces; rates are printed and never asserted.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use crate::datagram_ends::{
    self, End, Flow, check_conserved, every, lab, report, run, sender_spec, try_run,
};
use dataplane::counters::interfaces;
use dataplane::datagram::{Sender, Spread};
use dataplane::{FlowError, Halt, Side};
use lab::{FarEnd, LabDevice, LabSpec};
use measure::{FrameRate, Nanos, Rate};
use trial::{Backend, Reception, Schedule};

const BACKENDS: [Backend; 5] =
    [Backend::Auto, Backend::Udp, Backend::Packet, Backend::AfXdp, Backend::XdpLive];

fn paced(octets: u32, sender: Backend, gap_ns: f64, millis: u64) -> Flow {
    Flow {
        schedule: every(gap_ns),
        load: Nanos::from_millis(millis),
        ..Flow::of(octets, sender, Reception::Auto)
    }
}

#[test]
fn paced_frames_are_exactly_as_many_as_due() {
    let Some((_alone, lab)) = lab(&LabSpec::new(LabDevice::Cable)) else { return };
    for backend in BACKENDS {
        for pps in [10_000_u64, 100_000] {
            let flow = paced(64, backend, 1e9 / pps as f64, 500);
            let ran = run(&lab, &flow, |_, _| {});
            check_conserved(&ran, &flow);
            assert_eq!(ran.sent.offered, pps / 2);
            assert!(ran.sent.longest_burst <= 32);
            eprintln!(
                "{pps} pps: departures p1 {} p50 {} p99 {} max {}; arrivals p1 {} p50 {} p99 {}",
                ran.sent.departures.quantile(0.01),
                ran.sent.departures.quantile(0.5),
                ran.sent.departures.quantile(0.99),
                ran.sent.departures.max(),
                ran.got.arrivals.quantile(0.01),
                ran.got.arrivals.quantile(0.5),
                ran.got.arrivals.quantile(0.99),
            );
        }
    }
}

#[test]
fn a_burst_is_exactly_its_frames_and_a_falling_load_both_its_parts() {
    let Some((_alone, lab)) = lab(&LabSpec::new(LabDevice::Cable)) else { return };
    for backend in BACKENDS {
        let burst =
            Flow { schedule: Schedule::Burst(1_000), ..Flow::of(128, backend, Reception::Auto) };
        let ran = run(&lab, &burst, |_, _| {});
        check_conserved(&ran, &burst);
        assert_eq!((ran.sent.sent, ran.sent.longest_burst), (1_000, 0));
        // 100 ms at a frame every 20 us, then 100 ms at one every 100 us.
        let after = Nanos::from_millis(100);
        let schedule = Schedule::Falling { from: FrameRate(5e4), to: FrameRate(1e4), after };
        let falling = Flow { schedule, ..burst };
        let ran = run(&lab, &falling, |_, _| {});
        check_conserved(&ran, &falling);
        assert_eq!(ran.sent.offered, 6_000);
    }
}

#[test]
fn a_port_that_is_too_slow_drops_what_is_lost() {
    let rate = Some(Rate(20_000_000));
    let Some((_alone, lab)) = lab(&LabSpec { rate, ..LabSpec::new(LabDevice::Bridge) }) else {
        return;
    };
    let device = &lab.plan().devices[0];
    let FarEnd::Device { .. } = lab.plan().host("h2").expect("a host").ports[0].far_end() else {
        panic!("h2 is at the bridge")
    };
    let drops = || {
        let names: Vec<String> = device.ports.iter().map(|p| p.interface.clone()).collect();
        lab.inside(&device.name, || interfaces(&names)).expect("enter").expect("read counters")
    };
    // Redirected frames vanish at a bridge's port, so the kernel's own sender is not for this.
    let backends = BACKENDS.into_iter().filter(|backend| *backend != Backend::XdpLive);
    for backend in backends {
        let before = drops();
        // 1000-octet frames at 5,000 a second are 40 Mbit/s into 20.
        let flow = paced(1_000, backend, 2e5, 400);
        let ran = run(&lab, &flow, |_, _| {});
        thread::sleep(Duration::from_millis(200));
        report(&ran, &flow);
        let dropped: u64 = drops()
            .iter()
            .zip(&before)
            .map(|(now, then)| now.since(then).counters["qdisc_drops"])
            .sum();
        assert!(dropped > 0);
        assert_eq!(ran.sent.sent, ran.got.received.unique + ran.got.socket_drops + dropped);
    }
}

#[test]
fn a_link_that_goes_down_costs_frames_and_no_counts() {
    let Some((_alone, lab)) = lab(&LabSpec::new(LabDevice::Cable)) else { return };
    for backend in BACKENDS {
        let flow = paced(64, backend, 1e5, 400);
        let ran = run(&lab, &flow, |from, _| {
            thread::sleep(Duration::from_millis(120));
            lab.set_link(from.host, &from.interface, false).expect("take down");
            thread::sleep(Duration::from_millis(100));
            lab.set_link(from.host, &from.interface, true).expect("take up");
        });
        report(&ran, &flow);
        assert_eq!(ran.sent.offered, 4_000);
        assert!(ran.sent.sent < 4_000, "a closed link takes nothing");
        assert_eq!(ran.got.received.beyond_limit, 0);
        assert!(ran.got.received.unique <= ran.sent.sent);
        assert!(ran.tx.counters["carrier_changes"] > 0 || ran.rx.counters["carrier_changes"] > 0);
    }
}

#[test]
fn frames_beyond_the_mtu_are_unsuitable_and_both_numbers_are_named() {
    let Some((_alone, lab)) = lab(&LabSpec { mtu: 1_500, ..LabSpec::new(LabDevice::Cable) }) else {
        return;
    };
    let (from, to) = (End::of(&lab, "h1", false), End::of(&lab, "h2", false));
    let remote = SocketAddr::new(to.address, 9);
    for backend in BACKENDS {
        let spec = sender_spec(&from, remote, &Flow::of(9_018, backend, Reception::Auto));
        match from.inside(|| Sender::open(&spec, &Halt::new())) {
            Err(FlowError::Unsuitable(text)) => {
                assert!(text.contains("9018") && text.contains("1500"), "{text}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_backend_asked_for_by_name_is_never_replaced_by_another() {
    let Some((_alone, lab)) = lab(&LabSpec::new(LabDevice::Bridge)) else { return };
    let (from, to) = (End::of(&lab, "h1", false), End::of(&lab, "h2", false));
    let remote = SocketAddr::new(to.address, 9);
    let refused = |flow: &Flow, named: &str, because: &str| {
        let spec = sender_spec(&from, remote, flow);
        match from.inside(|| Sender::open(&spec, &Halt::new())) {
            Err(FlowError::Unavailable { asked, why }) => {
                assert_eq!(asked, named);
                assert!(why.contains(because), "{why}");
            }
            other => panic!("{other:?}"),
        }
    };
    let of = |sender| Flow::of(64, sender, Reception::Auto);
    refused(&of(Backend::XdpLive), "backend xdp-live", "redirected");
    let paced = Flow { schedule: every(1e6), ..of(Backend::UdpGso) };
    refused(&paced, "backend udp-gso", "bursts");
    let tagged = Flow { frames: datagram_ends::size(68).into(), vlan: Some(5), ..of(Backend::Udp) };
    refused(&tagged, "backend udp", "tag");
}

#[test]
fn conversations_take_the_paths_that_the_kernel_gives_them() {
    let Some((_alone, lab)) = lab(&LabSpec::new(LabDevice::Routers)) else { return };
    let spread = Spread { source_ports: 16, ..Spread::NONE };
    let ports = lab.plan().host("h1").expect("a host").ports[0].interfaces.clone();
    assert_eq!(ports.len(), 2, "one to each router");
    let left = || {
        let counted = lab.inside("h1", || interfaces(&ports)).expect("enter host");
        counted.expect("read counters").into_iter().map(|c| c.counters["tx_packets"])
    };
    for sender in [Backend::Auto, Backend::Packet] {
        let flow =
            Flow { spread, schedule: every(50_000.0), ..Flow::of(64, sender, Reception::Auto) };
        let before: Vec<u64> = left().collect();
        let ran = run(&lab, &flow, |_, _| {});
        report(&ran, &flow);
        let took: Vec<u64> = left().zip(before).map(|(now, then)| now - then).collect();
        assert_eq!(ran.sent.backend, "packet", "{}", ran.sent.backend_reason);
        assert_eq!(ran.sent.sent, ran.got.received.unique, "{:?}", ran.got);
        let sixteenth = ran.sent.sent / 16;
        assert!(took.iter().all(|frames| *frames >= sixteenth), "one path is idle: {took:?}");
        let learning = took.iter().sum::<u64>() - ran.sent.sent;
        assert!(learning < 64, "no frame leaves twice: {took:?}");
    }
    let flow = Flow { spread, ..Flow::of(64, Backend::XdpLive, Reception::Auto) };
    match try_run(&lab, &flow, |_, _| {}) {
        Err(FlowError::Unavailable { why, .. }) => assert!(why.contains("several ways"), "{why}"),
        other => panic!("one queue takes both paths: {:?}", other.map(|ran| ran.sent)),
    }
}
