//! The buffer study on a testbed whose trials are scripted: which trials it asks for, between which
//! ports, and what it makes of their records. The judgement of single series has its own tests.

use measure::reading::StreamPoint;
use measure::{ByteCount, FrameSize, Nanos, Rate};
use page::{Block, Caveat, Cell, Condition, Figure, Key, Metric, Reply, RowId, Verdict};
use scripted::{Script, Scripted, judged, one_way};
use study::{Background, BufferSpec, Profile, SpecProblem, StudyPage, StudySpec, Topic, numbered};
use trial::record::{BulkRecord, DatagramsRecord, FlowRecord, StreamRecord};
use trial::topology::{CableEnd, Device, DeviceKind, Host, HostPort, PortRef};
use trial::{Flow, FlowKind, Path, Role, Schedule};
use trial::{Testbed, TestbedError, Topology, Trial, TrialRecord};

const SECOND: Nanos = Nanos::from_secs(1);

/// What TCP does in each second: payload bits, segments sent again, the window in octets.
type Second = (f64, u64, u64);

/// What TCP does, and the load beside it.
struct Traffic {
    /// By path and whether a load goes the same way, the other way, or not at all.
    second: fn(&Trial, u64) -> Second,
    /// Share of the load's frames that leave.
    sends: f64,
}

fn bed(topology: Topology, second: fn(&Trial, u64) -> Second) -> Scripted<Traffic> {
    Scripted::new(topology, Traffic { second, sends: 1.0 })
}

/// Hosts h1…hn, each with a port to the device at its place in `devices`; h1 and h2 have a cable
/// too.
fn topology(devices: &[&str], cable: bool) -> Topology {
    let port = |name: &str, number: usize, cable: CableEnd| HostPort {
        rate: Some(Rate(10_000_000_000)),
        ..HostPort::plain(name, format!("198.18.0.{number}").parse().expect("an address"), cable)
    };
    let host = |(at, device): (usize, &&str)| {
        let number = at + 1;
        let end = CableEnd::device(device, number.to_string());
        let mut ports = vec![port("eth1", number, end)];
        if cable && at < 2 {
            let end = CableEnd::Host(format!("h{}/eth2", 2 - at).parse().expect("a port"));
            ports.push(port("eth2", 100 + number, end));
        }
        Host { name: format!("h{number}"), reach: "local".to_owned(), ports }
    };
    let mut names: Vec<&str> = devices.to_vec();
    names.dedup();
    let device = |name: &&str| Device::plain(name, DeviceKind::Switch);
    Topology::new(
        "scripted",
        devices.iter().enumerate().map(host).collect(),
        names.iter().map(device).collect(),
    )
}

impl Traffic {
    fn bulk(&self, trial: &Trial, streams: u16, control: &str) -> BulkRecord {
        let seconds = trial.phases.load.0 / SECOND.0;
        let parts = u64::from(streams);
        let (mut points, mut received, mut acked, mut again) = (Vec::new(), Vec::new(), 0, 0);
        for at in 1..=seconds {
            let (bits, retransmits, cwnd) = (self.second)(trial, at - 1);
            let octets = (bits / 8.0) as u64 / parts;
            acked += octets;
            again += retransmits / parts;
            received.push(ByteCount(octets));
            points.push(StreamPoint {
                at: SECOND * at,
                acked: ByteCount(acked),
                retransmits: again,
                cwnd: ByteCount(cwnd / parts),
                srtt: round_trip(bits, cwnd),
                min_rtt: Nanos::from_millis(50),
                delivery_rate: Rate(bits as u64),
                busy: SECOND * at,
                rwnd_limited: Nanos::ZERO,
                sndbuf_limited: Nanos::ZERO,
            });
        }
        let stream = StreamRecord { points, received };
        BulkRecord {
            congestion_control: control.to_owned(),
            segment: None,
            received: ByteCount(acked * parts),
            elapsed: trial.phases.load,
            streams: vec![stream; usize::from(streams)],
            far_end: None,
        }
    }

