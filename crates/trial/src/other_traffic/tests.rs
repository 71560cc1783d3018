//! Other people's frames as tables: what ports counted, and who is held to have sent it.

use measure::reading::{Rejected, Stamp, Stamps};
use measure::sequence::SequenceCounts;
use measure::{ByteCount, FrameSize, Histogram, Nanos};

use super::*;
use crate::record::{BulkRecord, DatagramsRecord, Defect, EchoRecord};
use crate::{Backend, Bulk, Datagrams, Echo, Gate, Schedule};
use crate::{Outcome, judge};

fn flow(id: u16, (from, to): (&str, &str), kind: FlowKind) -> Flow {
    let port = |text: &str| text.parse().expect("a port");
    Flow { id, from: port(from), to: port(to), role: Role::Measured, kind }
}

fn size(octets: u32) -> FrameSize {
    FrameSize::new(octets).expect("legal")
}

fn datagrams(octets: u32, schedule: Schedule) -> FlowKind {
    FlowKind::Datagrams(Datagrams::plain(size(octets), schedule, Backend::Udp, 1_000))
}

/// So many of so many frames came in the time of `trial()`.
fn frames(sent: u64, came: u64) -> FlowRecord {
    FlowRecord::Datagrams(DatagramsRecord {
        backend: "udp".to_owned(),
        backend_reason: "asked for".to_owned(),
        receiver: "udp".to_owned(),
        receiver_reason: "asked for".to_owned(),
        delays: None,
        offered: sent,
        sent,
        received: SequenceCounts { unique: came, ..SequenceCounts::default() },
        at_device: None,
        conversations: Vec::new(),
        ends: None,
        rejected: Rejected::default(),
        sending: Nanos::from_millis(200),
        receiving: Nanos::from_millis(200),
        quiet: None,
        departures: Histogram::growing(),
        arrivals: Histogram::growing(),
        longest_burst: 1,
        late: 0,
        overran: Nanos::ZERO,
        socket_drops: 0,
    })
}

fn echo(protocol: Protocol) -> FlowKind {
    FlowKind::Echo(Echo {
        protocol,
        frame_size: size(64),
        schedule: Schedule::Greedy,
        messages: None,
    })
}

fn answers(sent: u64) -> FlowRecord {
    FlowRecord::Echo(EchoRecord {
        frame_size: size(64),
        sent,
        answers: SequenceCounts { unique: sent, ..SequenceCounts::default() },
        rtt: Histogram::growing(),
        ipdv_up: Histogram::growing(),
        ipdv_down: Histogram::growing(),
        effective_samples: sent as f64,
        stamps: Stamps { sent: Stamp::User, received: Stamp::User },
        rejected: Rejected::default(),
        elapsed: Nanos::from_millis(200),
        segment: None,
        seen_from: None,
        remapped: 0,
    })
}

fn bulk() -> (FlowKind, FlowRecord) {
    let congestion_control = "cubic".to_owned();
    let asked = Bulk { streams: 1, congestion_control, interval: Nanos::from_millis(100) };
    let seen = BulkRecord {
        congestion_control: "cubic".to_owned(),
        segment: None,
        received: ByteCount(1_448_000),
        elapsed: Nanos::from_millis(200),
        streams: Vec::new(),
        far_end: None,
    };
    (FlowKind::Bulk(asked), FlowRecord::Bulk(seen))
}

/// 200 ms, and 100 ms for what is late.
fn trial(flows: Vec<Flow>, gate: Gate) -> Trial {
    Trial::quick("a trial", flows, Nanos::from_millis(200), gate)
}

/// A port's frames and octets in and out, and others of its counters.
fn port(place: &str, [rx, tx]: [(u64, u64); 2], more: &[(&str, u64)]) -> PortCounters {
    let own = [(RX_PACKETS, rx.0), (RX_BYTES, rx.1), (TX_PACKETS, tx.0), (TX_BYTES, tx.1)];
    let all = own.iter().chain(more);
    let counters = all.map(|(name, by)| ((*name).to_owned(), *by)).collect();
    PortCounters { place: place.to_owned(), side: Side::Tester, cable: None, counters }
}

/// So many frames of that size, FCS included, with their octets as the kernel counts them.
fn of(frames: u64, octets: u64) -> (u64, u64) {
    (frames, frames * (octets - 4))
}

fn and((a, b): (u64, u64), (c, d): (u64, u64)) -> (u64, u64) {
    (a + c, b + d)
}

const NONE: (u64, u64) = (0, 0);
const WAY: (&str, &str) = ("a/eth1", "b/eth1");

