//! What a device sustains, told from what it swallows: slow ones beside a fast tester, deep queues
//! and random losses, each by its known truth. Each of these was once called a limit with
//! confidence. `SWITCHMARK_TESTS=full` has every goal with the long trials of every queue, and more
//! seeds of losses.

use measure::FrameMix;
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};
use study::forwarding::{ForwardingSpec, ForwardingTest};
use study::search::GoalName;
use study::{Finding as _, Profile as Rigor};

use crate::trials::{GIGABIT, profile, size, testbed};

fn spec(tests: &[ForwardingTest], goals: &[GoalName]) -> ForwardingSpec {
    ForwardingSpec {
        frames: vec![FrameMix::from_size(size(64))],
        tests: tests.to_vec(),
        goals: goals.to_vec(),
        link_rate: Some(GIGABIT),
        blocks: study::Blocks::known(2),
        burst_repeats: study::forwarding::Repeats::known(2),
        latency_repeats: study::forwarding::Repeats::known(6),
        ..ForwardingSpec::quick()
    }
}

fn full() -> bool {
    std::env::var("SWITCHMARK_TESTS").is_ok_and(|level| level == "full")
}

/// The device's figures of a metric, in frames, shares or nanoseconds.
fn figures(spec: &ForwardingSpec, text: &str, metric: Metric) -> Vec<Figure> {
    let all = spec.run(&mut testbed(profile(text)), 1).expect("every trial runs").rows();
    let device = |f: &Figure| f.text(Key::Path) == Some("device");
    let wanted = |f: &Figure| f.metric == metric && f.unit != Unit::BitsPerSecond && device(f);
    all.into_iter().filter(wanted).collect()
}

/// A device whose frames wait in a queue of so many octets before a slow way.
fn slow_way(octets: u64) -> String {
    format!(
        "name = \"slow-way\"\nports = 2\nrate = \"1Gbit\"\nbuffer = {{ per_port = \"{octets}B\" }}\n\
         groups = [{{ ports = \"1\", uplink = \"546kbit\" }}, {{ ports = \"2\", uplink = \"1Gbit\" }}]\n"
    )
}

/// Frames of 64 octets that its way carries, with preamble and gap.
const SLOW_WAY: f64 = 546_000.0 / (8.0 * 84.0);

#[test]
fn a_device_far_slower_than_its_tester_has_a_rate() {
    for limit in [2_000.0, 60.0, 15.0] {
        let text = format!(
            "name = \"slow\"\nports = 2\nrate = \"1Gbit\"\nbuffer = {{ per_port = \"1MiB\" }}\n\
             pps_limit = {limit}\npps_queue = 16\n"
        );
        let found = figures(
            &spec(&[ForwardingTest::Throughput], &[GoalName::Rfc2544]),
            &text,
            Metric::Throughput,
        );
        let [found] = &found[..] else { panic!("{limit}: {found:?}") };
        let (low, high) = (found.low.expect("a load passed"), found.high.expect("one failed"));
        assert!(low <= limit * 1.001 && high >= limit * 0.999, "{limit}: {low}…{high}");
        // A final trial of two seconds has 30 frames at 15/s.
        assert!(low >= limit * (0.99 - 2.0 / limit), "{limit}: {low}");
        assert_eq!(found.verdict, Verdict::DeviceLimited, "{limit}: {found:?}");
    }
}

