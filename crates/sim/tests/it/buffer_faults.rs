//! What the depth study says where there is nothing to find, or no way to find it; and one fast
//! port into a slow one.
//!
//! Owns no bar: each outcome must be named for what it is.

use measure::{FrameRate, Nanos};
use page::Condition;
use page::{Caveat, Figure, Key, Metric};
use sim::{HostModel, VirtualTestbed};
use study::{DepthSpec, Finding as _, StudySpec};
use trial::PortRef;

use crate::trials::{profile, testbed};

fn short() -> DepthSpec {
    DepthSpec {
        sizes: Vec::new(),
        congested: study::depth::Congested::known(1),
        blocks: study::Blocks::known(2),
        ..DepthSpec::quick()
    }
}

fn switch(keys: &str) -> device::Profile {
    profile(&format!("name = \"s\"\nports = 4\nrate = \"1Gbit\"\n{keys}\n"))
}

fn buffers(figures: &[Figure]) -> Vec<&Figure> {
    figures.iter().filter(|figure| figure.metric == Metric::Buffer).collect()
}

#[test]
fn a_device_that_pauses_its_senders_has_no_figure() {
    let mut place = testbed(switch("buffer = { per_port = \"256KiB\" }\npause = true"));
    let figures = short().run(&mut place, 1).expect("every trial runs").rows();
    let found = buffers(&figures);
    assert_eq!((found.len(), found[0].value), (1, None));
    assert!(found[0].caveats.contains(&Caveat::Backpressure), "{:?}", found[0]);
}

#[test]
fn hosts_that_send_too_little_are_named() {
    let sheet = switch("buffer = { per_port = \"256KiB\" }");
    let hosts = HostModel { sends_at_most: Some(FrameRate(20_000.0)), ..HostModel::ideal(4) };
    let mut place = VirtualTestbed::new("sim:slow", sheet, hosts, 1);
    let figures = short().run(&mut place, 1).expect("every trial runs").rows();
    let found = buffers(&figures);
    assert_eq!((found.len(), found[0].value), (1, None));
    // Three senders of 20,000 frames a second stay below 81,274; with paced trials they are
    // invalid.
    let named = [Caveat::DeviceNotDriven, Caveat::NoValidTrial];
    assert!(named.iter().any(|caveat| found[0].caveats.contains(caveat)), "{:?}", found[0]);
}

#[test]
fn a_buffer_too_large_to_fill_has_a_lower_bound() {
    let size = 64_000_000.0;
    let mut place = testbed(switch("buffer = { per_port = \"64MB\" }"));
    let spec = DepthSpec { longest: Nanos::from_millis(100), ..short() };
    let figures = spec.run(&mut place, 1).expect("every trial runs").rows();
    let found = buffers(&figures);
    let value = found[0].value.expect("a bound");
    // 100 ms at a gigabit more than leaves: 12.5 MB on the wire.
    assert!(value > 0.9 * 12.5e6 * 1518.0 / 1538.0 && value < size, "{value}");
    assert!(found[0].caveats.contains(&Caveat::NotFilled));
    assert!(
        matches!(found[0].conditions.get(&Key::Bound), Some(Condition::Text(text)) if text == page::AT_LEAST)
    );
    let unsure = figures.iter().filter(|f| f.metric == Metric::Enough && f.value == Some(0.0));
    assert_eq!(unsure.count(), 0, "a lower bound never says `not enough`");
}

#[test]
fn frames_that_wait_before_a_decision_say_nothing_of_paths() {
    let limited = "buffer = { per_port = \"200000B\" }\npps_limit = 90000\npps_queue = 512";
    let spec = DepthSpec { congested: study::depth::Congested::known(2), ..short() };
    let page = spec.run(&mut testbed(switch(limited)), 1).expect("every trial runs").page();
    let answers: Vec<_> = page.answers.iter().map(|(_, answer)| answer).collect();
    let [at_the_output, before, ..] = &answers[..] else { panic!("{answers:?}") };
    assert!(at_the_output.text.starts_with("Enough for one flow of 1.00"), "{at_the_output:?}");
    let ends = "frames of 64 octets that wait before the device decides on them";
    assert!(before.case.ends_with(ends) && before.text.is_empty(), "{before:?}");
}

#[test]
fn two_hosts_are_too_few() {
    let sheet =
        profile("name = \"s\"\nports = 2\nrate = \"1Gbit\"\nbuffer = { per_port = \"1MiB\" }\n");
    let place = testbed(sheet);
    let problem =
        StudySpec::Depth(short()).check(trial::Testbed::topology(&place)).expect_err("two hosts");
    assert!(problem.to_string().contains("find 3 hosts"), "{problem}");
}

#[test]
fn one_fast_port_fills_a_slow_ones_buffer() {
    let text = r#"
        name = "two"
        [[device]]
        name = "fast"
        ports = 3
        rate = "10Gbit"
        buffer = { per_port = "4MiB" }
        [[device]]
        name = "slow"
        ports = 2
        rate = "1Gbit"
        buffer = { per_port = "300kB" }
        [[link]]
        a = "fast/3"
        b = "slow/2"
        rate = "10Gbit"
    "#;
    let mut place = testbed(profile(text));
    let output: PortRef = "h3/eth1".parse().expect("a port");
    let spec = DepthSpec { outputs: vec![output], ..short() };
    let figures = spec.run(&mut place, 1).expect("every trial runs").rows();
    let one = figures.iter().filter(|figure| figure.integer(Key::Feeding) == Some(1));
    let found: Vec<&Figure> = one.filter(|figure| figure.metric == Metric::Buffer).collect();
    assert_eq!(found.len(), 3, "{found:#?}");
    for figure in found {
        let (low, high) = (figure.low.expect("an end"), figure.high.expect("an end"));
        assert!((low..=high).contains(&300_000.0), "{figure:?}");
    }
}
