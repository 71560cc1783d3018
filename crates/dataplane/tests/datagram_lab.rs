//! Datagram flows over virtual cables of our own: both backends, frame for frame against the kernel's
//! counters. Needs root or a user namespace, and says so otherwise. Traffic stays in the lab's
//! namespaces; rates are printed and never asserted.

#![allow(clippy::disallowed_methods, reason = "a test of the data path reads clocks and waits")]

use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use dataplane::counters::{InterfaceCounters, interfaces};
use dataplane::datagram::{
    Pace, Receiver, ReceiverBackend, ReceiverReport, ReceiverSpec, Sender, SenderBackend,
    SenderReport, SenderSpec, Spread,
};
use dataplane::{FlowError, Halt, Identity, Window, clock};
use lab::{FarEnd, Lab, LabDevice, LabSpec, Privilege, privilege};
use measure::{FrameSize, Nanos, Rate};

const IDENTITY: Identity = Identity { token: 0x5eed_0003, flow: 1 };
const LIMIT: u64 = 10_000_000;

/// One flow at a time: two processors are few.
static MACHINE: Mutex<()> = Mutex::new(());

fn lab(spec: &LabSpec) -> Option<(MutexGuard<'static, ()>, Lab)> {
    if privilege() == Privilege::None {
        eprintln!("skipped: building a lab needs root or a user namespace");
        return None;
    }
    let alone = MACHINE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    Some((alone, Lab::build(spec).expect("build lab")))
}

/// One end of the flow: a host and its first port.
struct End<'a> {
    lab: &'a Lab,
    host: &'a str,
    address: IpAddr,
    interface: String,
}

impl<'a> End<'a> {
    fn of(lab: &'a Lab, host: &'a str) -> Self {
        let port = &lab.plan().host(host).expect("a host").ports[0];
        let interface = port.interfaces[0].clone();
        Self { lab, host, address: port.address.into(), interface }
    }

    fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.lab.inside(self.host, work).expect("enter host")
    }

    fn counters(&self) -> InterfaceCounters {
        let name = [self.interface.clone()];
        self.inside(|| interfaces(&name)).expect("read counters").remove(0)
    }
}

struct Ran {
    sent: SenderReport,
    got: ReceiverReport,
    /// Of the sending interface.
    tx: InterfaceCounters,
    /// Of the receiving interface.
    rx: InterfaceCounters,
}

fn sender_spec(
    from: &End<'_>,
    remote: SocketAddr,
    size: FrameSize,
    backend: SenderBackend,
    pace: Pace,
) -> SenderSpec {
    SenderSpec {
        vlan: None,
        spread: Spread::NONE,
        local: from.address,
        remote,
        identity: IDENTITY,
        frames: size.into(),
        pace,
        backend,
        burst_limit: 32,
        limit: LIMIT,
        cpu: None,
    }
}

