//! The latency study against a testbed whose truth is known.
//!
//! Checks the figures, their conditions and verdicts, the order of trials, and what is refused
//! beforehand. Never touches the network.

use crate::model::{Bed, Model, topology};
use measure::{FrameRate, FrameSize, Nanos, Rate};
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};
use study::{Estimate, Finding as _, LatencySpec, Load, SpecProblem, StudySpec};
use trial::Testbed as _;
use trial::{FlowKind, Path, Protocol, Schedule};

fn spec() -> LatencySpec {
    LatencySpec {
        protocols: vec![Protocol::Udp],
        sizes: vec![FrameSize::MIN],
        blocks: study::Blocks::known(6),
        ..LatencySpec::quick()
    }
}

fn run(spec: &LatencySpec, model: &mut Bed) -> Vec<Figure> {
    let study = StudySpec::Latency(spec.clone());
    study.check(model.topology()).expect("a possible study");
    study.run(model, 7).expect("the model never dies")
}

fn find<'a>(figures: &'a [Figure], metric: Metric, q: Option<f64>, path: &str) -> &'a Figure {
    let wanted =
        |f: &&Figure| f.metric == metric && f.quantile == q && f.text(Key::Path) == Some(path);
    figures.iter().find(wanted).expect("the figure exists")
}

#[test]
fn quantiles_are_ordered_and_carry_their_conditions() {
    let figures = run(&spec(), &mut Model::new().bed());
    let rtts: Vec<f64> = [0.0, 0.5, 0.9, 0.99, 0.999, 1.0]
        .map(|q| find(&figures, Metric::Rtt, Some(q), "device").value.expect("measured"))
        .to_vec();
    assert!(rtts.is_sorted() && rtts[0] >= 49_900.0 && rtts[1] < 51_500.0, "{rtts:?}");
    let ipdv = |q| find(&figures, Metric::Ipdv, Some(q), "device").value.expect("measured");
    assert!(ipdv(0.01) < 0.0 && ipdv(0.99) > 0.0);
    assert!(find(&figures, Metric::Pdv, Some(0.99), "device").value.expect("measured") > 0.0);
    let median = find(&figures, Metric::Rtt, Some(0.5), "device");
    let expected = [
        (Key::Protocol, "udp"),
        (Key::From, "h1/eth1"),
        (Key::To, "h2/eth1"),
        (Key::Device, "sw1"),
        (Key::Path, "device"),
        (Key::Load, "idle"),
        (Key::Schedule, "closed-loop"),
        (Key::DepartureStamped, "kernel"),
        (Key::ArrivalStamped, "kernel"),
    ];
    for (name, value) in expected {
        assert_eq!(median.conditions[&name], value.into(), "{name}");
    }
    assert_eq!(median.conditions[&Key::FrameSize], 64u64.into());
    assert_eq!(median.conditions[&Key::FrameSizeSent], 70u64.into());
    assert_eq!((median.n, median.blocks), (6 * 500, 6));
    assert!(median.confidence.expect("six blocks") >= 0.95);
    let caveats = [Caveat::SoftwareTimestamps, Caveat::QuickProfile, Caveat::FrameSizeRaised];
    assert_eq!(median.caveats, caveats);
    let tail = find(&figures, Metric::Rtt, Some(0.999), "device");
    assert!(tail.caveats.contains(&Caveat::FewSamples), "500 samples cannot tell p99.9");
    assert_eq!(
        find(&figures, Metric::Rtt, Some(0.5), "bypass").conditions[&Key::Device],
        "cable".into()
    );
}

