//! What every receiver makes of the same datagrams: some of the flow, out of order and twice, and
//! some that are nobody's. Sent by plain sockets, so that nothing of ours is on the sending side.

use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use crate::datagram_ends::{self, End, Flow, IDENTITY, lab, receiver_spec};
use dataplane::datagram::Receiver;
use dataplane::{Halt, Side, Window, clock};
use lab::{Lab, LabDevice, LabSpec};
use measure::{FrameMix, Nanos};
use trial::record::DatagramsRecord;
use trial::{Backend, Reception};
use wire::Probe;

const RECEIVERS: [Reception; 4] =
    [Reception::Udp, Reception::Packet, Reception::AfXdp, Reception::Xdp];

const LIMIT: u64 = 1_000;

fn payload(probe: Probe, octets: usize) -> Vec<u8> {
    let mut payload = vec![0; octets.max(Probe::LEN)];
    probe.emit(&mut payload);
    payload.truncate(octets);
    payload
}

/// Has a receiver count what `h1` sends to it, from the address that it expects frames from.
fn receive(
    lab: &Lab,
    flow: &Flow,
    send: impl FnOnce(&dyn Fn(&[u8]), &End<'_>, u16),
) -> DatagramsRecord {
    let (from, to) = (End::of(lab, "h1", flow.ipv6), End::of(lab, "h2", flow.ipv6));
    let mut spec = receiver_spec(&to, from.address, flow);
    spec.flow.limit = LIMIT;
    let receiver = to.inside(|| Receiver::open(&spec, &Halt::new())).expect("bind receiver");
    let port = receiver.port();
    let socket = from.inside(|| UdpSocket::bind((from.address, 0))).expect("bind");
    socket.connect((to.address, port)).expect("connect");
    let start = clock::monotonic();
    let stop = start + Nanos::from_millis(150);
    let window = Window { start, stop, closed: stop + Nanos::from_millis(100) };
    thread::scope(|scope| {
        let halt = Halt::new();
        let received = scope.spawn(move || receiver.run(window, &halt).expect("receive"));
        thread::sleep(Duration::from_millis(50));
        let by_socket = |payload: &[u8]| {
            socket.send(payload).expect("send");
        };
        send(&by_socket, &from, port);
        received.join().expect("receiver")
    })
}

fn check(lab: &Lab, receiver: Reception, ipv6: bool) {
    let mix = FrameMix::new(vec![datagram_ends::size(128), datagram_ends::size(256)]);
    let frames = mix.expect("a mix");
    let flow = Flow { ipv6, frames, ..Flow::of(128, Backend::Auto, receiver) };
    let headers = 46 + if ipv6 { 20 } else { 0 };
    let of = |sequence: u32| Probe {
        token: IDENTITY.token,
        flow: IDENTITY.flow,
        sequence,
        time_ns: clock::monotonic().0,
    };
    let whole =
        |sequence: u32| if sequence.is_multiple_of(2) { 128 - headers } else { 256 - headers };
    let got = receive(lab, &flow, |send, _, _| {
        for sequence in [0, 1, 3, 2, 2, 7, 1] {
            send(&payload(of(sequence), whole(sequence)));
        }
        send(&payload(of(LIMIT as u32), whole(0)));
        // Learning frames are as long as they like.
        send(&payload(of(u32::MAX - 1), Probe::LEN));
        send(&payload(of(u32::MAX - 1), whole(0)));
        // Malformed: no probe, another length, the length of another number.
        send(&[]);
        send(&payload(of(4), Probe::LEN - 1));
        send(&payload(of(4), whole(4) - 1));
        send(&payload(of(4), whole(4) + 1));
        send(&payload(of(4), whole(5)));
        // Foreign: another trial, another flow.
        send(&payload(Probe { token: 1, ..of(4) }, whole(4)));
        send(&payload(Probe { flow: 8, ..of(4) }, whole(4)));
    });
    let counts = got.received;
    let what = format!("{receiver:?}, ipv6 {ipv6}: {counts:?} {:?}", got.rejected);
    assert_eq!(counts.unique, 5, "{what}");
    assert_eq!((counts.duplicated, counts.reordered, counts.beyond_limit), (2, 1, 1), "{what}");
    assert_eq!((counts.highest, counts.last_missing), (Some(7), Some(6)), "{what}");
    assert_eq!((got.rejected.malformed, got.rejected.foreign), (5, 2), "{what}");
    assert_eq!(got.arrivals.count(), 6, "between seven arrivals, duplicates among them: {what}");
    assert_eq!(got.receiver, receiver.as_str());
    // Sent and received on one clock, on one machine: some microseconds, and never a second.
    let delays = got.delays.expect("one clock").histogram;
    assert!(delays.max() < Nanos::from_millis(500) && delays.count() > 0, "{delays:?}");
}

#[test]
fn every_receiver_counts_the_same() {
    let Some((_alone, lab)) = lab(&LabSpec::new(LabDevice::Cable)) else { return };
    for receiver in RECEIVERS {
        for ipv6 in [false, true] {
            check(&lab, receiver, ipv6);
        }
    }
}

#[test]
fn a_stranger_at_another_address_is_foreign() {
    let Some((_alone, lab)) = lab(&LabSpec::new(LabDevice::Cable)) else { return };
    for receiver in RECEIVERS {
        let flow = Flow::of(64, Backend::Auto, receiver);
        let probe = Probe { token: IDENTITY.token, flow: IDENTITY.flow, sequence: 3, time_ns: 0 };
        let got = receive(&lab, &flow, |_, from, port| {
            let ip = lab.plan().host("h1").expect("a host").ports[0].address;
            let other = std::net::Ipv4Addr::from(ip.to_bits() + 100);
            let index = lab
                .netlink("h1", netlink::Netlink::links)
                .expect("list links")
                .into_iter()
                .find(|link| link.name == from.interface)
                .expect("a link")
                .index;
            // A second one of the same test would be refused; it is there already then.
            let _ = lab.netlink("h1", |netlink| netlink.add_address(index, other.into(), 24));
            let socket = from.inside(|| UdpSocket::bind((other, 0))).expect("bind");
            let to = End::of(&lab, "h2", false).address;
            socket.send_to(&payload(probe, 18), (to, port)).expect("send");
        });
        assert_eq!(got.received.unique, 0, "{receiver:?}: {:?}", got.rejected);
        assert_eq!(
            (got.rejected.malformed, got.rejected.foreign),
            (0, 1),
            "{receiver:?}: {:?}",
            got.rejected
        );
    }
}

#[test]
fn a_flows_ports_refuse_nobody_aloud() {
    let Some((_alone, lab)) = lab(&LabSpec::new(LabDevice::Cable)) else { return };
    let spread =
        dataplane::datagram::Spread { destination_ports: 3, ..dataplane::datagram::Spread::NONE };
    for receiver in [Reception::Packet, Reception::AfXdp, Reception::Xdp] {
        let flow = Flow { spread, ..Flow::of(64, Backend::Auto, receiver) };
        let probe = |sequence| Probe {
            token: IDENTITY.token,
            flow: IDENTITY.flow,
            sequence,
            time_ns: clock::monotonic().0,
        };
        let got = receive(&lab, &flow, |_, from, port| {
            let to = End::of(&lab, "h2", false).address;
            for sequence in 0..6_u16 {
                let socket = from.inside(|| UdpSocket::bind((from.address, 0))).expect("bind");
                socket.connect((to, port + sequence % 3)).expect("connect");
                socket.send(&payload(probe(sequence.into()), 18)).expect("send");
                thread::sleep(Duration::from_millis(5));
                // A refusal by the receiving kernel would show as an error of the next call.
                socket.send(&payload(Probe { token: 9, ..probe(0) }, 18)).expect("no refusal");
                thread::sleep(Duration::from_millis(2));
                assert!(socket.take_error().expect("ask").is_none(), "{receiver:?}: refused aloud");
            }
        });
        assert_eq!(got.received.unique, 6, "{receiver:?}: {:?}", got.rejected);
        assert_eq!(got.rejected.foreign, 6, "{receiver:?}: {:?}", got.rejected);
    }
}
