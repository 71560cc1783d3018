//! Exchanges in datagrams between hosts of a lab: over a cable and a bridge nothing is lost;
//! through a port that is too slow what is lost is what its queue dropped, frame for frame; a cable
//! that works one way only is no end of it. Needs root or a user namespace, and says so otherwise.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::thread;
use std::time::Duration;

use crate::datagram_ends::{End, IDENTITY, lab};
use dataplane::counters::interfaces;
use dataplane::exchange::{EndReport, ExchangeInitiator, ExchangeResponder};
use dataplane::{FlowError, Halt, Side, Window, clock};
use lab::{Lab, LabDevice, LabSpec};
use measure::{ByteCount, Nanos, Rate};
use trial::{Carrier, Exchange};

const LOAD: Nanos = Nanos::from_millis(300);

/// Both ends' reports: the caller's and the waiter's.
type Ends = [EndReport; 2];

fn exchange(size: u64, credits: u16) -> Exchange {
    let carrier = Carrier::Datagrams { credits };
    let (message, interval) = (ByteCount(size), Nanos::from_millis(50));
    Exchange { message, interval, carrier, collective: None }
}

fn window(load: Nanos) -> Window {
    let start = clock::monotonic() + Nanos::from_millis(60);
    Window { start, stop: start + load, closed: start + load + Nanos::from_millis(150) }
}

fn end(local: IpAddr, remote: SocketAddr, flow: Exchange) -> dataplane::End<Exchange> {
    dataplane::End {
        local,
        remote,
        opening: dataplane::opening::Opening::PLAIN,
        identity: IDENTITY,
        flow,
    }
}

/// `h1` calls `h2`; `meddle` may do as it likes once both run.
fn swap(lab: &Lab, exchange: &Exchange, meddle: impl FnOnce(&End<'_>, &End<'_>)) -> Ends {
    let (from, to) = (End::of(lab, "h1", false), End::of(lab, "h2", false));
    let waits = end(to.address, SocketAddr::new(from.address, 0), exchange.clone());
    let waiter = to.inside(|| ExchangeResponder::open(&waits, &Halt::new())).expect("bind");
    let calls = end(from.address, SocketAddr::new(to.address, waiter.port()), exchange.clone());
    let caller = from.inside(|| ExchangeInitiator::open(&calls, &Halt::new())).expect("connect");
    let (window, halt) = (window(LOAD), Halt::new());
    thread::scope(|scope| {
        let one = scope.spawn(|| caller.run(window, &halt));
        let other = scope.spawn(|| waiter.run(window, &halt));
        meddle(&from, &to);
        [one.join().expect("caller"), other.join().expect("waiter")]
            .map(|end| end.expect("an end's report"))
    })
}

/// What must hold wherever it ran.
fn check(ends: &Ends, size: u64) {
    for (own, peer) in [(&ends[0], &ends[1]), (&ends[1], &ends[0])] {
        assert!(own.parts_received <= peer.parts_sent);
        assert!(own.credits_received <= peer.credits_sent);
        assert_eq!(own.receipt.octets.0, own.receipt.messages * size);
        assert_eq!(own.receipt.rounds.count(), own.receipt.messages);
        assert_eq!((own.receipt.elapsed, own.receipt.intervals.len()), (LOAD, 6));
        let seen: u64 = own.receipt.intervals.iter().map(|octets| octets.0).sum();
        assert!(seen >= own.receipt.octets.0, "{seen}");
        assert_eq!((own.rejected.malformed, own.rejected.foreign), (0, 0));
    }
}

fn lost(ends: &Ends) -> u64 {
    let sent: u64 = ends.iter().map(|end| end.parts_sent + end.credits_sent).sum();
    let came: u64 = ends.iter().map(|end| end.parts_received + end.credits_received).sum();
    sent - came
}

fn tell(what: &str, size: u64, ends: &Ends) {
    for end in ends {
        eprintln!(
            "{what}, messages of {size}: {} whole, {} parts sent, {} came, rounds p50 {}",
            end.receipt.messages,
            end.parts_sent,
            end.parts_received,
            end.receipt.rounds.quantile(0.5)
        );
    }
}

#[test]
fn a_cable_and_a_bridge_lose_nothing() {
    for device in [LabDevice::Cable, LabDevice::Bridge] {
        let spec = LabSpec { mtu: 1500, ..LabSpec::new(device.clone()) };
        let Some((_alone, lab)) = lab(&spec) else { return };
        for size in [1, 1_472, 1_473, 65_536, 1 << 20] {
            let ends = swap(&lab, &exchange(size, 64), |_, _| {});
            tell(device.as_str(), size, &ends);
            check(&ends, size);
            assert!(ends.iter().all(|end| end.receipt.messages > 0), "{size}");
            assert!(ends[0].receipt.messages.abs_diff(ends[1].receipt.messages) <= 1, "{size}");
            assert_eq!(lost(&ends), 0, "{size}: {ends:?}");
        }
    }
}

