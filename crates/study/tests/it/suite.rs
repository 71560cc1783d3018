//! The tests of RFC 2544 beyond throughput and loss, each against a truth that the model holds.
//!
//! Checks what is found, what is said where there is nothing to find, and the list of deviations.
//! Never touches the network.

use crate::model::{self, Bed, Model, Stamping, datagrams::TAIL_NS};
use measure::{FrameMix, FrameSize, Nanos, Rate};
use page::Condition;
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};
use study::search::GoalName;
use study::{ForwardingSpec, ForwardingTest, SearchKind, StudySpec, conformance};
use trial::Testbed as _;
use trial::record::Clocks;
use trial::{Deed, Gate, Path, Schedule};

/// 64-octet frames, and a link that carries just what the model's tester sends.
fn spec(tests: &[ForwardingTest]) -> ForwardingSpec {
    ForwardingSpec {
        frames: vec![FrameSize::MIN.into()],
        tests: tests.to_vec(),
        link_rate: Some(Rate(1_000_000 * 8 * 84)),
        blocks: study::Blocks::known(6),
        ..ForwardingSpec::quick()
    }
}

fn run(spec: &ForwardingSpec, model: &mut Bed) -> Vec<Figure> {
    let study = StudySpec::Forwarding(spec.clone());
    study.check(model.topology()).expect("a possible study");
    study.run(model, 7).expect("the model never dies")
}

/// A metric's figures of a test on a path.
fn of<'a>(
    figures: &'a [Figure],
    (test, metric): (ForwardingTest, Metric),
    path: &str,
) -> Vec<&'a Figure> {
    let wanted = |f: &&Figure| {
        f.metric == metric
            && f.text(Key::Test) == Some(test.as_str())
            && f.text(Key::Path) == Some(path)
    };
    figures.iter().filter(wanted).filter(|f| f.unit != Unit::BitsPerSecond).collect()
}

fn near(value: Option<f64>, truth: f64, share: f64) -> bool {
    value.is_some_and(|value| (value - truth).abs() <= share * truth)
}

#[test]
fn goals_are_figures_of_their_own() {
    use GoalName::{Ndr, Pdr, Rfc2544, Tst009};
    // A device that loses 0.5 % of what it is offered has its PDR at 1 / 0.995 of its capacity.
    let truths = [(Rfc2544, 400_000.0), (Tst009, 400_000.0), (Ndr, 400_000.0), (Pdr, 402_010.0)];
    for search in [SearchKind::Mlr, SearchKind::Binary] {
        let goals = truths.map(|(goal, _)| goal).to_vec();
        let mut model = Model::new().bed();
        model.device.buffer = 0.0;
        let spec = ForwardingSpec { goals, search, ..spec(&[ForwardingTest::Throughput]) };
        let figures = run(&spec, &mut model);
        let found = of(&figures, (ForwardingTest::Throughput, Metric::Throughput), "device");
        assert_eq!(found.len(), truths.len());
        for (goal, truth) in truths {
            let own = found
                .iter()
                .find(|f| f.text(Key::Goal) == Some(goal.as_str()))
                .expect("its figure");
            assert!(near(own.value, truth, 0.008), "{search:?} {goal}: {own:?}");
            assert!(own.value <= own.high && own.low <= own.value, "{search:?} {goal}: {own:?}");
            assert_eq!(own.verdict, Verdict::DeviceLimited, "{search:?} {goal}");
            assert!(
                own.text(Key::Search)
                    == Some(if search == SearchKind::Mlr { "mlr" } else { "binary" })
            );
            let through = own.conditions.get(&Key::ConditionalThroughput);
            assert_eq!(through.is_some(), goal == Pdr);
        }
    }
}