/// A third host sends 0.5 to 0.6 k frames/s of 1 kB to b. Seen: a search's probe of 512 octets
/// received 1,120 frames while b/eth1 counted 1,219; at 2,350 frames/s it received 469 and b/eth1
/// counted 675.
#[test]
fn a_third_hosts_frames_are_told_from_the_trials() {
    let table = [
        (Schedule::Greedy, frames(90_000, 1_120), and(of(1_120, 512), of(99, 1_018)), true),
        (Schedule::Greedy, frames(90_000, 1_120), of(1_120, 512), false),
        (Schedule::Greedy, frames(469, 469), and(of(469, 512), of(206, 1_018)), true),
        // ARP, neighbour discovery, spanning tree: what any port hears.
        (Schedule::Greedy, frames(469, 469), and(of(469, 512), of(12, 90)), false),
        // One frame in a hundred, each as long as sixteen of the trial's.
        (Schedule::Greedy, frames(8_000, 8_000), and(of(8_000, 64), of(80, 1_018)), true),
        (Schedule::Greedy, frames(8_000, 8_000), and(of(8_000, 64), of(80, 64)), false),
        // Frames that the port took in and the socket did not: the tester's loss, not other
        // people's.
        (Schedule::Greedy, frames(9_000, 8_000), of(8_000, 64), false),
    ];
    for (schedule, seen, received, expected) in table {
        let octets = if received.0 < 8_000 { 512 } else { 64 };
        let trial = trial(vec![flow(1, WAY, datagrams(octets, schedule))], Gate::Flood);
        let FlowRecord::Datagrams(record) = &seen else { panic!("they are frames") };
        let sent = of(record.sent, octets.into());
        let ports = [port("a/eth1", [NONE, sent], &[]), port("b/eth1", [received, NONE], &[])];
        let found = other_traffic(&trial, std::slice::from_ref(&seen), &ports, &[]);
        let places: Vec<&str> = found.iter().map(|others| others.place.as_str()).collect();
        assert_eq!(places, if expected { vec!["b/eth1"] } else { vec![] }, "{received:?}");
    }
}

/// As the hosts have them, offloads put several segments into what a sender counts as one frame,
/// and a device's limiter takes them apart.
#[test]
fn segments_that_were_cut_up_on_the_way_are_the_trials_own() {
    let (kind, seen) = bulk();
    let large = (800, 600 * (1_448 + 66) + 200 * (2 * 1_448 + 66));
    let small = (1_000, 1_000 * (1_448 + 66));
    let table = [
        (Offloads::AsFound, small, false),
        (Offloads::Off, small, true),
        (Offloads::AsFound, and(small, of(100, 1_018)), true),
        (Offloads::AsFound, large, false),
    ];
    for (offloads, received, expected) in table {
        let trial = Trial { offloads, ..trial(vec![flow(1, WAY, kind.clone())], Gate::Uneven) };
        let acks = of(400, 70);
        let ports = [port("a/eth1", [acks, large], &[]), port("b/eth1", [received, acks], &[])];
        let found = other_traffic(&trial, std::slice::from_ref(&seen), &ports, &[]);
        let places: Vec<&str> = found.iter().map(|others| others.place.as_str()).collect();
        let expected = if expected { vec!["b/eth1"] } else { Vec::new() };
        assert_eq!(places, expected, "{offloads:?} {received:?}");
    }
}

/// A device that forwards 2,000 frames/s still brings what 500 stations said at 4,000 while they
/// are spoken to; more than they said is other people's.
#[test]
fn what_stations_said_is_the_trials_own() {
    let FlowKind::Datagrams(mut asked) = datagrams(64, Schedule::Paced(FrameRate(5_000.0))) else {
        panic!("they are frames")
    };
    asked.destination = Destination::Stations { count: 500, learn_rate: 4_000, rounds: 3 };
    let trial = trial(vec![flow(1, WAY, FlowKind::Datagrams(asked))], Gate::Strict);
    for (came, expected) in [(750, vec![]), (1_500, vec![]), (1_600, vec!["a/eth1"])] {
        let ports = [
            port("a/eth1", [of(came, 64), of(1_000, 64)], &[]),
            port("b/eth1", [of(1_000, 64), NONE], &[]),
        ];
        let found = other_traffic(&trial, &[frames(1_000, 1_000)], &ports, &[]);
        let places: Vec<&str> = found.iter().map(|others| others.place.as_str()).collect();
        assert_eq!(places, expected, "{came}");
    }
}

