//! The fabric study against a device whose groups and uplinks are known.
//!
//! Checks the two tables, what is called non-blocking and on what grounds, and what is refused
//! beforehand. Never touches the network.

#![allow(clippy::float_cmp, reason = "a stub's values come back as they were put in")]
#![allow(clippy::type_complexity, reason = "tables of cases say what their columns are")]

use measure::{ByteCount, Histogram, Nanos, Rate};
use page::Condition;
use page::{Caveat, Figure, Key, Metric, Verdict};
use scripted::{Script, Scripted, judged, one_way};
use study::{Arrangement, Estimate, FabricSpec, Nodes, StudySpec, trial_overhead};
use trial::record::{BulkRecord, ExchangeRecord, FlowRecord, ReceiptRecord, StreamRecord};
use trial::topology::{CableEnd, Device, DeviceKind, Host, HostPort, PortRef};
use trial::{Carrier, Flow, FlowKind, Path};
use trial::{Testbed, TestbedError, Topology, Trial, TrialRecord};

/// Ports in groups, each group behind an uplink of so many ports' rate; payload 100 MB/s a port.
struct Blocking {
    ports: usize,
    group: usize,
    uplink: f64,
    /// What an uplink still carries of its rate once it is asked for more.
    collapse: f64,
    /// A port that nothing reaches.
    dead: Option<usize>,
    /// Trials with this in their names fail.
    failing: Option<&'static str>,
}

const PORT: f64 = 100e6;

impl Blocking {
    fn new(ports: usize, group: usize, uplink: f64) -> Self {
        Self { ports, group, uplink, collapse: 1.0, dead: None, failing: None }
    }

    fn bed(self) -> Scripted<Self> {
        Scripted::new(topology(self.ports, true), self)
    }

    /// A host's place in the topology.
    fn place(&self, port: &PortRef) -> usize {
        self.ports - port.host[1..].parse::<usize>().expect("a host's number")
    }

    /// Octets a second one way; both directions of every pair load the uplinks alike.
    /// A port in several pairs gives each an equal part.
    fn share(&self, flow: &Flow, trial: &Trial) -> f64 {
        if trial.path == Path::Bypass {
            return 1.1 * PORT;
        }
        let group = |port: &PortRef| self.place(port) / self.group;
        let crosses = |flow: &Flow| group(&flow.from) != group(&flow.to);
        let at = |port: &PortRef| {
            trial.flows.iter().filter(|f| f.from == *port || f.to == *port).count() as f64
        };
        let part = |flow: &Flow| 1.0 / at(&flow.from).max(at(&flow.to));
        let own = PORT * part(flow);
        if [&flow.from, &flow.to].into_iter().any(|port| Some(self.place(port)) == self.dead) {
            return 0.0;
        }
        let over = |g: usize| {
            let ends = |f: &&Flow| crosses(f) && [group(&f.from), group(&f.to)].contains(&g);
            trial.flows.iter().filter(ends).map(part).sum::<f64>()
        };
        if !crosses(flow) {
            return own;
        }
        let most = over(group(&flow.from)).max(over(group(&flow.to)));
        if most <= self.uplink { own } else { own * self.uplink / most * self.collapse }
    }
}

impl Blocking {
    /// One flow of many one way.
    fn flooded(&self, flow: &Flow, trial: &Trial) -> FlowRecord {
        let group = |port: &PortRef| self.place(port) / self.group;
        let crossing = |out: bool, g: usize| {
            let of = |f: &&Flow| group(if out { &f.from } else { &f.to }) == g;
            let crosses = |f: &&Flow| group(&f.from) != group(&f.to);
            trial.flows.iter().filter(of).filter(crosses).count() as f64
        };
        let (from, to) = (group(&flow.from), group(&flow.to));
        let most = if from == to { 0.0 } else { crossing(true, from).max(crossing(false, to)) };
        let FlowKind::Datagrams(asked) = &flow.kind else { panic!("neither exchange nor flood") };
        let line = asked.frames.line_rate(Rate(1_000_000_000)).0;
        let sent = (line * trial.phases.load.as_secs_f64()) as u64;
        let unique = (sent as f64 * (self.uplink / most).min(1.0)) as u64;
        FlowRecord::Datagrams(one_way(trial.phases.load, sent, unique))
    }
}

