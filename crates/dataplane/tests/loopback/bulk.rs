//! TCP flows over loopback: every byte on both sides, the kernel's word on congestion control, and
//! a sink that strangers do not disturb. Needs no privilege and never asserts a rate or a time of
//! its own.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use dataplane::bulk::{Sink, SinkReport, Source, SourceReport};
use dataplane::{End, FlowError, Halt, Identity, Side, Window, clock};
use measure::{ByteCount, Nanos};
use trial::Bulk;

const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const IDENTITY: Identity = Identity { token: 0x5eed_0002, flow: 3 };
const INTERVAL: Nanos = Nanos::from_millis(50);

fn window(load: Nanos) -> Window {
    let start = clock::monotonic() + Nanos::from_millis(20);
    Window { start, stop: start + load, closed: start + load + Nanos::from_secs(5) }
}

fn end(remote: SocketAddr, streams: u16) -> End<Bulk> {
    let flow = Bulk { streams, congestion_control: "reno".to_owned(), interval: INTERVAL };
    End {
        local: LOCAL,
        remote,
        opening: dataplane::opening::Opening::PLAIN,
        identity: IDENTITY,
        flow,
    }
}

fn run(
    streams: u16,
    load: Nanos,
    meddle: impl FnOnce(SocketAddr, &Halt),
) -> (SourceReport, SinkReport) {
    let sink =
        Sink::open(&end(SocketAddr::new(LOCAL, 0), streams), &Halt::new()).expect("bind sink");
    let at = SocketAddr::new(LOCAL, sink.port());
    let source = Source::open(&end(at, streams), &Halt::new()).expect("connect source");
    let (window, halt) = (window(load), Halt::new());
    thread::scope(|scope| {
        let read = scope.spawn(|| sink.run(window, &halt).expect("read"));
        let written = scope.spawn(|| source.run(window, &halt).expect("write"));
        meddle(at, &halt);
        (written.join().expect("source"), read.join().expect("sink"))
    })
}

fn sum(bytes: &[ByteCount]) -> u64 {
    bytes.iter().map(|b| b.0).sum()
}

#[test]
fn every_byte_is_on_both_sides() {
    let (sent, got) = run(3, Nanos::from_millis(275), |_, _| {});
    assert_eq!(sent.record.congestion_control, "reno");
    assert!(
        sent.record.segment.is_some_and(|segment| segment.mss > 500),
        "{:?}",
        sent.record.segment
    );
    assert_eq!(sent.written, sent.acked, "all of it drained before the close");
    for stream in 0..3 {
        let inside = sum(&got.record.streams[stream].received);
        assert!(inside > 0, "stream {stream} was starved");
        assert_eq!(inside + got.outside[stream].0, sent.acked[stream].0, "stream {stream}");
        assert_eq!(got.record.streams[stream].received.len(), 6);
        check_series(&sent, stream);
    }
    assert_eq!(
        got.record.received.0,
        got.record.streams.iter().map(|s| sum(&s.received)).sum::<u64>()
    );
    assert_eq!(got.record.elapsed, Nanos::from_millis(275));
    assert_eq!((got.rejected.malformed, got.rejected.foreign), (0, 0));
    eprintln!(
        "received {} in {}, outside {:?}",
        got.record.received, got.record.elapsed, got.outside
    );
}

fn check_series(sent: &SourceReport, stream: usize) {
    let points = &sent.record.streams[stream].points;
    assert_eq!(points.len(), 6);
    for two in points.windows(2) {
        assert!(two[0].at < two[1].at);
        assert!(two[0].acked <= two[1].acked);
        assert!(two[0].retransmits <= two[1].retransmits);
        assert!(two[0].busy <= two[1].busy);
        assert!(two[0].rwnd_limited <= two[1].rwnd_limited);
        assert!(two[0].sndbuf_limited <= two[1].sndbuf_limited);
    }
    let last = points.last().expect("a point");
    assert!(last.acked <= sent.acked[stream]);
    assert!(last.cwnd.0 > 0 && last.delivery_rate.0 > 0 && last.busy > Nanos::ZERO);
    assert!(last.srtt > Nanos::ZERO && last.min_rtt <= last.srtt.max(last.min_rtt));
}

