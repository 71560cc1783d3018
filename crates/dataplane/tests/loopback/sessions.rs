//! Connections over loopback: each is counted once, by what became of it, and strangers get none.
//! Needs no privilege and never asserts a rate or a time of its own.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;

use dataplane::sessions::{Acceptor, Opener};
use dataplane::{End, FlowError, Halt, Identity, Side, Window, clock};
use measure::Nanos;
use trial::record::{Failures, SessionsRecord};
use trial::{Hold, Opening, SessionRate, Sessions, Transport};

const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const IDENTITY: Identity = Identity { token: 0x5eed_0003, flow: 4 };
const TIMEOUT: Nanos = Nanos::from_millis(400);

fn paced(rate: f64, most: Option<u64>, hold: Hold) -> Sessions {
    let opening = Opening::Paced(SessionRate(rate));
    Sessions { transport: Transport::Tcp, opening, most, hold, active: None, timeout: TIMEOUT }
}

fn of_udp(flow: Sessions) -> Sessions {
    Sessions { transport: Transport::Udp, ..flow }
}

fn window(load: Nanos) -> Window {
    let start = clock::monotonic() + Nanos::from_millis(20);
    Window { start, stop: start + load, closed: start + load + Nanos::from_secs(1) }
}

fn end(remote: SocketAddr, flow: Sessions) -> End<Sessions> {
    let opening = dataplane::opening::Opening::PLAIN;
    End { local: LOCAL, remote, identity: IDENTITY, opening, flow }
}

fn acceptor(flow: Sessions) -> (Acceptor, SocketAddr) {
    let acceptor = Acceptor::open(&end(SocketAddr::new(LOCAL, 0), flow), &Halt::new());
    let acceptor = acceptor.expect("listen");
    let at = SocketAddr::new(LOCAL, acceptor.port());
    (acceptor, at)
}

fn opener(at: SocketAddr, flow: Sessions) -> Opener {
    Opener::open(&end(at, flow), &Halt::new()).expect("connect")
}

/// Records of the opener and of the acceptor.
fn run(
    flow: Sessions,
    load: Nanos,
    meddle: impl FnOnce(SocketAddr),
) -> (SessionsRecord, SessionsRecord) {
    let (acceptor, at) = acceptor(flow);
    let opener = opener(at, flow);
    let (window, halt) = (window(load), Halt::new());
    thread::scope(|scope| {
        let accepted = scope.spawn(|| acceptor.run(window, &halt).expect("accept"));
        let opened = scope.spawn(|| opener.run(window, &halt).expect("open"));
        meddle(at);
        (opened.join().expect("opener"), accepted.join().expect("acceptor"))
    })
}

#[test]
fn each_connection_is_opened_answered_and_closed() {
    let tcp = paced(500.0, None, Hold::Answered);
    for flow in [tcp, of_udp(tcp)] {
        let (opened, accepted) = run(flow, Nanos::from_millis(400), |_| {});
        assert_eq!(opened.begun, 200);
        assert_eq!((opened.opened, opened.failed), (200, Failures::default()), "{opened:?}");
        assert_eq!((opened.handshakes.count(), accepted.accepted), (200, 200));
        assert_eq!((opened.not_begun, opened.asked_again), (0, 0));
    }
}

#[test]
fn held_connections_are_asked_again_at_the_end() {
    let tcp = paced(3000.0, Some(300), Hold::UntilEnd);
    for flow in [tcp, of_udp(tcp)] {
        let (opened, accepted) = run(flow, Nanos::from_millis(400), |_| {});
        assert_eq!((opened.begun, opened.opened), (300, 300), "{opened:?}");
        assert_eq!((opened.asked_again, opened.still_answering), (300, 300));
        assert_eq!((opened.most_held, accepted.accepted), (300, 300));
    }
}

#[test]
fn idle_connections_are_asked_by_the_far_end() {
    let tcp = paced(500.0, Some(300), Hold::Idle);
    for flow in [tcp, of_udp(tcp)] {
        let (opened, _) = run(flow, Nanos::from_millis(800), |_| {});
        assert_eq!((opened.asked_again, opened.still_answering), (300, 300), "{opened:?}");
        let oldest = opened.oldest_alive.expect("all are alive");
        assert!(oldest >= Nanos::from_millis(700), "{oldest:?}");
        assert_eq!((opened.youngest_silent, opened.failed.total()), (None, 0), "{opened:?}");
    }
}

#[test]
fn idle_connections_that_were_active_are_silent_since_their_last_message() {
    let active = Some(Nanos::from_millis(500));
    let tcp = Sessions { active, ..paced(500.0, Some(100), Hold::Idle) };
    for flow in [tcp, of_udp(tcp)] {
        let (opened, _) = run(flow, Nanos::from_millis(1000), |_| {});
        assert_eq!((opened.asked_again, opened.still_answering), (100, 100), "{opened:?}");
        let oldest = opened.oldest_alive.expect("all are alive");
        assert!(oldest >= Nanos::from_millis(400), "{oldest:?}");
        assert!(oldest < Nanos::from_millis(900), "since the last message: {oldest:?}");
    }
}

