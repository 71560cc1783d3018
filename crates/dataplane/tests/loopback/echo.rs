//! Round trips over loopback: every protocol, both paces, and what must not change a result.
//!
//! The peers that misbehave are written here, from the packet format alone. Never asserts how long
//! anything took, but for delays that a test itself imposes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::thread;
use std::time::Duration;

use dataplane::echo::{EchoClient, EchoServer, EchoServerReport, Requests};
use dataplane::{End, FlowError, Halt, Identity, Side, Window, clock};
use measure::reading::{Rejected, Stamp};
use measure::{FrameRate, FrameSize, Nanos};
use trial::record::EchoRecord;
use trial::{Echo, Protocol, Schedule};
use wire::Probe;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const HERE_V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);
const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
const US: Identity = Identity { token: 0x5eed_0001, flow: 7 };
/// Sequence numbers from here on are learning frames.
const LEARNING: u32 = u32::MAX - 0xFF;

fn size(octets: u32) -> FrameSize {
    FrameSize::new(octets).unwrap()
}

fn window(load_ms: u64) -> Window {
    let start = clock::monotonic() + Nanos::from_millis(10);
    let stop = start + Nanos::from_millis(load_ms);
    Window { start, stop, closed: stop + Nanos::from_millis(150) }
}

/// A request every so many nanoseconds.
fn every(gap_ns: f64) -> Schedule {
    Schedule::Paced(FrameRate(1e9 / gap_ns))
}

fn asker(protocol: Protocol, port: u16, octets: u32, schedule: Schedule) -> End<Requests> {
    let asked = Echo { protocol, frame_size: size(octets), schedule, messages: None };
    let flow = Requests { asked, least_gap_ns: 0.0 };
    End {
        local: HERE,
        remote: SocketAddr::new(HERE, port),
        opening: dataplane::opening::Opening::PLAIN,
        identity: US,
        flow,
    }
}

fn reflector(protocol: Protocol, octets: u32) -> End<Requests> {
    asker(protocol, 0, octets, Schedule::Greedy)
}

fn may_ping() -> bool {
    let root = nix::unistd::geteuid().is_root();
    if !root {
        eprintln!("skipped: icmp needs a raw socket, and so root");
    }
    root
}

/// Loopback addresses of this machine, of both IP versions where it has both.
fn own_addresses() -> Vec<IpAddr> {
    let has_v6 = UdpSocket::bind((HERE_V6, 0)).is_ok();
    if !has_v6 {
        eprintln!("skipped: no IPv6 here");
    }
    [HERE].into_iter().chain(has_v6.then_some(HERE_V6)).collect()
}

/// Both sides of one flow; `None` for the reflector's where the kernel answers.
fn converse(
    here: IpAddr,
    protocol: Protocol,
    octets: u32,
    schedule: Schedule,
) -> Option<(EchoRecord, Option<EchoServerReport>)> {
    let at = |end: End<Requests>| {
        let remote = SocketAddr::new(here, end.remote.port());
        End { local: here, remote, ..end }
    };
    let ask = |port| {
        EchoClient::open(&at(asker(protocol, port, octets, schedule)), &Halt::new()).unwrap()
    };
    if protocol == Protocol::Icmp {
        may_ping().then_some(())?;
        return Some((ask(0).run(window(100), &Halt::new()).unwrap(), None));
    }
    let reflector = EchoServer::open(&at(reflector(protocol, octets)), &Halt::new()).unwrap();
    let asker = ask(reflector.port());
    let window = window(100);
    let answering = thread::spawn(move || reflector.run(window, &Halt::new()).unwrap());
    let report = asker.run(window, &Halt::new()).unwrap();
    Some((report, Some(answering.join().unwrap())))
}

