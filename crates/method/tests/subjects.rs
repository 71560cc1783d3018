//! Several devices and variants beside one another, both directions at once, and other headers.
//!
//! Checks that each figure names its subject, that the order is fair, and what is refused beforehand.
//! Never touches the network.

mod model;

use measure::{FrameMix, FrameSize};
use method::figure::Condition;
use method::trial::{Backend, FlowKind, Headers, IpVersion, Path, Spread, Subject};
use method::{
    Caveat, Figure, ForwardingSpec, ForwardingTest, LatencySpec, Metric, SpecProblem, StudySpec,
    Testbed as _, Unit, Verdict,
};
use model::{Model, Way, bench};

fn subject(device: &str, variant: Option<&str>) -> Subject {
    Subject { device: device.to_owned(), variant: variant.map(str::to_owned) }
}

/// Two devices, one of them in two variants, with capacities of 200,000, 400,000 and 600,000.
fn three() -> (Vec<Subject>, Model) {
    let subjects =
        vec![subject("sw1", Some("plain")), subject("sw1", Some("fast")), subject("sw2", None)];
    let mut model = Model { topology: bench(&["sw1", "sw2"], true), ..Model::new() };
    let way = |capacity| Way { capacity, ..model.device };
    let ways = [200_000.0, 400_000.0, 600_000.0].map(way);
    model.subjects = subjects.iter().cloned().zip(ways).collect();
    (subjects, model)
}

fn spec(tests: &[ForwardingTest], subjects: Vec<Subject>) -> ForwardingSpec {
    let frames = vec![FrameMix::of(FrameSize::MIN), FrameMix::of(FrameSize::STANDARD_MAX)];
    ForwardingSpec { frames, tests: tests.to_vec(), subjects, ..ForwardingSpec::quick() }
}

fn run(spec: &ForwardingSpec, model: &mut Model) -> Vec<Figure> {
    let study = StudySpec::Forwarding(spec.clone());
    study.check(model.topology()).expect("a possible study");
    study.run(model, 7).expect("the model never dies")
}

fn about(figure: &Figure, subject: &Subject) -> bool {
    figure.conditions["device"] == subject.device.clone().into()
        && figure.conditions.get("variant") == subject.variant.clone().map(Into::into).as_ref()
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
            && f.conditions["path"] == Condition::from("bypass")
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
        assert_eq!(trials.len(), 8, "two sizes, three subjects and the cable");
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
    let mut model = Model::new();
    let tests = [ForwardingTest::Flood, ForwardingTest::Throughput, ForwardingTest::LossCurve];
    let spec = ForwardingSpec { bidirectional: true, ..spec(&tests, Vec::new()) };
    let figures = run(&spec, &mut model);
    assert!(model.asked.iter().all(|t| t.flows.len() == 2 && t.flows[0].from == t.flows[1].to));
    let of = |metric: Metric, direction: &str| {
        let own = figures.iter().find(|f| {
            f.metric == metric
                && f.unit != Unit::BitsPerSecond
                && f.conditions["path"] == Condition::from("device")
                && f.conditions.get("direction") == Some(&Condition::from(direction))
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
    let mut model = Model::new();
    for host in &mut model.topology.hosts {
        for port in &mut host.ports {
            port.address6 = Some("2001:2::1".parse().expect("an address"));
        }
    }
    let headers = Headers {
        version: IpVersion::V6,
        vlan: Some(7),
        spread: Spread { source_ports: 16, ..Spread::NONE },
    };
    let frames = vec![FrameMix::of(FrameSize::MIN), FrameMix::imix()];
    let tests = [ForwardingTest::Flood];
    let figures = run(&ForwardingSpec { frames, headers, ..spec(&tests, Vec::new()) }, &mut model);
    for trial in &model.asked {
        let FlowKind::Datagrams(flow) = &trial.flows[0].kind else { panic!() };
        assert_eq!((flow.headers, flow.frames.smallest().octets()), (headers, 88));
    }
    let row = |size: &Condition, convention: Option<&str>| {
        let own = figures.iter().filter(|f| {
            f.metric == Metric::Received
                && f.conditions["path"] == Condition::from("device")
                && f.conditions["frame_size"] == *size
        });
        let mut own = own.filter(|f| {
            f.conditions.get("rate_convention").cloned() == convention.map(Condition::from)
        });
        own.next().expect("its figure").clone()
    };
    let small = row(&64_u64.into(), None);
    assert_eq!(small.conditions["frame_size_sent"], 88_u64.into());
    assert_eq!(small.conditions["udp_payload"], 18_u64.into());
    assert_eq!(small.conditions["ip_version"], "ipv6".into());
    assert_eq!(small.conditions["source_ports"], 16_u64.into());
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
    let check = |spec: &ForwardingSpec| spec.check(&topology).expect_err("impossible");
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
    assert_eq!(flood.check(&topology), Ok(()));
    let headers = Headers { version: IpVersion::V6, ..Headers::default() };
    let no_address = check(&ForwardingSpec { headers, ..base() });
    assert!(matches!(no_address, SpecProblem::NoIpv6 { .. }));
    let headers = Headers { vlan: Some(4095), ..Headers::default() };
    assert!(matches!(check(&ForwardingSpec { headers, ..base() }), SpecProblem::OutOfRange { .. }));
    assert!(matches!(
        check(&ForwardingSpec { goals: vec![], ..base() }),
        SpecProblem::Nothing { .. }
    ));
    let tests = vec![ForwardingTest::Latency];
    let percents = ForwardingSpec { tests, latency_percents: vec![0], ..base() };
    assert!(matches!(check(&percents), SpecProblem::OutOfRange { .. }));
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
