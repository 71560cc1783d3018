//! The tests of RFC 2889 and RFC 8239 on modelled switches: each must find what its profile says.
//!
//! 100 Mbit/s ports, so that a second of every port at line rate is soon over.

use measure::{FrameSize, Nanos, Rate};
use page::{Caveat, Condition, Figure, Key, Metric, Verdict};
use study::{Finding as _, Profile, StudySpec, SwitchTest, SwitchingSpec};
use trial::{FlowRecord, Observed, Trial, TrialRecord};

use crate::trials::{profile, size, testbed};

const LINK: Rate = Rate(100_000_000);

/// A switch of so many ports with what the lines say.
fn switch(ports: u16, lines: &str) -> device::Profile {
    profile(&format!("name = \"sw\"\nports = {ports}\nrate = \"100Mbit\"\n{lines}"))
}

const AMPLE: &str = "buffer = { per_port = \"1MiB\" }";

fn spec(tests: &[SwitchTest], octets: u32) -> SwitchingSpec {
    SwitchingSpec {
        tests: tests.to_vec(),
        frames: vec![size(octets)],
        link_rate: Some(LINK),
        duration: Nanos::from_millis(50),
        final_duration: Nanos::from_millis(200),
        ..SwitchingSpec::quick()
    }
}

fn measure(device: device::Profile, spec: &SwitchingSpec) -> Vec<Figure> {
    let mut testbed = testbed(device);
    let asked = StudySpec::Switching(spec.clone());
    asked.check(trial::Testbed::topology(&testbed)).expect("it can be asked for");
    spec.run(&mut testbed, 7).expect("every trial runs").rows()
}

/// The one figure of a metric that has all these conditions.
fn one<'a>(figures: &'a [Figure], metric: Metric, conditions: &[(Key, &str)]) -> &'a Figure {
    let fits = |f: &&Figure| {
        f.metric == metric && conditions.iter().all(|(name, value)| f.text(name) == Some(value))
    };
    let found: Vec<&Figure> = figures.iter().filter(fits).collect();
    match found[..] {
        [figure] => figure,
        _ => panic!("{metric:?} {conditions:?}: {found:#?}"),
    }
}

fn near(value: Option<f64>, truth: f64, share: f64) {
    let value = value.expect("a value");
    assert!((value / truth - 1.0).abs() <= share, "{value} and not {truth}");
}

fn line(octets: u32) -> f64 {
    LINK.line_rate(size(octets)).0
}

/// 64,770 flows are the most that a trial has: a trial with its record stays below 16 MiB.
#[test]
fn a_flow_of_a_mesh_takes_few_octets_of_text() {
    const MOST: usize = (16 << 20) / (255 * 254);
    let mut testbed = testbed(switch(12, AMPLE));
    let mut meshes = Vec::new();
    let take = |trial: &Trial, record: &TrialRecord| {
        if trial.flows.len() == 12 * 11 {
            meshes.push((trial.clone(), record.clone()));
        }
    };
    let mut observed = Observed::new(&mut testbed, take);
    let asked = SwitchingSpec {
        ports: study::switching::PortCount::known(12),
        ..spec(&[SwitchTest::Mesh], 64)
    };
    asked.run(&mut observed, 7).expect("every trial runs");
    assert!(meshes.len() > 1, "{} trials", meshes.len());
    for (trial, record) in meshes {
        let texts =
            [serde_json::to_string(&trial.flows[0]), serde_json::to_string(&record.flows[0])];
        let first: usize = texts.map(|text| text.expect("plain values").len()).iter().sum();
        let texts = [serde_json::to_string(&trial), serde_json::to_string(&record)];
        let [trial_text, record_text] = texts.map(|text| text.expect("plain values"));
        let others: usize = record.ports.iter().map(|port| 300 + port.place.len()).sum();
        let all = trial_text.len() + record_text.len() - first;
        let each = all.saturating_sub(others) / (trial.flows.len() - 1);
        assert!(each < MOST, "{each} octets a flow of {}", trial.label);
        assert_eq!(serde_json::from_str::<Trial>(&trial_text).expect("our own"), trial);
        assert_eq!(serde_json::from_str::<TrialRecord>(&record_text).expect("our own"), record);
        assert!(record.flows.iter().all(is_counts_alone), "{}", trial.label);
    }
}