fn every_carrier_and_size(schedule: Schedule, check: impl Fn(&str, Protocol, &EchoRecord)) {
    let protocols = [Protocol::Icmp, Protocol::Udp, Protocol::Tcp];
    let flows = own_addresses().into_iter().flat_map(|here| protocols.map(|of| (here, of)));
    for (here, protocol) in flows {
        for octets in [64, 1518, 9018] {
            let what = format!("{here} {protocol:?} {octets} {schedule:?}");
            let told = converse(here, protocol, octets, schedule);
            let Some((report, reflected)) = told else { continue };
            assert!(report.sent > 0, "{what}");
            assert_eq!(report.answers.unique, report.sent, "{what}");
            assert_eq!(report.answers.lost(report.sent), 0, "{what}");
            assert_eq!(report.answers.duplicated, 0, "{what}");
            assert_eq!(report.rtt.count(), report.sent, "{what}");
            assert!(report.effective_samples > 0.0, "{what}");
            assert!(report.elapsed >= Nanos::from_millis(100), "{what}: {}", report.elapsed);
            if let Some(reflected) = reflected {
                assert_eq!(reflected.answered, report.sent, "{what}");
                assert_eq!(reflected.rejected, Rejected::default(), "{what}");
                // Beside ICMP, other tests' pings of the same loopback come in and are foreign.
                assert_eq!(report.rejected, Rejected::default(), "{what}");
            }
            check(&what, protocol, &report);
        }
    }
}

#[test]
fn the_closed_loop_answers_every_request_once() {
    every_carrier_and_size(Schedule::Greedy, |what, protocol, report| {
        assert_eq!(report.stamps.sent, Stamp::User, "{what}");
        let received = if protocol == Protocol::Icmp { Stamp::Kernel } else { Stamp::User };
        assert_eq!(report.stamps.received, received, "{what}");
        let differences = report.ipdv_up.count() + report.ipdv_down.count();
        assert_eq!(differences, report.sent - 1, "{what}");
    });
}

#[test]
fn the_open_loop_sends_no_more_than_the_schedule_asks() {
    every_carrier_and_size(every(1e6), |what, _, report| {
        assert!(report.sent <= 100, "{what}: {}", report.sent);
        assert_eq!(report.stamps.sent, Stamp::Intended, "{what}");
        assert_eq!(report.stamps.received, Stamp::Kernel, "{what}");
    });
}

#[test]
fn tcp_sends_the_smallest_frame_that_its_headers_leave_room_in() {
    let reflector = EchoServer::open(&reflector(Protocol::Tcp, 64), &Halt::new()).unwrap();
    let asker = EchoClient::open(
        &asker(Protocol::Tcp, reflector.port(), 64, Schedule::Greedy),
        &Halt::new(),
    )
    .unwrap();
    let timestamps = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_timestamps").unwrap();
    let expected = if timestamps.trim() == "0" { 64 } else { 76 };
    assert_eq!(asker.frame_size(), size(expected));
}

fn packet(probe: Probe, length: usize) -> Vec<u8> {
    let mut octets = vec![0; length.max(Probe::LEN)];
    probe.emit(&mut octets);
    octets.truncate(length);
    octets
}

fn request(sequence: u32) -> Probe {
    Probe { token: US.token, flow: US.flow, sequence, time_ns: 1 }
}

