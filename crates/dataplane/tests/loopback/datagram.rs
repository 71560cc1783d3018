//! Datagram flows over loopback: exact sizes, exact counts, and everything that is not the flow's
//! refused. Needs no privilege, and never asserts a rate or a time of its own.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

use dataplane::datagram::{Receiver, Sender, Traffic};
use dataplane::{End, FlowError, Halt, Identity, Side, Window, clock};
use measure::{FrameRate, FrameSize, Nanos};
use trial::record::DatagramsRecord;
use trial::{Backend, Datagrams, Schedule};
use wire::Probe;

const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const IDENTITY: Identity = Identity { token: 0x5eed_0001, flow: 7 };

fn size(octets: u32) -> FrameSize {
    FrameSize::new(octets).expect("a frame size")
}

fn window(load: Nanos) -> Window {
    let start = clock::monotonic() + Nanos::from_millis(20);
    Window { start, stop: start + load, closed: start + load + Nanos::from_millis(60) }
}

fn receiver(frame_size: FrameSize) -> End<Traffic> {
    sender(0, frame_size, Schedule::Greedy)
}

fn sender(port: u16, frame_size: FrameSize, schedule: Schedule) -> End<Traffic> {
    let asked = Datagrams::plain(frame_size, schedule, Backend::Udp, 32);
    let flow = Traffic::new(asked, 1_000_000);
    End {
        local: LOCAL,
        remote: SocketAddr::new(LOCAL, port),
        opening: dataplane::opening::Opening::PLAIN,
        identity: IDENTITY,
        flow,
    }
}

/// A frame every so many nanoseconds.
fn every(gap_ns: f64) -> Schedule {
    Schedule::Paced(FrameRate(1e9 / gap_ns))
}

/// A sender of frames of `octets`, and what is otherwise about it.
fn changed(octets: u32, change: impl FnOnce(&mut Traffic)) -> End<Traffic> {
    let mut end = sender(9, size(octets), Schedule::Greedy);
    change(&mut end.flow);
    end
}

/// Runs one flow over loopback; `meddle` may send to the receiver's port meanwhile.
fn run(
    frame_size: FrameSize,
    schedule: Schedule,
    load: Nanos,
    meddle: impl FnOnce(SocketAddr),
) -> (DatagramsRecord, DatagramsRecord) {
    let receiver = Receiver::open(&receiver(frame_size), &Halt::new()).expect("bind receiver");
    let port = receiver.port();
    let sender =
        Sender::open(&sender(port, frame_size, schedule), &Halt::new()).expect("open sender");
    assert_eq!(sender.backend().0, "udp");
    let (window, halt) = (window(load), Halt::new());
    thread::scope(|scope| {
        let received = scope.spawn(|| receiver.run(window, &halt).expect("receive"));
        let sent = scope.spawn(|| sender.run(window, &halt).expect("send"));
        meddle(SocketAddr::new(LOCAL, port));
        (sent.join().expect("sender"), received.join().expect("receiver"))
    })
}

#[track_caller]
fn check_greedy(octets: u32) {
    let (sent, got) = run(size(octets), Schedule::Greedy, Nanos::from_millis(150), |_| {});
    eprintln!(
        "greedy {octets}: sent {} offered {} in {}; unique {} drops {}",
        sent.sent, sent.offered, sent.sending, got.received.unique, got.socket_drops
    );
    assert!(sent.sent > 0 && sent.offered >= sent.sent);
    assert_eq!(sent.sent, got.received.unique + got.socket_drops, "every frame is accounted for");
    assert_eq!(got.received.duplicated + got.received.reordered + got.received.beyond_limit, 0);
    assert_eq!(sent.departures.count(), sent.sent - 1);
    assert_eq!(got.arrivals.count(), got.received.unique - 1);
    assert_eq!((got.rejected.malformed, got.rejected.foreign), (0, 0));
    assert_eq!(sent.longest_burst, 0);
}

#[test]
fn greedy_frames_are_all_accounted_for() {
    for octets in [64, 1518, 9018] {
        check_greedy(octets);
    }
}

#[test]
fn a_paced_load_is_exactly_its_count() {
    let (sent, got) = run(size(64), every(1e5), Nanos::from_millis(400), |_| {});
    assert_eq!(sent.offered, 4_000);
    assert!(sent.longest_burst <= 32);
    // A machine that is busy elsewhere may leave frames behind, but never miscounts them.
    assert!(sent.sent <= sent.offered);
    assert_eq!(sent.sent, got.received.unique + got.socket_drops);
    eprintln!(
        "paced: sent {} of {}, longest burst {}, median gap {}, arrivals' {}",
        sent.sent,
        sent.offered,
        sent.longest_burst,
        sent.departures.quantile(0.5),
        got.arrivals.quantile(0.5)
    );
}

fn payload(probe: Probe, octets: usize) -> Vec<u8> {
    let mut payload = vec![0; octets.max(Probe::LEN)];
    probe.emit(&mut payload);
    payload.truncate(octets);
    payload
}

