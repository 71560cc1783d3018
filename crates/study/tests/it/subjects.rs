//! Several devices and variants beside one another, both directions at once, and other headers.
//!
//! Checks that each figure names its subject, that the order is fair, and what is refused
//! beforehand. Never touches the network.

use crate::model::{Bed, Model, Way, bench};
use measure::{FrameMix, FrameSize};
use page::Condition;
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};
use study::{ForwardingSpec, ForwardingTest, LatencySpec, SpecProblem, StudySpec};
use trial::Testbed as _;
use trial::{Backend, FlowKind, Headers, IpVersion, Path, Spread, Subject};

fn subject(device: &str, variant: Option<&str>) -> Subject {
    Subject { device: device.to_owned(), variant: variant.map(str::to_owned) }
}

/// Two devices, one of them in two variants, with capacities of 200,000, 400,000 and 600,000.
fn three() -> (Vec<Subject>, Bed) {
    let subjects =
        vec![subject("sw1", Some("plain")), subject("sw1", Some("fast")), subject("sw2", None)];
    let mut model = Model::new().bed();
    model.topology = bench(&["sw1", "sw2"], true);
    let way = |capacity| Way { capacity, ..model.device };
    let ways = [200_000.0, 400_000.0, 600_000.0].map(way);
    model.subjects = subjects.iter().cloned().zip(ways).collect();
    (subjects, model)
}

fn spec(tests: &[ForwardingTest], subjects: Vec<Subject>) -> ForwardingSpec {
    let frames =
        vec![FrameMix::from_size(FrameSize::MIN), FrameMix::from_size(FrameSize::STANDARD_MAX)];
    ForwardingSpec { frames, tests: tests.to_vec(), subjects, ..ForwardingSpec::quick() }
}

fn run(spec: &ForwardingSpec, model: &mut Bed) -> Vec<Figure> {
    let study = StudySpec::Forwarding(spec.clone());
    study.check(model.topology()).expect("a possible study");
    study.run(model, 7).expect("the model never dies")
}

fn about(figure: &Figure, subject: &Subject) -> bool {
    figure.conditions[&Key::Device] == subject.device.clone().into()
        && figure.conditions.get(&Key::Variant) == subject.variant.clone().map(Into::into).as_ref()
}

fn in_frames<'a>(figures: &'a [Figure], metric: Metric, subject: &Subject) -> Vec<&'a Figure> {
    let own = figures.iter().filter(|f| f.metric == metric && about(f, subject));
    own.filter(|f| f.unit != Unit::BitsPerSecond).collect()
}

#[test]
fn each_subject_has_its_own_figures() {
    let (subjects, mut model) = three();
    let tests = [ForwardingTest::Flood, ForwardingTest::Throughput, ForwardingTest::LossCurve];
    let figures = run(&spec(&tests, subjects.clone()), &mut model);
    for (subject, capacity) in subjects.iter().zip([200_000.0, 400_000.0, 600_000.0]) {
        for metric in [Metric::Received, Metric::Throughput] {
            let own = in_frames(&figures, metric, subject);
            assert_eq!(own.len(), 2, "{subject:?} {metric:?}");
            for figure in own {
                let value = figure.value.expect("found");
                assert!((value / capacity - 1.0).abs() < 0.01, "{subject:?}: {figure:?}");
                assert_eq!(figure.verdict, Verdict::DeviceLimited, "{figure:?}");
                assert!(!figure.caveats.contains(&Caveat::NoBypass));
            }
        }
    }
    for trial in &model.asked {
        assert_eq!(trial.subject.is_some(), trial.path == Path::Device);
        let on_sw2 = trial.subject.as_ref().is_some_and(|s| s.device == "sw2");
        assert_eq!(trial.flows[0].from.port == "eth3", on_sw2, "{}", trial.label);
    }
}

#[test]
fn the_cable_is_searched_once_and_far_enough() {
    let (subjects, mut model) = three();
    let figures = run(&spec(&[ForwardingTest::Throughput], subjects), &mut model);
    let cable = figures.iter().filter(|f| {
        f.metric == Metric::Throughput
            && f.unit == Unit::FramesPerSecond
            && f.text(Key::Path) == Some("bypass")
    });
    let found: Vec<f64> = cable.map(|f| f.value.expect("found")).collect();
    // Twice the fastest subject is more than the tester's million.
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|rate| *rate > 990_000.0), "{found:?}");
}

