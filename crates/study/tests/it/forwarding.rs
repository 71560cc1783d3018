//! The forwarding study against a testbed whose truth is known.
//!
//! Checks what is found, whose limit it is said to be, and what is said when trials go wrong. Never
//! touches the network.

use crate::model::{self, Bed, Model, topology};
use measure::{FrameSize, Nanos, Rate};
use page::Condition;
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};
use study::search::GoalName;
use study::{Finding as _, ForwardingSpec, ForwardingTest, StudySpec, TRIAL_OVERHEAD};
use trial::Testbed as _;
use trial::{Path, Schedule};

fn spec(tests: &[ForwardingTest]) -> ForwardingSpec {
    ForwardingSpec {
        frames: vec![FrameSize::MIN.into()],
        tests: tests.to_vec(),
        blocks: study::Blocks::known(6),
        ..ForwardingSpec::quick()
    }
}

fn run(spec: &ForwardingSpec, model: &mut Bed) -> Vec<Figure> {
    let study = StudySpec::Forwarding(spec.clone());
    study.check(model.topology()).expect("a possible study");
    study.run(model, 7).expect("the model never dies")
}

/// The figures of a metric on a path, in frames/s or ratio.
fn of<'a>(figures: &'a [Figure], metric: Metric, path: &str) -> Vec<&'a Figure> {
    let on_path = |f: &&Figure| f.text(Key::Path) == Some(path);
    figures
        .iter()
        .filter(|f| f.metric == metric && f.unit != Unit::BitsPerSecond)
        .filter(on_path)
        .collect()
}

#[test]
fn throughput_is_found_within_the_precision_of_the_truth() {
    for capacity in [12_345.0, 250_000.0, 400_000.0, 999_999.0] {
        let mut model = Model::new().bed();
        model.device.capacity = capacity;
        let spec = spec(&[ForwardingTest::Throughput]);
        let figures = run(&spec, &mut model);
        let figure = of(&figures, Metric::Throughput, "device")[0];
        let value = figure.value.expect("found");
        // The buffer hides 100 frames over the two seconds of a final trial.
        let hidden = capacity + 100.0 / 2.0;
        assert!(value <= hidden + 1.0, "{capacity}: {value}");
        assert!(value >= capacity * (1.0 - 1.5 * spec.precision.get()), "{capacity}: {value}");
        // A millisecond's backlog does not show in two seconds.
        let low = figure.low.expect("a lower end");
        assert!(low < value && low > value * (1.0 - 0.001), "{capacity}: {low} of {value}");
        if let Some(high) = figure.high {
            assert!(high >= capacity, "{capacity}: {high}");
        }
        // A load that was only queued is offered once more, in another block.
        let searched = |t: &&trial::Trial| {
            t.path == Path::Device && t.label.starts_with("thr") && t.block == 0
        };
        // A flood that the device could not carry by far is the search's first trial.
        let flood = u64::from(capacity < 0.8 * 1_000_000.0);
        assert_eq!(figure.n, flood + model.asked.iter().filter(searched).count() as u64);
        assert_eq!(figure.text(Key::Goal), Some("rfc2544"));
    }
}

#[test]
fn verdicts_follow_the_bypass() {
    use Verdict::{DeviceLimited, TesterLimited, Undetermined};
    // Device's capacity, whether there is a device and a bypass, verdict of flood and throughput.
    let table = [
        (400_000.0, true, true, DeviceLimited),
        (940_000.0, true, true, DeviceLimited),
        (970_000.0, true, true, TesterLimited),
        (5_000_000.0, true, true, TesterLimited),
        (400_000.0, true, false, Undetermined),
        // A bound is one, whether or not there is a bypass.
        (5_000_000.0, true, false, TesterLimited),
        (400_000.0, false, true, TesterLimited),
    ];
    for (capacity, device, bypass, expected) in table {
        let mut model = Model::new().bed();
        model.device.capacity = capacity;
        model.topology = topology(device, bypass);
        let figures = run(&spec(&[ForwardingTest::Flood, ForwardingTest::Throughput]), &mut model);
        for metric in [Metric::Received, Metric::Throughput] {
            let figure = of(&figures, metric, "device")[0];
            assert_eq!(figure.verdict, expected, "{capacity} {device} {bypass} {metric:?}");
            let alone = device && !bypass;
            assert_eq!(figure.caveats.contains(&Caveat::NoBypass), alone);
        }
        assert!(
            of(&figures, Metric::Throughput, "bypass").iter().all(|f| f.verdict == TesterLimited)
        );
    }
}

