//! Every validity gate, and the books of lost frames, as tables: counts in, outcome out.
//!
//! Owns no scenario: each row is a record written by hand, a second of frames with one thing
//! changed. Never runs a study.

use std::collections::BTreeMap;
use std::slice;

use measure::reading::{Rejected, Stamp, Stamps};
use measure::sequence::SequenceCounts;
use measure::{ByteCount, FrameRate, FrameSize, Histogram, Nanos};
use scripted::one_way;
use trial::books::{self, Place};
use trial::record::{
    BulkRecord, DatagramsRecord, Defect, DeviceCount, EchoRecord, ExchangeRecord, FlowRecord,
    HostUsage, PortCounters, ReceiptRecord, Side, Usage,
};
use trial::{
    Backend, Bulk, Carrier, Datagrams, Deed, Echo, Event, Exchange, Flow, FlowKind, Gate, Path,
    Protocol, Role, Schedule,
};
use trial::{Outcome, Trial, TrialRecord, judge};

const RATE: f64 = 10_000.0;

fn trial(kind: FlowKind, gate: Gate) -> Trial {
    let port = |text: &str| text.parse().expect("a port");
    let flow =
        Flow { id: 1, from: port("h1/eth1"), to: port("h2/eth1"), role: Role::Measured, kind };
    Trial::quick("a trial", vec![flow], Nanos::from_secs(1), gate)
}

fn paced() -> FlowKind {
    FlowKind::Datagrams(Datagrams::plain(
        FrameSize::MIN,
        Schedule::Paced(FrameRate(RATE)),
        Backend::Udp,
        32,
    ))
}

#[test]
fn counts_of_devices() {
    let counted = |told: Option<u64>, others: u64| {
        let count = DeviceCount { port: "sw1/2".to_owned(), frames: told, others };
        let received =
            SequenceCounts { unique: count.max_departed(10_000), ..SequenceCounts::default() };
        DatagramsRecord {
            received,
            receiving: Nanos::ZERO,
            at_device: Some(Box::new(count)),
            ..frames()
        }
    };
    let place = || "sw1/2".to_owned();
    check(case("frame for frame", counted(Some(10_000), 0)));
    check(case("a device's loss", counted(Some(9_000), 0)));
    check(case("a few of others", counted(Some(10_008), 0)));
    check(case("others, as many as at rest", counted(Some(10_030), 30)));
    let both = |defect: Defect| (vec![defect.clone()], vec![defect]);
    let (strict, flood) = both(Defect::Uncounted { flow: 1, place: place() });
    check(Case { strict, flood, ..case("no count", counted(None, 0)) });
    let (counted_there, sent) = (10_031, 10_000);
    let defect = Defect::Overcounted { flow: 1, place: place(), counted: counted_there, sent };
    let (strict, flood) = both(defect);
    check(Case { strict, flood, ..case("more than others", counted(Some(10_031), 30)) });
    let nothing = vec![Defect::NothingReceived { flow: 1 }];
    let (strict, flood) = (nothing.clone(), nothing);
    check(Case { strict, flood, ..case("nothing left", counted(Some(0), 0)) });
}

/// A second of 10,000 frames of which all came.
fn frames() -> DatagramsRecord {
    one_way(Nanos(999_900_000), 10_000, 10_000)
}

/// The same, of which 100 did not come.
fn lossy() -> DatagramsRecord {
    let received = SequenceCounts { unique: 9_900, ..SequenceCounts::default() };
    DatagramsRecord { received, ..frames() }
}

fn port(place: &str, counters: &[(&str, u64)]) -> PortCounters {
    let side = if place.starts_with("sw") { Side::Device } else { Side::Tester };
    let counters = counters.iter().map(|(name, by)| ((*name).to_owned(), *by)).collect();
    PortCounters { place: place.to_owned(), side, cable: None, counters }
}

fn host(name: &str, counters: &[(&str, u64)]) -> HostUsage {
    let counters = counters.iter().map(|(name, by)| ((*name).to_owned(), *by)).collect();
    HostUsage {
        host: name.to_owned(),
        usage: Usage { busy: 0.5, softirq: 0.1, stolen: 0.0, foreign: 0.0, counters },
    }
}

fn counter(place: &str, counter: &str, by: u64) -> Defect {
    Defect::TesterCounter { place: place.to_owned(), counter: counter.to_owned(), by }
}