#[test]
fn a_udp_reflector_answers_nobody_but_the_asker() {
    let reflector = EchoServer::open(&reflector(Protocol::Udp, 64), &Halt::new()).unwrap();
    let to = SocketAddr::new(HERE, reflector.port());
    let socket = |from| {
        let socket = UdpSocket::bind(SocketAddr::new(from, 0)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        socket.connect(to).unwrap();
        socket
    };
    let (ours, other_port, other_address) = (socket(HERE), socket(HERE), socket(ELSEWHERE));
    let valid = packet(request(0), 18);
    let mut answer = [0; 64];
    // Before the asker is known, a valid request from another address is foreign already.
    other_address.send(&valid).unwrap();
    // A learning frame makes the asker known, and is answered but not counted.
    ours.send(&packet(request(LEARNING), 18)).unwrap();
    assert_eq!(ours.recv(&mut answer).unwrap(), 18);
    other_port.send(&valid).unwrap();
    for malformed in [&valid[..17], &[0; 19], &[]] {
        ours.send(malformed).unwrap();
    }
    ours.send(&packet(Probe { token: 1, ..request(0) }, 18)).unwrap();
    ours.send(&packet(Probe { flow: 8, ..request(0) }, 18)).unwrap();
    // A replay looks like its original: it is answered, and the asker tells.
    for _ in 0..2 {
        ours.send(&valid).unwrap();
        assert_eq!(ours.recv(&mut answer).unwrap(), 18);
        assert_eq!(answer[..18], valid[..]);
    }
    let report = reflector.run(window(20), &Halt::new()).unwrap();
    assert_eq!(report.answered, 2);
    assert_eq!(report.rejected, Rejected { malformed: 3, foreign: 4 });
    for stranger in [&other_port, &other_address] {
        stranger.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
        assert!(stranger.recv(&mut answer).is_err(), "a stranger was answered");
    }
}

/// What a reflector of a test does with a request that is not a learning frame.
type Mischief = fn(&UdpSocket, SocketAddr, Probe);

fn plain(socket: &UdpSocket, to: SocketAddr, probe: Probe) {
    socket.send_to(&packet(probe, 18), to).unwrap();
}

/// An asker over `load_ms` against a reflector that answers by `mischief`.
fn ask_a_rogue(schedule: Schedule, load_ms: u64, mischief: Mischief) -> EchoRecord {
    let socket = UdpSocket::bind(SocketAddr::new(HERE, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let port = socket.local_addr().unwrap().port();
    let rogue = thread::spawn(move || {
        let mut request = [0; 64];
        // Ends when the asker has been silent for half a second.
        while let Ok((length, from)) = socket.recv_from(&mut request) {
            let probe = Probe::parse(&request[..length]).unwrap();
            let answer = if probe.sequence >= LEARNING { plain } else { mischief };
            answer(&socket, from, probe);
        }
    });
    let asker = EchoClient::open(&asker(Protocol::Udp, port, 64, schedule), &Halt::new()).unwrap();
    let report = asker.run(window(load_ms), &Halt::new()).unwrap();
    rogue.join().unwrap();
    report
}

fn drop_every_third(socket: &UdpSocket, to: SocketAddr, probe: Probe) {
    if probe.sequence % 3 != 2 {
        plain(socket, to, probe);
    }
}

#[test]
fn a_lost_answer_is_counted_and_the_loop_goes_on() {
    for schedule in [Schedule::Greedy, every(1e6)] {
        let report = ask_a_rogue(schedule, 200, drop_every_third);
        assert!(report.sent > 5, "{schedule:?}: {}", report.sent);
        assert_eq!(report.answers.lost(report.sent), report.sent / 3, "{schedule:?}");
        assert_eq!(report.rtt.count(), report.answers.unique, "{schedule:?}");
        assert_eq!(report.rejected, Rejected::default(), "{schedule:?}");
    }
}

fn surround_with_junk(socket: &UdpSocket, to: SocketAddr, probe: Probe) {
    let malformed = [&[][..], &[1, 2, 3], &[0; 19]];
    for octets in malformed {
        socket.send_to(octets, to).unwrap();
    }
    let foreign = [
        Probe { token: !probe.token, ..probe },
        Probe { flow: probe.flow + 1, ..probe },
        // Never asked yet: nobody can have an answer to it.
        Probe { sequence: probe.sequence + 500_000, ..probe },
    ];
    for probe in foreign {
        plain(socket, to, probe);
    }
    plain(socket, to, probe);
    plain(socket, to, probe);
}

#[test]
fn malformed_foreign_and_replayed_answers_change_no_result() {
    for schedule in [Schedule::Greedy, every(1e6)] {
        let report = ask_a_rogue(schedule, 100, surround_with_junk);
        let sent = report.sent;
        assert!(sent > 5, "{schedule:?}: {sent}");
        assert_eq!(report.answers.unique, sent, "{schedule:?}");
        assert_eq!(report.answers.duplicated, sent, "{schedule:?}");
        assert_eq!(report.answers.beyond_limit, 0, "{schedule:?}");
        assert_eq!(report.rtt.count(), sent, "{schedule:?}");
        let expected = Rejected { malformed: 3 * sent, foreign: 3 * sent };
        assert_eq!(report.rejected, expected, "{schedule:?}");
    }
}

const DELAY: Duration = Duration::from_millis(60);

fn delay_the_fourth(socket: &UdpSocket, to: SocketAddr, probe: Probe) {
    if probe.sequence == 3 {
        let later = socket.try_clone().unwrap();
        thread::spawn(move || {
            thread::sleep(DELAY);
            plain(&later, to, probe);
        });
    } else {
        plain(socket, to, probe);
    }
}

#[test]
fn a_late_answer_keeps_its_own_round_trip() {
    for schedule in [Schedule::Greedy, every(1e6)] {
        let report = ask_a_rogue(schedule, 200, delay_the_fourth);
        assert_eq!(report.answers.unique, report.sent, "{schedule:?}");
        assert_eq!(report.answers.reordered, 1, "{schedule:?}");
        assert!(report.rtt.max() >= Nanos::from(DELAY), "{schedule:?}: {}", report.rtt.max());
    }
}

#[test]
fn nobody_there_is_no_answer() {
    let mute = UdpSocket::bind(SocketAddr::new(HERE, 0)).unwrap();
    let mute_tcp = TcpListener::bind(SocketAddr::new(HERE, 0)).unwrap();
    let closed = TcpListener::bind(SocketAddr::new(HERE, 0)).unwrap().local_addr().unwrap();
    for (protocol, port) in [
        (Protocol::Udp, mute.local_addr().unwrap().port()),
        (Protocol::Tcp, mute_tcp.local_addr().unwrap().port()),
        (Protocol::Tcp, closed.port()),
        (Protocol::Udp, closed.port()),
    ] {
        let outcome = EchoClient::open(&asker(protocol, port, 64, Schedule::Greedy), &Halt::new());
        assert!(matches!(outcome, Err(FlowError::NoAnswer { .. })), "{protocol:?}: {outcome:?}");
    }
}

#[test]
fn a_tcp_reflector_takes_only_the_connection_that_greets_rightly() {
    use std::io::{Read, Write};
    let reflector = EchoServer::open(&reflector(Protocol::Tcp, 128), &Halt::new()).unwrap();
    let to = SocketAddr::new(HERE, reflector.port());
    let greeting = packet(Probe { time_ns: 0, ..request(u32::MAX) }, 18);
    let refused = |octets: &[u8]| {
        let mut stranger = std::net::TcpStream::connect(to).unwrap();
        stranger.write_all(octets).unwrap();
        // Closed without a word.
        assert!(matches!(stranger.read(&mut [0; 18]), Ok(0) | Err(_)));
    };
    refused(&packet(Probe { token: 1, ..request(u32::MAX) }, 18));
    refused(&greeting[..5]);
    refused(&packet(request(0), 18));
    let asker = EchoClient::open(
        &asker(Protocol::Tcp, reflector.port(), 128, Schedule::Greedy),
        &Halt::new(),
    )
    .unwrap();
    assert!(std::net::TcpStream::connect(to).is_err(), "the port is closed to others");
    let window = window(50);
    let answering = thread::spawn(move || reflector.run(window, &Halt::new()).unwrap());
    let report = asker.run(window, &Halt::new()).unwrap();
    let reflected = answering.join().unwrap();
    assert_eq!(report.answers.unique, report.sent);
    assert_eq!(reflected.answered, report.sent);
    assert_eq!(reflected.rejected, Rejected { malformed: 2, foreign: 1 });
}

/// Answers one connection's messages, each in two pieces and after one of another flow, one that
/// was never asked for, and a copy of itself.
fn rogue_stream(listener: &TcpListener) {
    use std::io::{Read, Write};
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_nodelay(true).unwrap();
    let mut message = vec![0; 128];
    stream.read_exact(&mut message[..18]).unwrap();
    stream.write_all(&message[..18]).unwrap();
    // The first learning frame comes alone, and tells how long a message is here.
    let length = stream.read(&mut message).unwrap();
    stream.write_all(&message[..length]).unwrap();
    while stream.read_exact(&mut message[..length]).is_ok() {
        let answer = &message[..length];
        let sequence = u32::from_be_bytes(answer[..4].try_into().unwrap());
        let (mut other_flow, mut never_asked) = (answer.to_vec(), answer.to_vec());
        other_flow[5] ^= 1;
        never_asked[..4]
            .copy_from_slice(&(sequence.wrapping_add(500_000) % LEARNING).to_be_bytes());
        let junk: &[&[u8]] =
            if sequence >= LEARNING { &[] } else { &[&other_flow, &never_asked, answer] };
        let mut written = Ok(());
        for part in junk.iter().copied().chain([&answer[..10], &answer[10..]]) {
            written = written.and_then(|()| stream.write_all(part));
        }
        if written.is_err() {
            return;
        }
    }
}

#[test]
fn junk_in_a_stream_changes_no_result() {
    let listener = TcpListener::bind(SocketAddr::new(HERE, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let rogue = thread::spawn(move || rogue_stream(&listener));
    let asker =
        EchoClient::open(&asker(Protocol::Tcp, port, 128, every(2e6)), &Halt::new()).unwrap();
    let report = asker.run(window(100), &Halt::new()).unwrap();
    rogue.join().unwrap();
    let sent = report.sent;
    assert!(sent > 5, "{sent}");
    assert_eq!(report.answers.unique, sent);
    assert_eq!(report.answers.duplicated, sent);
    assert_eq!(report.rtt.count(), sent);
    assert_eq!(report.rejected, Rejected { malformed: sent, foreign: sent });
}

#[test]
fn a_halt_ends_both_sides_at_once() {
    for protocol in [Protocol::Udp, Protocol::Tcp] {
        for schedule in [Schedule::Greedy, every(2e9)] {
            let reflector = EchoServer::open(&reflector(protocol, 64), &Halt::new()).unwrap();
            let asker =
                EchoClient::open(&asker(protocol, reflector.port(), 64, schedule), &Halt::new())
                    .unwrap();
            let start = clock::monotonic();
            let hour = start + Nanos::from_secs(3_600);
            let window = Window { start, stop: hour, closed: hour };
            let halt = Halt::new();
            let theirs = halt.clone();
            let answering = thread::spawn(move || reflector.run(window, &theirs));
            let theirs = halt.clone();
            let asking = thread::spawn(move || asker.run(window, &theirs));
            thread::sleep(Duration::from_millis(30));
            halt.ask();
            // That this ends is the assertion; finding the other side gone is then no error.
            answering.join().unwrap().unwrap();
            asking.join().unwrap().unwrap();
        }
    }
}

#[test]
fn what_can_t_be_done_is_said_before_anything_is_sent() {
    let icmp = EchoServer::open(&reflector(Protocol::Icmp, 64), &Halt::new());
    assert!(matches!(icmp, Err(FlowError::Unsuitable(_))));
    for gap in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let outcome = EchoClient::open(&asker(Protocol::Udp, 9, 64, every(gap)), &Halt::new());
        assert!(matches!(outcome, Err(FlowError::Unsuitable(_))), "{gap}");
    }
}
