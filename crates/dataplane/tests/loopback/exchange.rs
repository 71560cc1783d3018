//! Exchanges over loopback: what one end sent the other received, whole messages only, and a
//! waiting end that strangers do not disturb. Needs no privilege and never asserts a rate.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use dataplane::exchange::{EndReport, ExchangeInitiator, ExchangeResponder};
use dataplane::{End, FlowError, Halt, Identity, Side, Window, clock};
use measure::{ByteCount, Nanos};
use trial::{Carrier, Exchange};

const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const IDENTITY: Identity = Identity { token: 0x5eed_0005, flow: 9 };

fn exchange(size: u64) -> Exchange {
    let (message, interval) = (ByteCount(size), Nanos::from_millis(50));
    Exchange { message, interval, carrier: Carrier::Tcp, collective: None }
}

fn window(load: Nanos) -> Window {
    let start = clock::monotonic() + Nanos::from_millis(30);
    Window { start, stop: start + load, closed: start + load + Nanos::from_millis(500) }
}

fn waiter(size: u64) -> End<Exchange> {
    caller(SocketAddr::new(LOCAL, 0), size)
}

fn caller(remote: SocketAddr, size: u64) -> End<Exchange> {
    End {
        local: LOCAL,
        remote,
        opening: dataplane::opening::Opening::PLAIN,
        identity: IDENTITY,
        flow: exchange(size),
    }
}

fn run(
    size: u64,
    load: Nanos,
    meddle: impl FnOnce(SocketAddr, &Halt),
) -> (Result<EndReport, FlowError>, Result<EndReport, FlowError>) {
    let waiter = ExchangeResponder::open(&waiter(size), &Halt::new()).expect("bind");
    let at = SocketAddr::new(LOCAL, waiter.port());
    let caller = ExchangeInitiator::open(&caller(at, size), &Halt::new()).expect("connect");
    let (window, halt) = (window(load), Halt::new());
    thread::scope(|scope| {
        let one = scope.spawn(|| waiter.run(window, &halt));
        let other = scope.spawn(|| caller.run(window, &halt));
        meddle(at, &halt);
        (other.join().expect("caller"), one.join().expect("waiter"))
    })
}

#[test]
fn both_ends_receive_the_same_messages() {
    for size in [1, 1_000, 65_536, 3 << 20] {
        let load = Nanos::from_millis(275);
        let (forth, back) = run(size, load, |_, _| {});
        let ends = [forth.expect("caller"), back.expect("waiter")];
        for end in &ends {
            assert!(end.receipt.messages > 0, "{size}");
            assert_eq!(end.receipt.octets.0, end.receipt.messages * size);
            assert_eq!(end.receipt.rounds.count(), end.receipt.messages);
            assert_eq!((end.receipt.elapsed, end.receipt.intervals.len()), (load, 6));
            let seen: u64 = end.receipt.intervals.iter().map(|o| o.0).sum();
            assert!(
                (end.receipt.octets.0..end.receipt.octets.0 + size).contains(&seen),
                "{size}: {seen}"
            );
            // Rounds follow each other: together they fill no more than the load.
            let mean = end.receipt.rounds.min().0 * end.receipt.messages;
            assert!(mean <= load.0, "{size}: {mean}");
        }
        // Neither end may be more than one round ahead.
        assert!(
            ends[0].receipt.messages.abs_diff(ends[1].receipt.messages) <= 1,
            "{size}: {ends:?}"
        );
        eprintln!("{size}: {} and {} messages", ends[0].receipt.messages, ends[1].receipt.messages);
    }
}

#[test]
fn strangers_are_turned_away_and_counted() {
    let (forth, back) = run(1_000, Nanos::from_millis(100), |_, _| {});
    assert_eq!(back.expect("waiter").rejected.foreign, 0);
    forth.expect("caller");

    let waiter = ExchangeResponder::open(&waiter(1_000), &Halt::new()).expect("bind");
    let at = SocketAddr::new(LOCAL, waiter.port());
    let mut rubbish = TcpStream::connect(at).expect("connect");
    rubbish.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("say");
    let foreign = End { identity: Identity { token: 1, ..IDENTITY }, ..caller(at, 1_000) };
    let foreign = ExchangeInitiator::open(&foreign, &Halt::new()).expect("connect");
    let own = ExchangeInitiator::open(&caller(at, 1_000), &Halt::new()).expect("connect");
    let (window, halt) = (window(Nanos::from_millis(100)), Halt::new());
    thread::scope(|scope| {
        let waiting = scope.spawn(|| waiter.run(window, &halt));
        scope.spawn(|| foreign.run(window, &halt));
        assert!(own.run(window, &halt).expect("caller").receipt.messages > 0);
        let report = waiting.join().expect("waiter").expect("waiter");
        assert_eq!((report.rejected.foreign, report.rejected.malformed), (1, 1));
    });
}

#[test]
fn a_halt_ends_both_ends_early() {
    let (forth, back) = run(1_000, Nanos::from_secs(600), |_, halt| {
        thread::sleep(Duration::from_millis(150));
        halt.ask();
    });
    // The test would hang here if an end overslept. An end may notice the other's leaving first.
    for end in [forth, back].into_iter().flatten() {
        assert!(end.receipt.elapsed < Nanos::from_secs(600));
        assert!(end.receipt.intervals.len() < 100);
    }
}

#[test]
fn a_peer_that_leaves_during_the_load_is_an_error() {
    let listener = TcpListener::bind((LOCAL, 0)).expect("listen");
    let at = listener.local_addr().expect("address");
    let caller = ExchangeInitiator::open(&caller(at, 1_000), &Halt::new()).expect("connect");
    let (peer, _) = listener.accept().expect("accept");
    drop(peer);
    match caller.run(window(Nanos::from_secs(600)), &Halt::new()) {
        Err(error @ FlowError::Kernel { .. }) => {
            assert_eq!(error.to_string(), format!("exchange messages with {at}"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_waiter_whom_nobody_calls_ends_with_its_load() {
    let waiter = ExchangeResponder::open(&waiter(1_000), &Halt::new()).expect("bind");
    let report = waiter.run(window(Nanos::from_millis(60)), &Halt::new()).expect("run");
    assert_eq!((report.receipt.messages, report.receipt.octets), (0, ByteCount(0)));
    assert_eq!(report.receipt.intervals, [ByteCount(0); 2]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let nothing = waiter(0);
    assert!(matches!(
        ExchangeResponder::open(&nothing, &Halt::new()),
        Err(FlowError::Unsuitable(_))
    ));
}