fn is_counts_alone(flow: &FlowRecord) -> bool {
    let FlowRecord::Datagrams(seen) = flow else { return false };
    seen.departures.is_empty() && seen.arrivals.is_empty() && seen.delays.is_none()
}

const PATTERNS: [SwitchTest; 5] = [
    SwitchTest::Mesh,
    SwitchTest::OneToMany,
    SwitchTest::ManyToOne,
    SwitchTest::HalfToHalf,
    SwitchTest::OneWay,
];

#[test]
fn a_switch_that_does_not_block_passes_every_pattern_at_line_rate() {
    let figures = measure(switch(6, AMPLE), &spec(&PATTERNS, 512));
    // The ports that send, or into which they send, are the media's limit.
    for (test, ports) in PATTERNS.into_iter().zip([6.0, 1.0, 1.0, 6.0, 3.0]) {
        let of = [(Key::Test, test.as_str())];
        let found = one(&figures, Metric::Throughput, &of);
        near(found.value, ports * line(512), 0.005);
        // Trials as short as these know their rate to a few tenths of a per cent: line rate, or a
        // bound just below it.
        let whose = [Verdict::LinkLimited, Verdict::TesterLimited];
        assert!(whose.contains(&found.verdict), "{test:?}: {found:?}");
        assert!(found.caveats.contains(&Caveat::SearchCeiling), "{test:?}");
        let frmol = one(&figures, Metric::Received, &[of[0].clone(), (Key::RateName, "frmol")]);
        near(frmol.value, ports * line(512), 0.02);
        assert_eq!(one(&figures, Metric::Flooded, &of).value, Some(0.0), "{test:?}");
    }
    // Four of the five senders' frames find no room.
    let lost =
        one(&figures, Metric::LossRatio, &[(Key::Test, "many-to-one"), (Key::RateName, "frmol")]);
    assert!((0.3..0.8).contains(&lost.value.expect("a value")), "{lost:?}");
    assert_eq!(lost.verdict, Verdict::DeviceLimited);
}

#[test]
fn a_backplane_that_is_too_narrow_shows_in_a_mesh_and_not_within_its_groups() {
    // Two groups of four behind 200 Mbit/s each: of a port's mesh 4/7 cross, of a half-to-half all.
    let narrow = "buffer = { per_port = \"16KiB\" }\n\
                  groups = [{ ports = \"1-4\", uplink = \"200Mbit\" }, \
                  { ports = \"5-8\", uplink = \"200Mbit\" }]";
    let tests = [SwitchTest::Mesh, SwitchTest::HalfToHalf];
    // What a queue holds passes on top of a trial's share: 16 KiB in a second are 0.1 %.
    let spec = SwitchingSpec { final_duration: Nanos::from_secs(1), ..spec(&tests, 512) };
    let figures = measure(switch(8, narrow), &spec);
    for (test, share) in [("mesh", 7.0 / 8.0), ("half-to-half", 0.5)] {
        let found = one(&figures, Metric::Throughput, &[(Key::Test, test)]);
        near(found.value, share * 8.0 * line(512), 0.01);
        assert_eq!(found.verdict, Verdict::DeviceLimited);
    }
}

#[test]
fn without_control_the_congested_port_loses_a_third_and_the_other_nothing() {
    let small = "buffer = { per_port = \"64KiB\" }";
    let spec = SwitchingSpec {
        duration: Nanos::from_secs(1),
        final_duration: Nanos::from_secs(1),
        ..spec(&[SwitchTest::Congestion, SwitchTest::HeadOfLine], 512)
    };
    let figures = measure(switch(8, small), &spec);
    for test in ["congestion", "head-of-line"] {
        let of =
            |metric, egress| one(&figures, metric, &[(Key::Test, test), (Key::Egress, egress)]);
        near(of(Metric::LossRatio, "congested").value, 1.0 / 3.0, 0.03);
        assert_eq!(of(Metric::LossRatio, "uncongested").value, Some(0.0));
        let flag = |metric| one(&figures, metric, &[(Key::Test, test)]).value;
        assert_eq!(flag(Metric::HeadOfLineBlocking), Some(0.0), "{test}");
        assert_eq!(flag(Metric::Backpressure), Some(0.0), "{test}");
    }
}