fn topology(ports: usize, bypass: bool) -> Topology {
    let port = |name: &str, cable: CableEnd| HostPort {
        rate: Some(Rate(1_000_000_000)),
        ..HostPort::plain(name, "198.18.0.1".parse().expect("an address"), cable)
    };
    let host = |at: usize| {
        let plug = CableEnd::device("sw1", format!("p{}", at + 1));
        let peer = PortRef { host: format!("h{}", (at ^ 1) + 1), port: "eth2".to_owned() };
        let mut ports = vec![port("eth1", plug)];
        if bypass && at ^ 1 < 100 {
            ports.push(port("eth2", CableEnd::Host(peer)));
        }
        Host { name: format!("h{}", at + 1), reach: "local".to_owned(), ports }
    };
    let device = Device::plain("sw1", DeviceKind::Switch);
    // Not in the order of the device's ports: the study puts them there.
    let hosts = (0..ports).rev().map(host).collect();
    Topology::new("blocking", hosts, vec![device])
}

impl Script for Blocking {
    fn answer(&mut self, _: usize, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        let load = trial.phases.load;
        if self.failing.is_some_and(|name| trial.label.contains(name)) {
            return Ok(TrialRecord::failed(0, "it was to fail".to_owned()));
        }
        let flows = trial
            .flows
            .iter()
            .map(|flow| {
                let (interval, message) = match &flow.kind {
                    FlowKind::Exchange(asked) => (asked.interval, asked.message),
                    FlowKind::Bulk(asked) => (asked.interval, ByteCount(1)),
                    _ => return self.flooded(flow, trial),
                };
                let share = self.share(flow, trial);
                let whole = (load.0 / interval.0) as usize;
                let each = (share * interval.as_secs_f64()) as u64;
                let mut intervals = vec![ByteCount(each); whole];
                // One interval of the load is half empty, everywhere.
                intervals[whole / 2] = ByteCount(each / 2);
                if matches!(flow.kind, FlowKind::Bulk(_)) {
                    return streamed((share * load.as_secs_f64()) as u64, load, intervals);
                }
                let receipt = ReceiptRecord {
                    messages: (share * load.as_secs_f64()) as u64 / message.0,
                    octets: ByteCount((share * load.as_secs_f64()) as u64),
                    elapsed: load,
                    rounds: Histogram::new(),
                    intervals,
                    ..ReceiptRecord::default()
                };
                let (forward, backward) = (receipt.clone(), receipt);
                FlowRecord::Exchange(ExchangeRecord { forward, backward })
            })
            .collect();
        Ok(judged(trial, flows))
    }
}

fn streamed(octets: u64, load: Nanos, received: Vec<ByteCount>) -> FlowRecord {
    FlowRecord::Bulk(BulkRecord {
        congestion_control: "cubic".to_owned(),
        segment: None,
        received: ByteCount(octets),
        elapsed: load,
        streams: vec![StreamRecord { points: Vec::new(), received }],
        far_end: None,
    })
}

fn spec(arrangements: &[&str]) -> FabricSpec {
    let read = |name: &&str| name.parse::<Arrangement>().expect("an arrangement");
    FabricSpec {
        arrangements: arrangements.iter().map(read).collect(),
        blocks: study::Blocks::known(6),
        ..FabricSpec::quick()
    }
}