#[test]
fn the_latency_is_taken_at_the_throughput_found() {
    let test = ForwardingTest::Latency;
    let mut model = Model::new().bed();
    let spec = ForwardingSpec {
        latency_percents: vec![
            study::forwarding::LoadPercent::known(100),
            study::forwarding::LoadPercent::known(50),
        ],
        ..spec(&[test])
    };
    let figures = run(&spec, &mut model);
    let throughput = of(&figures, (ForwardingTest::Throughput, Metric::Throughput), "device")[0];
    let rate = throughput.value.expect("found");
    // An exponential tail: the median at ln 2 of its mean, 99.9 % at ln 1000.
    let [typical, worst] = [2.0_f64, 1_000.0].map(|odds| odds.ln() * TAIL_NS);
    for (path, least) in [("device", 25_000.0), ("bypass", 15_000.0)] {
        for percent in [100_u64, 50] {
            let at = |f: &&&Figure| f.conditions[&Key::LoadPercent] == percent.into();
            let of = |metric, q: f64| {
                let all = of(&figures, (test, metric), path);
                let mut own = all.into_iter().filter(|f| f.quantile == Some(q));
                own.find(|f| at(&f)).expect("its figure").clone()
            };
            let median = of(Metric::OneWayDelay, 0.5);
            assert!(near(median.value, least + typical, 0.01), "{path}: {median:?}");
            let tail = of(Metric::OneWayDelay, 0.999);
            assert!(near(tail.value, least + worst, 0.15), "{path}: {tail:?}");
            let variation = of(Metric::Pdv, 0.999);
            assert!(near(variation.value, worst, 0.25), "{path}: {variation:?}");
            let Condition::Number(load) = median.conditions[&Key::LoadRate] else { panic!() };
            assert!((load - rate * percent as f64 / 100.0).abs() < 1.0, "{load}");
            assert_eq!((median.blocks, median.n), (6, 24_000));
            assert!(median.low <= median.value && median.value <= median.high);
            let own = path == "device";
            let verdict = if own { Verdict::DeviceLimited } else { Verdict::TesterLimited };
            assert_eq!(median.verdict, verdict);
        }
    }
}

#[test]
fn without_one_clock_there_is_no_delay() {
    let test = ForwardingTest::Latency;
    let apart = Stamping::By(Clocks::Apart);
    for (stamping, caveat) in [(apart, Caveat::ClocksApart), (Stamping::Never, Caveat::NotStamped)]
    {
        let mut model = Model { stamping, ..Model::new() }.bed();
        let figures = run(&spec(&[test]), &mut model);
        let delays = of(&figures, (test, Metric::OneWayDelay), "device");
        assert!(delays.iter().all(|f| f.value.is_none()), "{stamping:?}");
        let variations = of(&figures, (test, Metric::Pdv), "device");
        assert_eq!(variations.len(), usize::from(stamping == apart));
        let all = delays.iter().chain(&variations);
        assert!(all.clone().next().is_some() && all.clone().all(|f| f.caveats.contains(&caveat)));
    }
}

#[test]
fn the_longest_burst_tells_the_buffer() {
    let test = ForwardingTest::BackToBack;
    // Frames held, octets held, the frame's size; what the buffer comes to in frames.
    let table = [
        (100.0, f64::INFINITY, 64, 100.0),
        (4_000.0, f64::INFINITY, 64, 4_000.0),
        (f64::INFINITY, 64_000.0, 64, 1_000.0),
        (f64::INFINITY, 64_000.0, 256, 250.0),
    ];
    for (buffer, buffer_octets, octets, held) in table {
        let mut model = Model::new().bed();
        model.device = model::Way { buffer, buffer_octets, ..model.device };
        let size = FrameSize::new(octets).expect("legal");
        let link_rate = Some(Rate(1_000_000 * 8 * u64::from(size.wire_octets())));
        let spec = ForwardingSpec { frames: vec![size.into()], link_rate, ..spec(&[test]) };
        let figures = run(&spec, &mut model);
        let burst = of(&figures, (test, Metric::BackToBack), "device")[0];
        // The device passes 0.4 of what comes in while the burst lasts.
        let truth: f64 = held / 0.6;
        assert!(near(burst.value, truth, 0.02), "{held}: {burst:?}");
        assert_eq!((burst.blocks, burst.verdict), (6, Verdict::DeviceLimited), "{burst:?}");
        assert!(burst.low <= burst.value && burst.value <= burst.high);
        assert_eq!(burst.conditions[&Key::StandardDeviation], 0.0.into());
        let times = of(&figures, (test, Metric::BufferTime), "device");
        let time = |name: &str| {
            times.iter().find(|f| f.text(Key::Estimate) == Some(name)).and_then(|f| f.value)
        };
        // At a million frames/s a frame takes a microsecond.
        assert!(near(time("implied"), truth * 1e3, 0.02), "{held}: {times:?}");
        assert!(near(time("corrected"), truth * 0.6 * 1e3, 0.03), "{held}: {times:?}");
    }
}

#[test]
fn no_burst_is_searched_where_the_device_keeps_up() {
    let test = ForwardingTest::BackToBack;
    for (capacity, doubt) in
        [(5_000_000.0, Caveat::DeviceNotDriven), (999_000.0, Caveat::DeviceNotDriven)]
    {
        let mut model = Model::new().bed();
        model.device.capacity = capacity;
        let figures = run(&spec(&[test]), &mut model);
        let burst = of(&figures, (test, Metric::BackToBack), "device")[0];
        assert_eq!((burst.value, burst.caveats.contains(&doubt)), (None, true), "{capacity}");
        let bursts = |t: &&trial::Trial| t.label.starts_with("back");
        assert_eq!(model.asked.iter().filter(bursts).count(), 0);
    }
}

