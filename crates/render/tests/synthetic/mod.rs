//! Synthetic runs for tests: made up by arithmetic, seeded, and measured nowhere. They have the
//! shapes of real records, and every name in them says `synthetic`.

pub mod suite;

use std::collections::BTreeMap;

use measure::reading::{Rejected, Stamp, Stamps, StreamPoint};
use measure::sequence::SequenceCounts;
use measure::{ByteCount, FrameRate, FrameSize, Histogram, Nanos, Rate};
use page::{
    Answer, Block, Caveat, Cell, Column, Figure, Key, Metric, Section, Table, Unit, Verdict,
};
use render::RunLabels;
use study::run::RunMeta;
use study::{StudyPage, Topic};
use trial::record::{
    BulkRecord, DatagramsRecord, Defect, EchoRecord, HostUsage, PortCounters, Side, StreamRecord,
    Usage,
};
use trial::topology::{CableEnd, Device, DeviceKind, Host, HostPort};
use trial::{Backend, Bulk, Datagrams, Echo, FlowKind, Gate, Path, Protocol, Role, Schedule};
use trial::{Flow, FlowRecord, Outcome, PortRef, Topology, Trial, TrialRecord};

/// 2026-11-21 14:03:12 UTC
pub const BEGAN: u64 = 1_795_269_792_000_000_000;

/// A small generator of numbers; the same seed gives the same run.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 0…1, splitmix64.
    pub fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

pub fn size(octets: u32) -> FrameSize {
    FrameSize::new(octets).expect("a legal size")
}

fn port(name: &str, address: &str, cable: CableEnd) -> HostPort {
    HostPort::plain(name, address.parse().expect("an address"), cable)
}

/// Two hosts, a bridge between them, a direct cable beside it.
pub fn topology() -> Topology {
    let far =
        |host: &str| CableEnd::Host(PortRef { host: host.to_owned(), port: "cab1".to_owned() });
    let near = |n: &str| CableEnd::device("bridge", n);
    let host = |name: &str, n: &str, other: &str, last: u8| Host {
        name: name.to_owned(),
        reach: "lab".to_owned(),
        ports: vec![
            port("eth1", &format!("198.18.0.{last}"), near(n)),
            port("cab1", &format!("198.19.0.{last}"), far(other)),
        ],
    };
    Topology {
        name: "lab:bridge (synthetic)".to_owned(),
        hosts: vec![host("h1", "p1", "h2", 1), host("h2", "p2", "h1", 2)],
        devices: vec![Device {
            name: "bridge".to_owned(),
            kind: DeviceKind::Switch,
            port_rate: Some(Rate(1_000_000_000)),
            port_queue: Some(ByteCount(262_144)),
            facts: BTreeMap::from([("model".to_owned(), "synthetic".to_owned())]),
            variants: Vec::new(),
            resettable: false,
            deeds: Vec::new(),
        }],
        another_time: None,
        shared_machine: false,
        elsewhere_below: false,
        settings_as_found: false,
        openings: Vec::new(),
    }
}

pub fn meta(id: &str) -> RunMeta {
    let facts = ["h1", "h2"].map(|host| {
        let facts = [
            ("kernel", "6.18.0 (synthetic)"),
            ("cpu", "2 x synthetic processor at 2.4 GHz"),
            ("governor", "performance"),
            ("clocksource", "tsc"),
            ("offloads eth1", "tso off, gso off, gro off"),
        ];
        (host.to_owned(), facts.map(|(k, v)| (k.to_owned(), v.to_owned())).into())
    });
    RunMeta {
        id: id.to_owned(),
        created_unix_ns: BEGAN,
        verb: "demo".to_owned(),
        command_line: "switchmark demo --seed 7".to_owned(),
        folder: std::path::PathBuf::new(),
        version: "0.1.0".to_owned(),
        seed: 7,
        studies: Vec::new(),
        topology: topology(),
        facts: facts.into(),
        notes: vec!["Every number here is synthetic: nothing was measured.".to_owned()],
        sweep: None,
        claims: Vec::new(),
        watch: None,
    }
}

pub fn flow(path: Path, role: Role, id: u16, kind: FlowKind) -> Flow {
    let name = if path == Path::Device { "eth1" } else { "cab1" };
    let end = |host: &str| PortRef { host: host.to_owned(), port: name.to_owned() };
    Flow { id, from: end("h1"), to: end("h2"), role, kind }
}