/// One row: what was counted, and the defects under the strict gate and under flood.
struct Case {
    name: &'static str,
    seen: DatagramsRecord,
    ports: Vec<PortCounters>,
    hosts: Vec<HostUsage>,
    strict: Vec<Defect>,
    flood: Vec<Defect>,
}

fn case(name: &'static str, seen: DatagramsRecord) -> Case {
    let (ports, hosts, strict, flood) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    Case { name, seen, ports, hosts, strict, flood }
}

fn check(case: Case) {
    let expect = |defects: &[Defect]| match defects {
        [] => Outcome::Valid,
        some => Outcome::Invalid { reasons: some.to_vec() },
    };
    let flows = [FlowRecord::Datagrams(case.seen)];
    for (gate, defects) in [(Gate::Strict, &case.strict), (Gate::Flood, &case.flood)] {
        let outcome = judge(&trial(paced(), gate), &flows, &case.ports, &case.hosts);
        assert_eq!(outcome, expect(defects), "{} under {gate:?}", case.name);
    }
    // Where senders may be held up, frames may be late and hosts busy: all else is as strict.
    let forgiven = |defect: &&Defect| {
        let busy = matches!(defect, Defect::ForeignLoad { .. });
        busy || matches!(defect, Defect::Late { .. } | Defect::Burst { .. })
    };
    let mut left: Vec<Defect> = case.strict.iter().filter(|d| !forgiven(d)).cloned().collect();
    let mut asked = trial(paced(), Gate::Uneven);
    asked.flows[0].role = Role::Load;
    let outcome = judge(&asked, &flows, &case.ports, &case.hosts);
    assert_eq!(outcome, expect(&left), "{} as an uneven load", case.name);
    // What a measured flow sent is in its record.
    left.retain(|defect| !matches!(defect, Defect::OfferedLoad { .. }));
    asked.flows[0].role = Role::Measured;
    let outcome = judge(&asked, &flows, &case.ports, &case.hosts);
    assert_eq!(outcome, expect(&left), "{} as an uneven sender", case.name);
}

#[test]
fn loads_and_arrivals() {
    let offered = |sent| vec![Defect::OfferedLoad { flow: 1, asked: RATE, sent }];
    let nothing = vec![Defect::NothingReceived { flow: 1 }];
    check(case("all well", frames()));
    check(case("a device's loss is no defect", lossy()));
    check(case("nine frames are less than 0.1 %", DatagramsRecord { sent: 9_991, ..frames() }));
    check(Case {
        strict: offered(9_799.0 / 0.9999),
        ..case("the kernel refused frames", DatagramsRecord { sent: 9_800, ..frames() })
    });
    let slow = DatagramsRecord { sending: Nanos(1_999_800_000), ..frames() };
    check(Case { strict: offered(5_000.0), ..case("half the rate", slow) });
    let late = DatagramsRecord { sending: Nanos(1_000_890_000), ..frames() };
    check(case("the last frame was woken up 0.99 ms late", late));
    let later = DatagramsRecord { sending: Nanos(1_003_000_000), ..frames() };
    let strict = offered(9_999.0 / 1.003);
    check(Case { strict, ..case("0.3 % slow", later) });
    let hasty = |late| DatagramsRecord { sending: Nanos(990_000_000), late, ..frames() };
    check(Case { strict: offered(9_999.0 / 0.99), ..case("1 % fast, and none late", hasty(0)) });
    check(case("1 % fast, begun late, and all came", hasty(100)));
    let received = SequenceCounts { unique: 9_000, ..SequenceCounts::default() };
    let hasty_and_lossy = DatagramsRecord { received, ..hasty(100) };
    check(Case {
        strict: offered(9_999.0 / 0.99),
        ..case("begun late, and many lost", hasty_and_lossy)
    });
    let burst = DatagramsRecord { longest_burst: 33, ..frames() };
    let strict = vec![Defect::Burst { flow: 1, longest: 33, limit: 32 }];
    check(Case { strict, ..case("a burst above the limit", burst) });
    let held_up = |late: u64, lost: u64| DatagramsRecord {
        late,
        received: SequenceCounts { unique: 10_000 - lost, ..frames().received },
        ..frames()
    };
    let strict = vec![Defect::Late { flow: 1, late: 24, lost: 24 }];
    check(Case { strict, ..case("no more lost than came late at once", held_up(24, 24)) });
    check(case("more lost than came late", held_up(24, 25)));
    check(case("one in a hundred late, and many lost", held_up(100, 3_000)));
    let strict = vec![Defect::Late { flow: 1, late: 101, lost: 3_000 }];
    check(Case {
        strict,
        ..case("more late: who knows how many the device lost", held_up(101, 3_000))
    });
    check(case("late, and nothing lost", held_up(24, 0)));
    let near = trial(paced(), Gate::Strict).phases.residual / 2;
    let held = |by: Nanos, seen: DatagramsRecord| DatagramsRecord { overran: by, ..seen };
    check(case("the last frame had as long again to come", held(near, lossy())));
    check(case("frames left after the close, and somebody counted them", held(near * 9, frames())));
    let by = near + Nanos(1);
    let strict = vec![Defect::Overrun { flow: 1, by, lost: 100 }];
    check(Case { strict, ..case("nobody counted the last frames", held(by, lossy())) });
    let silent = DatagramsRecord { received: SequenceCounts::default(), ..frames() };
    check(Case { strict: nothing.clone(), flood: nothing, ..case("nothing came", silent) });
}