#[test]
fn strangers_change_no_count_and_are_counted() {
    let probe = Probe { token: IDENTITY.token, flow: IDENTITY.flow, sequence: 5, time_ns: 0 };
    let whole = size(128).udp_payload_v4() as usize;
    let (sent, got) = run(size(128), every(1e6), Nanos::from_millis(300), |port| {
        let ours = UdpSocket::bind((LOCAL, 0)).expect("bind");
        let other = UdpSocket::bind("127.0.0.2:0").expect("bind");
        // After the load began, so that a replayed number is a duplicate and no first arrival.
        thread::sleep(Duration::from_millis(150));
        let send = |payload: &[u8]| ours.send_to(payload, port).map(drop).expect("send");
        send(&[]);
        send(&payload(probe, 17));
        send(&payload(probe, whole - 1));
        send(&payload(probe, whole + 1));
        send(&payload(probe, 9_000));
        send(&payload(Probe { token: 1, ..probe }, whole));
        send(&payload(Probe { flow: 8, ..probe }, whole));
        other.send_to(&payload(probe, whole), port).expect("send");
        send(&payload(probe, whole));
        send(&payload(probe, whole));
        send(&payload(Probe { sequence: 1_000_000, ..probe }, whole));
    });
    assert_eq!(sent.offered, 300);
    assert_eq!(got.received.unique, sent.sent);
    assert_eq!(got.received.duplicated, 2);
    assert_eq!(got.received.beyond_limit, 1);
    assert_eq!(got.rejected.malformed, 5);
    assert_eq!(got.rejected.foreign, 3);
    assert_eq!(got.socket_drops, 0);
}

#[test]
fn a_halt_ends_both_sides_early() {
    let frame_size = size(64);
    let receiver = Receiver::open(&receiver(frame_size), &Halt::new()).expect("bind receiver");
    let schedule = every(2e9);
    let sender = Sender::open(&sender(receiver.port(), frame_size, schedule), &Halt::new())
        .expect("open sender");
    let (window, halt) = (window(Nanos::from_secs(600)), Halt::new());
    thread::scope(|scope| {
        let received = scope.spawn(|| receiver.run(window, &halt).expect("receive"));
        let sent = scope.spawn(|| sender.run(window, &halt).expect("send"));
        thread::sleep(Duration::from_millis(60));
        halt.ask();
        // The test would hang here if a side overslept. Only the first was due by then, or nothing
        // where a busy machine starts the sender's thread after the halt.
        let sent = sent.join().expect("sender").sent;
        assert!(sent <= 1, "{sent}");
        assert_eq!(received.join().expect("receiver").received.unique, sent);
    });
}

#[test]
fn queued_frames_are_counted_though_the_window_is_over() {
    let receiver = Receiver::open(&receiver(size(64)), &Halt::new()).expect("bind receiver");
    let schedule = every(1e4);
    let sender = Sender::open(&sender(receiver.port(), size(64), schedule), &Halt::new())
        .expect("open sender");
    let past = clock::monotonic();
    let window = Window { start: past, stop: past + Nanos::from_millis(5), closed: past };
    let sent = sender.run(window, &Halt::new()).expect("send");
    let got = receiver.run(window, &Halt::new()).expect("receive");
    assert_eq!(got.received.unique, sent.sent);
    assert!(sent.sent > 0);
}

#[test]
fn what_cannot_be_sent_is_unsuitable() {
    let v6 = |octets| End {
        local: "::1".parse().expect("an address"),
        remote: "[::1]:9".parse().expect("an address"),
        ..sender(9, size(octets), Schedule::Greedy)
    };
    let endless = changed(64, |flow| flow.limit = u64::MAX);
    let standing = sender(9, size(64), every(0.0));
    let tagged = changed(64, |flow| flow.asked.headers.vlan = Some(trial::VlanId::known(7)));
    let mut both = v6(84);
    both.flow.asked.headers.vlan = Some(trial::VlanId::known(7));
    let mixed = End { local: LOCAL, ..v6(84) };
    let nowhere = changed(64, |flow| flow.asked.headers.spread.source_ports = 0);
    for (spec, expect) in [
        (v6(64), "a probe needs 84 (ethernet 14 + ipv6 40 + udp 8 + probe 18 + fcs 4)"),
        (tagged, "needs 68 (ethernet 14 + 802.1q tag 4 + ipv4 20"),
        (both, "a probe needs 88"),
        (mixed, "versions differ"),
        (nowhere, "no ports"),
        (endless, "at most"),
        (standing, "every 0 ns"),
    ] {
        match Sender::open(&spec, &Halt::new()) {
            Err(FlowError::Unsuitable(text)) => assert!(text.contains(expect), "{text}"),
            other => panic!("{other:?} instead of unsuitable ({expect})"),
        }
    }
}

#[test]
fn automatic_choice_over_loopback_is_udp_and_says_why() {
    let spec = changed(64, |flow| flow.asked.backend = Backend::Auto);
    let (name, reason) = Sender::open(&spec, &Halt::new()).expect("open sender").backend();
    assert_eq!(name, "udp");
    assert!(reason.contains("lo") && reason.contains("Ethernet"), "{reason}");
}