#[test]
fn a_switch_that_pauses_its_senders_loses_nothing_and_holds_up_the_other_port() {
    let figures = measure(
        switch(4, "buffer = { per_port = \"256KiB\" }\npause = true"),
        &spec(&[SwitchTest::Congestion], 512),
    );
    assert_eq!(one(&figures, Metric::Backpressure, &[]).value, Some(1.0));
    // Nothing is lost, and yet it gets a quarter less than where nobody congests the other.
    assert_eq!(one(&figures, Metric::HeadOfLineBlocking, &[]).value, Some(1.0));
    let free = one(&figures, Metric::Received, &[(Key::Egress, "uncongested")]);
    // It could have half a port's rate.
    assert!(free.value.expect("a value") < 0.45 * line(512), "{free:?}");
    assert_eq!(free.conditions.get(&Key::Paused), Some(&Condition::Flag(true)));
}

#[test]
fn a_shared_way_to_the_backplane_is_head_of_line_blocking() {
    // Ports 1 and 2 share 100 Mbit/s to the others: the frames for the free port wait behind the
    // rest.
    let shared = "buffer = { per_port = \"64KiB\" }\n\
                  groups = [{ ports = \"1-2\", uplink = \"100Mbit\" }, { ports = \"3-4\" }]";
    let figures = measure(switch(4, shared), &spec(&[SwitchTest::HeadOfLine], 512));
    let found = one(&figures, Metric::HeadOfLineBlocking, &[]);
    assert_eq!(found.value, Some(1.0), "{figures:#?}");
    let lost = one(&figures, Metric::LossRatio, &[(Key::Egress, "uncongested")]);
    // The mean of five trials of 50 ms, of which a part goes into the queues.
    assert!(lost.value.expect("a value") > 0.1, "{lost:?}");
}

/// Neither loses a frame at the uncongested port for the congested one's sake.
#[test]
fn what_the_control_loses_too_is_no_head_of_line_blocking() {
    let small = "buffer = { per_port = \"64KiB\" }";
    let spec = SwitchingSpec {
        duration: Nanos::from_millis(500),
        final_duration: Nanos::from_millis(500),
        ..spec(&[SwitchTest::Congestion, SwitchTest::HeadOfLine], 512)
    };
    for lines in [
        "stalls = { per_second = 1.0, length = \"5ms\" }",
        "stalls = { per_second = 3.0, length = \"20ms\" }",
        "loss = 1e-3",
        // Short of turns for all four ports, congested or not.
        "pps_limit = 30000\npps_queue = 64",
    ] {
        let figures = measure(switch(4, &format!("{small}\n{lines}")), &spec);
        for test in ["congestion", "head-of-line"] {
            let found = one(&figures, Metric::HeadOfLineBlocking, &[(Key::Test, test)]);
            assert_ne!(found.value, Some(1.0), "{test}, {lines}: {found:#?}");
            if lines == "loss = 1e-3" {
                assert_eq!(found.value, Some(0.0), "{test}, {lines}: {found:#?}");
            }
        }
    }
}

#[test]
fn a_port_that_was_not_congested_or_overfed_itself_tells_nothing() {
    // What is too much for 50 ms finds room.
    let figures = measure(switch(4, AMPLE), &spec(&[SwitchTest::HeadOfLine], 512));
    for metric in [Metric::HeadOfLineBlocking, Metric::Backpressure] {
        let found = one(&figures, metric, &[]);
        assert_eq!((found.value, found.verdict), (None, Verdict::Undetermined), "{found:#?}");
        assert!(found.caveats.contains(&Caveat::DeviceNotDriven), "{found:#?}");
    }
    // The third port carries a tenth of what it is sent, and nobody knows.
    let slow = "buffer = { per_port = \"64KiB\" }\ncables = [{ ports = \"3\", rate = \"5Mbit\" }]";
    let half = Nanos::from_millis(500);
    let unknown = spec(&[SwitchTest::Congestion], 512);
    let unknown =
        SwitchingSpec { link_rate: None, duration: half, final_duration: half, ..unknown };
    let figures = measure(switch(4, slow), &unknown);
    let found = one(&figures, Metric::HeadOfLineBlocking, &[]);
    assert_eq!((found.value, found.verdict), (None, Verdict::Undetermined), "{found:#?}");
    assert!(found.caveats.contains(&Caveat::MediaRateUnknown), "{found:#?}");
}