#[test]
fn bursts_and_falls() {
    let burst = |frames| Schedule::Burst(frames);
    let fall = Schedule::Falling {
        from: FrameRate(RATE * 1.5),
        to: FrameRate(RATE / 2.0),
        after: Nanos::from_millis(500),
    };
    let short = |asked, sent| vec![Defect::BurstLength { flow: 1, asked, sent }];
    let early = DatagramsRecord {
        offered: 7_500,
        sent: 7_500,
        received: SequenceCounts { unique: 7_500, ..SequenceCounts::default() },
        sending: Nanos(499_900_000),
        ..frames()
    };
    let slow = DatagramsRecord { sending: Nanos(1_100_000_000), ..frames() };
    // A second of 15,000/s and then 5,000/s is 10,000 frames; a tenth more of the latter 500 more.
    let sent = 9_999.0 / 1.1;
    let slow_defect = Defect::OfferedLoad { flow: 1, asked: 10_500.0 / 1.1, sent };
    let stopped = Defect::OfferedLoad { flow: 1, asked: RATE / 2.0, sent: 7_499.0 / 0.4999 };
    let table = [
        (burst(10_000), frames(), vec![]),
        (burst(10_000), lossy(), vec![]),
        (burst(10_001), frames(), short(10_001, 10_000)),
        (burst(9_999), frames(), short(9_999, 10_000)),
        (fall, frames(), vec![]),
        (fall, lossy(), vec![]),
        (fall, early, vec![stopped]),
        (fall, slow, vec![slow_defect]),
    ];
    for (schedule, seen, reasons) in table {
        let expected = match reasons[..] {
            [] => Outcome::Valid,
            _ => Outcome::Invalid { reasons },
        };
        let kind = Datagrams::plain(FrameSize::MIN, schedule, Backend::Udp, 32);
        let trial = trial(FlowKind::Datagrams(kind), Gate::Strict);
        let flows = [FlowRecord::Datagrams(seen)];
        assert_eq!(judge(&trial, &flows, &[], &[]), expected, "{schedule:?}");
    }
}

#[test]
fn a_reset_may_take_links_down() {
    let ports = vec![port("h2/eth1", &[("carrier_changes", 2)])];
    let mut trial = trial(paced(), Gate::Flood);
    let flows = [FlowRecord::Datagrams(lossy())];
    assert!(!judge(&trial, &flows, &ports, &[]).is_valid());
    trial.events.push(Event { at: Nanos::from_millis(100), deed: Deed::Reset });
    assert!(judge(&trial, &flows, &ports, &[]).is_valid());
}

#[test]
fn links() {
    let flap = |place: &str| vec![Defect::LinkFlap { place: place.to_owned() }];
    for (place, name) in [("h1/eth1", "carrier_changes"), ("sw1/1", "carrier_down_count")] {
        let ports = vec![port(place, &[(name, 2)])];
        let (strict, flood) = (flap(place), flap(place));
        check(Case { ports, strict, flood, ..case("a link flapped", frames()) });
    }
}