#[test]
fn a_block_applies_each_variant_once_and_floods_everything() {
    let (subjects, mut model) = three();
    run(&spec(&[ForwardingTest::Flood], subjects), &mut model);
    let mut orders = Vec::new();
    for block in 0..6 {
        let trials: Vec<_> = model.asked.iter().filter(|t| t.block == block).collect();
        let floods = trials.iter().filter(|t| t.label.starts_with("flood ")).count();
        assert_eq!(floods, 8, "two sizes, three subjects and the cable");
        // Of each size and subject a longer one, which looks for a token bucket.
        assert_eq!(trials.len() - floods, if block == 0 { 6 } else { 0 });
        let mut order: Vec<Option<&Subject>> = trials.iter().map(|t| t.subject.as_ref()).collect();
        order.dedup();
        assert_eq!(order.len(), 4, "block {block}: {order:?}");
        orders.push(order);
    }
    assert!(orders.iter().any(|order| *order != orders[0]), "the order is drawn anew");
}

#[test]
fn a_variant_that_never_comes_up_is_skipped_and_said() {
    let (subjects, mut model) = three();
    let tests = [ForwardingTest::Flood, ForwardingTest::Throughput, ForwardingTest::Latency];
    model.dead = vec![subjects[1].clone()];
    let figures = run(&spec(&tests, subjects.clone()), &mut model);
    for figure in figures.iter().filter(|f| about(f, &subjects[1])) {
        assert_eq!(figure.value, None, "{figure:?}");
        let doubts = [Caveat::NoValidTrial, Caveat::NoThroughput];
        assert!(doubts.iter().any(|doubt| figure.caveats.contains(doubt)), "{figure:?}");
    }
    let waited = model.asked.iter().filter(|t| t.subject.as_ref() == Some(&subjects[1])).count();
    assert_eq!(waited, 6, "two trials with three tries each, and no more");
    for subject in [&subjects[0], &subjects[2]] {
        let found = in_frames(&figures, Metric::Throughput, subject);
        assert!(found.iter().all(|f| f.value.is_some()), "{subject:?}");
    }
}

#[test]
fn latency_compares_subjects_too() {
    let (subjects, mut model) = three();
    for (at, subject) in subjects.iter().enumerate() {
        let rtt_ns = 40_000.0 + 10_000.0 * at as f64;
        let way = model.subjects.get_mut(subject).expect("one of the three");
        *way = Way { rtt_ns, ..*way };
    }
    let sizes = vec![FrameSize::MIN];
    let spec = LatencySpec { subjects: subjects.clone(), sizes, ..LatencySpec::quick() };
    let study = StudySpec::Latency(spec);
    study.check(model.topology()).expect("a possible study");
    let figures = study.run(&mut model, 7).expect("the model never dies");
    for (at, subject) in subjects.iter().enumerate() {
        let added = figures.iter().filter(|f| f.metric == Metric::RttAdded && about(f, subject));
        let median = added.filter(|f| f.quantile == Some(0.5));
        let values: Vec<f64> = median.map(|f| f.value.expect("measured")).collect();
        let truth = 10_000.0 + 10_000.0 * at as f64;
        assert_eq!(values.len(), 3, "one for each protocol");
        assert!(values.iter().all(|v| (v - truth).abs() < 500.0), "{subject:?}: {values:?}");
    }
}

#[test]
fn both_directions_are_told_apart_and_together() {
    let mut model = Model::new().bed();
    let tests = [ForwardingTest::Flood, ForwardingTest::Throughput, ForwardingTest::LossCurve];
    let spec = ForwardingSpec { bidirectional: true, ..spec(&tests, Vec::new()) };
    let figures = run(&spec, &mut model);
    assert!(model.asked.iter().all(|t| t.flows.len() == 2 && t.flows[0].from == t.flows[1].to));
    let of = |metric: Metric, direction: &str| {
        let own = figures.iter().find(|f| {
            f.metric == metric
                && f.unit != Unit::BitsPerSecond
                && f.text(Key::Path) == Some("device")
                && f.text(Key::Direction) == Some(direction)
        });
        own.and_then(|f| f.value).unwrap_or_else(|| panic!("{metric:?} {direction}"))
    };
    for (direction, rate) in [("forward", 4e5), ("reverse", 4e5), ("total", 8e5)] {
        for metric in [Metric::Received, Metric::Throughput] {
            let value = of(metric, direction);
            assert!((value / rate - 1.0).abs() < 0.01, "{metric:?} {direction}: {value}");
        }
        assert!((of(Metric::LossRatio, direction) - 0.6).abs() < 0.01);
    }
}

