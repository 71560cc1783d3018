//! Same seed, same octets, on every machine: records by their hashes, against constants.
//!
//! What decides a record is whole numbers, and + - * / on 64-bit floats, which IEEE 754 rounds in
//! one way only. Checked by reading: `sim`, `device` and `measure`'s histograms, sequences and
//! delays call no logarithm, power, exponential or root of the machine's library (CUBIC's cube root
//! is Newton's; an exponential time is von Neumann's comparisons). The hash takes floats by their
//! bits, and no text.

use std::collections::BTreeMap;

use measure::sequence::SequenceCounts;
use measure::{ByteCount, FrameRate, Histogram, Nanos};
use sim::{DiskModel, HostModel, ServiceTime, VirtualTestbed};
use trial::record::{FlowRecord, OperationsRecord, ReceiptRecord};
use trial::{Bulk, Carrier, Exchange, Flow, FlowKind, Pattern, Protocol, Schedule, Storage};
use trial::{Testbed as _, Trial, TrialRecord};

use crate::trials::{datagrams, echo, flow, profile, trial};

const CHANCY: &str = r#"
    name = "chancy"
    ports = 12
    rate = "1Gbit"
    buffer = { per_port = "64KiB" }
    loss = 0.0001
    stalls = { per_second = 20.0, length = "200us" }
"#;

const BLOCKING: &str = r#"
    name = "blocking"
    ports = 24
    rate = "1Gbit"
    groups = [{ ports = "1-12", uplink = "10Gbit" }, { ports = "13-24", uplink = "10Gbit" }]
    buffer = { total = "1MiB", reserved_per_port = "8KiB", alpha = 1.0, cell = 256 }
    pause = true
"#;

const LONG: &str = r#"
    name = "long"
    ports = 4
    rate = "10Gbit"
    link_delay = "5ms"
    buffer = { per_port = "4MiB" }
    max_frame = 9216
"#;

const INTERVAL: Nanos = Nanos::from_millis(50);

fn bulk(name: &str, streams: u16) -> FlowKind {
    FlowKind::Bulk(Bulk { streams, congestion_control: name.to_owned(), interval: INTERVAL })
}

fn exchange(octets: u64, carrier: Carrier) -> FlowKind {
    let message = ByteCount(octets);
    FlowKind::Exchange(Exchange { message, carrier, interval: INTERVAL, collective: None })
}

fn of_every_kind() -> Vec<Flow> {
    let paced = Schedule::Paced(FrameRate(20_000.0));
    vec![
        flow(1, "h1/eth1", "h2/eth1", datagrams(512, paced)),
        flow(2, "h3/eth1", "h2/eth1", bulk("cubic", 2)),
        flow(3, "h4/eth1", "h2/eth1", bulk("htcp", 2)),
        flow(4, "h5/eth1", "h2/eth1", bulk("reno", 2)),
        flow(5, "h6/eth1", "h2/eth1", echo(Protocol::Udp, 64, Schedule::Greedy)),
        flow(6, "h6/eth1", "h2/eth1", echo(Protocol::Tcp, 128, paced)),
        flow(7, "h7/eth1", "h8/eth1", exchange(100_000, Carrier::Tcp)),
        flow(8, "h9/eth1", "h10/eth1", exchange(100_000, Carrier::Datagrams { credits: 16 })),
        flow(9, "h11/eth1", "h12/eth1", datagrams(64, Schedule::Greedy)),
        flow(10, "h11/direct", "h12/direct", echo(Protocol::Icmp, 64, Schedule::Greedy)),
    ]
}

fn across() -> Vec<Flow> {
    let pair = |port: u16| {
        let (from, to) = (format!("h{port}/eth1"), format!("h{}/eth1", port + 12));
        flow(port, &from, &to, exchange(65_536, Carrier::Tcp))
    };
    (1..=12).map(pair).collect()
}

fn long_path() -> Vec<Flow> {
    let load = Schedule::Paced(FrameRate(27_000.0));
    vec![
        flow(1, "h1/eth1", "h3/eth1", bulk("cubic", 1)),
        flow(2, "h2/eth1", "h3/eth1", datagrams(9018, load)),
    ]
}

fn storage() -> Vec<Flow> {
    let kind = FlowKind::Storage(Storage {
        ioengine: "nbd".into(),
        filename: "nbd://h2".into(),
        pattern: Pattern::Random,
        rwmixread: trial::ReadPercent::known(75),
        bs: ByteCount(4096),
        numjobs: trial::Jobs::known(4),
        iodepth: trial::QueueDepth::known(8),
        replicas: vec!["h3/eth1".parse().expect("a port's name")],
        options: BTreeMap::new(),
        server: None,
        disk: None,
        allow_destroy: false,
    });
    vec![flow(1, "h1/eth1", "h2/eth1", kind)]
}

/// FNV-1a over 64-bit numbers.
struct Digest(u64);