#[test]
fn strangers_are_turned_away_and_counted() {
    let hello = |token: u32, flow: u16, stream: u16| {
        let mut octets = b"swBK".to_vec();
        octets.extend(token.to_be_bytes());
        octets.extend(flow.to_be_bytes());
        octets.extend(stream.to_be_bytes());
        octets
    };
    let (sent, got) = run(1, Nanos::from_millis(300), |at, _| {
        thread::sleep(Duration::from_millis(50));
        let silent = TcpStream::connect(at).expect("connect");
        let say = |octets: &[u8]| {
            let mut tcp = TcpStream::connect(at).expect("connect");
            tcp.write_all(octets).expect("say");
            tcp.set_read_timeout(Some(Duration::from_secs(5))).expect("set timeout");
            assert!(matches!(tcp.read(&mut [0; 1]), Ok(0) | Err(_)), "turned away");
        };
        say(b"GET / HTTP/1.1\r\n\r\n");
        say(&hello(1, IDENTITY.flow, 0));
        say(&hello(IDENTITY.token, 4, 0));
        say(&hello(IDENTITY.token, IDENTITY.flow, 1));
        // A replay of the stream that is running.
        say(&hello(IDENTITY.token, IDENTITY.flow, 0));
        drop(silent);
    });
    assert_eq!(sum(&got.record.streams[0].received) + got.outside[0].0, sent.acked[0].0);
    assert_eq!(got.rejected.foreign, 4);
    assert_eq!(got.rejected.malformed, 2);
}

#[test]
fn a_halt_ends_both_sides_early() {
    let (sent, got) = run(2, Nanos::from_secs(600), |_, halt| {
        thread::sleep(Duration::from_millis(100));
        halt.ask();
    });
    // The test would hang here if a side overslept.
    assert_eq!(got.record.streams.len(), 2);
    assert!(got.record.elapsed < Nanos::from_secs(600));
    assert_eq!(sent.acked.len(), 2);
}

/// A sink that never reads: the source is cut off at the window's close, not later.
#[test]
fn a_peer_that_stalls_holds_nothing_up() {
    let stalled = TcpListener::bind((LOCAL, 0)).expect("listen");
    let at = stalled.local_addr().expect("address");
    let source = Source::open(&end(at, 1), &Halt::new()).expect("connect source");
    let start = clock::monotonic();
    let stop = start + Nanos::from_millis(100);
    let window = Window { start, stop, closed: stop + Nanos::from_millis(50) };
    let sent = source.run(window, &Halt::new()).expect("run");
    assert!(clock::monotonic() >= window.closed);
    assert!(sent.acked[0] < sent.written[0], "{sent:?}");
}

#[test]
fn a_sink_whose_source_never_comes_ends_with_its_window() {
    let sink = Sink::open(&end(SocketAddr::new(LOCAL, 0), 2), &Halt::new()).expect("bind sink");
    let start = clock::monotonic();
    let stop = start + Nanos::from_millis(60);
    let got = sink.run(Window { start, stop, closed: stop }, &Halt::new()).expect("run");
    assert_eq!(got.record.received, ByteCount(0));
    let received = got.record.streams.iter().map(|stream| stream.received.clone());
    assert!(received.eq([vec![ByteCount(0); 2], vec![ByteCount(0); 2]]));
}

#[test]
fn an_unknown_congestion_control_is_unsuitable_and_lists_those_that_are() {
    let at = SocketAddr::new(LOCAL, 9);
    let mut spec = end(at, 1);
    spec.flow.congestion_control = "no-such".to_owned();
    match Source::open(&spec, &Halt::new()) {
        Err(FlowError::Unsuitable(text)) => {
            assert!(text.contains("no-such") && text.contains("reno"), "{text}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn nobody_listening_is_an_error_that_names_the_peer() {
    // None that the kernel may give to the very socket that connects, which would then be its own
    // peer (RFC 9293 §3.5, simultaneous open).
    let port = SocketAddr::new(LOCAL, 9);
    match Source::open(&end(port, 1), &Halt::new()) {
        Err(error @ FlowError::Kernel { .. }) => {
            assert_eq!(error.to_string(), format!("connect tcp socket to {port}"));
        }
        other => panic!("{other:?}"),
    }
}
