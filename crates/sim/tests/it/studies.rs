//! Whole studies on virtual testbeds: they must find what the profile says.

use measure::{FrameMix, Nanos};
use page::Condition;
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};
use study::forwarding::{ForwardingSpec, ForwardingTest};
use study::{Finding as _, LatencySpec};
use trial::Backend;

use crate::trials::{GIGABIT, profile, size, testbed};

const LIMIT: f64 = 200_000.0;

/// A software device of 200,000 packets a second, with room for so many.
fn limited() -> device::Profile {
    profile(
        r#"
        name = "limited"
        ports = 2
        rate = "1Gbit"
        buffer = { per_port = "1MiB" }
        pps_limit = 200000
        pps_queue = 512
    "#,
    )
}

fn forwarding(tests: &[ForwardingTest]) -> ForwardingSpec {
    ForwardingSpec {
        frames: vec![FrameMix::from_size(size(64))],
        tests: tests.to_vec(),
        link_rate: Some(GIGABIT),
        backend: Backend::Auto,
        blocks: study::Blocks::known(2),
        burst_repeats: study::forwarding::Repeats::known(2),
        latency_repeats: study::forwarding::Repeats::known(2),
        ..ForwardingSpec::quick()
    }
}

fn figures(spec: &ForwardingSpec) -> Vec<Figure> {
    spec.run(&mut testbed(limited()), 1).expect("every trial runs").rows()
}

fn of(figures: &[Figure], metric: Metric, device: bool) -> Vec<&Figure> {
    let path = if device { "device" } else { "bypass" };
    let wanted = |figure: &&Figure| {
        let on_path = figure
            .conditions
            .get(&Key::Path)
            .is_some_and(|p| matches!(p, Condition::Text(text) if text == path));
        figure.metric == metric && on_path
    };
    figures.iter().filter(wanted).collect()
}

#[test]
fn the_throughput_found_is_the_packet_limit() {
    let figures = figures(&forwarding(&[ForwardingTest::Flood, ForwardingTest::Throughput]));
    let found = of(&figures, Metric::Throughput, true);
    let frames = found.iter().find(|figure| figure.unit == Unit::FramesPerSecond).expect("one");
    let value = frames.value.expect("a value");
    assert!((value / LIMIT - 1.0).abs() < 0.005, "{value}");
    assert_eq!(frames.verdict, Verdict::DeviceLimited);
    for caveat in [Caveat::SharedMachine, Caveat::SoftwareTimestamps, Caveat::NoBypass] {
        assert!(!frames.caveats.contains(&caveat), "{caveat:?}");
    }
    assert!(frames.caveats.contains(&Caveat::Simulated));
}

#[test]
fn back_to_back_finds_the_queue() {
    let figures = figures(&forwarding(&[ForwardingTest::BackToBack]));
    let found = of(&figures, Metric::BackToBack, true);
    let longest = found[0].value.expect("a value");
    // While n frames come at line rate, the device forwards n * limit / line of them.
    let line = FrameMix::from_size(size(64)).line_rate(GIGABIT).0;
    let expected = 513.0 / (1.0 - LIMIT / line);
    assert!((longest / expected - 1.0).abs() < 0.02, "{longest} and not {expected}");
    assert_eq!(found[0].verdict, Verdict::DeviceLimited);
}

#[test]
fn every_procedure_of_the_suite_comes_to_a_figure() {
    let spec = forwarding(&ForwardingTest::RFC2544);
    let figures = figures(&spec);
    for metric in [
        Metric::Throughput,
        Metric::OneWayDelay,
        Metric::BackToBack,
        Metric::RecoveryTime,
        Metric::ResetTime,
    ] {
        let found = of(&figures, metric, true);
        assert!(found.iter().any(|figure| figure.value.is_some()), "{metric:?}: {found:#?}");
        for figure in found {
            assert!(!figure.caveats.contains(&Caveat::SoftwareTimestamps), "{metric:?}");
        }
    }
    let reset = of(&figures, Metric::ResetTime, true)[0].value.expect("a value");
    assert!((reset / sim::RESET_TIME.0 as f64 - 1.0).abs() < 0.01, "{reset}");
}

#[test]
fn the_latency_study_finds_what_the_device_adds() {
    let text = r#"
        name = "slow"
        ports = 2
        rate = "10Gbit"
        buffer = { per_port = "1MiB" }
        forwarding = { mode = "store-and-forward", latency = "20us" }
    "#;
    let spec = LatencySpec {
        sizes: vec![size(64)],
        blocks: study::Blocks::known(6),
        duration: Nanos::from_millis(50),
        ..LatencySpec::quick()
    };
    let figures = spec.run(&mut testbed(profile(text)), 1).expect("every trial runs").rows();
    let added: Vec<&Figure> =
        figures.iter().filter(|figure| figure.metric == Metric::RttAdded).collect();
    assert!(!added.is_empty());
    // Twice the latency, and twice the frame once more.
    let frame = 2.0 * (72.0 * 8.0 / 10.0);
    for figure in added.iter().filter(|figure| figure.quantile == Some(0.5)) {
        let value = figure.value.expect("a value");
        let tcp = figure
            .conditions
            .get(&Key::Protocol)
            .is_some_and(|p| matches!(p, Condition::Text(text) if text == "tcp"));
        let margin = if tcp { 50.0 } else { 25.0 };
        assert!((value - 40_000.0 - frame).abs() < margin, "{value}: {:?}", figure.conditions);
        assert_eq!(figure.verdict, Verdict::DeviceLimited);
    }
    for figure in &figures {
        assert!(!figure.caveats.contains(&Caveat::SoftwareTimestamps));
        assert!(!figure.caveats.contains(&Caveat::SharedMachine));
    }
}