#[test]
fn counters_that_are_surely_the_testers() {
    for name in ["rx_missed_errors", "rx_no_buffer", "qdisc_drops", "rx_pause", "rx_pause_ctrl_phy"]
    {
        let ports = vec![port("h2/eth1", &[(name, 3), ("rx_packets", 10_000)])];
        let strict = vec![counter("h2/eth1", name, 3)];
        check(Case { ports, strict, ..case(name, frames()) });
        let ports = vec![port("sw1/1", &[(name, 3)])];
        check(Case { ports, ..case("the same on the device", frames()) });
    }
    let hosts = vec![host("h2", &[("udp_rcvbuf_errors", 4)])];
    let strict = vec![counter("h2", "udp_rcvbuf_errors", 4)];
    check(Case { hosts, strict, ..case("udp_rcvbuf_errors", frames()) });
    let strict = vec![counter("h2/eth1", "socket_drops", 5)];
    check(Case { strict, ..case("socket_drops", DatagramsRecord { socket_drops: 5, ..lossy() }) });
}

/// An exchange that PAUSE holds back is what the device does to exchanges, unless a host did it.
#[test]
fn exchanges_through_a_device_that_pauses() {
    let receipt = ReceiptRecord {
        messages: 10,
        octets: ByteCount(10_000),
        elapsed: Nanos::from_secs(1),
        rounds: Histogram::new(),
        intervals: vec![ByteCount(10_000)],
        ..ReceiptRecord::default()
    };
    let (forward, backward) = (receipt.clone(), receipt);
    let seen = [FlowRecord::Exchange(ExchangeRecord { forward, backward })];
    let carrier = Carrier::Tcp;
    let (message, interval) = (ByteCount(1_000), Nanos::from_secs(1));
    let asked = Exchange { message, carrier, interval, collective: None };
    for (path, gate, counter, valid) in [
        (Path::Device, Gate::Strict, "rx_pause", true),
        (Path::Device, Gate::Uneven, "rx_pause", true),
        (Path::Device, Gate::Strict, "tx_pause", false),
        (Path::Device, Gate::Strict, "rx_missed_errors", false),
        (Path::Bypass, Gate::Strict, "rx_pause", false),
    ] {
        let trial = Trial { path, ..trial(FlowKind::Exchange(asked.clone()), gate) };
        let ports = [port("h2/eth1", &[(counter, 3)])];
        let outcome = judge(&trial, &seen, &ports, &[]);
        assert_eq!(outcome.is_valid(), valid, "{path:?} {gate:?} {counter}: {outcome:?}");
    }
}

#[test]
fn an_emulator_that_fell_behind() {
    let at = "model/emulator";
    let told = |name, by| {
        let counters = [("emulator_delivered", 10_000), ("emulator_entered", 10_000), (name, by)];
        vec![port(at, &counters)]
    };
    let strict = |name, by| vec![counter(at, name, by)];
    let fine = [("emulator_late", 500), ("emulator_displaced", 100)];
    let broken = [
        ("emulator_late", 501),
        ("emulator_displaced", 101),
        ("emulator_overflow", 1),
        ("emulator_refused", 1),
    ];
    for (name, by) in fine {
        check(Case { ports: told(name, by), ..case(name, frames()) });
    }
    for (name, by) in broken {
        check(Case { ports: told(name, by), strict: strict(name, by), ..case(name, frames()) });
    }
    // Of 100 lost frames, 99 may have been lost because they were displaced; or all.
    let (ports, one_more) = (told("emulator_displaced", 99), told("emulator_displaced", 100));
    check(Case { ports, ..case("more lost than displaced", lossy()) });
    let strict = strict("emulator_displaced", 100);
    check(Case { ports: one_more, strict, ..case("no more lost than displaced", lossy()) });

    // What waits for answers sends late what was answered late, whatever the gate.
    let bulk = FlowRecord::Bulk(BulkRecord {
        congestion_control: "cubic".to_owned(),
        segment: None,
        received: ByteCount(1),
        elapsed: Nanos::from_secs(1),
        streams: Vec::new(),
        far_end: None,
    });
    let kind = Bulk { streams: 1, congestion_control: "cubic".to_owned(), interval: Nanos(1) };
    let trial = trial(FlowKind::Bulk(kind), Gate::Flood);
    let judged = |name, by| judge(&trial, slice::from_ref(&bulk), &told(name, by), &[]);
    for (name, by) in fine {
        assert!(judged(name, by).is_valid(), "{name}");
    }
    for (name, by) in broken {
        let reasons = vec![counter(at, name, by)];
        assert_eq!(judged(name, by), Outcome::Invalid { reasons });
    }
}

