//! Tests of somebody else's server: the real `iperf3 -s` over loopback, whose own output the counts
//! are held against octet for octet, and servers that lie, stall, break off or are not there.
//!
//! Needs iperf3, and says `skipped:` without it; never asserts a rate.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use dataplane::iperf3::{Iperf3Client, Results, State, Test, Way, WayRecord, stream_number};
use dataplane::{End, Halt, Identity, Side, Window, clock};
use measure::{FrameRate, FrameSize, Nanos};
use serde_json::Value;
use trial::record::{BulkRecord, DatagramsRecord, FlowRecord};
use trial::{Backend, Bulk, Datagrams, FlowKind, Schedule};

const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const LOAD: Nanos = Nanos::from_millis(300);

fn free_port() -> u16 {
    let listener = TcpListener::bind((LOCAL, 0)).expect("a port");
    listener.local_addr().expect("bound").port()
}

/// A real server for one test, ended by its id.
struct Server(Child, SocketAddr);

impl Server {
    fn start() -> Option<Self> {
        let at = SocketAddr::new(LOCAL, free_port());
        let child = Command::new("iperf3")
            .args(["-s", "-1", "-J", "--bind", "127.0.0.1", "-p", &at.port().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(child) = child else {
            eprintln!("skipped: iperf3 is not installed");
            return None;
        };
        Some(Self(child, at))
    }

    /// What it printed, once it has ended by itself.
    fn told(mut self) -> Value {
        let mut text = String::new();
        let mut out = self.0.stdout.take().expect("piped");
        out.read_to_string(&mut text).expect("text");
        serde_json::from_str(&text).expect("JSON")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn window(load: Nanos) -> Window {
    let start = clock::monotonic() + Nanos::from_millis(20);
    Window { start, stop: start + load, closed: start + load + Nanos::from_millis(100) }
}

fn end(remote: SocketAddr, streams: u16, ways: &[bool]) -> End<Test> {
    let bulk =
        Bulk { streams, congestion_control: "reno".to_owned(), interval: Nanos::from_millis(100) };
    let kind = FlowKind::Bulk(bulk);
    let way = |(flow, reverse): (u16, &bool)| {
        let (reverse, kind) = (*reverse, kind.clone());
        Way { flow, reverse, kind, limit: 0 }
    };
    test(remote, (7..).zip(ways).map(way).collect())
}

fn test(remote: SocketAddr, ways: Vec<Way>) -> End<Test> {
    let identity = Identity { token: 0x5eed_0007, flow: 7 };
    End {
        local: LOCAL,
        remote,
        opening: dataplane::opening::Opening::PLAIN,
        identity,
        flow: Test { ways },
    }
}

fn run(end: &End<Test>) -> Vec<WayRecord> {
    let halt = Halt::new();
    let client = Iperf3Client::open(end, &halt).expect("the server agrees");
    client.run(window(LOAD), &halt).expect("the test runs")
}

fn bulk_of(record: &WayRecord) -> &BulkRecord {
    match &record.record {
        FlowRecord::Bulk(bulk) => bulk,
        other => panic!("{other:?}"),
    }
}

/// Each stream's octets, as the server's side of its own output has them.
fn octets(told: &Value, side: &str, of_sender: bool) -> Vec<u64> {
    let streams = told["end"]["streams"].as_array().expect("streams").iter();
    let streams = streams.filter(|it| it[side]["sender"].as_bool() == Some(of_sender));
    streams.map(|it| it[side]["bytes"].as_u64().expect("octets")).collect()
}

#[test]
fn the_servers_own_output_has_the_same_octets() {
    for (streams, ways) in
        [(1, &[false][..]), (4, &[false]), (1, &[true]), (4, &[true]), (2, &[false, true])]
    {
        let Some(server) = Server::start() else { return };
        let records = run(&end(server.1, streams, ways));
        let told = server.told();
        println!("{streams} streams, reverse {ways:?}: {records:?}");
        assert_eq!(records.len(), ways.len());
        for (record, reverse) in records.iter().zip(ways) {
            let bulk = bulk_of(record);
            let far = bulk.far_end.as_ref().expect("a server's word");
            let theirs: Vec<u64> = far.streams.iter().map(|octets| octets.0).collect();
            let side = if *reverse { "sender" } else { "receiver" };
            assert_eq!(theirs, octets(&told, side, *reverse), "{told:#}");
            assert_eq!(bulk.streams.len(), usize::from(streams));
            assert!(bulk.received.0 > 0);
            let half = Nanos(LOAD.0 / 2);
            assert!(half < bulk.elapsed && bulk.elapsed < LOAD + LOAD, "{}", bulk.elapsed);
            assert_eq!(bulk.congestion_control, "reno");
            if *reverse {
                let seen: u64 = bulk.streams.iter().flat_map(|s| &s.received).map(|b| b.0).sum();
                assert_eq!(seen, bulk.received.0);
                assert!(bulk.received.0 <= theirs.iter().sum());
                assert!(far.retransmits.is_some(), "Linux tells: {far:?}");
            } else {
                assert_eq!(bulk.received.0, theirs.iter().sum::<u64>());
                assert!(bulk.streams.iter().all(|s| s.points.len() == 3 && s.received.is_empty()));
            }
        }
    }
}

/// 64-bit numbers where the load may come to so many.
#[test]
fn datagrams_are_counted_as_the_server_counts_them() {
    for (reverse, limit) in [(false, 10_000), (true, 10_000), (false, 1 << 32)] {
        let Some(server) = Server::start() else { return };
        // 982 octets of payload, every 500 µs.
        let (size, rate) = (FrameSize::new(1028).unwrap(), FrameRate(2_000.0));
        let load = Datagrams::plain(size, Schedule::Paced(rate), Backend::Auto, 64);
        let way = Way { flow: 3, reverse, kind: FlowKind::Datagrams(load), limit };
        let records = run(&test(server.1, vec![way]));
        let told = server.told();
        let [WayRecord { flow: 3, record: FlowRecord::Datagrams(record) }] = records.as_slice()
        else {
            panic!("{records:?}")
        };
        let DatagramsRecord { sent, received, .. } = record;
        println!("reverse {reverse}: {sent} sent, {received:?}, {}", told["end"]["sum"]);
        let stream = &told["end"]["streams"][0]["udp"];
        let count = |name: &str| stream[name].as_u64().expect("a count");
        if reverse {
            // It paces by a timer of its own, and says how many it sent.
            assert_eq!(*sent, count("packets"));
            assert!(received.unique > 0 && received.unique <= *sent, "{received:?} of {sent}");
            assert_eq!(record.arrivals.count() + 1, received.unique + received.duplicated);
        } else {
            // On a busy machine some of them may not have had their time.
            assert_eq!(record.offered, 600);
            assert!((2..=600).contains(sent), "{sent}");
            assert_eq!(received.unique, count("packets") - count("lost_packets"));
            assert!(received.unique <= *sent, "{received:?} of {sent}");
            assert_eq!(record.departures.count() + 1, *sent);
        }
        assert_eq!((record.rejected.malformed, record.rejected.foreign), (0, 0));
    }
}

#[test]
fn one_test_after_another_and_a_busy_server_is_named() {
    let port = free_port().to_string();
    let child = Command::new("iperf3")
        .args(["-s", "--bind", "127.0.0.1", "-p", &port])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(child) = child else { return eprintln!("skipped: iperf3 is not installed") };
    let at = SocketAddr::new(LOCAL, port.parse().expect("a port"));
    let server = Server(child, at);
    for _ in 0..3 {
        assert!(bulk_of(&run(&end(server.1, 1, &[false]))[0]).received.0 > 0);
    }
    // Called off before it began: the server is free for the next.
    drop(Iperf3Client::open(&end(at, 3, &[false]), &Halt::new()).expect("agrees"));
    let held = Iperf3Client::open(&end(at, 1, &[true]), &Halt::new()).expect("agrees");
    let busy = Iperf3Client::open(&end(at, 1, &[false]), &Halt::new()).expect_err("busy");
    let named =
        format!("begin a test on the iperf3 server at {at}: the server is busy running a test");
    assert_eq!(busy.to_string(), named);
    drop(held);
    let halt = Halt::new();
    let client = Iperf3Client::open(&end(at, 1, &[true]), &halt).expect("free again");
    let began = Instant::now();
    let long = window(Nanos::from_secs(60));
    let halted = thread::scope(|scope| {
        let running = scope.spawn(|| client.run(long, &halt));
        thread::sleep(Duration::from_millis(200));
        halt.ask();
        running.join().expect("no panic")
    });
    assert!(halted.is_err_and(|fault| fault.to_string().ends_with("the trial was ended")));
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_server_that_dies_in_mid_test_is_named() {
    for reverse in [false, true] {
        let Some(mut server) = Server::start() else { return };
        let at = server.1;
        let halt = Halt::new();
        let client = Iperf3Client::open(&end(at, 2, &[reverse]), &halt).expect("agrees");
        let broken = thread::scope(|scope| {
            let running = scope.spawn(|| client.run(window(Nanos::from_secs(60)), &halt));
            thread::sleep(Duration::from_millis(200));
            server.0.kill().expect("ends");
            running.join().expect("no panic").expect_err("broken")
        });
        let named = format!("run a test on the iperf3 server at {at}: it closed the connection");
        assert_eq!(broken.to_string(), named, "reverse {reverse}");
    }
}

#[test]
fn nobody_there_is_named_with_the_kernels_word() {
    let at = SocketAddr::new(LOCAL, free_port());
    let absent = Iperf3Client::open(&end(at, 1, &[false]), &Halt::new()).expect_err("nobody");
    assert_eq!(absent.to_string(), format!("connect to the iperf3 server at {at}"));
    let cause = std::error::Error::source(&absent).expect("the kernel's word").to_string();
    assert!(cause.contains("refused"), "{cause}");
}

/// A server that says these octets, whatever it is told, and then closes or stays silent.
fn against(says: &'static [u8], closes: bool) -> String {
    let listener = TcpListener::bind((LOCAL, 0)).expect("a port");
    let at = listener.local_addr().expect("bound");
    let halt = Halt::new();
    thread::scope(|scope| {
        let halt = &halt;
        scope.spawn(move || {
            let mut kept: Vec<TcpStream> = Vec::new();
            let (mut control, _) = listener.accept().expect("a client");
            control.write_all(says).expect("says");
            if closes {
                // Without a reset, which would take what was said with it.
                let _ = control.read(&mut [0; 37]);
                return;
            }
            listener.set_nonblocking(true).expect("a setting");
            while !halt.is_requested() {
                kept.extend(listener.accept().ok().map(|(tcp, _)| tcp));
                thread::sleep(Duration::from_millis(5));
            }
        });
        let told = Iperf3Client::open(&end(at, 1, &[false]), halt)
            .and_then(|client| client.run(window(LOAD), halt));
        halt.ask();
        told.expect_err("no test").to_string()
    })
    .replace(&at.to_string(), "HERE")
}

#[test]
fn what_is_no_server_is_told_in_words_and_in_time() {
    let check = |says, closes, words: &str| assert_eq!(against(says, closes), words);
    let begin = "begin a test on the iperf3 server at HERE";
    let agree = "agree on a test with the iperf3 server at HERE";
    let talk = "talk to the iperf3 server at HERE";
    check(b"SSH-2.0", false, &format!("{talk}: 83 is no state of a test"));
    check(&[14], false, &format!("{talk}: it said DisplayResults out of turn"));
    let gave_up = "it gave up with its error 7: Cannot allocate memory (os error 12)";
    check(&[254, 0, 0, 0, 7, 0, 0, 0, 12], false, &format!("{begin}: {gave_up}"));
    check(&[9], true, &format!("{agree}: it closed the connection"));
    let start = "start a test on the iperf3 server at HERE";
    check(&[9, 10], false, &format!("{start}: no answer within 3s"));
    check(&[9, 10, 11], false, &format!("{start}: it was ended by its user"));
    let early = "it said ExchangeResults out of turn";
    check(&[9, 10, 1, 2, 13], false, &format!("{talk}: {early}"));
}

#[test]
fn results_that_can_not_be_true_are_refused() {
    let server = SocketAddr::new(LOCAL, 5201);
    let stream = |id: u64, bytes: &str, end: &str| {
        format!(
            "{{\"id\":{id},\"bytes\":{bytes},\"retransmits\":3,\"jitter\":0,\"errors\":0,\
             \"packets\":0,\"start_time\":0,\"end_time\":{end}}}"
        )
    };
    let whole = |streams: &str| {
        format!("{{\"cpu_util_total\":1,\"sender_has_retransmits\":1,\"streams\":[{streams}]}}")
    };
    let check = |streams: &str, words: Option<&str>| {
        let text = whole(streams);
        let far = Results::parse(server, text.as_bytes())
            .and_then(|results| results.far_end(server, 0..2, true));
        match (far, words) {
            (Ok(far), None) => {
                assert_eq!(far.retransmits, Some(6));
                assert_eq!(far.elapsed, Nanos::from_millis(2500));
            }
            (Err(fault), Some(words)) => assert!(fault.to_string().contains(words), "{fault}"),
            (other, words) => panic!("{streams}: {other:?}, {words:?}"),
        }
    };
    let good = stream(1, "1e9", "2.5");
    check(&format!("{good},{}", stream(3, "5", "2.25")), None);
    check(&good, Some("stream 3 not once"));
    check(&format!("{good},{good},{}", stream(3, "5", "1")), Some("stream 1 not once"));
    for (bytes, end) in [("-1", "1"), ("0.5", "1"), ("1e300", "1"), ("9", "0"), ("9", "1e9")] {
        check(&format!("{good},{}", stream(3, bytes, end)), Some("stream 3"));
    }
    check(&format!("{good},{}", stream(3, "\"9\"", "1")), Some("its results are none"));
    check(&"[".repeat(100_000), Some("its results are none"));
    assert_eq!([0, 1, 2].map(stream_number), [1, 3, 4]);
    assert_eq!(State::from_octet(0xfe), Some(State::ServerError));
}