#[test]
fn verdicts_follow_the_bypass() {
    use Verdict::{DeviceLimited, TesterLimited, Undetermined};
    // Device's RTT, device, bypass, blocks; the median's verdict and what the addition comes to.
    let table = [
        (50_000.0, true, true, 6, DeviceLimited, Some(20_000.0)),
        (30_000.0, true, true, 6, TesterLimited, Some(0.0)),
        (50_000.0, true, true, 1, Undetermined, Some(20_000.0)),
        (50_000.0, true, false, 6, Undetermined, None),
        (50_000.0, false, true, 6, TesterLimited, None),
    ];
    for (rtt_ns, device, bypass, blocks, expected, addition) in table {
        let mut model = Model::new().bed();
        model.topology = topology(device, bypass);
        model.device.rtt_ns = rtt_ns;
        let figures =
            run(&LatencySpec { blocks: study::Blocks::known(blocks), ..spec() }, &mut model);
        let case = format!("{rtt_ns} {device} {bypass} {blocks}");
        let median = find(&figures, Metric::Rtt, Some(0.5), "device");
        assert_eq!(median.verdict, expected, "{case}");
        assert_eq!(median.caveats.contains(&Caveat::NoBypass), device && !bypass, "{case}");
        assert_eq!(median.caveats.contains(&Caveat::FewBlocks), blocks < 6, "{case}");
        let added: Vec<&Figure> = figures.iter().filter(|f| f.metric == Metric::RttAdded).collect();
        let Some(addition) = addition else {
            assert!(added.is_empty(), "{case}");
            continue;
        };
        let value = added[0].value.expect("measured");
        assert!((value - addition).abs() < 300.0, "{case}: {value}");
        assert_eq!(added[0].verdict, expected, "{case}");
        let unresolved = expected != DeviceLimited;
        assert_eq!(added[0].caveats.contains(&Caveat::NotResolved), unresolved, "{case}");
    }
}

#[test]
fn each_block_holds_every_cell_on_both_paths_in_its_own_order() {
    let mut model = Model::new().bed();
    let spec = LatencySpec::quick();
    spec.run(&mut model, 7).expect("runs");
    let blocks: Vec<Vec<(String, Path)>> = (0..spec.blocks.get())
        .map(|block| {
            let of_block = model.asked.iter().filter(|t| t.block == block);
            of_block.map(|t| (t.label.clone(), t.path)).collect()
        })
        .collect();
    let sorted = |block: &Vec<(String, Path)>| {
        let mut block = block.clone();
        block.sort();
        block
    };
    assert_eq!(blocks[0].len(), 12);
    assert!(blocks.iter().all(|block| sorted(block) == sorted(&blocks[0])));
    assert!(blocks[1..].iter().all(|block| block != &blocks[0]), "each has its own order");
}

#[test]
fn a_load_runs_beside_the_round_trips() {
    let datagrams = Load::Datagrams { frame_size: FrameSize::STANDARD_MAX, rate: FrameRate(5e4) };
    let bulk =
        Load::Bulk { streams: study::Streams::known(1), congestion_control: "cubic".to_owned() };
    let spec = LatencySpec { loads: vec![Load::Idle, datagrams, bulk], ..spec() };
    let mut model = Model::new().bed();
    let figures = run(&spec, &mut model);
    for trial in &model.asked {
        let loaded = !trial.label.ends_with("idle");
        assert_eq!(trial.flows.len(), 1 + usize::from(loaded), "{}", trial.label);
        if let Some(load) = trial.flows.get(1) {
            assert_eq!((&load.from, &load.to), (&trial.flows[0].from, &trial.flows[0].to));
            assert!(!matches!(load.kind, FlowKind::Echo(_)));
        }
    }
    let loads: Vec<String> = figures
        .iter()
        .filter(|f| f.metric == Metric::Rtt && f.quantile == Some(0.5))
        .filter(|f| f.text(Key::Path) == Some("device"))
        .filter_map(|f| f.condition_text(Key::Load))
        .collect();
    assert_eq!(loads, ["idle", "udp 50000 frames/s of 1518", "tcp 1 stream cubic"]);
    let goodput = find(&figures, Metric::Goodput, None, "device");
    assert_eq!((goodput.unit, goodput.verdict), (Unit::BitsPerSecond, Verdict::DeviceLimited));
    let truth = 400_000.0 * 1448.0 * 8.0;
    assert!((goodput.value.expect("measured") / truth - 1.0).abs() < 1e-6);
    assert_eq!(find(&figures, Metric::Retransmits, None, "device").value, Some(0.0));
}