pub fn trial(label: String, path: Path, block: u32, flows: Vec<Flow>) -> Trial {
    let load = Nanos::from_millis(300);
    Trial { path, block, ..Trial::quick(label, flows, load, Gate::Strict) }
}

pub fn echo_trial(protocol: Protocol, octets: u32, path: Path, block: u32) -> Trial {
    let echo =
        Echo { protocol, frame_size: size(octets), schedule: Schedule::Greedy, messages: None };
    let label = format!("rtt {} {octets} idle", protocol.as_str());
    trial(label, path, block, vec![flow(path, Role::Measured, 1, FlowKind::Echo(echo))])
}

pub fn datagram_trial(octets: u32, rate: f64, path: Path, block: u32) -> Trial {
    let datagrams =
        Datagrams::plain(size(octets), Schedule::Paced(FrameRate(rate)), Backend::Auto, 32);
    let label = format!("search {octets} at {rate:.0}");
    trial(label, path, block, vec![flow(path, Role::Measured, 1, FlowKind::Datagrams(datagrams))])
}

pub fn bulk_trial(streams: u16, path: Path) -> Trial {
    let bulk =
        Bulk { streams, congestion_control: "cubic".to_owned(), interval: Nanos::from_millis(100) };
    trial(
        "goodput 4 streams".to_owned(),
        path,
        0,
        vec![flow(path, Role::Measured, 1, FlowKind::Bulk(bulk))],
    )
}

/// Round trips around `median` with a tail, as sums of chances.
pub fn rtt(median: f64, n: u32, chance: &mut Chance) -> Histogram {
    let mut histogram = Histogram::new();
    for _ in 0..n {
        let body = median * (0.86 + 0.28 * f64::midpoint(chance.share(), chance.share()));
        let tail = median * 0.05 * (1.0 / (1.0 - chance.share()).max(1e-4) - 1.0).powf(0.62);
        histogram.record(Nanos((body + tail) as u64));
    }
    histogram
}

fn usage(chance: &mut Chance) -> Vec<HostUsage> {
    ["h1", "h2"]
        .map(|host| HostUsage {
            host: host.to_owned(),
            usage: Usage {
                busy: 0.5 + 0.3 * chance.share(),
                softirq: 0.1 + 0.1 * chance.share(),
                stolen: 0.0,
                foreign: 0.0,
                counters: BTreeMap::from([("softnet_dropped".to_owned(), 0)]),
            },
        })
        .into()
}

fn record(
    ordinal: u64,
    flows: Vec<FlowRecord>,
    ports: Vec<PortCounters>,
    chance: &mut Chance,
) -> TrialRecord {
    TrialRecord {
        ordinal: 0,
        started_unix_ns: BEGAN + ordinal * 600_000_000,
        outcome: Outcome::Valid,
        flows,
        ports,
        hosts: usage(chance),
        start_spread: Nanos::from_micros(180),
        device: trial::record::DeviceRecord::default(),
        unanswered: false,
    }
}

pub fn echo_record(ordinal: u64, octets: u32, median: f64, chance: &mut Chance) -> TrialRecord {
    let n = 2_000;
    let echo = EchoRecord {
        frame_size: size(octets),
        sent: u64::from(n),
        answers: SequenceCounts { unique: u64::from(n), ..SequenceCounts::default() },
        rtt: rtt(median, n, chance),
        ipdv_up: rtt(median / 20.0, n / 2, chance),
        ipdv_down: rtt(median / 20.0, n / 2, chance),
        effective_samples: 812.345_678_901_234_5,
        stamps: Stamps { sent: Stamp::User, received: Stamp::Kernel },
        rejected: Rejected::default(),
        elapsed: Nanos::from_millis(300),
        segment: None,
        seen_from: None,
        remapped: 0,
    };
    record(ordinal, vec![FlowRecord::Echo(echo)], Vec::new(), chance)
}