#[test]
fn a_link_of_unknown_rate_is_said() {
    let test = ForwardingTest::BackToBack;
    let figures =
        run(&ForwardingSpec { link_rate: None, ..spec(&[test]) }, &mut Model::new().bed());
    let burst = of(&figures, (test, Metric::BackToBack), "device")[0];
    assert!(burst.caveats.contains(&Caveat::MediaRateUnknown));
    assert!(near(burst.value, 100.0 / 0.6, 0.02), "{burst:?}");
}

#[test]
fn recovery_ends_with_the_last_frame_lost() {
    let test = ForwardingTest::Recovery;
    for recovery_ns in [0.0, 1_500_000.0, 200_000_000.0] {
        let mut model = Model::new().bed();
        model.device.recovery_ns = recovery_ns;
        let figures = run(&spec(&[test]), &mut model);
        let figure = of(&figures, (test, Metric::RecoveryTime), "device")[0];
        let value = figure.value.expect("recovered");
        // Within two frames at half the throughput: 10 us.
        assert!((value - recovery_ns).abs() <= 10_000.0, "{recovery_ns}: {figure:?}");
        assert_eq!((figure.blocks, figure.verdict), (6, Verdict::DeviceLimited));
        assert_eq!(figure.conditions[&Key::OverloadPercent], 110.0.into());
    }
}

#[test]
fn a_device_that_loses_to_the_end_has_not_recovered() {
    let test = ForwardingTest::Recovery;
    let mut model = Model::new().bed();
    model.device.recovery_ns = 1e12;
    let figures = run(&spec(&[test]), &mut model);
    let figure = of(&figures, (test, Metric::RecoveryTime), "device")[0];
    assert_eq!((figure.value, figure.caveats.contains(&Caveat::NotRecovered)), (None, true));
}

#[test]
fn an_overload_beyond_the_tester_is_lowered_and_said() {
    let test = ForwardingTest::Recovery;
    let link_rate = None;
    for (capacity, caveat) in
        [(940_000.0, Caveat::LoadBelowAsked), (5_000_000.0, Caveat::DeviceNotDriven)]
    {
        let mut model = Model::new().bed();
        model.device.capacity = capacity;
        let figures = run(&ForwardingSpec { link_rate, ..spec(&[test]) }, &mut model);
        let figure = of(&figures, (test, Metric::RecoveryTime), "device")[0];
        assert!(figure.caveats.contains(&caveat), "{capacity}: {figure:?}");
        assert_eq!(figure.value.is_some(), caveat == Caveat::LoadBelowAsked, "{figure:?}");
    }
}

#[test]
fn a_reset_is_told_by_losses_and_by_the_gap() {
    let test = ForwardingTest::Reset;
    let mut model = Model::new().bed();
    model.device.down_ns = 730_000_000.0;
    model.topology.devices[0].resettable = true;
    let figures = run(&spec(&[test]), &mut model);
    let found = of(&figures, (test, Metric::ResetTime), "device");
    for estimate in ["loss", "gap"] {
        let own =
            found.iter().find(|f| f.text(Key::Estimate) == Some(estimate)).expect("its figure");
        assert!(near(own.value, 730e6, 0.002), "{estimate}: {own:?}");
        assert_eq!((own.blocks, own.verdict), (3, Verdict::DeviceLimited));
    }
    // The same load, as leniently judged, without a reset.
    let controls = model.asked.iter().filter(|t| t.label.starts_with("reset control"));
    assert!(controls.clone().all(|t| t.events.is_empty() && t.gate == Gate::Flood));
    assert_eq!(controls.count(), 4);
    let resets = model.asked.iter().filter(|t| !t.events.is_empty());
    for trial in resets.clone() {
        assert_eq!((&trial.events[0].deed, trial.path), (&Deed::Reset, Path::Device));
        assert!(trial.events[0].at < trial.phases.load && trial.subject.is_some());
    }
    assert_eq!(resets.count(), 3);
    // One that never comes back.
    model.device.down_ns = 1e12;
    let figures = run(&spec(&[test]), &mut model);
    for figure in of(&figures, (test, Metric::ResetTime), "device") {
        assert_eq!((figure.value, figure.caveats.contains(&Caveat::NotRecovered)), (None, true));
    }
}