#[test]
fn a_flood_states_every_rate_in_four_conventions() {
    let figures = run(&spec(&[ForwardingTest::Flood]), &mut Model::new().bed());
    let sent = of(&figures, Metric::Sent, "device")[0];
    let received = of(&figures, Metric::Received, "device")[0];
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-3 * b;
    assert!(close(sent.value.expect("sent"), 1_000_000.0), "{sent:?}");
    assert!(close(received.value.expect("received"), 400_000.0), "{received:?}");
    assert_eq!((received.blocks, sent.caveats.contains(&Caveat::FewBlocks)), (6, false));
    let bits: Vec<(String, f64)> = figures
        .iter()
        .filter(|f| f.unit == Unit::BitsPerSecond && f.text(Key::Path) == Some("device"))
        .map(|f| (format!("{:?}", f.conditions[&Key::RateConvention]), f.value.expect("bits")))
        .collect();
    let per_frame = [84.0, 64.0, 46.0, 18.0].map(|octets| octets * 8.0 * 400_000.0);
    assert_eq!(bits.len(), 4);
    for ((name, value), expected) in bits.iter().zip(per_frame) {
        assert!(close(*value, expected), "{name}: {value}");
    }
    let ratio = of(&figures, Metric::LossRatio, "device")[0].value.expect("a ratio");
    assert!(close(ratio, 0.6), "{ratio}");
}

#[test]
fn a_loss_curve_ends_after_two_lossless_loads() {
    let mut model = Model::new().bed();
    let figures = run(&spec(&[ForwardingTest::LossCurve]), &mut model);
    let percents: Vec<(Condition, bool)> = of(&figures, Metric::LossRatio, "device")
        .iter()
        .map(|f| (f.conditions[&Key::LoadPercent].clone(), f.value == Some(0.0)))
        .collect();
    let expected: Vec<(Condition, bool)> = [100u64, 90, 80, 70, 60, 50, 40, 30]
        .map(|percent| (percent.into(), percent <= 40))
        .to_vec();
    assert_eq!(percents, expected);
    let lossy = of(&figures, Metric::LossRatio, "device")[0];
    assert_eq!(lossy.verdict, Verdict::DeviceLimited);
    assert!((lossy.value.expect("a ratio") - 0.6).abs() < 1e-3);
}

#[test]
fn a_load_the_tester_cannot_offer_is_no_loss() {
    // A link of twice what the tester can send: the top half of the curve has no value.
    let mut model = Model::new().bed();
    model.device.capacity = 5_000_000.0;
    let link = Rate((2_000_000.0 * 8.0 * 84.0) as u64);
    let spec = ForwardingSpec { link_rate: Some(link), ..spec(&[ForwardingTest::LossCurve]) };
    let figures = run(&spec, &mut model);
    for figure in of(&figures, Metric::LossRatio, "device") {
        let Condition::Integer(percent) = figure.conditions[&Key::LoadPercent] else { panic!() };
        let offered = percent <= 50;
        assert_eq!(figure.value, offered.then_some(0.0), "{percent}");
        assert_eq!(figure.verdict, Verdict::TesterLimited, "{percent}");
        assert_eq!(figure.caveats.contains(&Caveat::NoValidTrial), !offered, "{percent}");
    }
}

#[test]
fn stalls_are_repeated_and_said() {
    let mut model = Model { stalls: 0.3, seed: 11, ..Model::new() }.bed();
    let figures = run(&spec(&[ForwardingTest::Throughput]), &mut model);
    let figure = of(&figures, Metric::Throughput, "device")[0];
    assert!(figure.caveats.contains(&Caveat::RepeatedTrials), "seed {}: {figure:?}", model.seed);
    assert!(model.asked.iter().any(|t| t.attempt > 0) && model.asked.iter().all(|t| t.attempt < 3));
    let value = figure.value.expect("found");
    assert!(value <= 400_051.0, "seed {}: {value}", model.seed);
}