#[test]
fn a_queue_is_no_rate_whatever_the_goal() {
    for octets in [64_000, 1_000_000, 4_000_000] {
        for rigor in [Rigor::Quick, Rigor::Strict] {
            for goal in [GoalName::Rfc2544, GoalName::Ndr, GoalName::Pdr] {
                // Long trials take the most: without the full profile only a goal with losses and
                // one without have them, the latter before a queue as deep as they are long.
                let once = (octets, goal) == (4_000_000, GoalName::Rfc2544)
                    || (octets == 64_000 && goal == GoalName::Pdr);
                if rigor == Rigor::Strict && !once && !full() {
                    continue;
                }
                let base = spec(&[ForwardingTest::Throughput], &[goal]);
                let strict = ForwardingSpec::strict();
                let (duration, final_duration) = (strict.duration, strict.final_duration);
                let spec = match rigor {
                    Rigor::Quick => base,
                    Rigor::Strict => {
                        ForwardingSpec { profile: rigor, duration, final_duration, ..base }
                    }
                };
                let found = figures(&spec, &slow_way(octets), Metric::Throughput);
                let what = format!("{octets} octets, {rigor:?}, {goal}: {found:?}");
                let [found] = &found[..] else { panic!("{what}") };
                let truth = if goal == GoalName::Pdr { SLOW_WAY / 0.995 } else { SLOW_WAY };
                let (low, high) = (found.low.expect(&what), found.high.expect(&what));
                assert!(low <= truth * 1.001 && high >= truth * 0.999, "{what}");
                assert!(low >= truth * 0.97, "{what}");
                assert_eq!(found.verdict, Verdict::DeviceLimited, "{what}");
            }
        }
    }
}

#[test]
fn a_loss_curve_counts_what_only_queued() {
    let spec = spec(&[ForwardingTest::Throughput, ForwardingTest::LossCurve], &[GoalName::Rfc2544]);
    let spec = ForwardingSpec { link_rate: None, ..spec };
    let points = figures(&spec, &slow_way(256_000), Metric::LossRatio);
    assert!(points.len() >= 4, "{points:?}");
    for point in points {
        let offered = &point.number(Key::OfferedRate).expect("a number");
        let truth = (1.0 - SLOW_WAY / offered).max(0.0);
        let told = point.value.expect("every load was offered");
        assert!((told - truth).abs() < 0.012, "{offered}: {told} of {truth}");
    }
}

#[test]
fn the_delay_at_the_throughput_is_not_a_full_queue_s() {
    let spec = spec(&[ForwardingTest::Throughput, ForwardingTest::Latency], &[GoalName::Rfc2544]);
    let text = "name = \"slow\"\nports = 2\nrate = \"1Gbit\"\nbuffer = { per_port = \"1MiB\" }\n\
                pps_limit = 2000\npps_queue = 256\n";
    let delays = figures(&spec, text, Metric::OneWayDelay);
    let median = delays.iter().find(|f| f.quantile == Some(0.5)).expect("a median");
    // 256 frames at 2,000/s are 128 ms; one is half a millisecond.
    assert!(median.value.expect("stamped") < 3e6, "{median:?}");
}

#[test]
fn losses_that_do_not_grow_with_the_load_are_no_rate() {
    for loss in ["1e-5", "1e-4", "1e-3"] {
        let text = format!(
            "name = \"lossy\"\nports = 2\nrate = \"1Gbit\"\nbuffer = {{ per_port = \"1MiB\" }}\n\
             loss = {loss}\n"
        );
        for seed in 1..=if full() { 3 } else { 1 } {
            let spec = spec(&[ForwardingTest::Throughput], &[GoalName::Rfc2544, GoalName::Ndr]);
            let device = profile(&text);
            let hosts = sim::HostModel::ideal(device.edges());
            let mut bed = sim::VirtualTestbed::new("sim:lossy", device, hosts, seed);
            let all = spec.run(&mut bed, seed).expect("every trial runs").rows();
            let found = all
                .iter()
                .filter(|f| f.metric == Metric::Throughput)
                .filter(|f| f.text(Key::Path) == Some("device") && f.unit == Unit::FramesPerSecond);
            for figure in found {
                assert_ne!(
                    figure.verdict,
                    Verdict::DeviceLimited,
                    "{loss}, seed {seed}: {figure:?}"
                );
                if figure.value.is_none() {
                    assert!(figure.caveats.contains(&Caveat::LossNotByLoad), "{loss}: {figure:?}");
                }
            }
            let truth: f64 = loss.parse().expect("a number");
            for share in all.iter().filter(|f| f.metric == Metric::LossRatio) {
                let told = share.value.expect("a share");
                assert!(told < 5.0 * truth, "{loss}, seed {seed}: {share:?}");
            }
        }
    }
}