#[test]
fn frames_grow_to_their_headers_and_mixes_have_a_mean() {
    let mut model = Model::new().bed();
    for host in &mut model.topology.hosts {
        for port in &mut host.ports {
            port.address6 = Some("2001:2::1".parse().expect("an address"));
        }
    }
    let headers = Headers {
        version: IpVersion::V6,
        vlan: Some(trial::VlanId::known(7)),
        spread: Spread { source_ports: 16, ..Spread::NONE },
    };
    let frames = vec![FrameMix::from_size(FrameSize::MIN), FrameMix::imix()];
    let tests = [ForwardingTest::Flood];
    let figures = run(&ForwardingSpec { frames, headers, ..spec(&tests, Vec::new()) }, &mut model);
    for trial in &model.asked {
        let FlowKind::Datagrams(flow) = &trial.flows[0].kind else { panic!() };
        assert_eq!((flow.headers, flow.frames.smallest().octets()), (headers, 88));
    }
    let row = |size: &Condition, convention: Option<&str>| {
        let own = figures.iter().filter(|f| {
            f.metric == Metric::Received
                && f.text(Key::Path) == Some("device")
                && f.conditions[&Key::FrameSize] == *size
        });
        let mut own = own.filter(|f| {
            f.conditions.get(&Key::RateConvention).cloned() == convention.map(Condition::from)
        });
        own.next().expect("its figure").clone()
    };
    let small = row(&64_u64.into(), None);
    assert_eq!(small.integer(Key::FrameSizeSent), Some(88));
    assert_eq!(small.integer(Key::UdpPayload), Some(18));
    assert_eq!(small.text(Key::IpVersion), Some("ipv6"));
    assert_eq!(small.integer(Key::SourcePorts), Some(16));
    assert!(small.caveats.contains(&Caveat::FrameSizeRaised));
    let imix = Condition::from("imix");
    let (frames, payload) = (row(&imix, None), row(&imix, Some("payload")));
    // 7 of 88, 4 of 594, 1 of 1518; less 22 of Ethernet with a tag, 40 of IPv6, 8 of UDP.
    let mean = (7.0 * 88.0 + 4.0 * 594.0 + 1518.0) / 12.0;
    let bits = frames.value.expect("measured") * 8.0 * (mean - 70.0);
    assert!((payload.value.expect("measured") / bits - 1.0).abs() < 1e-9);
}

#[test]
fn impossible_requests_are_refused_beforehand() {
    let topology = bench(&["sw1", "sw2"], true);
    let check = |spec: &ForwardingSpec| {
        StudySpec::Forwarding(spec.clone()).check(&topology).expect_err("impossible")
    };
    let base = || spec(&[ForwardingTest::Throughput], Vec::new());
    let with = |subjects| ForwardingSpec { subjects, ..base() };
    let unknown = check(&with(vec![subject("sw9", None)]));
    assert!(matches!(unknown, SpecProblem::NoDevice { .. }), "{unknown}");
    assert!(unknown.hint().contains("sw1, sw2"));
    let variant = check(&with(vec![subject("sw1", Some("odd"))]));
    assert!(matches!(variant, SpecProblem::NoVariant { .. }) && variant.hint().contains("plain"));
    let twice = check(&with(vec![subject("sw1", None), subject("sw1", None)]));
    assert!(matches!(twice, SpecProblem::Twice { .. }));
    let backend = Backend::UdpGso;
    let bursts = check(&ForwardingSpec { backend, ..base() });
    assert!(matches!(bursts, SpecProblem::Bursts { test: "throughput", .. }), "{bursts}");
    let flood = ForwardingSpec { backend, tests: vec![ForwardingTest::Flood], ..base() };
    assert_eq!(StudySpec::Forwarding(flood).check(&topology), Ok(()));
    let headers = Headers { version: IpVersion::V6, ..Headers::default() };
    let no_address = check(&ForwardingSpec { headers, ..base() });
    assert!(matches!(no_address, SpecProblem::NoIpv6 { .. }));
    assert!(matches!(
        check(&ForwardingSpec { goals: vec![], ..base() }),
        SpecProblem::Nothing { .. }
    ));
}