fn run(
    lab: &Lab,
    octets: u32,
    backend: SenderBackend,
    pace: Pace,
    load: Nanos,
    meddle: impl FnOnce(&End<'_>),
) -> Ran {
    let (from, to) = (End::of(lab, "h1"), End::of(lab, "h2"));
    let frame_size = FrameSize::new(octets).expect("a frame size");
    let spec = ReceiverSpec {
        vlan: None,
        spread: Spread::NONE,
        backend: ReceiverBackend::Auto,
        same_clock: true,
        local: to.address,
        peer: from.address,
        identity: IDENTITY,
        frames: frame_size.into(),
        limit: LIMIT,
        cpu: None,
    };
    let receiver = to.inside(|| Receiver::bind(&spec)).expect("bind receiver");
    let remote = SocketAddr::new(to.address, receiver.port());
    let spec = sender_spec(&from, remote, frame_size, backend, pace);
    let mut sender = from.inside(|| Sender::open(&spec)).expect("open sender");
    sender.learn().expect("learn");
    let (tx, rx) = (from.counters(), to.counters());
    let start = clock::monotonic() + Nanos::from_millis(20);
    let stop = start + load;
    let (window, halt) =
        (Window { start, stop, closed: stop + Nanos::from_millis(100) }, Halt::new());
    let (sent, got) = thread::scope(|scope| {
        let received = scope.spawn(|| receiver.run(window, &halt).expect("receive"));
        let sent = scope.spawn(|| sender.run(window, &halt).expect("send"));
        meddle(&from);
        (sent.join().expect("sender"), received.join().expect("receiver"))
    });
    Ran { sent, got, tx: from.counters().since(&tx), rx: to.counters().since(&rx) }
}

fn report(ran: &Ran, octets: u32) {
    let pps = |frames: u64, time: Nanos| frames as f64 / time.as_secs_f64().max(1e-9);
    eprintln!(
        "{} {octets}: offered {} sent {} ({:.0} pps) unique {} ({:.0} pps) socket drops {} burst {}; {}",
        ran.sent.backend,
        ran.sent.offered,
        ran.sent.sent,
        pps(ran.sent.sent, ran.sent.sending),
        ran.got.received.unique,
        pps(ran.got.received.unique, ran.got.receiving),
        ran.got.socket_drops,
        ran.sent.longest_burst,
        ran.sent.backend_reason,
    );
}

/// What holds on a bare cable whatever the machine's mood.
#[track_caller]
fn check_conserved(ran: &Ran, octets: u32) {
    report(ran, octets);
    let (sent, got) = (&ran.sent, &ran.got);
    assert!(sent.sent > 0 && sent.sent <= sent.offered);
    assert_eq!(sent.sent, ran.tx.counters["tx_packets"], "sent is what left");
    assert_eq!(sent.sent * u64::from(octets - 4), ran.tx.counters["tx_bytes"], "exact sizes");
    assert_eq!(ran.rx.counters["rx_packets"], sent.sent, "a cable loses nothing");
    let lost = got.received.lost(sent.sent);
    assert_eq!(lost, got.socket_drops, "what is lost, the socket dropped");
    assert_eq!(got.received.duplicated + got.received.beyond_limit, 0);
    assert_eq!(got.rejected.malformed + got.rejected.foreign, 0);
}

const BACKENDS: [SenderBackend; 2] = [SenderBackend::Udp, SenderBackend::Packet];

#[test]
fn greedy_frames_match_the_kernels_counters() {
    let Some((_alone, lab)) = lab(&LabSpec::new(LabDevice::Cable)) else { return };
    for backend in BACKENDS {
        for octets in [64, 1518, 9018] {
            let load = Nanos::from_millis(200);
            let ran = run(&lab, octets, backend, Pace::Greedy, load, |_| {});
            check_conserved(&ran, octets);
        }
    }
}

#[test]
fn paced_frames_are_exactly_as_many_as_due() {
    let Some((_alone, lab)) = lab(&LabSpec::new(LabDevice::Cable)) else { return };
    for backend in BACKENDS {
        for pps in [10_000_u64, 50_000, 100_000] {
            let pace = Pace::Every(1e9 / pps as f64);
            let ran = run(&lab, 64, backend, pace, Nanos::from_millis(500), |_| {});
            check_conserved(&ran, 64);
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
    for backend in BACKENDS {
        let before = drops();
        // 1000-octet frames at 5,000 a second are 40 Mbit/s into 20.
        let ran = run(&lab, 1_000, backend, Pace::Every(2e5), Nanos::from_millis(400), |_| {});
        thread::sleep(Duration::from_millis(200));
        report(&ran, 1_000);
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
        let pace = Pace::Every(1e5);
        let ran = run(&lab, 64, backend, pace, Nanos::from_millis(400), |from| {
            thread::sleep(Duration::from_millis(120));
            lab.set_link(from.host, &from.interface, false).expect("take down");
            thread::sleep(Duration::from_millis(100));
            lab.set_link(from.host, &from.interface, true).expect("take up");
        });
        report(&ran, 64);
        assert_eq!(ran.sent.offered, 4_000);
        assert!(ran.sent.sent < 4_000, "a closed link takes nothing");
        assert_eq!(ran.got.received.beyond_limit, 0);
        assert!(ran.got.received.unique <= ran.sent.sent);
        assert!(ran.tx.counters["carrier_changes"] > 0 || ran.rx.counters["carrier_changes"] > 0);
    }
}

#[test]
fn automatic_choice_on_a_cable_is_packet_and_says_why() {
    let Some((_alone, lab)) = lab(&LabSpec::new(LabDevice::Cable)) else { return };
    let (from, to) = (End::of(&lab, "h1"), End::of(&lab, "h2"));
    let remote = SocketAddr::new(to.address, 9);
    let size = FrameSize::MIN;
    let spec = sender_spec(&from, remote, size, SenderBackend::Auto, Pace::Greedy);
    let (name, reason) = from.inside(|| Sender::open(&spec)).expect("open").backend();
    assert_eq!(name, "packet");
    assert!(reason.contains(&from.interface), "{reason}");
}

#[test]
fn frames_beyond_the_mtu_are_unsuitable_and_both_numbers_are_named() {
    let Some((_alone, lab)) = lab(&LabSpec { mtu: 1_500, ..LabSpec::new(LabDevice::Cable) }) else {
        return;
    };
    let (from, to) = (End::of(&lab, "h1"), End::of(&lab, "h2"));
    let remote = SocketAddr::new(to.address, 9);
    for backend in [SenderBackend::Auto, SenderBackend::Udp, SenderBackend::Packet] {
        let spec = sender_spec(&from, remote, FrameSize::MAX, backend, Pace::Greedy);
        match from.inside(|| Sender::open(&spec)) {
            Err(FlowError::Unsuitable(text)) => {
                assert!(text.contains("9018") && text.contains("1500"), "{text}");
            }
            other => panic!("{other:?}"),
        }
    }
}