#[test]
fn what_a_slow_port_drops_is_what_is_lost_and_nothing_is_sent_again() {
    // Of 64 frames of 1,518 octets under way a queue of 20 kB has no room for most.
    let (rate, queue) = (Some(Rate(20_000_000)), Some(ByteCount(20_000)));
    let spec = LabSpec { rate, queue, mtu: 1500, ..LabSpec::new(LabDevice::Bridge) };
    let Some((_alone, lab)) = lab(&spec) else { return };
    let device = &lab.plan().devices[0];
    let names: Vec<String> = device.ports.iter().map(|p| p.interface.clone()).collect();
    let counted =
        || lab.inside(&device.name, || interfaces(&names)).expect("enter").expect("counters");
    for (size, credits) in [(1_000, 64), (200_000, 64)] {
        let before = counted();
        let ends = swap(&lab, &exchange(size, credits), |_, _| {});
        thread::sleep(Duration::from_millis(50));
        let dropped: u64 = counted()
            .iter()
            .zip(&before)
            .map(|(now, then)| now.since(then).counters["qdisc_drops"])
            .sum();
        tell("slow port", size, &ends);
        check(&ends, size);
        assert_eq!(lost(&ends), dropped, "{size}: {ends:?}");
        // One datagram a message, and one at a time each way: nothing queues, so nothing is lost.
        assert_eq!(dropped > 0, size > 100_000, "{size}: {dropped}");
    }
}

#[test]
fn a_cable_that_breaks_costs_frames_and_no_counts() {
    let Some((_alone, lab)) = lab(&LabSpec { mtu: 1500, ..LabSpec::new(LabDevice::Bridge) }) else {
        return;
    };
    let ends = swap(&lab, &exchange(10_000, 16), |from, _| {
        thread::sleep(Duration::from_millis(150));
        lab.set_link(from.host, &from.interface, false).expect("take down");
    });
    tell("broken cable", 10_000, &ends);
    check(&ends, 10_000);
    assert!(ends.iter().all(|end| end.receipt.messages > 0));
}

#[test]
fn an_end_that_is_not_heard_still_hears() {
    // The waiter is told of a caller by nobody: it waits out its load.
    let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let waits = end(local, SocketAddr::new(local, 0), exchange(1_000, 8));
    let waiter = ExchangeResponder::open(&waits, &Halt::new()).expect("bind");
    let report = waiter.run(window(Nanos::from_millis(60)), &Halt::new()).expect("run");
    assert_eq!(
        (report.receipt.messages, report.parts_sent, report.receipt.intervals.len()),
        (0, 0, 2)
    );
    // A caller whom nobody answers sends what its credits allow, again and again, and ends in time.
    let silent = std::net::UdpSocket::bind((local, 0)).expect("bind");
    let remote = silent.local_addr().expect("address");
    let calls = end(local, remote, exchange(1_000_000, 2));
    let caller = ExchangeInitiator::open(&calls, &Halt::new()).expect("connect");
    let report = caller.run(window(Nanos::from_millis(500)), &Halt::new()).expect("run");
    assert_eq!((report.receipt.messages, report.parts_received), (0, 0));
    assert!((2..=6).contains(&report.parts_sent), "{report:?}");
}

#[test]
fn strangers_datagrams_are_refused_and_counted() {
    let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let exchange = exchange(100_000, 8);
    let waits = end(local, SocketAddr::new(local, 0), exchange.clone());
    let waiter = ExchangeResponder::open(&waits, &Halt::new()).expect("bind");
    let remote = SocketAddr::new(local, waiter.port());
    let stranger = std::net::UdpSocket::bind((local, 0)).expect("bind");
    stranger.send_to(b"GET / HTTP/1.1\r\n\r\n", remote).expect("say");
    let calls = end(local, remote, exchange);
    let caller = ExchangeInitiator::open(&calls, &Halt::new()).expect("connect");
    let (window, halt) = (window(Nanos::from_millis(100)), Halt::new());
    thread::scope(|scope| {
        let waiting = scope.spawn(|| waiter.run(window, &halt));
        assert!(caller.run(window, &halt).expect("caller").receipt.messages > 0);
        let report = waiting.join().expect("waiter").expect("waiter");
        assert_eq!((report.rejected.foreign, report.rejected.malformed), (0, 1));
    });
    let nothing = waits.with(self::exchange(1, 0));
    assert!(matches!(
        ExchangeResponder::open(&nothing, &Halt::new()),
        Err(FlowError::Unsuitable(_))
    ));
}