#[test]
fn others_on_the_testers_processors() {
    let busy = |busy, foreign, stolen| {
        let HostUsage { host, usage } = host("h1", &[]);
        vec![HostUsage { host, usage: Usage { busy, foreign, stolen, ..usage } }]
    };
    let strict = |share| vec![Defect::ForeignLoad { host: "h1".to_owned(), share }];
    let hosts = || busy(0.9, 0.4, 0.0);
    check(Case { hosts: hosts(), ..case("others were there, and nothing is missing", frames()) });
    check(Case { hosts: hosts(), strict: strict(0.4), ..case("something is missing", lossy()) });
    check(Case { hosts: busy(1.0, 0.09, 0.0), ..case("what any system does", lossy()) });
    check(Case { hosts: busy(0.5, 0.4, 0.0), ..case("there was room for all", lossy()) });
    let strict = strict(0.125);
    check(Case { hosts: busy(0.875, 0.0, 0.125), strict, ..case("the hypervisor's", lossy()) });
}

#[test]
fn counters_that_are_perhaps_the_testers() {
    let dropped = || vec![port("h2/eth1", &[("rx_dropped", 7)])];
    check(Case { ports: dropped(), ..case("spanning tree, and nothing missing", frames()) });
    let strict = vec![counter("h2/eth1", "rx_dropped", 7)];
    check(Case { ports: dropped(), strict, ..case("something is missing", lossy()) });

    let refused =
        vec![port("h1/eth1", &[("tx_dropped", 100)]), port("sw1/1", &[("rx_dropped", 60)])];
    let strict = vec![counter("h1/eth1", "tx_dropped", 40)];
    check(Case { ports: refused, strict, ..case("refused by the device's port", lossy()) });

    let softnet = || vec![host("h1", &[("softnet_dropped", 9)])];
    check(Case { hosts: softnet(), ..case("another's backlog", frames()) });
    let strict = vec![counter("h1", "softnet_dropped", 9)];
    check(Case { hosts: softnet(), strict, ..case("perhaps our backlog", lossy()) });
    let ports = vec![port("h2/eth1", &[("rx_dropped", 0)])];
    check(Case { ports, hosts: softnet(), ..case("not our ports' backlog", lossy()) });
}

#[test]
fn echoes() {
    let asked = |schedule| {
        FlowKind::Echo(Echo {
            protocol: Protocol::Udp,
            frame_size: FrameSize::MIN,
            schedule,
            messages: None,
        })
    };
    let record = |sent, unique| {
        FlowRecord::Echo(EchoRecord {
            frame_size: FrameSize::MIN,
            sent,
            answers: SequenceCounts { unique, ..SequenceCounts::default() },
            rtt: Histogram::new(),
            ipdv_up: Histogram::new(),
            ipdv_down: Histogram::new(),
            effective_samples: 1.0,
            stamps: Stamps { sent: Stamp::User, received: Stamp::Kernel },
            rejected: Rejected::default(),
            elapsed: Nanos::from_secs(1),
            segment: None,
            seen_from: None,
            remapped: 0,
        })
    };
    let open = Schedule::Paced(FrameRate(1_000.0));
    let short = Defect::OfferedLoad { flow: 1, asked: 1_000.0, sent: 900.0 };
    let table = [
        (Schedule::Greedy, record(17, 17), vec![]),
        (Schedule::Greedy, record(17, 16), vec![]),
        (Schedule::Greedy, record(17, 0), vec![Defect::NothingReceived { flow: 1 }]),
        (open, record(1_000, 1_000), vec![]),
        (open, record(1_001, 1_000), vec![]),
        (open, record(900, 900), vec![short]),
    ];
    for (schedule, seen, reasons) in table {
        let expected = match reasons[..] {
            [] => Outcome::Valid,
            _ => Outcome::Invalid { reasons },
        };
        let trial = trial(asked(schedule), Gate::Strict);
        assert_eq!(judge(&trial, &[seen], &[], &[]), expected, "{schedule:?}");
    }
}

#[test]
fn a_report_that_does_not_fit_is_a_failure() {
    let trial = trial(paced(), Gate::Strict);
    assert!(matches!(judge(&trial, &[], &[], &[]), Outcome::Failed { .. }));
    let bulk = FlowRecord::Bulk(BulkRecord {
        congestion_control: "cubic".to_owned(),
        segment: None,
        received: ByteCount(1),
        elapsed: Nanos::from_secs(1),
        streams: Vec::new(),
        far_end: None,
    });
    assert!(matches!(judge(&trial, &[bulk], &[], &[]), Outcome::Failed { .. }));
}