#[test]
fn the_address_table_is_found_to_the_address() {
    for entries in [67, 1000, 8192] {
        let lines = format!("{AMPLE}\nmac_table = {{ entries = {entries} }}");
        let figures = measure(switch(4, &lines), &spec(&[SwitchTest::AddressCaching], 64));
        let found = one(&figures, Metric::AddressCapacity, &[]);
        assert_eq!(found.value, Some(f64::from(entries)));
        assert_eq!(found.high, Some(f64::from(entries + 1)));
        assert_eq!(found.verdict, Verdict::DeviceLimited);
    }
    let asked = SwitchingSpec {
        stations: study::switching::Stations::known(500),
        ..spec(&[SwitchTest::AddressCaching], 64)
    };
    let figures = measure(switch(3, AMPLE), &asked);
    let found = one(&figures, Metric::AddressCapacity, &[]);
    assert_eq!((found.value, found.verdict), (Some(503.0), Verdict::TesterLimited));
    assert!(found.caveats.contains(&Caveat::SearchCeiling));
}

#[test]
fn the_learning_rate_is_found() {
    for rate in [2_000, 50_000] {
        let lines = format!("{AMPLE}\nmac_table = {{ entries = 8192, learn_rate = {rate} }}");
        let figures = measure(switch(4, &lines), &spec(&[SwitchTest::AddressLearning], 64));
        let found = one(&figures, Metric::AddressLearningRate, &[]);
        // Sixteen at once are learned at any rate: of 4,096 that is 0.4 %.
        near(found.value, f64::from(rate), 0.015);
        assert_eq!(found.integer(Key::Stations).expect("a count"), 4096);
        assert_eq!(found.verdict, Verdict::DeviceLimited);
    }
    // A small table is asked for no more than it holds.
    let lines = format!("{AMPLE}\nmac_table = {{ entries = 600, learn_rate = 5000 }}");
    let figures = measure(switch(3, &lines), &spec(&[SwitchTest::AddressLearning], 64));
    let found = one(&figures, Metric::AddressLearningRate, &[]);
    assert_eq!(found.integer(Key::Stations).expect("a count"), 512);
    near(found.value, 5_000.0, 0.05);
}

#[test]
fn a_broadcast_reaches_every_port_at_line_rate_and_as_late_as_the_switch_is() {
    let lines = format!("{AMPLE}\nforwarding = {{ latency = \"10us\" }}");
    let figures = measure(switch(5, &lines), &spec(&[SwitchTest::Broadcast], 64));
    let found = one(&figures, Metric::Throughput, &[]);
    near(found.value, line(64), 0.005);
    for to in ["h2/eth1", "h3/eth1", "h4/eth1", "h5/eth1"] {
        let of = |f: &&Figure| f.metric == Metric::OneWayDelay && f.text(Key::To) == Some(to);
        let delays: Vec<&Figure> = figures.iter().filter(of).collect();
        assert_eq!(delays.len(), 2, "{to}");
        // Twice 72 octets on the cable, and 10 µs.
        let median = delays.iter().find(|f| f.quantile == Some(0.5)).expect("a median");
        near(median.value, 10_000.0 + 2.0 * 72.0 * 80.0, 0.01);
    }
    // A software switch that makes copies one after another keeps up with fewer.
    let slow = format!("{AMPLE}\npps_limit = 20000\npps_queue = 64");
    let last = Nanos::from_secs(1);
    let spec = SwitchingSpec { final_duration: last, ..spec(&[SwitchTest::Broadcast], 64) };
    let figures = measure(switch(5, &slow), &spec);
    let found = one(&figures, Metric::Throughput, &[]);
    near(found.value, 20_000.0, 0.01);
    assert_eq!(found.verdict, Verdict::DeviceLimited);
}

