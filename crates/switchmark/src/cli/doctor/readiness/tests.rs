//! Each judgement, with facts that hold and facts that are broken on purpose.

use trial::topology::{CableEnd, HostPort};

use super::{Finding, State, Told, hosts, ports};
use crate::protocol::Setting;

fn told(facts: &[(&str, &str)]) -> Told {
    facts.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn port() -> HostPort {
    HostPort {
        name: "eth1".into(),
        interfaces: vec!["eth1".into()],
        address: "198.18.0.1".parse().unwrap(),
        address6: None,
        blocks: Vec::new(),
        cable: CableEnd::Host("h2/eth1".parse().unwrap()),
        rate: Some("1Gbit".parse().unwrap()),
    }
}

/// A host's check, given some facts.
fn host(check: &str, facts: &[(&str, &str)], state: State, fix: &str) -> Vec<Setting> {
    finding(hosts::of_host("h1", &told(facts)), check, state, fix)
}

/// A port's check, given some facts of a port that is up.
fn nic(check: &str, facts: &[(&str, &str)], state: State, fix: &str) -> Vec<Setting> {
    let facts = [&[("up", "true")], facts].concat();
    finding(ports::of_port("h1/eth1", &port(), &told(&facts)), check, state, fix)
}

/// The check's settings, all of which an agent may make.
fn finding(all: Vec<Finding>, check: &str, state: State, fix: &str) -> Vec<Setting> {
    let one = all.into_iter().find(|finding| finding.check == check).expect("it is checked");
    assert_eq!(one.state, state, "{one:?}");
    if state > State::Unknown {
        assert_eq!(one.fix.as_deref().unwrap_or_default(), fix, "{}", one.found);
    }
    assert!(one.settings.iter().all(|setting| setting.check().is_ok()), "{:?}", one.settings);
    one.settings
}

#[test]
fn processors_and_clocks() {
    host("processor governor", &[], State::Unknown, "");
    host("processor governor", &[("governors", "performance")], State::Good, "");
    let command = "echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
    let two = [("governors", "performance powersave"), ("cpus", "2")];
    assert_eq!(host("processor governor", &two, State::Doubtful, command).len(), 2);

    host("idle states", &[("idle_states", "state0=0 state1=2")], State::Good, "");
    let command = "echo 1 | tee /sys/devices/system/cpu/cpu*/cpuidle/{state2,state3}/disable";
    let deep = [("idle_states", "state0=0 state1=2 state2=33 state3=133"), ("cpus", "4")];
    assert_eq!(host("idle states", &deep, State::Doubtful, command).len(), 8);

    host("clock source", &[("clocksource", "tsc")], State::Good, "");
    host("clock source", &[("clocksource", "hpet"), ("clocksources", "hpet")], State::Bad, "");
    let command = "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource";
    let slow = [("clocksource", "hpet"), ("clocksources", "hpet tsc acpi_pm")];
    host("clock source", &slow, State::Bad, command);
}

#[test]
fn memory_and_load() {
    host("receive buffers", &[("rmem_max", "16777216")], State::Good, "");
    let privileged = [("rmem_max", "212992"), ("capabilities", "0000000000003000")];
    host("receive buffers", &privileged, State::Good, "");
    let plain = [("rmem_max", "212992"), ("capabilities", "0000000000000000")];
    let command = "sysctl -w net.core.rmem_max=8388608";
    assert_eq!(host("receive buffers", &plain, State::Doubtful, command).len(), 1);
    host("locked memory", &[("memlock", "18446744073709551615")], State::Good, "");
    host("locked memory", &[("memlock", "65536")], State::Doubtful, "ulimit -l unlimited");
    let privileged = [("memlock", "65536"), ("capabilities", "0000000000004000")];
    host("locked memory", &privileged, State::Good, "");
    let who = "top -b -n 1 | head -20";
    host("other load", &[("busy", "0.02")], State::Good, "");
    host("other load", &[("busy", "0.45")], State::Doubtful, who);
    host("other load", &[("busy", "0.02"), ("stolen", "0.2")], State::Doubtful, who);
}

#[test]
fn cards() {
    nic("speed and duplex", &[], State::Unknown, "");
    nic("speed and duplex", &[("speed_mbits", "1000"), ("duplex", "full")], State::Good, "");
    let command = "ethtool -s eth1 speed 1000 duplex full autoneg on";
    nic("speed and duplex", &[("speed_mbits", "100"), ("duplex", "full")], State::Bad, command);
    let half = [("speed_mbits", "1000"), ("duplex", "half")];
    nic("speed and duplex", &half, State::Bad, "ethtool -s eth1 autoneg on");
    nic("rings", &[("rings", "4096 4096 4096 4096")], State::Good, "");
    let short = [("rings", "256 4096 256 2048")];
    nic("rings", &short, State::Doubtful, "ethtool -G eth1 rx 4096 tx 2048");
    nic("coalescing", &[("coalescing", "0 false")], State::Good, "");
    let command = "ethtool -C eth1 adaptive-rx off rx-usecs 0";
    nic("coalescing", &[("coalescing", "50 true")], State::Doubtful, command);
    nic("coalescing", &[("coalescing", "8 false")], State::Doubtful, command);
    nic("flow control", &[("pause", "true false false")], State::Good, "");
    let command = "ethtool -A eth1 autoneg off rx off tx off";
    nic("flow control", &[("pause", "true true false")], State::Doubtful, command);
    nic("interrupts", &[("interrupts", "24 on 0; 25 on 1")], State::Good, "");
    let command = "echo 0 > /proc/irq/25/smp_affinity_list";
    nic("interrupts", &[("interrupts", "24 on 1; 25 on 0-3")], State::Doubtful, command);
    nic("memory node", &[("numa_node", "-1")], State::Good, "");
    nic("time stamps", &[("stamping", "software-receive")], State::Good, "");
    nic("time stamps", &[], State::Doubtful, "");
}

#[test]
fn links_and_addresses() {
    nic("link", &[("carrier", "true")], State::Good, "");
    nic("link", &[("carrier", "false")], State::Bad, "");
    let down = told(&[("up", "false")]);
    let command = "ip link set dev eth1 up";
    finding(ports::of_port("h1/eth1", &port(), &down), "link", State::Bad, command);
    let absent = ports::of_port("h1/eth1", &port(), &Told::new());
    finding(absent, "link", State::Bad, "ip link show");
    nic("address", &[("addresses", "10.0.0.1 198.18.0.1")], State::Good, "");
    let command = "ip address add 198.18.0.1/24 dev eth1";
    nic("address", &[("addresses", "198.18.0.11")], State::Bad, command);
}