#[test]
fn a_broken_device_gives_no_value_and_says_so() {
    let mut model = Model { broken: true, ..Model::new() }.bed();
    let tests = [ForwardingTest::Flood, ForwardingTest::Throughput, ForwardingTest::LossCurve];
    let figures = run(&spec(&tests), &mut model);
    let on_device = figures.iter().filter(|f| f.text(Key::Path) == Some("device"));
    for figure in on_device {
        assert_eq!(figure.value, None, "{figure:?}");
        assert!(figure.caveats.contains(&Caveat::NoValidTrial), "{figure:?}");
        assert_eq!(figure.verdict, Verdict::Undetermined, "{figure:?}");
    }
    assert!(of(&figures, Metric::Received, "bypass")[0].value.is_some());
}

#[test]
fn the_same_seed_asks_for_the_same_trials() {
    let spec = ForwardingSpec {
        frames: vec![FrameSize::MIN.into(), FrameSize::STANDARD_MAX.into()],
        ..ForwardingSpec::quick()
    };
    let trials = |seed| {
        let mut model = Model { stalls: 0.1, seed: 3, ..Model::new() }.bed();
        let rows = spec.run(&mut model, seed).expect("runs").rows();
        (model.asked, rows)
    };
    assert_eq!(trials(7), trials(7));
    assert_ne!(trials(7).0, trials(8).0);
}

#[test]
fn no_two_trials_are_alike() {
    let mut model = Model { stalls: 0.1, seed: 3, ..Model::new() }.bed();
    ForwardingSpec::quick().run(&mut model, 7).expect("runs");
    for (at, trial) in model.asked.iter().enumerate() {
        assert!(!model.asked[..at].contains(trial), "asked for twice: {trial:?}");
    }
}

#[test]
fn the_estimate_is_near_what_a_well_behaved_device_takes() {
    let spec = ForwardingSpec::quick();
    let mut model = Model::new().bed();
    let estimate = spec.estimate(&model.topology);
    spec.run(&mut model, 7).expect("runs");
    let real: u64 = model.asked.iter().map(|t| (t.phases.total() + TRIAL_OVERHEAD).0).sum();
    assert!(estimate.searching, "a search decides how many");
    let share = estimate.time.0 as f64 / real as f64;
    assert!((0.7..1.4).contains(&share), "{estimate:?} for {}", Nanos(real));
}

#[test]
fn floods_are_greedy_and_searches_paced() {
    let mut model = Model::new().bed();
    run(&spec(&[ForwardingTest::Throughput]), &mut model);
    let probes: Vec<&trial::Trial> =
        model.asked.iter().filter(|t| t.label.starts_with("probe")).collect();
    assert_eq!(
        probes.iter().map(|t| t.path).collect::<std::collections::BTreeSet<Path>>().len(),
        2
    );
    for trial in &model.asked {
        let trial::FlowKind::Datagrams(flow) = &trial.flows[0].kind else { panic!() };
        let greedy = flow.schedule == Schedule::Greedy;
        assert_eq!(greedy, trial.label.starts_with("probe"), "{}", trial.label);
        assert_eq!(greedy, trial.gate == trial::Gate::Flood, "{}", trial.label);
    }
}

#[test]
fn a_device_that_loses_nothing_is_never_the_limit() {
    // A lab: with the device in the path the tester sends 270,000 frames/s, else 410,000.
    let table = [
        (5_000_000.0, Verdict::TesterLimited),
        (290_000.0, Verdict::TesterLimited),
        (200_000.0, Verdict::DeviceLimited),
    ];
    for (capacity, expected) in table {
        let mut model = Model { tester: 410_000.0, burdened: 270_000.0, ..Model::new() }.bed();
        model.device.capacity = capacity;
        let figures = run(&spec(&ForwardingSpec::quick().tests), &mut model);
        for metric in [Metric::Received, Metric::Throughput] {
            let figure = of(&figures, metric, "device")[0];
            assert_eq!(figure.verdict, expected, "{capacity} {metric:?}");
        }
        let curve = of(&figures, Metric::LossRatio, "device").into_iter();
        for row in curve.filter(|f| f.text(Key::Test) == Some("loss-curve")) {
            let lost = row.value.expect("a ratio") > 0.0;
            let own = if lost { Verdict::DeviceLimited } else { Verdict::TesterLimited };
            assert_eq!(row.verdict, own, "{capacity}: {row:?}");
        }
    }
}

