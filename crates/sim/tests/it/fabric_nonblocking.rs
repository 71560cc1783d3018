//! Whether a device is non-blocking, on switches whose uplinks are known: slow ports, ports of two
//! speeds, uplinks within the margin, and queues that swallow what an uplink does not carry.
//!
//! The truth is the profile. A few messages may leave it open; they never tell the opposite, and
//! the floods beside them never say the opposite. Never touches the network.

use measure::Nanos;
use page::{Caveat, Figure, Metric, Verdict};
use study::{Arrangement, FabricSpec, Finding as _, Nodes};

use crate::trials::{profile, testbed};

/// Twelve ports in two groups.
fn switch(ports: &str, uplink: &str) -> String {
    let group = |ports: &str| format!("{{ ports = \"{ports}\", uplink = \"{uplink}\" }}");
    format!(
        "name = \"sw\"\nports = 12\n{ports}\ngroups = [{}, {}]\nbuffer = {{ per_port = \"512KiB\" }}\n",
        group("1-6"),
        group("7-12")
    )
}

fn figures(text: &str, duration: Nanos, infer: bool) -> Vec<Figure> {
    let spec = FabricSpec {
        arrangements: vec![Arrangement::Neighbours, Arrangement::Offset(6)],
        nodes: Nodes::These(vec![2, 12]),
        messages: Vec::new(),
        interval: duration / 10,
        duration,
        infer,
        ..FabricSpec::quick()
    };
    spec.run(&mut testbed(profile(text)), 7).expect("every trial runs").rows()
}

fn nonblocking(figures: &[Figure]) -> &Figure {
    figures.iter().find(|f| f.metric == Metric::Nonblocking).expect("an answer")
}

/// As long as the program makes a trial of the simulator where nothing is said, and as it was
/// before.
const LONG: Nanos = Nanos::from_secs(3);
const SHORT: Nanos = Nanos::from_millis(100);

#[test]
fn slow_ports_behind_short_uplinks_are_told_from_enough_messages() {
    for percent in [70, 90] {
        let text = switch("rate = \"10Mbit\"", &format!("{}kbit", 600 * percent));
        let few = figures(&text, SHORT, false);
        assert_ne!(nonblocking(&few).value, Some(1.0), "{percent} %: {:?}", nonblocking(&few));
        let enough = figures(&text, LONG, false);
        let answer = nonblocking(&enough);
        assert_eq!(answer.value, Some(0.0), "{percent} %: {answer:?}");
        assert_eq!(answer.verdict, Verdict::DeviceLimited);
    }
}

#[test]
fn ports_of_two_speeds_are_held_against_their_own() {
    // Of each six, four of 100 Mbit and two of 10: 420 together.
    let ports = "rate = \"100Mbit\"\ncables = [{ ports = \"1,2,7,8\", rate = \"10Mbit\" }]";
    let short = figures(&switch(ports, "300Mbit"), LONG, false);
    assert_eq!(nonblocking(&short).value, Some(0.0), "{:?}", nonblocking(&short));
    let enough = figures(&switch(ports, "420Mbit"), LONG, false);
    assert_ne!(nonblocking(&enough).value, Some(0.0), "{:?}", nonblocking(&enough));
    for uplink in ["300Mbit", "420Mbit"] {
        let few = figures(&switch(ports, uplink), SHORT, false);
        let answer = nonblocking(&few);
        let wrong = if uplink == "300Mbit" { 1.0 } else { 0.0 };
        assert_ne!(answer.value, Some(wrong), "{uplink}: {answer:?}");
    }
}

#[test]
fn an_uplink_within_the_margin_does_not_block() {
    for (percent, duration) in [(96, SHORT), (97, SHORT), (96, Nanos::from_millis(829))] {
        let text = switch("rate = \"100Mbit\"", &format!("{}kbit", 6000 * percent));
        let figures = figures(&text, duration, false);
        let answer = nonblocking(&figures);
        assert_ne!(answer.value, Some(0.0), "{percent} %, {duration}: {answer:?}");
    }
}

/// A flood of 100 ms asks 0.25 MB more of this uplink than it carries, which its queue takes.
#[test]
fn a_queue_hides_no_short_uplink() {
    let text = switch("rate = \"100Mbit\"", "580200kbit").replace("512KiB", "1MB");
    let figures = figures(&text, SHORT, true);
    let groups = figures.iter().find(|f| f.metric == Metric::PortGroups).expect("a row");
    assert_ne!(groups.verdict, Verdict::TesterLimited, "{groups:?}");
    assert!(!groups.caveats.contains(&Caveat::DeviceNotDriven), "{groups:?}");
}

#[test]
fn no_yes_stands_beside_a_short_uplink() {
    for percent in [70, 97] {
        let text = switch("rate = \"100Mbit\"", &format!("{}kbit", 6000 * percent));
        // Neighbours alone never leave their group.
        let spec = FabricSpec {
            arrangements: vec![Arrangement::Neighbours],
            nodes: Nodes::These(vec![2, 12]),
            messages: Vec::new(),
            interval: SHORT,
            duration: SHORT * 4,
            infer: true,
            ..FabricSpec::quick()
        };
        let figures = spec.run(&mut testbed(profile(&text)), 7).expect("every trial runs").rows();
        let groups = figures.iter().find(|f| f.metric == Metric::PortGroups).expect("a row");
        let short = groups.verdict == Verdict::DeviceLimited;
        assert!(short || percent == 97, "{groups:?}");
        let answer = nonblocking(&figures);
        // Beyond the margin the floods say that it blocks; within, the two contradict each other.
        let blocks = (percent == 70).then_some(0.0);
        assert!(!short || answer.value == blocks, "{answer:?}");
        let contradicted = short && blocks.is_none();
        assert_eq!(contradicted, answer.caveats.contains(&Caveat::Contradicted), "{answer:?}");
    }
}