#[test]
fn a_strict_trial_with_others_frames_is_invalid_and_a_flood_is_not() {
    let flows = [frames(469, 469)];
    let ports = [
        port("a/eth1", [NONE, of(469, 512)], &[]),
        port("b/eth1", [and(of(469, 512), of(206, 1_018)), NONE], &[]),
    ];
    for gate in [Gate::Strict, Gate::Uneven, Gate::Flood] {
        let kind = datagrams(512, Schedule::Burst(469));
        let outcome = judge(&trial(vec![flow(1, WAY, kind)], gate), &flows, &ports, &[]);
        match (gate, outcome) {
            (Gate::Strict, Outcome::Invalid { reasons }) => {
                let [Defect::OtherTraffic { place, rate }] = &reasons[..] else {
                    panic!("{reasons:?}")
                };
                assert_eq!(place, "b/eth1");
                assert!((rate - 206.0 / 0.3).abs() < 1.0, "{rate}");
            }
            (Gate::Uneven | Gate::Flood, Outcome::Valid) => {}
            (gate, outcome) => panic!("{gate:?}: {outcome:?}"),
        }
    }
}

/// Both ends answer each other frame by frame; what a host says to a third one is other traffic
/// too.
#[test]
fn round_trips_are_counted_both_ways() {
    let own = of(3_000, 64);
    let others = of(150, 1_018);
    for protocol in [Protocol::Icmp, Protocol::Udp, Protocol::Tcp] {
        let trial = trial(vec![flow(1, WAY, echo(protocol))], Gate::Strict);
        let at = |a: [(u64, u64); 2], b: [(u64, u64); 2]| {
            let ports = [port("a/eth1", a, &[]), port("b/eth1", b, &[])];
            let found = other_traffic(&trial, &[answers(3_000)], &ports, &[]);
            found.into_iter().map(|others| others.place).collect::<Vec<_>>()
        };
        assert_eq!(at([own, own], [own, own]), [""; 0], "{protocol:?}");
        assert_eq!(at([own, own], [and(own, others), own]), ["b/eth1"], "{protocol:?}");
        assert_eq!(at([and(own, others), own], [own, own]), ["a/eth1"], "{protocol:?}");
        let said: &[&str] = if protocol == Protocol::Tcp { &[] } else { &["a/eth1"] };
        assert_eq!(at([own, and(own, others)], [own, own]), said, "{protocol:?}: to a third");
    }
}

/// Segments and acknowledgements are no more than the other end's port sent, whatever was lost.
#[test]
fn tcp_is_bounded_by_what_the_other_end_sent() {
    let (kind, seen) = bulk();
    let beside = flow(2, WAY, echo(Protocol::Udp));
    let trial = trial(vec![flow(1, WAY, kind), beside], Gate::Uneven);
    let (segments, acks, probes) = (of(1_000, 1_518), of(500, 70), of(200, 64));
    let at = |received: (u64, u64), sent: (u64, u64)| {
        let back = and(acks, probes);
        let ports = [port("a/eth1", [back, sent], &[]), port("b/eth1", [received, back], &[])];
        other_traffic(&trial, &[seen.clone(), answers(200)], &ports, &[]).len()
    };
    let sent = and(segments, probes);
    assert_eq!(at(sent, sent), 0);
    assert_eq!(at(and(of(900, 1_518), probes), sent), 0, "a tenth was lost");
    assert_eq!(at(and(sent, of(170, 1_018)), sent), 1);
    assert_eq!(at(sent, (40, 1_514_000)), 0, "a card cut 25 segments out of each");
    assert_eq!(at(sent, (0, 0)), 0, "a counter that does not see what leaves");
}

#[test]
fn what_another_flow_floods_or_sends_to_everybody_is_the_trials() {
    let kind = || datagrams(64, Schedule::Burst(5_000));
    let ways = [WAY, ("c/eth1", "d/eth1")];
    let flows: Vec<Flow> = (1..).zip(ways).map(|(id, way)| flow(id, way, kind())).collect();
    let seen = [frames(5_000, 5_000), frames(5_000, 5_000)];
    let own = of(5_000, 64);
    let at = |trial: &Trial, extra: u64, more: &[(&str, u64)]| {
        let ports = [
            port("a/eth1", [NONE, own], more),
            port("b/eth1", [and(own, of(extra, 64)), NONE], more),
            port("c/eth1", [NONE, own], more),
            port("d/eth1", [own, NONE], more),
        ];
        other_traffic(trial, &seen, &ports, &[]).len()
    };
    let plain = trial(flows.clone(), Gate::Flood);
    assert_eq!(at(&plain, 4_000, &[(RX_OTHERHOST, 4_000)]), 0, "flooded to b");
    assert_eq!(at(&plain, 4_000, &[(RX_OTHERHOST, 0)]), 1);
    assert_eq!(at(&plain, 4_000, &[]), 0, "an older kernel does not tell which were for others");
    let mut flows = flows;
    if let FlowKind::Datagrams(datagrams) = &mut flows[1].kind {
        datagrams.destination = Destination::Broadcast;
    }
    assert_eq!(at(&trial(flows, Gate::Flood), 5_000, &[(RX_OTHERHOST, 0)]), 0, "broadcast");
}