#[test]
fn line_rate_is_passed_or_its_loss_is_told() {
    let figures = measure(switch(4, AMPLE), &spec(&[SwitchTest::LineRate], 256));
    for pattern in ["pairs", "mesh"] {
        let lost = one(&figures, Metric::LossRatio, &[(Key::Pattern, pattern)]);
        assert_eq!((lost.value, lost.verdict), (Some(0.0), Verdict::TesterLimited));
        let received = one(&figures, Metric::Received, &[(Key::Pattern, pattern)]);
        near(received.value, 4.0 * 0.9998 * line(256), 0.001);
    }
    let narrow = "buffer = { per_port = \"64KiB\" }\n\
                  groups = [{ ports = \"1-2\", uplink = \"100Mbit\" }, { ports = \"3-4\", uplink = \"100Mbit\" }]";
    let spec =
        SwitchingSpec { final_duration: Nanos::from_secs(1), ..spec(&[SwitchTest::LineRate], 256) };
    let figures = measure(switch(4, narrow), &spec);
    let lost = |pattern| one(&figures, Metric::LossRatio, &[(Key::Pattern, pattern)]);
    assert_eq!(lost("pairs").value, Some(0.0), "pairs stay in their groups");
    // Of a port's three thirds two cross: four thirds of a port's rate by one.
    near(lost("mesh").value, 2.0 / 3.0 * 0.25, 0.1);
    assert_eq!(lost("mesh").verdict, Verdict::DeviceLimited);
}

#[test]
fn a_microburst_finds_the_buffer_in_frames() {
    let octets = 512;
    let buffer: u64 = 100 * 512;
    let lines = format!("buffer = {{ per_port = \"{buffer}B\" }}");
    let figures = measure(switch(5, &lines), &spec(&[SwitchTest::Microburst], octets));
    let found: Vec<&Figure> =
        figures.iter().filter(|figure| figure.metric == Metric::Microburst).collect();
    assert_eq!(found.len(), 2, "4 into 1 and 3 into 2: {found:#?}");
    for figure in found {
        let (senders, receivers) = (
            figure.integer(Key::Senders).expect("a count"),
            figure.integer(Key::Receivers).expect("a count"),
        );
        // The frame being sent is in the buffer too, and what comes is there at its last bit.
        let held = figure.integer(Key::HeldOctets).expect("a count");
        let slack = (senders + 1) * u64::from(octets);
        eprintln!("{senders} into {receivers}: {:?} frames, {held} octets held", figure.value);
        assert!(held.abs_diff(buffer) <= slack, "{held} and not {buffer}");
        assert_eq!(figure.verdict, Verdict::DeviceLimited);
    }
}

#[test]
fn what_is_lost_at_any_load_is_no_microburst() {
    for loss in ["1e-2", "1e-3", "1e-6"] {
        let lines = format!("buffer = {{ per_port = \"51200B\" }}\nloss = {loss}");
        let figures = measure(switch(5, &lines), &spec(&[SwitchTest::Microburst], 512));
        let found: Vec<&Figure> =
            figures.iter().filter(|figure| figure.metric == Metric::Microburst).collect();
        // As without loss, or left open; within a frame a sender.
        for (figure, truth) in found.iter().zip([132.0, 594.0]) {
            match figure.value {
                Some(value) => assert!((value - truth).abs() <= 6.0, "{loss}: {figure:#?}"),
                None => assert_eq!(figure.verdict, Verdict::Undetermined, "{loss}: {figure:#?}"),
            }
        }
        let told = found.iter().filter(|figure| figure.value.is_some()).count();
        assert_eq!(found.len(), 2, "{loss}");
        assert!(told == 2 || loss != "1e-6", "{found:#?}");
    }
}

#[test]
fn incast_fills_the_egress_and_delays_what_comes_to_it() {
    let spec =
        SwitchingSpec { final_duration: Nanos::from_secs(2), ..spec(&[SwitchTest::Incast], 1518) };
    let figures = measure(switch(4, "buffer = { per_port = \"128KiB\" }"), &spec);
    let goodput = one(&figures, Metric::Goodput, &[(Key::Traffic, "tcp")]);
    let most = LINK.0 as f64 * 1460.0 / 1538.0;
    assert!((0.85 * most..=most).contains(&goodput.value.expect("a value")), "{goodput:?}");
    let delay = |traffic: &str| {
        let of = |f: &&Figure| {
            f.metric == Metric::OneWayDelay
                && f.quantile == Some(1.0)
                && f.text(Key::Traffic) == Some(traffic)
        };
        figures.iter().find(of).and_then(|f| f.value).expect("a delay")
    };
    let (alone, beside) = (delay("datagrams"), delay("tcp-and-datagrams"));
    // 128 KiB take 10 ms to leave.
    assert!(beside - alone > 5e6 && beside - alone < 12e6, "{alone} {beside}");
}