/// What a journal or a plan could state is refused while it is read.
#[test]
fn no_request_holds_a_number_outside_its_range() {
    let forwarding = || serde_json::to_value(ForwardingSpec::quick()).expect("JSON");
    let read = serde_json::from_value::<ForwardingSpec>;
    assert!(read(forwarding()).is_ok());
    let wrong = [
        ("blocks", serde_json::json!(0)),
        ("tries", serde_json::json!(0)),
        ("senders", serde_json::json!(65)),
        ("precision", serde_json::json!(0.6)),
        ("latency_percents", serde_json::json!([100, 101])),
        ("burst_repeats", serde_json::json!(0)),
        ("headers", serde_json::json!({ "version": "v4", "vlan": 4095, "spread": Spread::NONE })),
    ];
    for (field, value) in wrong {
        let mut stated = forwarding();
        stated[field] = value;
        let refused = read(stated).expect_err(field).to_string();
        assert!(refused.contains("outside the range"), "{field}: {refused}");
    }
}

#[test]
fn a_specification_survives_the_journal() {
    let (subjects, _) = three();
    let all = spec(&ForwardingTest::RFC2544, subjects);
    for spec in [all, ForwardingSpec::strict()] {
        let written = serde_json::to_string(&spec).expect("written");
        assert_eq!(serde_json::from_str::<ForwardingSpec>(&written).expect("read"), spec);
    }
}

mod campaigns {
    //! Every combination in every block, and what follows from it.

    use std::collections::BTreeMap;

    use measure::Nanos;
    use measure::comparison::Decision;
    use scripted::{Script as _, Scripted};
    use study::campaign::{CampaignSpec, Factor, Level, Limits, Means, StopRule, allowed};
    use study::comparison::{Level as Of, MARGIN, Side, compare, per_block};
    use trial::Trial;

    use super::*;

    fn factor(name: &str, levels: Vec<(&str, Means)>) -> Factor {
        let level = |(name, means): (&str, Means)| Level { name: name.to_owned(), means };
        Factor { name: name.to_owned(), levels: levels.into_iter().map(level).collect() }
    }

    fn devices() -> Factor {
        let device = |name: &'static str| (name, Means::Device(name.to_owned()));
        factor("device", vec![device("sw1"), device("sw2")])
    }

    fn variants() -> Factor {
        let plain = ("plain", Means::Variant(Some("plain".to_owned())));
        factor("variant", vec![plain, ("fast", Means::Variant(Some("fast".to_owned())))])
    }

    fn cards() -> Factor {
        factor("nic", vec![("x722", Means::Hands), ("cx3", Means::Hands)])
    }