#[test]
fn a_reset_of_what_forwards_on_is_no_outage_but_the_testers_own_gaps() {
    let test = ForwardingTest::Reset;
    for seed in 1..=20 {
        let mut model = Model { held_up_ns: (95e3, 1_091e3), seed, ..Model::new() }.bed();
        model.topology.devices[0].resettable = true;
        let figures = run(&spec(&[test]), &mut model);
        for found in of(&figures, (test, Metric::ResetTime), "device") {
            assert_eq!((found.value, found.verdict), (None, Verdict::TesterLimited), "{found:?}");
            if found.text(Key::Estimate) == Some("gap") {
                assert!(found.high.is_some_and(|high| (95e3..=1_100e3).contains(&high)));
            }
        }
    }
}

#[test]
fn what_has_no_hook_is_not_reset() {
    let test = ForwardingTest::Reset;
    let mut model = Model::new().bed();
    let figures = run(&spec(&[test]), &mut model);
    let figure = of(&figures, (test, Metric::ResetTime), "device")[0];
    assert_eq!((figure.value, figure.caveats.contains(&Caveat::NotResettable)), (None, true));
    assert!(model.asked.iter().all(|trial| trial.events.is_empty()));
}

#[test]
fn the_gaps_of_the_load_are_shown() {
    let test = ForwardingTest::Throughput;
    for bunched in [0.0, 0.25] {
        let mut model = Model { bunched, ..Model::new() }.bed();
        let figures = run(&spec(&[test]), &mut model);
        let fraction = of(&figures, (test, Metric::BurstFraction), "device")[0];
        assert!((fraction.value.expect("seen") - bunched).abs() < 1e-9, "{fraction:?}");
        let gaps = of(&figures, (test, Metric::DepartureGap), "device");
        let median = gaps.iter().find(|f| f.quantile == Some(0.5)).expect("its figure");
        assert!(near(median.value, 2_500.0, 0.01), "{median:?}");
    }
}

/// The six tests of RFC 2544.
fn quick_suite() -> ForwardingSpec {
    ForwardingSpec { tests: ForwardingTest::RFC2544.to_vec(), ..ForwardingSpec::quick() }
}

#[test]
fn a_dead_device_fails_every_test_and_says_so() {
    let mut model = Model { broken: true, ..Model::new() }.bed();
    let figures = run(&quick_suite(), &mut model);
    let own = figures.iter().filter(|f| f.text(Key::Path) == Some("device"));
    for figure in own {
        assert_eq!((figure.value, figure.verdict), (None, Verdict::Undetermined), "{figure:?}");
        let doubts = [Caveat::NoValidTrial, Caveat::NoThroughput, Caveat::NotResettable];
        assert!(figure.caveats.iter().any(|c| doubts.contains(c)), "{figure:?}");
    }
}

#[test]
fn the_suite_makes_all_six_tests_as_estimated() {
    let mut model = Model::new().bed();
    model.device.down_ns = 1e9;
    model.topology.devices[0].resettable = true;
    let spec = ForwardingSpec {
        frames: [64, 512]
            .map(|octets| FrameMix::from_size(FrameSize::new(octets).expect("legal")))
            .into(),
        ..quick_suite()
    };
    let estimate = spec.estimate(&model.topology);
    let figures = run(&spec, &mut model);
    for test in ForwardingTest::RFC2544 {
        let own = figures.iter().filter(|f| f.text(Key::Test) == Some(test.as_str()));
        assert!(own.clone().count() > 0 && own.clone().all(|f| f.value.is_some()), "{test:?}");
    }
    let real: u64 = model.asked.iter().map(|t| t.phases.total().0 + 60_000_000).sum();
    let share = estimate.time.0 as f64 / real as f64;
    assert!((0.7..1.4).contains(&share), "{estimate:?} for {}", Nanos(real));
    for (at, trial) in model.asked.iter().enumerate() {
        let same = model.asked[..at].iter().filter(|other| *other == trial).count();
        // A burst that lost is sent again as it was.
        let burst = trial.label.starts_with("back");
        assert!(same <= usize::from(burst), "asked for again: {}", trial.label);
    }
}