#[test]
fn received_and_lost_never_exceed_sent() {
    for capacity in [200_000.0, 999_000.0, 5_000_000.0] {
        let mut model = Model::new().bed();
        model.device.capacity = capacity;
        let figures = run(&spec(&[ForwardingTest::Flood]), &mut model);
        for path in ["device", "bypass"] {
            let rate = |metric| of(&figures, metric, path)[0].value.expect("a rate");
            let [sent, received, lost] = [Metric::Sent, Metric::Received, Metric::Lost].map(rate);
            assert!(
                received + lost <= sent * (1.0 + 1e-9),
                "{capacity} {path}: {received} + {lost} > {sent}"
            );
        }
    }
}

#[test]
fn a_loss_curve_starts_where_the_device_can_be_seen() {
    // Capacity, link rate in frames/s, whether throughput is searched; what 100 % is, and is
    // called.
    let table = [
        (8_200.0, None, true, 16_400.0, "twice-throughput"),
        (8_200.0, None, false, 1_000_000.0, "highest-sent"),
        (700_000.0, None, true, 1_000_000.0, "highest-sent"),
        (8_200.0, Some(500_000.0), true, 500_000.0, "link-rate"),
    ];
    for (capacity, link, searched, most, name) in table {
        let mut model = Model::new().bed();
        model.device = model::Way { capacity, buffer: 0.0, ..model.device };
        // Named in the other order: the search comes first all the same.
        let mut spec = spec(&[ForwardingTest::LossCurve]);
        if searched {
            spec.tests.push(ForwardingTest::Throughput);
        }
        spec.link_rate = link.map(|rate: f64| Rate((rate * 8.0 * 84.0) as u64));
        let figures = run(&spec, &mut model);
        let rows = of(&figures, Metric::LossRatio, "device");
        let Condition::Number(offered) = rows[0].conditions[&Key::OfferedRate] else {
            panic!("{:?}", rows[0])
        };
        assert!((offered / most - 1.0).abs() < 0.01, "{capacity} {name}: {offered}");
        assert!(rows.iter().all(|f| f.conditions[&Key::LoadReference] == name.into()), "{name}");
        let lossless = rows.iter().filter(|f| f.value == Some(0.0)).count();
        assert_eq!(lossless >= 2, name != "link-rate" && most < 100.0 * capacity, "{name}");
        assert_eq!(of(&figures, Metric::LossRatio, "bypass").len(), 1, "{name}");
    }
}

#[test]
fn the_cable_is_asked_further_only_while_it_loses() {
    let mut model = Model::new().bed();
    model.bypass.capacity = 850_000.0;
    let figures = run(&spec(&[ForwardingTest::LossCurve]), &mut model);
    let percents: Vec<Condition> = of(&figures, Metric::LossRatio, "bypass")
        .iter()
        .map(|f| f.conditions[&Key::LoadPercent].clone())
        .collect();
    assert_eq!(percents, [100u64, 90, 80].map(Condition::from));
}

/// The throughput found on both paths, by a seed of the model.
fn found(model: &mut Bed) -> [f64; 2] {
    found_at(GoalName::Rfc2544, model)
}

fn found_at(goal: GoalName, model: &mut Bed) -> [f64; 2] {
    let spec = ForwardingSpec { goals: vec![goal], ..spec(&[ForwardingTest::Throughput]) };
    let figures = run(&spec, model);
    ["device", "bypass"].map(|path| of(&figures, Metric::Throughput, path)[0].value.unwrap_or(0.0))
}

#[test]
fn one_stalled_try_moves_no_bracket() {
    let undisturbed = found(&mut Model::new().bed());
    let probes_and_trials = 24;
    for number in 1..probes_and_trials {
        for share in [0.005, 0.035, 0.3] {
            let mut model =
                Model { stalled: Some(number), stall: (share, share), ..Model::new() }.bed();
            let [device, bypass] = found(&mut model);
            let probe =
                model.asked.get(number as usize).is_some_and(|t| t.label.starts_with("probe"));
            if probe {
                continue; // it sets the ceiling; nothing can be known above it
            }
            let same = [device, bypass].iter().zip(&undisturbed).all(|(a, b)| (a - b).abs() < 1e-6);
            assert!(same, "trial {number} by {share}: {device} {bypass}");
        }
    }
}

#[test]
fn a_search_survives_a_tester_that_stalls() {
    for goal in [GoalName::Rfc2544, GoalName::Ndr] {
        for (stalls, stall) in [(0.2, (0.0, 0.1)), (0.4, (0.0, 0.05)), (0.3, (0.035, 0.035))] {
            survives(goal, stalls, stall);
        }
    }
}