    fn spec(factors: Vec<Factor>, except: &[&[(&str, &str)]]) -> CampaignSpec {
        let named = |one: &&[(&str, &str)]| -> BTreeMap<String, String> {
            one.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned())).collect()
        };
        let limits = Limits { only: Vec::new(), except: except.iter().map(named).collect() };
        let latency = LatencySpec {
            protocols: vec![trial::Protocol::Udp],
            sizes: vec![FrameSize::MIN],
            ..LatencySpec::quick()
        };
        CampaignSpec {
            cells: allowed(&factors, &limits),
            factors,
            blocks: study::Blocks::known(8),
            repetitions: study::campaign::Repetitions::known(1),
            stop: StopRule::default(),
            studies: vec![StudySpec::Latency(latency)],
        }
    }

    fn model() -> Bed {
        let mut model = Model::new().bed();
        model.topology = bench(&["sw1", "sw2"], true);
        for (device, variant, rtt_ns) in [
            ("sw1", "plain", 50e3),
            ("sw1", "fast", 45e3),
            ("sw2", "plain", 60e3),
            ("sw2", "fast", 54e3),
        ] {
            let way = Way { rtt_ns, ..model.device };
            model.subjects.insert(subject(device, Some(variant)), way);
        }
        model
    }

    fn order(model: &Bed) -> Vec<Vec<(u32, String)>> {
        let mut blocks: Vec<Vec<(u32, String)>> = Vec::new();
        for trial in &model.asked {
            let at = trial.block as usize;
            blocks.resize_with(blocks.len().max(at + 1), Vec::new);
            let cell = trial.label.rsplit(", ").next().expect("a cell").to_owned();
            if blocks[at].last().is_none_or(|(_, last)| *last != cell) {
                blocks[at].push((trial.block, cell));
            }
        }
        blocks
    }

    #[test]
    fn every_cell_and_a_control_is_in_every_block() {
        let campaign =
            spec(vec![devices(), variants()], &[&[("device", "sw2"), ("variant", "fast")]]);
        assert_eq!(campaign.cells, [[0, 0], [0, 1], [1, 0]]);
        let mut model = model();
        StudySpec::Campaign(Box::new(campaign.clone())).check(model.topology()).expect("possible");
        let figures = campaign.run(&mut model, 7).expect("the model never dies");
        // Device and cable, of three cells and the control.
        assert_eq!(model.asked.len(), 8 * 2 * 4);
        let blocks = order(&model);
        for block in &blocks {
            let mut cells: Vec<&str> = block.iter().map(|(_, cell)| cell.as_str()).collect();
            // A variant's cells stand together, so that it is applied once.
            let apart = cells.iter().position(|c| *c == "sw1 plain").expect("it ran");
            let again =
                cells.iter().position(|c| *c == "sw1 plain (control)").expect("so did this");
            assert_eq!(apart.abs_diff(again), 1, "{cells:?}");
            cells.sort_unstable();
            assert_eq!(cells, ["sw1 fast", "sw1 plain", "sw1 plain (control)", "sw2 plain"]);
        }
        assert!(blocks.windows(2).any(|two| two[0][0].1 != two[1][0].1), "{blocks:?}");
        let of = |metric: Metric, name: Key, value: &str| -> Vec<&Figure> {
            let own = figures.iter().filter(|f| f.metric == metric);
            own.filter(|f| f.conditions.get(&name) == Some(&value.into())).collect()
        };
        for (cell, expected) in [("sw1 plain", 50e3), ("sw1 fast", 45e3), ("sw2 plain", 60e3)] {
            let added = of(Metric::RttAdded, Key::Cell, cell);
            let value = added[0].value.expect("a value");
            assert!((value - (expected - 30e3)).abs() < 1e3, "{cell}: {value}");
            assert_eq!((added[0].blocks, added[0].verdict), (8, Verdict::DeviceLimited));
            assert!(!added[0].caveats.contains(&Caveat::NotResolved));
        }
        let control: Vec<&Figure> = figures.iter().filter(|f| f.metric == Metric::Ratio).collect();
        assert!(!control.is_empty());
        assert!(control.iter().all(|f| f.conditions[&Key::Control] == Condition::Flag(true)));
        assert!(control.iter().all(|f| f.text(Key::Decision) == Some("equivalent")), "{control:?}");
        let shares = of(Metric::VarianceShare, Key::Factor, "device");
        assert!(shares[0].value > Some(0.6), "{shares:?}");
        let sum: f64 = figures
            .iter()
            .filter(|f| f.metric == Metric::VarianceShare && f.text(Key::Of) == Some("rtt"))
            .filter_map(|f| f.value)
            .sum();
        assert!((sum - 1.0).abs() < 0.02, "{sum}");
    }

    #[test]
    fn hands_are_needed_once_a_block() {
        let campaign = spec(vec![cards(), devices()], &[]);
        let mut model = model();
        campaign.run(&mut model, 3).expect("the model never dies");
        let states: Vec<&str> =
            model.asked.iter().map(|trial| trial.by_hand[0].level.as_str()).collect();
        let changes = states.windows(2).filter(|two| two[0] != two[1]).count() + 1;
        assert_eq!(changes, 9);
        assert_eq!(campaign.changes_by_hand(), 9);
        assert!(model.asked.iter().all(|trial| trial.by_hand[0].factor == "nic"));
    }

    #[test]
    fn ports_of_other_levels_are_left_out() {
        let ports =
            |names: &[&str]| Means::Ports(names.iter().map(|name| (*name).to_owned()).collect());
        let nic =
            factor("nic", vec![("a", ports(&["h1/eth1", "h2/eth1"])), ("b", ports(&["eth3"]))]);
        let campaign = spec(vec![nic], &[]);
        let mut model = model();
        StudySpec::Campaign(Box::new(campaign.clone()))
            .check(model.topology())
            .expect("the cable is left to both");
        campaign.run(&mut model, 3).expect("the model never dies");
        for trial in &model.asked {
            let through = ["eth2", if trial.label.contains(", a") { "eth1" } else { "eth3" }];
            assert!(through.contains(&trial.flows[0].from.port.as_str()), "{}", trial.label);
        }
    }

    #[test]
    fn it_stops_on_width_and_on_time() {
        let narrow = StopRule { ci_width: Some(0.5), budget: None };
        // Each block has four cells and the control, device and cable, of 0.47 s each.
        let short = StopRule { ci_width: None, budget: Some(Nanos::from_millis(15_000)) };
        let never = StopRule { ci_width: Some(1e-9), budget: None };
        for (stop, blocks) in [(narrow, 6), (short, 3), (never, 8)] {
            let campaign = CampaignSpec { stop, ..spec(vec![devices(), variants()], &[]) };
            let mut model = model();
            let figures = campaign.run(&mut model, 5).expect("the model never dies");
            assert_eq!(order(&model).len(), blocks, "{stop:?}");
            assert!(figures.iter().any(|f| f.blocks == blocks as u32));
            assert!(campaign.estimate(model.topology()).time > Nanos::from_secs(14));
        }
    }

    #[test]
    fn a_variant_that_never_comes_up_is_skipped() {
        let campaign = spec(vec![devices(), variants()], &[]);
        let mut model = model();
        let dead = subject("sw2", Some("fast"));
        model.dead = vec![dead.clone()];
        let figures = campaign.run(&mut model, 5).expect("the model never dies");
        let tried =
            model.asked.iter().filter(|trial| trial.subject.as_ref() == Some(&dead)).count();
        assert_eq!(tried, 4, "twice in two blocks");
        let own = figures.iter().find(|f| f.text(Key::Cell) == Some("sw2 fast")).expect("a row");
        assert!(own.value.is_none() && own.caveats.contains(&Caveat::NoValidTrial));
    }

    #[test]
    fn broken_off_anywhere_it_ends_alike_and_levels_are_compared() {
        let campaign = spec(vec![devices(), variants()], &[]);
        let mut whole = model();
        let figures = campaign.run(&mut whole, 11).expect("the model never dies");
        let mut records = Vec::new();
        let mut model = model();
        for trial in &whole.asked {
            records.push((trial.clone(), model.run(trial).expect("it runs")));
        }
        for cut in [1, 17, 63] {
            let mut model = self::model();
            let topology = model.topology.clone();
            let again = |number: usize, trial: &Trial| match records[..cut].get(number) {
                Some((known, record)) => {
                    assert_eq!(known, trial, "the same is asked again");
                    Ok(record.clone())
                }
                None => model.answer(number, trial),
            };
            let ended = campaign.run(&mut Scripted::new(topology, again), 11);
            assert_eq!(ended.expect("it goes on"), figures, "{cut}");
        }
        let topology = model.topology().clone();
        let study = StudySpec::Campaign(Box::new(campaign));
        let comparable = per_block(&[study], &topology, &records, &figures, 11).expect("in order");
        assert_eq!(comparable.count(), 8);
        let side = |level| Side {
            name: "a side",
            run: "one",
            subject: None,
            level: Some(Of { factor: "variant", level }),
            figures: &figures,
            comparable: &comparable,
        };
        let compared = compare(&side("fast"), &side("plain"), MARGIN);
        // Median and tail, of each device.
        assert_eq!(compared.rows.len(), 4, "{compared:?}");
        for row in &compared.rows {
            assert_eq!(row.comparison.decision, Decision::Different, "{row:?}");
            assert!((row.comparison.value - 0.9).abs() < 0.03 && row.bypass.len() == 8);
        }
        assert!(compared.attribution.is_given(), "{:?}", compared.attribution);
    }
}
