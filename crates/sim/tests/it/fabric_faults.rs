//! The fabric study on devices with something wrong: the rest of the map stays valid, and says what
//! is missing.
//!
//! Checks a dead port, cables that lose one way, a host that dies in the middle, ports of mixed
//! speed, and a switch that floods. The truth is the profile; never a record of another run.

use measure::Nanos;
use page::Condition;
use page::{Caveat, Figure, Key, Metric};
use sim::{Death, HostModel, VirtualTestbed};
use study::{Arrangement, FabricSpec, Finding as _, Nodes, StudySpec};
use trial::Testbed as _;
use trial::record::Side;
use trial::{Carrier, Exchange, FlowKind};

use crate::trials::{flow, profile, trial};

/// Payload that a gigabit carries each way in full frames of TCP, without acknowledgements beside.
const LIMIT: f64 = 1e9 * 1448.0 / 1538.0;

/// Eight ports with what is added.
fn eight(more: &str) -> device::Profile {
    let plain = "name = \"sw\"\nports = 8\nrate = \"1Gbit\"\nbuffer = { per_port = \"512KiB\" }\n";
    profile(&format!("{plain}{more}"))
}

fn spec() -> FabricSpec {
    FabricSpec {
        arrangements: vec![Arrangement::Neighbours],
        nodes: Nodes::These(vec![2, 8]),
        messages: Vec::new(),
        interval: Nanos::from_millis(2),
        duration: Nanos::from_millis(20),
        blocks: study::Blocks::known(6),
        tries: study::Tries::known(1),
        ..FabricSpec::quick()
    }
}

fn testbed(more: &str, dies: Option<Death>) -> VirtualTestbed {
    let profile = eight(more);
    let hosts = HostModel { dies, ..HostModel::ideal(8) };
    VirtualTestbed::new("sim:faults", profile, hosts, 1)
}

fn run(spec: &FabricSpec, testbed: &mut VirtualTestbed) -> Vec<Figure> {
    StudySpec::Fabric(spec.clone()).check(testbed.topology()).expect("a possible study");
    spec.run(testbed, 7).expect("every trial has a record").rows()
}

/// What each pair of neighbours got through the device.
fn pairs(figures: &[Figure]) -> [Option<f64>; 4] {
    [1, 3, 5, 7].map(|host| {
        let from = format!("h{host}/eth1");
        let own = |f: &&Figure| {
            f.text(Key::Statistic) == Some("pair")
                && f.text(Key::Path) == Some("device")
                && f.text(Key::From) == Some(&from)
        };
        figures.iter().find(own).expect("a row for each pair").value
    })
}

fn nonblocking(figures: &[Figure]) -> &Figure {
    figures.iter().find(|f| f.metric == Metric::Nonblocking).expect("an answer")
}

fn mean_of_all(figures: &[Figure]) -> &Figure {
    let own = |f: &&Figure| {
        let all = f.conditions.get(&Key::Nodes) == Some(&Condition::Integer(8));
        all && f.text(Key::Statistic) == Some("mean") && f.text(Key::Path) == Some("device")
    };
    figures.iter().find(own).expect("a row")
}

fn close(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value / expected - 1.0).abs() < 0.06)
}

#[test]
fn a_dead_port_takes_nothing_from_the_others() {
    let dead = "cables = [{ ports = \"3\", broken = \"both\" }]";
    let figures = run(&spec(), &mut testbed(dead, None));
    let [first, dead, third, fourth] = pairs(&figures);
    assert_eq!(dead, None);
    for pair in [first, third, fourth, mean_of_all(&figures).value] {
        assert!(close(pair, LIMIT), "{pair:?}");
    }
    assert!(mean_of_all(&figures).caveats.contains(&Caveat::SilentPairs));
    let answer = nonblocking(&figures);
    assert_eq!(answer.value, Some(1.0), "{answer:?}");
    assert!(answer.caveats.contains(&Caveat::SilentPairs), "it says that some were missing");
}