#[test]
fn a_burst_beside_tcp_is_lost_where_it_is_and_not_where_it_only_queued() {
    // What goes into port 3 comes over an uplink of a tenth of a port, and has room to wait there
    // for as long as it takes: it comes late, and all of it. Into the others two ports send all
    // they can.
    let lines = "buffer = { per_port = \"512KiB\" }\n\
                 groups = [{ ports = \"3\", uplink = \"10Mbit\" }, { ports = \"1-2,4\" }]";
    let figures = measure(switch(4, lines), &spec(&[SwitchTest::Incast], 1518));
    let of = [(Key::Traffic, "tcp-and-burst")];
    let lost = one(&figures, Metric::LossRatio, &of);
    assert!(
        lost.text(Key::To) == Some("h1/eth1") || lost.text(Key::To) == Some("h2/eth1"),
        "{lost:?}"
    );
    assert!(lost.value.is_some_and(|share| (0.5..0.9).contains(&share)), "{lost:?}");
    // A burst of 10 ms is 81 frames, and ten a second come before it.
    assert!((60..100).contains(&lost.n), "{lost:?}");
    let goodput = one(&figures, Metric::Goodput, &of);
    assert!(goodput.value.is_some_and(|rate| rate > 0.0), "{goodput:?}");
}

#[test]
fn what_can_not_be_tested_says_why() {
    let tests = [SwitchTest::ForwardPressure, SwitchTest::ErroredFrames, SwitchTest::Congestion];
    let figures = measure(switch(3, AMPLE), &spec(&tests, 64));
    assert_eq!(figures.len(), 3);
    for figure in &figures {
        assert_eq!(figure.value, None);
        assert!(figure.caveats.contains(&Caveat::Unsupported));
        assert!(matches!(figure.conditions.get(&Key::Reason), Some(Condition::Text(_))));
    }
}

#[test]
fn a_switch_that_floods_is_caught_and_its_frames_are_not_received() {
    // A table of two entries: most destinations are never known.
    let lines = format!("{AMPLE}\nmac_table = {{ entries = 2 }}");
    let figures = measure(switch(4, &lines), &spec(&[SwitchTest::Mesh], 512));
    let astray = one(&figures, Metric::Flooded, &[(Key::Test, "mesh")]);
    assert!(astray.value.expect("a count") > 1_000.0, "{astray:?}");
    let found = one(&figures, Metric::Throughput, &[(Key::Test, "mesh")]);
    assert!(found.value.expect("a value") < 0.7 * 4.0 * line(512), "{found:?}");
    // No more is received than sent: copies elsewhere are nobody's.
    for figure in figures.iter().filter(|f| f.metric == Metric::Received) {
        assert!(figure.value.expect("a rate") <= 4.0 * line(512) * 1.001);
    }
}

#[test]
fn the_whole_of_both_suites_comes_to_figures_again_and_again() {
    let tests: Vec<SwitchTest> =
        SwitchTest::RFC2889.into_iter().chain(SwitchTest::RFC8239).collect();
    let spec = SwitchingSpec {
        frames: vec![FrameSize::STANDARD_MAX],
        profile: Profile::Quick,
        ..spec(&tests, 1518)
    };
    let lines = "buffer = { per_port = \"64KiB\" }\nmac_table = { entries = 1024 }";
    let [first, second] = [(); 2].map(|()| measure(switch(4, lines), &spec));
    assert_eq!(first, second, "the same seed gives the same figures");
    for test in tests {
        let of = |f: &&Figure| f.text(Key::Test) == Some(test.as_str());
        assert!(first.iter().any(|f| of(&f)), "{test:?}");
        assert!(first.iter().filter(of).all(|f| f.text(Key::Suite) == Some(test.suite())));
    }
}