pub fn datagram_record(
    ordinal: u64,
    trial: &Trial,
    capacity: f64,
    chance: &mut Chance,
) -> TrialRecord {
    let FlowKind::Datagrams(asked) = &trial.flows[0].kind else { panic!("a datagram trial") };
    let rate = match asked.schedule {
        Schedule::Paced(rate) | Schedule::Falling { from: rate, .. } => rate,
        Schedule::Greedy | Schedule::Burst(_) => FrameRate(500_000.0),
    };
    let load = trial.phases.load.as_secs_f64();
    let sent = (rate.0 * load) as u64;
    let unique = sent.min((capacity * load) as u64);
    let device = trial.path == Path::Device;
    let datagrams = DatagramsRecord {
        backend: "packet".to_owned(),
        backend_reason: "the fastest that works here".to_owned(),
        receiver: "udp".to_owned(),
        receiver_reason: "asked for".to_owned(),
        delays: None,
        offered: sent,
        sent,
        received: SequenceCounts { unique, ..SequenceCounts::default() },
        at_device: None,
        conversations: Vec::new(),
        ends: None,
        rejected: Rejected { malformed: 0, foreign: 3 },
        sending: trial.phases.load,
        receiving: trial.phases.load,
        quiet: None,
        departures: rtt(1e9 / rate.0, 500, chance),
        arrivals: rtt(1e9 / rate.0, 500, chance),
        longest_burst: 4,
        late: 0,
        overran: Nanos::ZERO,
        socket_drops: 0,
    };
    let counters = |place: &str, side, pairs: &[(&str, u64)]| PortCounters {
        place: place.to_owned(),
        side,
        cable: None,
        counters: pairs.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect(),
    };
    let name = if device { "eth1" } else { "cab1" };
    let mut ports = vec![
        counters(
            &format!("h1/{name}"),
            Side::Tester,
            &[("rx_packets", 3), ("tx_packets", sent + 12)],
        ),
        counters(
            &format!("h2/{name}"),
            Side::Tester,
            &[("rx_packets", unique + 15), ("tx_packets", 2)],
        ),
    ];
    if device {
        let dropped = sent - unique;
        ports.push(counters(
            "bridge/p1",
            Side::Device,
            &[("rx_packets", sent + 12), ("tx_packets", 3)],
        ));
        ports.push(counters(
            "bridge/p2",
            Side::Device,
            &[("rx_packets", 2), ("tx_packets", unique + 15), ("qdisc_drops", dropped)],
        ));
    }
    record(ordinal, vec![FlowRecord::Datagrams(datagrams)], ports, chance)
}

pub fn bulk_record(ordinal: u64, streams: u16, chance: &mut Chance) -> TrialRecord {
    let mut total = 0;
    let streams: Vec<StreamRecord> = (0..streams)
        .map(|s| {
            let mut points = Vec::new();
            let mut received = Vec::new();
            let (mut acked, mut retransmits, mut cwnd) = (0, 0, 40_000.0 + 9_000.0 * f64::from(s));
            for i in 1..=30u64 {
                cwnd = if chance.share() < 0.06 { cwnd * 0.7 } else { cwnd + 6_000.0 };
                let bytes = (cwnd * 14.0) as u64;
                acked += bytes;
                retransmits += u64::from(chance.share() < 0.1) * 7;
                received.push(ByteCount(bytes));
                points.push(StreamPoint {
                    at: Nanos::from_millis(100 * i),
                    acked: ByteCount(acked),
                    retransmits,
                    cwnd: ByteCount(cwnd as u64),
                    srtt: Nanos((400_000.0 + cwnd * 3.0) as u64),
                    min_rtt: Nanos(80_000),
                    delivery_rate: Rate(bytes * 80),
                    busy: Nanos::from_millis(100 * i),
                    rwnd_limited: Nanos::from_millis(3 * i),
                    sndbuf_limited: Nanos::from_millis(i),
                });
            }
            total += acked;
            StreamRecord { points, received }
        })
        .collect();
    let bulk = BulkRecord {
        congestion_control: "cubic".to_owned(),
        segment: None,
        received: ByteCount(total),
        elapsed: Nanos::from_secs(3),
        streams,
        far_end: None,
    };
    record(ordinal, vec![FlowRecord::Bulk(bulk)], Vec::new(), chance)
}

pub fn failed_record(ordinal: u64, reason: &str) -> TrialRecord {
    TrialRecord {
        ordinal: 0,
        outcome: Outcome::Failed { reason: reason.to_owned() },
        ..record(ordinal, Vec::new(), Vec::new(), &mut Chance::new(ordinal))
    }
}