#[test]
fn every_lost_frame_is_put_down_to_somebody() {
    // Ports and the socket's own drops; then device, tester and what is left of 100 lost frames.
    type Row = (Vec<PortCounters>, u64, (u64, u64, i64));
    let table: Vec<Row> = vec![
        (vec![], 0, (0, 0, 100)),
        (vec![port("sw1/2", &[("qdisc_drops", 100)])], 0, (100, 0, 0)),
        (vec![port("sw1/2", &[("qdisc_drops", 70)])], 30, (70, 30, 0)),
        // Refused at the device's door: counted at both ends of the cable, put down once.
        (
            vec![port("h1/eth1", &[("tx_dropped", 100)]), port("sw1/1", &[("rx_dropped", 100)])],
            0,
            (100, 0, 0),
        ),
        // Refused at the receiving host's door.
        (
            vec![port("sw1/2", &[("tx_dropped", 90)]), port("h2/eth1", &[("rx_dropped", 90)])],
            0,
            (0, 90, 10),
        ),
        // On a cable, both ends are the tester's.
        (
            vec![port("h1/eth1", &[("tx_dropped", 100)]), port("h2/eth1", &[("rx_dropped", 100)])],
            0,
            (0, 100, 0),
        ),
        (vec![port("sw1/2", &[("qdisc_drops", 110)])], 0, (110, 0, -10)),
        (vec![port("h1/eth1", &[("qdisc_drops", 100)])], 0, (0, 100, 0)),
        // A port that spreads over two interfaces, and the bypass's port beside it.
        (
            vec![
                port("h1/a", &[("tx_dropped", 30)]),
                port("h1/b", &[("tx_dropped", 50)]),
                port("sw1/1", &[("rx_dropped", 40)]),
                port("h2/direct", &[("rx_dropped", 0)]),
            ],
            0,
            (40, 40, 20),
        ),
    ];
    for (ports, socket_drops, expected) in table {
        let seen = DatagramsRecord { socket_drops, ..lossy() };
        let record = TrialRecord {
            ordinal: 0,
            started_unix_ns: 0,
            outcome: Outcome::Valid,
            flows: vec![FlowRecord::Datagrams(seen)],
            ports: ports.clone(),
            hosts: vec![host("h2", &[("udp_rcvbuf_errors", socket_drops)])],
            start_spread: Nanos::ZERO,
            device: trial::record::DeviceRecord::default(),
            unanswered: false,
        };
        let books = books::balance(&trial(paced(), Gate::Flood), &record).expect("one flow");
        assert_eq!(books.lost, 100);
        let device = books.died(Place::is_device);
        assert_eq!((device, books.tester(), books.unexplained), expected, "{ports:?}");
    }
}

/// A switch that tells of itself: what it received of h1 and sent to h2, and what it dropped.
fn told(
    [received, sent]: [u64; 2],
    ingress: &[(&str, u64)],
    egress: &[(&str, u64)],
) -> Vec<PortCounters> {
    let port = |place: &str, cable: &str, [rx, tx]: [u64; 2], more: &[(&str, u64)]| {
        let more = more.iter().map(|(name, by)| ((*name).to_owned(), *by));
        let crossing = [("rx_packets".to_owned(), rx), ("tx_packets".to_owned(), tx)];
        PortCounters {
            place: place.to_owned(),
            side: Side::Reported,
            cable: Some(cable.to_owned()),
            counters: crossing.into_iter().chain(more).collect(),
        }
    };
    vec![
        port("sw1/1", "h1/eth1", [received, 0], ingress),
        port("sw1/2", "h2/eth1", [0, sent], egress),
    ]
}