/// Hosts that do the device's work too are slower with it in the path: nothing lost, nothing known.
#[test]
fn a_lossless_load_in_a_lab_tells_no_limit() {
    let bulk =
        Load::Bulk { streams: study::Streams::known(1), congestion_control: "cubic".to_owned() };
    let spec = LatencySpec { loads: vec![bulk], ..spec() };
    let mut model = Model::new().bed();
    for host in &mut model.topology.hosts {
        host.reach = "lab".to_owned();
    }
    let figures = run(&spec, &mut model);
    assert_eq!(find(&figures, Metric::Goodput, None, "device").verdict, Verdict::Undetermined);
    assert_eq!(find(&figures, Metric::Goodput, None, "bypass").verdict, Verdict::TesterLimited);
}

#[test]
fn a_broken_device_gives_no_value_and_says_so() {
    let mut model = Model { broken: true, ..Model::new() }.bed();
    let figures = run(&spec(), &mut model);
    for figure in figures.iter().filter(|f| f.text(Key::Path) == Some("device")) {
        assert_eq!(figure.value, None, "{figure:?}");
        assert!(figure.caveats.contains(&Caveat::NoValidTrial), "{figure:?}");
        assert_eq!(figure.verdict, Verdict::Undetermined, "{figure:?}");
    }
    let device = model.asked.iter().filter(|t| t.path == Path::Device).count();
    assert_eq!(device, 6 * 3, "three tries a block");
    assert!(find(&figures, Metric::Rtt, Some(0.5), "bypass").value.is_some());
}

#[test]
fn the_same_seed_asks_for_the_same_trials() {
    let trials = |seed| {
        let mut model = Model::new().bed();
        let mut found = LatencySpec::quick().run(&mut model, seed).expect("runs");
        (model.asked, found.rows())
    };
    assert_eq!(trials(7), trials(7));
    assert_ne!(trials(7).0, trials(8).0);
}

#[test]
fn the_estimate_is_the_trials_time() {
    let spec = LatencySpec::quick();
    let mut model = Model::new().bed();
    let estimate = spec.estimate(&model.topology);
    spec.run(&mut model, 7).expect("runs");
    let real: u64 = model.asked.iter().map(|t| t.phases.total().0 + 60_000_000).sum();
    let trials = model.asked.len() as u64;
    let flows = model.asked.iter().map(|trial| trial.flows.len() as u64).max().unwrap_or(0);
    assert_eq!(
        estimate,
        Estimate { trials, time: Nanos(real), flows, searching: false, ..estimate }
    );
}

#[test]
fn a_specification_survives_the_journal() {
    for study in [
        StudySpec::Latency(LatencySpec {
            schedule: Schedule::Paced(FrameRate(1_000.0)),
            loads: vec![Load::Bulk {
                streams: study::Streams::known(4),
                congestion_control: "reno".to_owned(),
            }],
            ..LatencySpec::strict()
        }),
        StudySpec::Forwarding(study::ForwardingSpec::strict()),
    ] {
        let text = serde_json::to_string(&study).expect("serialises");
        assert_eq!(serde_json::from_str::<StudySpec>(&text).expect("reads back"), study, "{text}");
    }
}

#[test]
fn impossible_requests_are_refused_with_a_reason() {
    let ok = spec();
    let rate = FrameRate(2_000_000.0);
    let flood = Load::Datagrams { frame_size: FrameSize::MIN, rate };
    let table = [
        (LatencySpec { sizes: vec![], ..ok.clone() }, "nothing to do: no frame size"),
        (LatencySpec { protocols: vec![], ..ok.clone() }, "nothing to do: no protocol"),
        (
            LatencySpec { loads: vec![flood], ..ok.clone() },
            "2000000 frames/s of 64 octets is above the line rate of a 1Gbit link: \
             1Gbit / (8 * (64 + 20)) = 1488095 frames/s",
        ),
    ];
    let mut place = topology(true, true);
    for host in &mut place.hosts {
        host.ports[0].rate = Some(Rate(1_000_000_000));
    }
    assert_eq!(StudySpec::Latency(ok.clone()).check(&place), Ok(()));
    for (spec, expected) in table {
        let problem = StudySpec::Latency(spec).check(&place).expect_err(expected);
        assert_eq!(problem.to_string(), expected);
        assert!(!problem.hint().is_empty());
    }
    let nowhere = SpecProblem::NoPair { testbed: "model".to_owned() };
    assert_eq!(StudySpec::Latency(ok.clone()).check(&topology(false, false)), Err(nowhere));
}