#[test]
fn a_cable_that_loses_one_way_is_told_from_a_dead_one() {
    for (way, why) in [("in", "sends-nothing"), ("out", "receives-nothing"), ("both", "silent")] {
        let spec = FabricSpec { infer: true, blocks: study::Blocks::known(2), ..spec() };
        let broken = format!("cables = [{{ ports = \"3\", broken = \"{way}\" }}]");
        let figures = run(&spec, &mut testbed(&broken, None));
        let [first, broken, third, fourth] = pairs(&figures);
        assert_eq!(broken, None, "TCP needs both ways");
        for pair in [first, third, fourth] {
            assert!(close(pair, LIMIT), "{way}: {pair:?}");
        }
        let groups = figures.iter().find(|f| f.metric == Metric::PortGroups).expect("a row");
        let told = [Key::PortsMissing, Key::PortsMissingFor].map(|key| &groups.conditions[&key]);
        let list = |item: &str| Condition::List(vec![item.to_owned()]);
        assert_eq!(told, [&list("h3/eth1"), &list(why)], "{way}: {groups:?}");
    }
}

#[test]
fn a_host_that_dies_in_the_middle_leaves_the_others_figures() {
    let spec = spec();
    // The study takes some four seconds: in the middle of whatever trial, and before all.
    let moments = (1_500..1_800).step_by(60).map(Nanos::from_millis);
    for after in moments.chain([Nanos::ZERO]) {
        let dies = Some(Death { host: 4, after });
        let figures = run(&spec, &mut testbed("", dies));
        let [first, second, third, fourth] = pairs(&figures);
        for pair in [first, second, fourth] {
            assert!(close(pair, LIMIT), "{after}: {pair:?}");
        }
        // What it got while it lived, or nothing: never a smaller figure.
        assert!(third.is_none() || close(third, LIMIT), "{after}: {third:?}");
        assert!(third.is_none() || after > Nanos::ZERO);
        assert!(mean_of_all(&figures).caveats.contains(&Caveat::SilentPairs), "{after}");
        assert!(close(mean_of_all(&figures).value, LIMIT), "{after}");
    }
}

#[test]
fn slower_ports_are_not_blocked_ones() {
    let slow = "cables = [{ ports = \"5-8\", rate = \"100Mbit\" }]";
    let spec = FabricSpec {
        arrangements: vec![Arrangement::Neighbours, Arrangement::Offset(4)],
        duration: Nanos::from_millis(100),
        interval: Nanos::from_millis(10),
        ..spec()
    };
    let mut testbed = testbed(slow, None);
    let rates: Vec<u64> =
        testbed.topology().hosts.iter().map(|host| host.ports[0].rate.map_or(0, |r| r.0)).collect();
    assert_eq!(rates[3..5], [1_000_000_000, 100_000_000]);
    let figures = run(&spec, &mut testbed);
    let [first, second, third, fourth] = pairs(&figures);
    assert!(close(first, LIMIT) && close(second, LIMIT), "{first:?} {second:?}");
    assert!(close(third, LIMIT / 10.0) && close(fourth, LIMIT / 10.0), "{third:?} {fourth:?}");
    let answer = nonblocking(&figures);
    assert_eq!(answer.value, Some(1.0), "{answer:?}");
}

#[test]
fn what_a_flooding_switch_sends_to_wrong_ports_is_counted_and_never_received() {
    // It remembers one address, so that nearly every frame goes to all ports.
    let mut testbed = testbed("mac_table = { entries = 1 }", None);
    let kind = FlowKind::Exchange(Exchange {
        message: measure::ByteCount(65_536),
        carrier: Carrier::Datagrams { credits: 16 },
        interval: Nanos::from_millis(5),
        collective: None,
    });
    let flows =
        vec![flow(1, "h1/eth1", "h2/eth1", kind.clone()), flow(2, "h3/eth1", "h4/eth1", kind)];
    let record = testbed.run(&trial(flows, Nanos::from_millis(20))).expect("it runs");
    let others: u64 = record
        .ports
        .iter()
        .filter(|port| port.side == Side::Tester)
        .filter_map(|port| port.counters.get("rx_otherhost_dropped"))
        .sum();
    assert!(others > 100, "{others}");
    let figures = run(&spec(), &mut testbed);
    for pair in pairs(&figures) {
        assert!(pair.is_some_and(|got| got > 0.0 && got < LIMIT), "{pair:?}");
    }
    // Everybody's frames share every cable: that blocks, and the answer says so.
    let answer = nonblocking(&figures);
    assert_eq!(answer.value, Some(0.0), "{answer:?}");
}