fn run(spec: &FabricSpec, testbed: &mut Scripted<Blocking>) -> Vec<Figure> {
    let study = StudySpec::Fabric(spec.clone());
    study.check(testbed.topology()).expect("a possible study");
    let figures = study.run(testbed, 7).expect("the model never dies");
    if testbed.dead.is_some() || spec.infer {
        return figures;
    }
    // Probes and controls follow from what was measured: the estimate has all of them.
    let follows = |trial: &&Trial| {
        ["suspects", "alone", "again", "quiet"].iter().any(|word| trial.label.contains(word))
    };
    let followed = testbed.asked.iter().filter(follows).count() as u64;
    let most = |path: Path| {
        let of = testbed.asked.iter().filter(|trial| trial.path == path && !follows(trial));
        let flows = of.clone().map(|trial| trial.flows.len() as u64).max().unwrap_or(0);
        (of.count() as u64, flows)
    };
    let sides = [most(Path::Device), most(Path::Bypass)];
    let lasting = |duration: Nanos, trials: u64, flows: u64| {
        (spec.profile.phases(duration).total() + trial_overhead(flows)) * trials
    };
    let each = |trials: u64, flows: u64| lasting(spec.duration, trials, flows);
    let blocks = u64::from(spec.blocks.get());
    // Ports in several pairs are never judged; without a direct cable nothing leans to a *no*.
    let is_asked = spec.arrangements.iter().any(|arrangement| arrangement.is_matching());
    let pairs = sides[0].1.min(testbed.ports as u64 / 2);
    let rounds = |wanted: bool, rounds: u64| if is_asked && wanted { blocks * rounds } else { 0 };
    let probes = rounds(testbed.ports >= 5, 3);
    let has_cables = sides[1].0 > 0;
    let (again, alone) = (rounds(has_cables, 1), rounds(has_cables, pairs.min(8)));
    let quiet = rounds(testbed.ports >= 5 && blocks > 1, 1);
    let (quiet_flows, after) = (testbed.ports as u64 / 2 * 2, probes + again + alone + quiet);
    let time = each(sides[0].0, sides[0].1)
        + each(sides[1].0, sides[1].1)
        + each(probes + again, pairs)
        + each(alone, 1)
        + lasting(spec.duration.max(Nanos::from_millis(800)), quiet, quiet_flows);
    assert!(followed <= after, "{followed} trials followed of {after}");
    let expected = Estimate {
        trials: sides[0].0 + sides[1].0 + after,
        time,
        starting: Nanos::ZERO,
        flows: sides[0].1.max(sides[1].1).max(if quiet > 0 { quiet_flows } else { 0 }),
        searching: after > 0,
    };
    assert_eq!(study.estimate(testbed.topology()), expected, "every trial was counted");
    figures
}

fn find<'a>(figures: &'a [Figure], wanted: &[(Key, &str)]) -> &'a Figure {
    let text = |figure: &Figure, key: Key| match figure.conditions.get(&key) {
        Some(Condition::Text(text)) => text.clone(),
        Some(Condition::Integer(number)) => number.to_string(),
        other => format!("{other:?}"),
    };
    let is = |f: &&Figure| {
        f.metric == Metric::PairGoodput
            && wanted.iter().all(|(key, value)| text(f, key.clone()) == *value)
    };
    figures.iter().find(is).unwrap_or_else(|| panic!("no figure of {wanted:?}"))
}

fn nonblocking(figures: &[Figure]) -> &Figure {
    figures.iter().find(|f| f.metric == Metric::Nonblocking).expect("an answer")
}

fn value(figures: &[Figure], arrangement: &str, nodes: &str, statistic: &str) -> f64 {
    let wanted = [
        (Key::Path, "device"),
        (Key::Arrangement, arrangement),
        (Key::Nodes, nodes),
        (Key::Message, "65536"),
        (Key::Statistic, statistic),
    ];
    find(figures, &wanted).value.expect("measured")
}

#[test]
fn the_tables_of_the_first_write_up() {
    let mut testbed = Blocking { collapse: 0.4, ..Blocking::new(48, 12, 10.0) }.bed();
    let figures = run(&spec(&["neighbours", "offset=12"]), &mut testbed);
    for nodes in ["2", "4", "8", "16", "32", "48"] {
        assert_eq!(value(&figures, "neighbours", nodes, "mean"), 8.0 * PORT, "{nodes}");
        let b = value(&figures, "offset=12", nodes, "mean") / (8.0 * PORT);
        let expected = if nodes == "48" { 10.0 / 12.0 * 0.4 } else { 1.0 };
        assert!((b - expected).abs() < 1e-6, "{nodes} nodes: {b}");
    }
    assert_eq!(value(&figures, "neighbours", "48", "minimum"), 8.0 * PORT);
    assert_eq!(value(&figures, "neighbours", "48", "worst-interval"), 4.0 * PORT);
    let sizes = figures.iter().filter(|f| {
        f.text(Key::Arrangement) == Some("offset=12")
            && f.conditions[&Key::Nodes] == 48u64.into()
            && f.text(Key::Statistic) == Some("minimum")
    });
    assert_eq!(sizes.count(), 5, "one for each message size");
    let b = find(
        &figures,
        &[(Key::Arrangement, "offset=12"), (Key::Nodes, "48"), (Key::Statistic, "mean")],
    );
    assert_eq!((b.verdict, b.blocks), (Verdict::DeviceLimited, 6));
    assert!(b.caveats.contains(&Caveat::QuickProfile) && !b.caveats.contains(&Caveat::NoBypass));
    assert_eq!(b.text(Key::RateConvention), Some("payload"));
    let Condition::Number(limit) = b.conditions[&Key::WireLimit] else { panic!() };
    assert!((limit / 1e6 - 949.3).abs() < 0.1, "{limit}");
    let pair = [(Key::Statistic, "pair"), (Key::Arrangement, "offset=12"), (Key::From, "h1/eth1")];
    assert_eq!(
        find(&figures, &pair).conditions[&Key::To],
        "h13/eth1".into(),
        "by the device's ports"
    );
}