#[test]
fn flows_that_the_far_end_no_longer_reaches_are_told_by_their_silence() {
    for hold in [Hold::Idle, Hold::UntilEnd] {
        let flow = of_udp(paced(500.0, Some(200), hold));
        let (acceptor, at) = acceptor(flow);
        let opener = opener(at, flow);
        let (whole, halt) = (window(Nanos::from_millis(600)), Halt::new());
        // The far end is away at the load's end.
        let early = Window { closed: whole.stop, ..whole };
        let opened = thread::scope(|scope| {
            scope.spawn(|| acceptor.run(early, &halt).expect("accept"));
            scope.spawn(|| opener.run(whole, &halt).expect("open")).join().expect("opener")
        });
        assert_eq!((opened.begun, opened.still_answering), (200, 0), "{opened:?}");
        if hold == Hold::UntilEnd {
            assert_eq!((opened.opened, opened.failed.unanswered), (0, 200), "{opened:?}");
            continue;
        }
        assert_eq!((opened.opened, opened.failed.total()), (200, 0), "{opened:?}");
        assert_eq!(opened.oldest_alive, None);
        let youngest = opened.youngest_silent.expect("all are silent");
        assert!(youngest >= Nanos::from_millis(190), "{youngest:?}");
    }
}

#[test]
fn as_fast_as_possible_none_fails() {
    let opening = Opening::Greedy(64);
    let tcp = Sessions { opening, ..paced(1.0, None, Hold::Answered) };
    for flow in [tcp, of_udp(tcp)] {
        let (opened, accepted) = run(flow, Nanos::from_millis(400), |_| {});
        println!("{:.0} connections/s of {:?}", opened.begin_rate().0, flow.transport);
        assert_eq!(opened.opened, opened.begun, "{:?}", opened.failed);
        assert_eq!(accepted.accepted, opened.opened);
    }
}

#[test]
fn how_a_connection_failed_is_told() {
    let flow = paced(200.0, None, Hold::Answered);
    // Nobody listens any more.
    let (acceptor, at) = acceptor(flow);
    let refused = opener(at, flow);
    drop(acceptor);
    let record = refused.run(window(Nanos::from_millis(200)), &Halt::new()).expect("runs");
    assert_eq!((record.begun, record.failed.refused, record.opened), (40, 40, 0), "{record:?}");
    let refused = opener(at, of_udp(flow));
    let record = refused.run(window(Nanos::from_millis(200)), &Halt::new()).expect("runs");
    assert_eq!((record.begun, record.opened), (40, 0), "{record:?}");
    assert_eq!(record.failed.refused + record.failed.timed_out, 40, "{record:?}");
    let silent = UdpSocket::bind(SocketAddr::new(LOCAL, 0)).expect("a port");
    let unanswered = opener(silent.local_addr().expect("an address"), of_udp(flow));
    let record = unanswered.run(window(Nanos::from_millis(200)), &Halt::new()).expect("runs");
    assert_eq!((record.failed.timed_out, record.failed.total()), (40, 40), "{record:?}");
    // The kernel completes handshakes, and nobody answers a message.
    let silent = TcpListener::bind(SocketAddr::new(LOCAL, 0)).expect("a port");
    let at = silent.local_addr().expect("an address");
    let unanswered = opener(at, flow);
    let record = unanswered.run(window(Nanos::from_millis(200)), &Halt::new()).expect("runs");
    assert_eq!((record.failed.unanswered, record.failed.total()), (40, 40), "{record:?}");
}

#[test]
fn strangers_get_no_answer() {
    let flow = paced(100.0, None, Hold::Answered);
    let (opened, accepted) = run(flow, Nanos::from_millis(300), |at| {
        let mut stranger = TcpStream::connect(at).expect("the port is open");
        stranger.write_all(b"GET / HTTP/1.0\r\n\r\n").expect("sent");
        let mut answer = Vec::new();
        let _ = stranger.read_to_end(&mut answer);
        assert_eq!(answer, b"");
    });
    assert_eq!((opened.opened, opened.failed.total()), (30, 0), "{opened:?}");
    assert_eq!((accepted.accepted, accepted.rejected.malformed), (30, 1));
}

#[test]
fn what_no_host_should_be_asked_is_refused() {
    let refused = |flow: Sessions| {
        let asked = end(SocketAddr::new(LOCAL, 0), flow);
        Acceptor::open(&asked, &Halt::new()).expect_err("refused").to_string()
    };
    let held = refused(paced(100.0, None, Hold::UntilEnd));
    assert!(held.contains("without a limit"), "{held}");
    let many = refused(paced(100.0, Some(2_000_000), Hold::UntilEnd));
    assert!(many.contains("1000000 is the limit"), "{many}");
    assert!(refused(paced(0.0, None, Hold::Answered)).contains("a second"));
    let none = Opener::open(
        &end(SocketAddr::new(LOCAL, 1), paced(1.0, None, Hold::Answered)),
        &Halt::new(),
    );
    assert!(matches!(none, Err(FlowError::Kernel { .. })), "{none:?}");
}