#[test]
fn every_deviation_is_named() {
    let clauses = |spec: &ForwardingSpec, model: &mut Bed| {
        let figures = run(spec, model);
        conformance(spec, &model.topology, &figures)
    };
    let quick = clauses(&quick_suite(), &mut Model::new().bed());
    let kept = |clauses: &[study::Clause], name: &str| {
        clauses.iter().find(|c| c.clause == name).unwrap_or_else(|| panic!("{name}")).conforms
    };
    for broken in [
        "RFC 2544 §9.1",
        "RFC 2544 §14",
        "RFC 2544 §20",
        "RFC 2544 §23",
        "RFC 2544 §24",
        "RFC 2544 §26.2",
        "RFC 2544 §26.3",
        "RFC 2544 §26.4",
        "RFC 2544 §26.5",
        "RFC 6201 §4",
    ] {
        assert!(!kept(&quick, broken), "{broken}");
    }
    for held in ["RFC 2544 §6", "RFC 2544 §C.2.2", "RFC 2544 §26.1"] {
        assert!(kept(&quick, held), "{held}");
    }
    let sizes = quick.iter().find(|c| c.clause == "RFC 2544 §9.1").expect("there");
    assert_eq!(sizes.done, "without 128, 256, 512, 1024, 1280");
    let mut tests = ForwardingTest::RFC2544.to_vec();
    tests.push(ForwardingTest::Flood);
    let link_rate = spec(&[]).link_rate;
    let strict = ForwardingSpec { tests, link_rate, ..ForwardingSpec::strict() };
    let mut model = Model::new().bed();
    // As much of every size as of the smallest would be more than a link of that rate carries.
    let strict = ForwardingSpec { frames: strict.frames[..1].to_vec(), ..strict };
    let figures = clauses(&strict, &mut model);
    for held in [
        "RFC 2544 §20",
        "RFC 1242 §3.4",
        "RFC 2544 §23",
        "RFC 2544 §24",
        "RFC 2544 §26.2",
        "RFC 2544 §26.3",
        "RFC 2544 §26.4",
        "RFC 9004 §6",
    ] {
        assert!(kept(&figures, held), "{held}: {figures:?}");
    }
    let only_flood = clauses(&spec(&[ForwardingTest::Flood]), &mut Model::new().bed());
    let left = only_flood.iter().find(|c| c.clause == "RFC 2544 §26").expect("there");
    assert!(left.done.contains("throughput") && left.done.contains("reset"), "{}", left.done);
}

#[test]
fn trials_of_a_second_do_not_conform_and_neither_does_a_throughput_of_nothing() {
    let strict = ForwardingSpec {
        tests: vec![ForwardingTest::Throughput],
        frames: ForwardingSpec::strict().frames[..1].to_vec(),
        ..ForwardingSpec::strict()
    };
    let kept = |spec: &ForwardingSpec, change: fn(&mut Figure)| {
        let mut model = Model::new().bed();
        let mut figures = run(spec, &mut model);
        figures.iter_mut().filter(|f| f.metric == Metric::Throughput).for_each(change);
        let clauses = conformance(spec, &model.topology, &figures);
        ["RFC 2544 §24", "RFC 2544 §26.1"].map(|name| {
            clauses.iter().find(|c| c.clause == name).unwrap_or_else(|| panic!("{name}")).conforms
        })
    };
    assert_eq!(kept(&strict, |_| {}), [true; 2]);
    // NDR alone rests on trials of a second, whatever the plan's `final_duration` is.
    let ndr = ForwardingSpec { goals: vec![GoalName::Ndr], ..strict.clone() };
    assert!(ndr.final_duration >= Nanos::from_secs(60));
    assert_eq!(kept(&ndr, |_| {}), [false; 2]);
    let second = |f: &mut Figure| {
        f.set(Key::FinalDuration, 1_000_000_000_u64);
    };
    assert_eq!(kept(&strict, second), [false, true]);
    assert_eq!(kept(&strict, |f| f.value = Some(0.0)), [false; 2]);
    assert_eq!(kept(&strict, |f| f.value = None), [false; 2]);
    assert_eq!(kept(&strict, |f| f.caveats.push(Caveat::Irregular)), [false; 2]);
    assert_eq!(kept(&strict, |f| f.verdict = Verdict::Undetermined), [false; 2]);
}

#[test]
fn a_burst_is_sent_whole_and_a_fall_has_both_rates() {
    let tests = [ForwardingTest::BackToBack, ForwardingTest::Recovery];
    let mut model = Model::new().bed();
    run(&spec(&tests), &mut model);
    let schedules = model.asked.iter().map(|trial| {
        let trial::FlowKind::Datagrams(flow) = &trial.flows[0].kind else { panic!() };
        (flow.schedule, trial.phases.load)
    });
    for (schedule, load) in schedules {
        match schedule {
            Schedule::Burst(frames) => assert!((1..=300_000).contains(&frames)),
            Schedule::Falling { from, to, after } => {
                assert!((from.0 / to.0 - 2.2).abs() < 1e-9, "{from:?} {to:?}");
                assert!(after < load);
            }
            Schedule::Greedy | Schedule::Paced(_) => {}
        }
    }
}