#[test]
fn a_blocking_device_is_told_from_one_that_is_not() {
    // Uplink, arrangements, direct cables; the answer and the worst.
    let table: [(f64, &[&str], bool, Option<f64>, &str); 6] = [
        (10.0, &["neighbours", "sweep"], true, Some(0.0), "sweep-12"),
        // Nothing shows what so many hosts do at once without the device.
        (10.0, &["neighbours", "offset=12"], false, None, "offset=12"),
        (12.0, &["neighbours", "offset=12"], false, None, ""),
        (12.0, &["neighbours", "sweep"], true, Some(1.0), ""),
        (10.0, &["neighbours", "tournament"], true, Some(0.0), ""),
        (10.0, &["neighbours"], true, Some(1.0), "neighbours"),
    ];
    for (uplink, arrangements, bypass, expected, worst) in table {
        let mut testbed = Blocking::new(48, 12, uplink).bed();
        testbed.topology = topology(48, bypass);
        let spec = FabricSpec { nodes: Nodes::These(vec![2, 48]), ..spec(arrangements) };
        let figures = run(&spec, &mut testbed);
        let answer = nonblocking(&figures);
        assert_eq!(answer.value, expected, "{uplink} {arrangements:?}");
        let named = &answer.conditions[&Key::WorstArrangement];
        assert!(worst.is_empty() || *named == worst.into(), "{uplink}: {named:?}");
        assert_eq!(answer.caveats.contains(&Caveat::NoBypass), !bypass);
        assert!(bypass || answer.verdict == Verdict::Undetermined, "{answer:?}");
    }
}

/// What was asked for and has no valid trial may be what blocks.
#[test]
fn no_yes_without_a_trial_of_every_arrangement() {
    // The uplink and the trials that fail; the answer, and what is missing.
    let table = [
        (12.0, "sweep 12,", None, Some("sweep-12")),
        (12.0, "exchange 64KiB neighbours, 2", None, None),
        (10.0, "sweep 1,", Some(0.0), Some("sweep-1")),
        (12.0, "of no trial", Some(1.0), None),
    ];
    for (uplink, failing, expected, missing) in table {
        let bed = Blocking { failing: Some(failing), ..Blocking::new(48, 12, uplink) };
        let nodes = Nodes::These(vec![2, 48]);
        let spec =
            FabricSpec { nodes, tries: study::Tries::known(1), ..spec(&["neighbours", "sweep"]) };
        let figures = run(&spec, &mut bed.bed());
        let answer = nonblocking(&figures);
        assert_eq!(answer.value, expected, "{failing}: {answer:?}");
        let named = answer.conditions.get(&Key::ArrangementsMissing);
        let expected = missing.map(|name| Condition::List(vec![name.to_owned()]));
        assert!(missing.is_none() || named == expected.as_ref(), "{failing}: {named:?}");
        let caveat = answer.caveats.contains(&Caveat::NoValidTrial);
        assert_eq!(caveat, named.is_some(), "{failing}: {answer:?}");
    }
}

/// One port of a tenth of the others' rate: the wire is that of the pairs that a figure is about.
#[test]
fn each_pair_has_its_own_wire() {
    let mut testbed = Blocking::new(4, 4, 4.0).bed();
    for (at, host) in testbed.topology.hosts.iter_mut().enumerate() {
        let slow = at == 0;
        for port in &mut host.ports {
            port.rate = Some(Rate(if slow { 1_000_000_000 } else { 10_000_000_000 }));
        }
    }
    let figures = run(
        &FabricSpec { blocks: study::Blocks::known(2), ..spec(&["neighbours", "sweep"]) },
        &mut testbed,
    );
    let wire = |wanted: &[(Key, &str)]| {
        let wanted = [wanted, &[(Key::Path, "device"), (Key::Message, "65536")]].concat();
        find(&figures, &wanted).number(Key::WireLimit).expect("the rates are known") / 949.3e6
    };
    let (mean, least) = ((Key::Statistic, "mean"), (Key::Statistic, "minimum"));
    let worst = (Key::Statistic, "worst-round");
    let nodes = |nodes| [(Key::Nodes, nodes), (Key::Arrangement, "neighbours")];
    for (wanted, expected) in [
        ([&nodes("2")[..], std::slice::from_ref(&mean)].concat(), 10.0),
        ([&nodes("4")[..], &[mean]].concat(), 5.5),
        ([&nodes("4")[..], &[least]].concat(), 1.0),
        (vec![worst], 5.5),
        (vec![(Key::Statistic, "pair"), (Key::From, "h1/eth1")], 10.0),
        (vec![(Key::Statistic, "pair"), (Key::From, "h3/eth1")], 1.0),
    ] {
        let found = wire(&wanted);
        assert!((found - expected).abs() < 0.01, "{wanted:?}: {found}");
    }
}