#[test]
fn what_no_counter_names_is_told_by_sums() {
    // Of 10,000 frames 9,900 came. What the switch says, what hosts say, and where they died.
    let none: &[(&str, u64)] = &[];
    for (ports, hosts, deaths, contradicted) in [
        (told([10_000, 10_000], none, none), none, "cable sw1/2 → h2/eth1: 100", 0),
        (told([10_000, 9_900], none, none), none, "sw1, between its ports: 100", 0),
        (told([9_900, 9_900], none, none), none, "cable h1/eth1 → sw1/1: 100", 0),
        (
            told([9_960, 9_900], &[("rx_crc_errors", 30), ("rx_errors", 30)], none),
            none,
            "cable h1/eth1 → sw1/1: 10, cable h1/eth1 → sw1/1: 30 by rx_crc_errors, sw1, between its ports: 60",
            0,
        ),
        // Dropped and counted as received, or not.
        (
            told([10_000, 9_900], &[("rx_dropped", 100)], none),
            none,
            "sw1/1, ingress: 100 by rx_dropped",
            0,
        ),
        (
            told([9_900, 9_900], &[("rx_dropped", 100)], none),
            none,
            "sw1/1, ingress: 100 by rx_dropped",
            0,
        ),
        // Dropped and counted as sent (RFC 2863), or not.
        (
            told([10_000, 9_900], none, &[("tx_dropped", 100)]),
            none,
            "sw1/2, egress: 100 by tx_dropped",
            0,
        ),
        (
            told([10_000, 10_000], none, &[("tx_dropped", 100)]),
            none,
            "sw1/2, egress: 100 by tx_dropped",
            0,
        ),
        // The hosts looked for each other beside the load, and their own counters say so.
        (
            told([10_002, 9_902], none, none),
            &[("tx_packets", 10_002), ("rx_packets", 9_902)],
            "sw1, between its ports: 100",
            0,
        ),
        // Three more frames than the hosts know of.
        (
            told([10_000, 9_903], none, none),
            none,
            "sw1, between its ports: 97, cable sw1/2 → h2/eth1: 3",
            0,
        ),
        (told([10_003, 9_900], none, none), none, "sw1, between its ports: 100", 3),
        // Counters that see something else altogether place nothing.
        (told([10_000, 0], none, none), none, "", 9_900),
        (told([0, 0], none, none), none, "", 9_900),
    ] {
        check_books(ports, hosts, deaths, contradicted);
    }
}

#[test]
fn damaged_frames_are_their_cables() {
    let none: &[(&str, u64)] = &[];
    for (ports, hosts, deaths, contradicted) in [
        // Dropped and counted as received beside damaged frames, which are not.
        (
            told([9_970, 9_900], &[("rx_crc_errors", 30), ("rx_dropped", 70)], none),
            none,
            "cable h1/eth1 → sw1/1: 30 by rx_crc_errors, sw1/1, ingress: 70 by rx_dropped",
            0,
        ),
        // The receiver found them damaged.
        (
            told([10_000, 9_940], &[("rx_dropped", 60)], none),
            &[("rx_crc_errors", 40)],
            "sw1/1, ingress: 60 by rx_dropped, cable sw1/2 → h2/eth1: 40 by rx_crc_errors",
            0,
        ),
        (
            told([10_000, 9_990], none, none),
            &[("rx_crc_errors", 60)],
            "sw1, between its ports: 10, cable sw1/2 → h2/eth1: 30, cable sw1/2 → h2/eth1: 60 by rx_crc_errors",
            0,
        ),
    ] {
        check_books(ports, hosts, deaths, contradicted);
    }
}

/// `hosts`: what h1 counted on its way out, and h2 on its way in.
#[track_caller]
fn check_books(
    mut ports: Vec<PortCounters>,
    hosts: &[(&str, u64)],
    deaths: &str,
    contradicted: u64,
) {
    for (place, way) in [("h1/eth1", "tx"), ("h2/eth1", "rx")] {
        let own: Vec<_> = hosts.iter().filter(|(of, _)| of.starts_with(way)).copied().collect();
        ports.push(port(place, &own));
    }
    let books = books_of(ports);
    assert_eq!((deaths_of(&books).as_str(), books.contradicted), (deaths, contradicted));
}

/// A frame of others' waited in the same queue, and was dropped there.
#[test]
fn a_frame_of_others_keeps_no_book_open() {
    let books = books_of(told([10_001, 9_900], &[], &[("tx_dropped", 101)]));
    assert_eq!(deaths_of(&books), "sw1/2, egress: 100 by tx_dropped");
    assert!(books.closed(), "{books:?}");
}

/// Of 10,000 frames 9,900 came.
fn books_of(ports: Vec<PortCounters>) -> books::Books {
    let record = TrialRecord {
        ordinal: 0,
        outcome: Outcome::Valid,
        flows: vec![FlowRecord::Datagrams(lossy())],
        ports,
        ..TrialRecord::failed(0, String::new())
    };
    books::balance(&trial(paced(), Gate::Flood), &record).expect("one flow")
}