impl Digest {
    fn number(&mut self, number: u64) {
        for octet in number.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn numbers(&mut self, numbers: impl IntoIterator<Item = u64>) {
        numbers.into_iter().for_each(|number| self.number(number));
    }

    fn histogram(&mut self, histogram: &Histogram) {
        self.number(histogram.count());
        self.numbers(histogram.buckets().flat_map(|(value, count)| [value.0, count]));
    }

    fn sequence(&mut self, counts: &SequenceCounts) {
        let SequenceCounts { unique, duplicated, reordered, highest, last_missing, .. } = *counts;
        let or_none = |number: Option<u64>| number.unwrap_or(u64::MAX);
        self.numbers([unique, duplicated, reordered, or_none(highest), or_none(last_missing)]);
    }

    fn receipts(&mut self, receipts: &ReceiptRecord) {
        self.numbers([receipts.messages, receipts.octets.0, receipts.lost]);
        self.histogram(&receipts.rounds);
        self.numbers(receipts.intervals.iter().map(|octets| octets.0));
    }

    fn operations(&mut self, operations: &OperationsRecord) {
        self.numbers([operations.count, operations.octets.0, operations.errors]);
        self.histogram(&operations.latency);
    }

    fn flow(&mut self, flow: &FlowRecord) {
        match flow {
            FlowRecord::Echo(echo) => {
                self.numbers([echo.sent, echo.effective_samples.to_bits(), echo.elapsed.0]);
                self.sequence(&echo.answers);
                for histogram in [&echo.rtt, &echo.ipdv_up, &echo.ipdv_down] {
                    self.histogram(histogram);
                }
            }
            FlowRecord::Datagrams(load) => {
                self.numbers([load.offered, load.sent, load.longest_burst, load.late]);
                self.numbers([load.sending.0, load.receiving.0]);
                self.sequence(&load.received);
                self.histogram(&load.departures);
                self.histogram(&load.arrivals);
                self.histogram(&load.delays.as_ref().expect("one clock").histogram);
            }
            FlowRecord::Bulk(bulk) => {
                for stream in &bulk.streams {
                    for point in &stream.points {
                        self.numbers([point.at.0, point.acked.0, point.retransmits, point.cwnd.0]);
                        self.numbers([point.srtt.0, point.min_rtt.0, point.delivery_rate.0]);
                        self.numbers([point.busy.0, point.rwnd_limited.0]);
                    }
                    self.numbers(stream.received.iter().map(|octets| octets.0));
                }
            }
            FlowRecord::Exchange(exchange) => {
                self.receipts(&exchange.forward);
                self.receipts(&exchange.backward);
            }
            FlowRecord::Sessions(sessions) => {
                self.numbers([sessions.begun, sessions.opened, sessions.failed.total()]);
                self.numbers([sessions.beginning.0, sessions.most_held]);
                self.histogram(&sessions.handshakes);
            }
            FlowRecord::Storage(storage) => {
                self.operations(&storage.reads);
                self.operations(&storage.writes);
            }
        }
    }

    fn of(record: &TrialRecord) -> u64 {
        let mut digest = Self(0xcbf2_9ce4_8422_2325);
        digest.number(record.started_unix_ns);
        record.flows.iter().for_each(|flow| digest.flow(flow));
        for port in &record.ports {
            digest.numbers(port.counters.values().copied());
        }
        digest.0
    }
}

fn record((text, flows): (&str, Vec<Flow>), mtu: u32, seed: u64) -> TrialRecord {
    let profile = profile(text);
    let micros = |fixed, drawn| ServiceTime {
        fixed: Nanos::from_micros(fixed),
        drawn: Nanos::from_micros(drawn),
    };
    let hosts = HostModel {
        mtu,
        turnaround: Nanos::from_micros(3),
        disk: DiskModel { read: micros(40, 60), write: micros(20, 100), at_once: 8 },
        ..HostModel::ideal(profile.edges())
    };
    let mut testbed = VirtualTestbed::new("sim:determinism", profile, hosts, seed);
    let asked: Trial = trial(flows, Nanos::from_millis(300));
    testbed.run(&asked).expect("it runs")
}

#[test]
fn the_same_seed_gives_the_same_octets_and_another_does_not() {
    let text = |seed| {
        let record = record((CHANCY, of_every_kind()), 1500, seed);
        serde_json::to_string(&record).expect("a record can be written")
    };
    let first = text(7);
    assert_eq!(first, text(7));
    assert_ne!(first, text(8));
    assert!(first.contains("retransmits"));
}

/// A change of the model changes these; so nobody changes it without knowing. A machine never does.
#[test]
fn every_machine_gets_the_same_numbers() {
    let table = [
        ("flows of every kind", CHANCY, of_every_kind(), 1500, 0xe4ae_c763_2d9d_9eb8),
        ("pairs across a backplane", BLOCKING, across(), 1500, 0xc0ef_4070_370c_57d8),
        ("tcp on a long path", LONG, long_path(), 9000, 0xa004_c4b9_c4fd_f882),
        ("storage", LONG, storage(), 1500, 0x189a_f520_3524_fc23),
    ];
    let mut wrong = Vec::new();
    for (name, text, flows, mtu, expected) in table {
        let found = Digest::of(&record((text, flows), mtu, 7));
        if found != expected {
            wrong.push(format!("{name}: {found:#018x}"));
        }
    }
    assert!(wrong.is_empty(), "other records than were pinned: {wrong:#?}");
}