#[test]
fn groups_and_their_uplinks_are_told_from_floods() {
    // Uplink of groups of 12, in ports; the groups told, and the uplink's rate.
    let table = [(10.0, Some(4.0), Some(10e9)), (4.5, Some(4.0), Some(4.5e9)), (12.0, None, None)];
    for (uplink, groups, rate) in table {
        let mut testbed = Blocking::new(48, 12, uplink).bed();
        let nodes = Nodes::These(vec![2]);
        let spec = FabricSpec {
            infer: true,
            nodes,
            blocks: study::Blocks::known(1),
            ..spec(&["neighbours"])
        };
        let figures = run(&spec, &mut testbed);
        let of = |metric| figures.iter().find(|f| f.metric == metric);
        let told = of(Metric::PortGroups).expect("a row either way");
        assert_eq!(told.value, groups, "{uplink}");
        // Six floods of each uplink are its rate's interval.
        assert!(told.n < 47, "a full sweep is 47 floods: {}", told.n);
        let found = of(Metric::UplinkRate).and_then(|f| f.value);
        let close = |(a, b): (f64, f64)| (a / b - 1.0).abs() < 0.05;
        assert!(found.is_some() == rate.is_some(), "{uplink}");
        assert!(found.zip(rate).is_none_or(close), "{uplink}: {found:?}");
        if groups.is_some() {
            let Condition::Groups(groups) = &told.conditions[&Key::Groups] else { panic!() };
            let names: Vec<String> = (13..=24).map(|port| format!("h{port}/eth1")).collect();
            assert_eq!(groups[1], names);
            let said = told.conditions[&Key::Groups].to_string();
            assert_eq!(said.split("; ").nth(1), Some("h13/eth1 to h24/eth1"), "{said}");
        } else {
            assert!(told.caveats.contains(&Caveat::DeviceNotDriven));
        }
    }
}

/// A port with many pairs at once is told by what all of them get, at any number of nodes, and says
/// nothing of the device's blocking.
#[test]
fn a_port_in_several_pairs_is_told_as_a_whole() {
    let patterns = ["mesh", "half-to-half", "one-to-many", "many-to-one", "one-way"];
    let names = [&["neighbours"][..], &patterns].concat();
    let mut testbed = Blocking::new(8, 4, 3.0).bed();
    let figures =
        run(&FabricSpec { blocks: study::Blocks::known(2), ..spec(&names) }, &mut testbed);
    for name in patterns {
        for nodes in ["2", "4", "8"] {
            let part = value(&figures, name, nodes, "mean") / (8.0 * PORT);
            // Of 8 ports in two halves all pairs leave their groups of 4; of a mesh 4 of 7 do, and
            // an uplink of 3 carries 4 * 4 / 7.
            let halves = matches!(name, "half-to-half" | "one-way") && nodes == "8";
            let expected = if halves { 0.75 } else { 1.0 };
            assert!((part - expected).abs() < 1e-6, "{name} of {nodes}: {part}");
        }
    }
    let each = |name: &str| {
        let wanted = [(Key::Arrangement, name), (Key::Nodes, "8"), (Key::Statistic, "mean")];
        find(&figures, &wanted).conditions.get(&Key::PairsOfAPort).cloned()
    };
    assert_eq!(each("mesh"), Some(7u64.into()));
    assert_eq!(each("half-to-half"), Some(4u64.into()));
    assert_eq!(each("neighbours"), None);
    let answer = nonblocking(&figures);
    assert_eq!(answer.text(Key::WorstArrangement), Some("neighbours"));
    let one_way = testbed.asked.iter().filter(|trial| trial.label.starts_with("streams"));
    assert!(one_way.clone().count() > 0 && one_way.clone().all(|t| t.flows.len() <= 16));
    let only = spec(&["mesh"]);
    let figures = run(&only, &mut Blocking::new(8, 4, 3.0).bed());
    assert!(figures.iter().all(|f| f.metric != Metric::Nonblocking), "nothing to tell it from");
}