pub fn invalid(mut record: TrialRecord) -> TrialRecord {
    let reasons = vec![Defect::OfferedLoad { flow: 1, asked: 100_000.0, sent: 99_200.0 }];
    record.outcome = Outcome::Invalid { reasons };
    record
}

const MEDIANS: [(Protocol, f64); 3] =
    [(Protocol::Icmp, 21_000.0), (Protocol::Udp, 27_700.0), (Protocol::Tcp, 33_300.0)];
const SIZES: [u32; 3] = [64, 512, 1518];

fn median(base: f64, octets: u32, path: Path) -> f64 {
    let added = if path == Path::Device { 4_100.0 } else { 0.0 };
    base + f64::from(octets) * 2.6 + added
}

/// A run with round trips, paced datagrams, streams, an invalid trial and a failed one.
pub fn records(seed: u64) -> Vec<(Trial, TrialRecord)> {
    let chance = &mut Chance::new(seed);
    let mut all = Vec::new();
    for block in 0..3 {
        for (protocol, base) in MEDIANS {
            for octets in SIZES {
                for path in [Path::Device, Path::Bypass] {
                    let trial = echo_trial(protocol, octets, path, block);
                    let at = all.len() as u64;
                    all.push((trial, echo_record(at, octets, median(base, octets, path), chance)));
                }
            }
        }
    }
    for (octets, capacity) in [(64, 148_800.0), (512, 141_000.0), (1518, 81_274.0)] {
        for (path, capacity) in [(Path::Device, capacity), (Path::Bypass, capacity * 3.9)] {
            for step in 3..=10 {
                let trial = datagram_trial(octets, capacity * 0.12 * f64::from(step), path, 0);
                let at = all.len() as u64;
                let record = datagram_record(at, &trial, capacity, chance);
                all.push((trial, record));
            }
        }
    }
    for path in [Path::Device, Path::Bypass] {
        let at = all.len() as u64;
        all.push((bulk_trial(4, path), bulk_record(at, 4, chance)));
    }
    let trial = datagram_trial(64, 100_000.0, Path::Device, 0);
    let at = all.len() as u64;
    all.push((trial.clone(), invalid(datagram_record(at, &trial, 1e9, chance))));
    all.push((trial, failed_record(at + 1, "agent on h2 ended (synthetic)")));
    all
}

pub fn figure(metric: Metric, unit: Unit, value: Option<f64>, path: Path) -> Figure {
    let name = if path == Path::Device { "eth1" } else { "cab1" };
    let path_word = if path == Path::Device { "device" } else { "bypass" };
    let mut conditions = BTreeMap::new();
    for (key, text) in [(Key::From, format!("h1/{name}")), (Key::To, format!("h2/{name}"))] {
        conditions.insert(key, text.into());
    }
    conditions.insert(Key::Study, "latency".into());
    conditions.insert(Key::Path, path_word.into());
    if path == Path::Device {
        conditions.insert(Key::Device, "bridge".into());
    }
    Figure {
        low: value.map(|v| v * 0.97),
        high: value.map(|v| v * 1.02),
        confidence: value.map(|_| 0.95),
        n: 6_000,
        blocks: 6,
        conditions,
        verdict: Verdict::DeviceLimited,
        caveats: vec![Caveat::QuickProfile, Caveat::SharedMachine],
        ..Figure::new(metric, unit, value)
    }
}