    fn datagrams(&self, schedule: Schedule, load: Nanos) -> DatagramsRecord {
        let Schedule::Paced(rate) = schedule else { panic!("a load is paced") };
        let offered = (rate.0 * load.as_secs_f64()) as u64;
        let sent = (offered as f64 * self.sends) as u64;
        DatagramsRecord { offered, ..one_way(load, sent, sent) }
    }
}

/// The path's own 50 ms, or longer where the window fills a queue (Little's law).
fn round_trip(bits: f64, cwnd: u64) -> Nanos {
    Nanos::from_secs_f64(cwnd as f64 * 8.0 / bits).max(Nanos::from_millis(50))
}

impl Script for Traffic {
    fn answer(&mut self, _: usize, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        let of = |flow: &Flow| match &flow.kind {
            FlowKind::Bulk(bulk) => {
                FlowRecord::Bulk(self.bulk(trial, bulk.streams, &bulk.congestion_control))
            }
            FlowKind::Datagrams(load) => {
                FlowRecord::Datagrams(self.datagrams(load.schedule, trial.phases.load))
            }
            other => panic!("{other:?}"),
        };
        Ok(judged(trial, trial.flows.iter().map(of).collect()))
    }
}

/// Seed 004's: 2 Gbit/s of UDP beside TCP, 9,000-octet packets.
fn spec() -> BufferSpec {
    BufferSpec {
        backgrounds: vec![Background::Payload(Rate(2_000_000_000))],
        background_size: FrameSize::MAX,
        mtu: study::buffer::Mtu::known(9000),
        interval: SECOND,
        blocks: study::Blocks::known(6),
        ..BufferSpec::quick()
    }
}

/// Where the load goes, as seen from the receiver of TCP.
fn beside(trial: &Trial) -> &'static str {
    let to = &trial.flows[0].to;
    match trial.flows.get(1) {
        None => "alone",
        Some(load) if load.to == *to => "same way",
        Some(_) => "other way",
    }
}

/// A device with too little buffer: TCP is cut every third second, but only beside the load.
fn shallow(trial: &Trial, second: u64) -> Second {
    match (beside(trial), second % 3) {
        ("same way", 0) => (3.0e9, 60, 20_000_000),
        ("same way", more) => (3.0e9 + more as f64 * 1e9, 0, 20_000_000 + more * 9_000_000),
        _ => (9.8e9, 0, 64_000_000),
    }
}

/// A device with enough.
fn deep(trial: &Trial, _: u64) -> Second {
    if beside(trial) == "same way" { (7.8e9, 0, 85_000_000) } else { (9.8e9, 0, 64_000_000) }
}

fn measure_with(testbed: &mut Scripted<Traffic>, spec: &BufferSpec) -> Vec<Figure> {
    let study = StudySpec::Buffer(spec.clone());
    study.check(testbed.topology()).expect("it can be measured");
    study.run(testbed, 7).expect("it is measured")
}

fn find<'a>(figures: &'a [Figure], metric: Metric, scenario: &str, path: &str) -> &'a Figure {
    let says = |f: &Figure, key: Key, word: &str| {
        f.conditions.get(&key) == Some(&Condition::Text(word.to_owned()))
    };
    let mut found = figures.iter().filter(|f| {
        let of = f.metric == metric && says(f, Key::Scenario, scenario) && says(f, Key::Path, path);
        of && !says(f, Key::Estimator, "delay")
    });
    let figure = found.next().unwrap_or_else(|| panic!("no {metric:?} of {scenario} {path}"));
    assert!(found.next().is_none(), "two of {metric:?}");
    figure
}

fn near(figure: &Figure, expected: f64) {
    let value = figure.value.expect("a value");
    assert!((value - expected).abs() <= 1e-6 * expected.abs(), "{figure:?} is not {expected}");
}

fn port(text: &str) -> PortRef {
    text.parse().expect("a port")
}