fn deaths_of(books: &books::Books) -> String {
    let death = |death: &books::Death| {
        let by = death.counter.as_deref().map_or(String::new(), |name| format!(" by {name}"));
        format!("{}: {}{by}", death.place, death.frames)
    };
    books.deaths.iter().map(death).collect::<Vec<_>>().join(", ")
}

#[test]
fn unread_counters_map() {
    // A port without counters explains nothing and breaks nothing.
    let empty = PortCounters {
        place: "h1/eth1".to_owned(),
        side: Side::Tester,
        cable: None,
        counters: BTreeMap::new(),
    };
    check(Case { ports: vec![empty], ..case("no counters", lossy()) });
}

/// A second of arrivals a hundredth slower than frames left, but for one pause of so many frames.
fn arrived(seen: DatagramsRecord, pause: u64) -> DatagramsRecord {
    let mut arrivals = Histogram::growing();
    let came = seen.received.unique;
    let gap = seen.receiving.0 / came;
    arrivals.record_many(Nanos(gap), came - 1 - pause.min(1));
    arrivals.record_many(Nanos(gap * (pause + 1)), pause.min(1));
    DatagramsRecord { arrivals, ..seen }
}

#[test]
fn closed_books_lift_what_is_only_suspected() {
    let taken = || {
        let mut crowded = host("h1", &[]);
        (crowded.usage.busy, crowded.usage.foreign) = (0.9, 0.4);
        vec![crowded]
    };
    let foreign = || vec![Defect::ForeignLoad { host: "h1".to_owned(), share: 0.4 }];
    let queue = |drops| vec![port("sw1/2", &[("qdisc_drops", drops)])];
    let of = |name, seen, ports, strict| Case { hosts: taken(), ports, strict, ..case(name, seen) };
    let steady = || arrived(lossy(), 0);
    check(of("the device's queue dropped each of them", steady(), queue(100), vec![]));
    check(of("it dropped all but one of them", steady(), queue(99), foreign()));
    check(of("it was idle for a fiftieth", arrived(lossy(), 200), queue(100), foreign()));
    check(of("nobody knows when frames came", lossy(), queue(100), foreign()));
    // A lab's device shares the processors that others had.
    let backlog = |side| {
        let dropped = port("sw1/1", &[("rx_dropped", 100)]);
        vec![PortCounters { side, ..dropped }]
    };
    check(of("a lab's device did not keep up", steady(), backlog(Side::Device), foreign()));
    check(of("a device of its own did not", lossy(), backlog(Side::Reported), vec![]));

    let late = |pause| {
        let received = SequenceCounts { unique: 7_000, ..SequenceCounts::default() };
        arrived(DatagramsRecord { received, late: 2_000, ..frames() }, pause)
    };
    let strict = |lost| vec![Defect::Late { flow: 1, late: 2_000, lost }];
    let of = |name, seen, ports, strict| Case { ports, strict, ..case(name, seen) };
    check(of("the queue had frames all the time", late(0), queue(3_000), vec![]));
    check(of("it lost what 60 frames' time would have brought", late(60), queue(3_000), vec![]));
    check(of("it was idle for 90 frames' time", late(90), queue(3_000), strict(3_000)));
    check(of("frames were lost who knows where", late(0), Vec::new(), strict(3_000)));
    let begun_late = DatagramsRecord { late: 200, sending: Nanos(999_000_000), ..late(0) };
    check(of("and nearly all before the first", begun_late, queue(3_000), vec![]));
    let begun_late = |sending| DatagramsRecord { late: 200, sending: Nanos(sending), ..late(0) };
    // A load beside others is what was asked for, or nothing: of those nothing is lifted.
    let seen = [FlowRecord::Datagrams(begun_late(995_000_000))];
    let outcome = judge(&trial(paced(), Gate::Strict), &seen, &queue(3_000), &[]);
    assert_eq!(outcome, Outcome::Valid, "faster than asked, begun late");
    let strict = vec![
        Defect::OfferedLoad { flow: 1, asked: RATE, sent: 9_999.0 / 0.98 },
        Defect::Late { flow: 1, late: 200, lost: 3_000 },
    ];
    check(of("begun far too late", begun_late(980_000_000), queue(3_000), strict));
    let few = |pause| arrived(DatagramsRecord { late: 200, ..lossy() }, pause);
    check(of("no more than a late sender may cost", few(0), queue(100), vec![]));
    let strict = vec![Defect::Late { flow: 1, late: 200, lost: 100 }];
    check(of("perhaps all of them", few(120), queue(100), strict));
}