#[test]
fn one_number_of_nodes_answers_nothing() {
    let spec = FabricSpec { nodes: Nodes::These(vec![48]), ..spec(&["neighbours", "offset=12"]) };
    let figures = run(&spec, &mut Blocking::new(48, 12, 10.0).bed());
    let answer = nonblocking(&figures);
    assert_eq!((answer.value, answer.verdict), (None, Verdict::Undetermined));
    assert!(answer.caveats.contains(&Caveat::NotResolved));
}

#[test]
fn a_dead_port_takes_nothing_from_the_others() {
    let mut testbed = Blocking { dead: Some(0), ..Blocking::new(48, 12, 12.0) }.bed();
    let figures = run(&spec(&["neighbours"]), &mut testbed);
    for (statistic, expected) in [("mean", 8.0 * PORT), ("minimum", 8.0 * PORT)] {
        assert_eq!(value(&figures, "neighbours", "48", statistic), expected);
    }
    let whole = [(Key::Nodes, "48"), (Key::Statistic, "mean"), (Key::Path, "device")];
    assert!(find(&figures, &whole).caveats.contains(&Caveat::SilentPairs));
    let pair = |from| {
        find(&figures, &[(Key::Statistic, "pair"), (Key::From, from), (Key::Path, "device")])
    };
    assert_eq!(pair("h47/eth1").value, None, "the dead port's");
    assert!(pair("h47/eth1").caveats.contains(&Caveat::SilentPairs));
    assert!(pair("h1/eth1").caveats.iter().all(|c| *c != Caveat::SilentPairs));
}

#[test]
fn what_can_not_be_done_is_refused_beforehand() {
    let check = |spec: FabricSpec, topology: &Topology, expected: &str| {
        let problem = StudySpec::Fabric(spec).check(topology).expect_err(expected).to_string();
        assert!(problem.contains(expected), "{problem}");
    };
    let ports = topology(4, false);
    let nodes = |counts: &[u32]| FabricSpec {
        nodes: Nodes::These(counts.to_vec()),
        ..spec(&["neighbours"])
    };
    check(spec(&[]), &ports, "no arrangement");
    check(spec(&["offset=4"]), &ports, "the arrangement is offset=4");
    check(nodes(&[3]), &ports, "a number of nodes is 3");
    check(nodes(&[6]), &ports, "a number of nodes is 6");
    check(nodes(&[]), &ports, "no number of nodes");
    let credits = Carrier::Datagrams { credits: 0 };
    check(FabricSpec { carrier: credits, ..spec(&["sweep"]) }, &ports, "credits is 0");
    let credits = Carrier::Datagrams { credits: 8 };
    check(FabricSpec { carrier: credits, ..spec(&["one-way"]) }, &ports, "is one-way");
    check(FabricSpec { message: ByteCount(0), ..spec(&["sweep"]) }, &ports, "size is 0");
    check(FabricSpec { margin: 1.0, ..spec(&["sweep"]) }, &ports, "the margin is 1");
    let collective = FabricSpec {
        collectives: vec![trial::Collective::AllGather],
        collective_sizes: vec![ByteCount(8)],
        ..spec(&["sweep"])
    };
    let carrier = Carrier::Datagrams { credits: 8 };
    check(FabricSpec { carrier, ..collective.clone() }, &ports, "the carrier of a collective is");
    StudySpec::Fabric(collective).check(&ports).expect("real hosts carry collectives out");
    let cable = Topology { devices: Vec::new(), ..topology(2, true) };
    check(spec(&["sweep"]), &cable, "the arrangement is sweep");
    check(spec(&["neighbours"]), &topology(1, false), "find two ports");
}

#[test]
fn an_odd_port_rests() {
    let mut testbed = Blocking::new(5, 5, 5.0).bed();
    testbed.topology.hosts[0].ports.truncate(1);
    let figures = run(&spec(&["neighbours", "tournament"]), &mut testbed);
    assert_eq!(value(&figures, "neighbours", "4", "mean"), 8.0 * PORT);
    let pairs = figures.iter().filter(|f| {
        f.text(Key::Arrangement) == Some("tournament") && f.text(Key::Statistic) == Some("pair")
    });
    assert_eq!(pairs.count(), 10, "every pair of five once");
}