#[test]
fn every_case_in_every_block_and_the_load_into_tcps_own_egress() {
    let mut testbed = bed(topology(&["sw1"; 4], true), deep);
    measure_with(&mut testbed, &spec());
    // Alone, beside the load, beside its control, and alone over the cable.
    assert_eq!(testbed.asked.len(), 6 * 4);
    for trial in &testbed.asked {
        assert_eq!(trial.phases.load, Nanos::from_secs(12), "warm-up and time");
        assert_eq!(trial.flows[0].role, Role::Measured);
        let Some(load) = trial.flows.get(1) else { continue };
        assert_eq!((load.role, trial.path), (Role::Load, Path::Device));
        let ends = match beside(trial) {
            "same way" => ("h3/eth1", "h2/eth1"),
            _ => ("h2/eth1", "h3/eth1"),
        };
        assert_eq!((load.from.clone(), load.to.clone()), (port(ends.0), port(ends.1)));
        let FlowKind::Datagrams(datagrams) = &load.kind else { panic!("{load:?}") };
        // 2 Gbit/s of 8,972 octets of payload.
        let Schedule::Paced(rate) = datagrams.schedule else { panic!("{load:?}") };
        assert!((rate.0 - 2e9 / (8.0 * 8972.0)).abs() < 1e-6, "{rate:?}");
    }
}

#[test]
fn the_trunk_between_two_devices_is_what_both_share() {
    let mut testbed = bed(topology(&["sw1", "sw1", "sw2", "sw2"], false), deep);
    let spec = BufferSpec { blocks: study::Blocks::known(1), ..spec() };
    measure_with(&mut testbed, &spec);
    let with_load = testbed.asked.iter().filter(|trial| trial.flows.len() == 2);
    let ends = |flow: &Flow| format!("{} {}", flow.from, flow.to);
    let mut seen: Vec<String> =
        with_load.map(|t| format!("{}, {}", ends(&t.flows[0]), ends(&t.flows[1]))).collect();
    seen.sort();
    let expected = ["h1/eth1 h3/eth1, h2/eth1 h4/eth1", "h1/eth1 h3/eth1, h4/eth1 h2/eth1"];
    assert_eq!(seen, expected);
}

#[test]
fn ports_can_be_named() {
    let mut testbed = bed(topology(&["sw1"; 5], false), deep);
    let mut spec = BufferSpec { blocks: study::Blocks::known(1), ..spec() };
    spec.ports.to = Some(port("h1/eth1"));
    spec.ports.background_from = Some(port("h5/eth1"));
    measure_with(&mut testbed, &spec);
    let trial = testbed.asked.iter().find(|t| beside(t) == "same way").expect("one");
    let ends = trial.flows.iter().map(|f| format!("{} {}", f.from, f.to)).collect::<Vec<_>>();
    assert_eq!(ends, ["h2/eth1 h1/eth1", "h5/eth1 h1/eth1"]);
}

#[test]
fn too_little_buffer_is_told_with_its_reasons() {
    let mut testbed = bed(topology(&["sw1"; 4], true), shallow);
    let figures = measure_with(&mut testbed, &spec());
    let stable = find(&figures, Metric::Stable, "background", "device");
    assert_eq!((stable.value, stable.verdict), (Some(0.0), Verdict::DeviceLimited));
    let reasons = ["retransmits", "variation", "sawtooth", "below-fair-share"].map(str::to_owned);
    let reasons = Condition::List(reasons.into());
    assert_eq!(stable.conditions.get(&Key::Reasons), Some(&reasons));
    // Nothing is wrong without the load, nor where it goes the other way.
    for scenario in ["baseline", "control"] {
        let stable = find(&figures, Metric::Stable, scenario, "device");
        assert_eq!((stable.value, stable.verdict), (Some(1.0), Verdict::TesterLimited));
        assert_eq!(stable.conditions.get(&Key::Reasons), None);
    }
    // Of the ten seconds that count three lost 60 segments, and both streams were cut.
    let again = find(&figures, Metric::Retransmits, "background", "device").value;
    assert_eq!(again, Some(180.0));
    let cuts = find(&figures, Metric::CwndCuts, "background", "device").value;
    assert_eq!(cuts, Some(6.0));
    let few = [Caveat::QuickProfile];
    assert_eq!(find(&figures, Metric::Stable, "background", "device").caveats, few);
}