fn survives(goal: GoalName, stalls: f64, stall: (f64, f64)) {
    // The bypass is searched up to twice the device's throughput, and here carries that; where the
    // device was not driven to its limit, up to what the tester can do.
    let truth = [400_000.0, 800_000.0];
    let most = [400_000.0, 1_000_000.0];
    let mut shares = [Vec::new(), Vec::new()];
    for seed in 0..50 {
        let mut model = Model { stalls, stall, seed: 1_000 + seed, ..Model::new() }.bed();
        let found = found_at(goal, &mut model).into_iter().zip(truth);
        for (share, (value, truth)) in shares.iter_mut().zip(found) {
            share.push((value / truth, seed));
        }
    }
    for (at, mut shares) in shares.into_iter().enumerate() {
        let path = ["device", "bypass"][at];
        shares.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (worst, median, best) = (shares[0], shares[25].0, shares[49]);
        let of = format!("{goal:?} {stalls} {stall:?} {path}");
        eprintln!("{of}: worst {worst:?} median {median} best {best:?}");
        assert!(worst.0 >= 0.9, "{of}: {worst:?}");
        assert!(median >= 0.98, "{of}: {median}");
        assert!(best.0 * truth[at] <= most[at] * 1.001, "{of}: {best:?}");
    }
}

/// A lab: nothing is lost, and what the tester can pace moves from trial to trial.
fn ragged_lab(seed: u64) -> Bed {
    let mut model = Model { paced: (0.3, 0.42), seed, ..Model::new() }.bed();
    model.device.capacity = 5_000_000.0;
    model.topology.hosts.iter_mut().for_each(|host| "lab".clone_into(&mut host.reach));
    model
}

#[test]
fn a_ragged_edge_of_the_testers_is_not_traced() {
    let spec = ForwardingSpec { goals: vec![GoalName::Ndr], ..spec(&[ForwardingTest::Throughput]) };
    let mut trials = Vec::new();
    for seed in 0..50 {
        let mut model = ragged_lab(seed);
        let figures = run(&spec, &mut model);
        let figure = of(&figures, Metric::Throughput, "device")[0];
        let share = figure.value.expect("something passes") / model.tester;
        assert!((0.3..0.42).contains(&share), "seed {seed}: {share}");
        assert_eq!(figure.verdict, Verdict::TesterLimited, "seed {seed}");
        trials.push(model.asked.iter().filter(|t| t.path == Path::Device).count());
    }
    trials.sort_unstable();
    // Within half a percent it took 82 in the median, and up to 153.
    assert!(trials[25] <= 65 && trials[49] <= 110, "{trials:?}");
}

#[test]
fn the_estimate_of_a_lab_is_near_what_its_ragged_tester_takes() {
    for goal in GoalName::ALL {
        let spec = ForwardingSpec { goals: vec![goal], ..spec(&[ForwardingTest::Throughput]) };
        let mut spent = 0;
        for seed in 0..20 {
            let mut model = ragged_lab(seed);
            spec.run(&mut model, 7).expect("runs");
            // Repeats are no part of an estimate.
            let first = model.asked.iter().filter(|t| t.attempt == 0);
            spent += first.map(|t| (t.phases.total() + TRIAL_OVERHEAD).0).sum::<u64>();
        }
        let share = spec.estimate(&ragged_lab(0).topology).time.0 as f64 / (spent as f64 / 20.0);
        eprintln!("{goal:?}: {share}");
        assert!((0.8..1.25).contains(&share), "{goal:?}: {share}");
    }
}

/// p99.9 of some thousand frames is a few frames: it wants 20,000 of them, as in every study.
#[test]
fn few_delays_have_no_high_quantile() {
    let tests = [ForwardingTest::Throughput, ForwardingTest::Latency];
    let spec =
        ForwardingSpec { latency_repeats: study::forwarding::Repeats::known(6), ..spec(&tests) };
    let figures = run(&spec, &mut Model::new().bed());
    let delays = figures.iter().filter(|f| f.metric == Metric::OneWayDelay);
    let points: Vec<(Option<f64>, bool)> =
        delays.map(|f| (f.quantile, f.caveats.contains(&Caveat::FewSamples))).collect();
    // The model stamps 4,000 frames of each trial.
    let expected = [(Some(0.5), false), (Some(0.999), true)];
    assert!(
        !points.is_empty() && points.iter().all(|point| expected.contains(point)),
        "{points:?}"
    );
}