/// Figures in the shape of the studies', by the same arithmetic as the records.
pub fn figures() -> Vec<Figure> {
    let mut all = Vec::new();
    for (protocol, base) in MEDIANS {
        for octets in SIZES {
            let mut put = |mut f: Figure, q: f64| {
                f.quantile = Some(q);
                f.set(Key::Protocol, protocol.as_str());
                f.set(Key::FrameSize, u64::from(octets));
                f.set(Key::Load, "idle");
                f.caveats.push(Caveat::SoftwareTimestamps);
                all.push(f);
            };
            for path in [Path::Device, Path::Bypass] {
                for (q, times) in [(0.5, 1.0), (0.9, 1.12), (0.99, 1.5), (0.999, 2.9), (1.0, 6.1)] {
                    let value = Some(median(base, octets, path) * times);
                    put(figure(Metric::Rtt, Unit::Nanoseconds, value, path), q);
                }
            }
            put(figure(Metric::RttAdded, Unit::Nanoseconds, Some(4_100.0), Path::Device), 0.5);
        }
    }
    for (octets, capacity) in [(64u64, 148_800.0), (512, 141_000.0), (1518, 81_274.0)] {
        for (path, rate) in [(Path::Device, capacity), (Path::Bypass, capacity * 3.9)] {
            let mut f = figure(Metric::Throughput, Unit::FramesPerSecond, Some(rate), path);
            f.set(Key::FrameSize, octets);
            f.set(Key::Goal, "rfc2544");
            f.set(Key::Test, "throughput");
            f.set(Key::Interval, page::BRACKET);
            (f.low, f.high, f.confidence) = (Some(rate), Some(rate * 1.004), None);
            if path == Path::Bypass {
                f.verdict = Verdict::TesterLimited;
                f.caveats.push(Caveat::SearchCeiling);
            }
            all.push(f);
            for (metric, part) in [
                (Metric::Offered, 1.3),
                (Metric::Sent, 1.3),
                (Metric::Received, 1.02),
                (Metric::Lost, 0.28),
                (Metric::Duplicated, 0.0),
                (Metric::Reordered, 0.0),
            ] {
                let mut f = figure(metric, Unit::FramesPerSecond, Some(rate * part), path);
                f.set(Key::FrameSize, octets);
                f.set(Key::Test, "flood");
                all.push(f);
            }
        }
    }
    all
}

/// A run's labels on its rows.
pub fn labels(meta: &RunMeta) -> RunLabels<'_> {
    RunLabels {
        id: &meta.id,
        verb: &meta.verb,
        testbed: &meta.topology.name,
        version: &meta.version,
        created_unix_ns: meta.created_unix_ns,
    }
}

/// A study's page of figures that no study found: a table a metric, a line for each of the other
/// conditions, a column a quantile; and an answer for each median.
pub fn page(figures: &[Figure]) -> StudyPage {
    let mut metrics: Vec<Metric> = Vec::new();
    for figure in figures {
        if !metrics.contains(&figure.metric) {
            metrics.push(figure.metric);
        }
    }
    let tables = metrics.iter().map(|metric| {
        Block::Table(table(&figures.iter().filter(|f| f.metric == *metric).collect::<Vec<_>>()))
    });
    let section = Section {
        id: "synthetic".to_owned(),
        heading: "Synthetic".to_owned(),
        blocks: tables.collect(),
    };
    let medians = figures.iter().filter(|figure| figure.quantile == Some(0.5));
    let answers = medians.map(|figure| {
        let said = page::words::with_interval(figure);
        let text = format!("The {} is {said}.", figure.metric.as_str());
        Answer::new(text).limited_by(figure.verdict).stating([figure]).with_question("How long?")
    });
    let sections = if figures.is_empty() { Vec::new() } else { vec![section] };
    StudyPage { sections, ..StudyPage::default() }.with_answers(Topic::Latency, answers)
}

fn table(figures: &[&Figure]) -> Table {
    let mut quantiles: Vec<Option<f64>> = figures.iter().map(|figure| figure.quantile).collect();
    quantiles.sort_by(|a, b| a.unwrap_or(0.5).total_cmp(&b.unwrap_or(0.5)));
    quantiles.dedup();
    let mut lines: BTreeMap<String, Vec<&Figure>> = BTreeMap::new();
    for figure in figures {
        let said =
            |key: &Key| figure.conditions.get(key).map_or_else(String::new, ToString::to_string);
        let name = format!("{} {} {}", said(&Key::Device), said(&Key::Path), said(&Key::Load));
        lines.entry(name).or_default().push(figure);
    }
    let named = |q: &Option<f64>| q.map_or_else(|| "value".to_owned(), page::words::quantile);
    let mut columns: Vec<Column> = vec!["load".into()];
    columns.extend(quantiles.iter().map(|q| Column::from(named(q))));
    columns.extend(["n", "limited by"].map(Column::from));
    let rows = lines.into_iter().map(|(name, line)| {
        let mut cells = vec![Cell::text(name)];
        cells.extend(quantiles.iter().map(|q| {
            Cell::value_or_missing(line.iter().find(|figure| figure.quantile == *q).copied())
        }));
        cells.extend([Cell::samples(&line), Cell::limit(&line)]);
        cells
    });
    let title = format!("Synthetic {}", figures[0].metric.as_str());
    Table::new(title, columns).with_rows(rows)
}