#[test]
fn enough_buffer_has_its_figures() {
    let mut testbed = bed(topology(&["sw1"; 4], true), deep);
    let figures = measure_with(&mut testbed, &spec());
    let of = |metric| find(&figures, metric, "background", "device");
    let stable = of(Metric::Stable);
    assert_eq!((stable.value, stable.verdict), (Some(1.0), Verdict::TesterLimited));
    assert_eq!((stable.n, stable.blocks), (6 * 10, 6));
    // (10 Gbit/s less 2 Gbit/s * 9038/8972) of 8948 payload octets in 9038 on the wire.
    let payload = 8948.0 / 9038.0;
    let fair = (10e9 - 2e9 * 9038.0 / 8972.0) * payload;
    match stable.conditions.get(&Key::FairShare) {
        Some(Condition::Number(told)) => assert!((told - fair).abs() < 1.0, "{told} {fair}"),
        other => panic!("{other:?}"),
    }
    near(of(Metric::Goodput), 7.8e9);
    near(of(Metric::RetransmitsPerGigabyte), 0.0);
    near(of(Metric::CwndMax), 85e6);
    // 10 Gbit/s * 50 ms.
    near(of(Metric::Bdp), 62.5e6);
    near(of(Metric::Buffer), 85e6 - fair / 8.0 * 0.05);
    near(of(Metric::Efficiency), 1.0);
    let longest = 85e6 * 8.0 / 7.8e9;
    near(of(Metric::BufferDelay), (longest - 0.05) / 0.05);
    let by_delay = figures.iter().find(|f| {
        let says = |key: Key, word: &str| f.conditions.get(&key) == Some(&word.into());
        says(Key::Estimator, "delay") && says(Key::Scenario, "background")
    });
    // All that waited: TCP's 36 MB and the load's, at 10 Gbit/s.
    near(by_delay.expect("one"), (longest - 0.05) * 10e9 / 8.0 * 9018.0 / 9038.0);
    near(of(Metric::TransferTimeRatio), fair / 7.8e9);
    near(of(Metric::LossRatio), 0.0);
    assert_eq!(of(Metric::RampUpTime).value, Some(0.0));
    let alone = find(&figures, Metric::Goodput, "baseline", "bypass");
    near(alone, 9.8e9);
    assert_eq!(alone.verdict, Verdict::TesterLimited);
}

#[test]
fn a_load_that_does_not_reach_its_rate_makes_no_figure() {
    let mut testbed = bed(topology(&["sw1"; 4], true), deep);
    testbed.sends = 0.9;
    let spec =
        BufferSpec { blocks: study::Blocks::known(1), tries: study::Tries::known(2), ..spec() };
    let figures = measure_with(&mut testbed, &spec);
    let stable = find(&figures, Metric::Stable, "background", "device");
    assert_eq!((stable.value, stable.blocks), (None, 0));
    assert!(stable.caveats.contains(&Caveat::NoValidTrial), "{stable:?}");
    let alone = find(&figures, Metric::Stable, "baseline", "device");
    assert_eq!(alone.value, Some(1.0));
}

#[test]
fn a_strict_profile_carries_no_quick_caveat() {
    let mut testbed = bed(topology(&["sw1"; 4], true), deep);
    let spec = BufferSpec { profile: Profile::Strict, ..spec() };
    let figures = measure_with(&mut testbed, &spec);
    assert_eq!(find(&figures, Metric::Goodput, "background", "device").caveats, []);
}

#[test]
fn what_can_not_be_measured_is_told_before() {
    let check = |topology: &Topology, change: &dyn Fn(&mut BufferSpec)| {
        let mut spec = spec();
        change(&mut spec);
        StudySpec::Buffer(spec).check(topology)
    };
    let four = topology(&["sw1"; 4], true);
    assert_eq!(check(&four, &|_| {}), Ok(()));
    let two = topology(&["sw1"; 2], true);
    assert!(matches!(
        check(&two, &|_| {}),
        Err(SpecProblem::TooFewHosts { needed: 3, found: 2, .. })
    ));
    assert_eq!(check(&two, &|spec| spec.backgrounds.clear()), Ok(()));
    let named = |spec: &mut BufferSpec| spec.ports.from = Some(port("h9/eth1"));
    assert!(matches!(check(&four, &named), Err(SpecProblem::NoPort { .. })));
    let itself = |spec: &mut BufferSpec| {
        spec.ports.from = Some(port("h1/eth1"));
        spec.ports.to = Some(port("h1/eth1"));
    };
    assert!(matches!(check(&four, &itself), Err(SpecProblem::OneHost { .. })));

    let mut unknown = four.clone();
    for port in unknown.hosts.iter_mut().flat_map(|host| &mut host.ports) {
        port.rate = None;
    }
    let share = |spec: &mut BufferSpec| spec.backgrounds = vec![Background::Share(0.2)];
    assert_eq!(check(&four, &share), Ok(()));
    assert!(matches!(check(&unknown, &share), Err(SpecProblem::NoLinkRate { .. })));
    let too_fast = |spec: &mut BufferSpec| {
        spec.backgrounds = vec![Background::Payload(Rate(10_000_000_000))];
    };
    assert!(matches!(check(&four, &too_fast), Err(SpecProblem::AboveLineRate { .. })));

    let wrong: [&dyn Fn(&mut BufferSpec); 3] = [
        &|spec| spec.backgrounds = vec![Background::Share(1.0)],
        &|spec| spec.interval = Nanos::ZERO,
        &|spec| spec.mtu = study::buffer::Mtu::known(1500),
    ];
    for change in wrong {
        let told = check(&four, change);
        assert!(matches!(told, Err(SpecProblem::OutOfRange { .. })), "{told:?}");
    }
    let empty = |spec: &mut BufferSpec| spec.congestion_controls.clear();
    assert!(matches!(check(&four, &empty), Err(SpecProblem::Nothing { .. })));
}

/// Its page of one study on a device.
fn page_on(second: fn(&Trial, u64) -> Second) -> StudyPage {
    let studies = [StudySpec::Buffer(spec())];
    let mut testbed = bed(topology(&["sw1"; 4], true), second);
    let (place, study) = numbered(&studies).next().expect("one study");
    study.find_as(place, &mut testbed, &mut 0, 7).expect("it is measured").page()
}

/// The rows that a cell is about.
fn rows_of(cell: &Cell) -> Vec<RowId> {
    match cell {
        Cell::Value { quantity, .. } => quantity.row.into_iter().collect(),
        Cell::Samples(samples) => samples.rows.clone(),
        Cell::Limit(limit) => limit.rows.clone(),
        Cell::Blank | Cell::Missing | Cell::Text { .. } => Vec::new(),
    }
}

#[test]
fn a_page_answers_for_each_load_and_states_its_rows() {
    let deep = "TCP is stable beside a bandwidth-delay product of ";
    let shallow = "TCP is not stable: ";
    for (device, reply, begins, stated) in [
        (self::deep as fn(&Trial, u64) -> Second, Reply::Yes, deep, 3),
        (self::shallow, Reply::No, shallow, 2),
    ] {
        let page = page_on(device);
        let [(Topic::Buffer, answer)] = &page.answers[..] else { panic!("{:?}", page.answers) };
        assert_eq!((answer.reply, answer.rows.len()), (Some(reply), stated), "{answer:?}");
        assert!(answer.text.starts_with(begins), "{}", answer.text);
        let case = "2 streams of cubic beside udp 2Gbit/s, RTT ";
        assert!(answer.case.starts_with(case), "{}", answer.case);
    }
}

#[test]
fn a_row_is_in_one_table_of_the_page_alone() {
    let page = page_on(deep);
    let tables = page.sections[0].blocks.iter().filter_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    });
    let mut known = Vec::new();
    for table in tables {
        assert_eq!(table.rows.len(), 4, "alone, two loads, and the cable");
        let mut own: Vec<RowId> = table.rows.iter().flatten().flat_map(rows_of).collect();
        own.sort_unstable();
        own.dedup();
        assert!(own.iter().all(|row| !known.contains(row)), "{}", table.title);
        known.extend(own);
    }
    // All but the four cases' retransmits, which the page counts by the gigabyte.
    let all = measure_with(&mut bed(topology(&["sw1"; 4], true), deep), &spec()).len();
    assert_eq!(known.len(), all - 4);
}
