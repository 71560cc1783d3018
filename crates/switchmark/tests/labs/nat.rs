//! A router that translates, or lets nothing in from outside: which end may begin is learned and
//! said, both ways are measured, and where nothing passes the refusal says what does not.
//!
//! Needs root, iproute2 and nftables: a host inside, a router, and a host outside, each a
//! namespace.

use std::process::{Command, Output};

use serde_json::Value;

use crate::harness::spaces::{Spaces, cable, call, host_table, ip, space};
use crate::harness::{self, Scratch, alone, full, switchmark};

/// Prefix of the router's rules: what begins inside passes, and its answers.
const LETS_OUT: &[&str] = &[
    "add table ip filter",
    "add chain ip filter forwards { type filter hook forward priority 0; policy drop; }",
    "add rule ip filter forwards ct state established,related accept",
    "add rule ip filter forwards iifname lan accept",
];

const NAT: &[&str] =
    &["add table ip nat", "add chain ip nat post { type nat hook postrouting priority srcnat; }"];

const MASQUERADE: &str = "add rule ip nat post oifname wan masquerade";
const EVERY_PORT_ANEW: &str = "add rule ip nat post oifname wan masquerade fully-random";

/// A home: `lan` behind `router`, and `wan` outside.
struct Home {
    _spaces: Spaces,
    scratch: Scratch,
}

impl Home {
    fn new(name: &str, routed: bool, rules: &[&[&str]]) -> Self {
        let spaces = Spaces::new(&["lan", "router", "wan"]);
        cable(("lan", "eth1", "192.168.1.10/24"), ("router", "lan", "192.168.1.1/24"));
        cable(("router", "wan", "203.0.113.1/24"), ("wan", "eth1", "203.0.113.10/24"));
        ip(&["-n", &space("lan"), "route", "add", "default", "via", "192.168.1.1"]);
        if routed {
            ip(&["-n", &space("wan"), "route", "add", "192.168.1.0/24", "via", "203.0.113.1"]);
        }
        ip(&["netns", "exec", &space("router"), "sysctl", "-qw", "net.ipv4.ip_forward=1"]);
        for rule in rules.iter().copied().flatten() {
            call("ip", &["netns", "exec", &space("router"), "nft", rule]);
        }
        let scratch = Scratch::new(name);
        let file = [
            host_table("lan", "192.168.1.10/24", "router/lan"),
            host_table("wan", "203.0.113.10/24", "router/wan"),
            "[[device]]\nname = \"router\"\nkind = \"router\"\n".to_owned(),
        ];
        std::fs::write(scratch.path("testbed.toml"), file.join("\n")).expect("writes");
        Self { _spaces: spaces, scratch }
    }

    fn ask(&self, words: &[&str]) -> Output {
        let output = Command::new(switchmark())
            .args(words)
            .args(["--seed", "1", "--json", "--testbed"])
            .args([self.scratch.path("testbed.toml"), "--store".into()])
            .arg(self.scratch.path("journal.db"))
            .output()
            .expect("switchmark starts");
        println!("{}: {:?}\n{}", words.join(" "), output.status.code(), stderr_of(&output));
        output
    }

    /// Values of a metric, each with a condition's value.
    fn values(&self, words: &[&str], metric: &str, by: &str) -> Vec<(String, f64)> {
        let output = self.ask(words);
        let document = harness::json(&output);
        let rows = document["figures"].as_array().expect("figures").iter();
        let value = |row: &Value| {
            let by = row["where"][by].as_str().unwrap_or_default().to_owned();
            Some((by, row["value"].as_f64()?))
        };
        rows.filter(|row| row["metric"] == metric).filter_map(value).collect()
    }
}

impl Home {
    /// Intervals of a metric's figures, in their order; of quantiles, the medians.
    fn intervals(&self, words: &[&str], metric: &str) -> Vec<[f64; 2]> {
        let document = harness::json(&self.ask(words));
        let rows = document["figures"].as_array().expect("figures").iter();
        let is_it = |row: &&Value| {
            row["metric"] == metric
                && row["quantile"].as_f64().is_none_or(|quantile| (quantile - 0.5).abs() < 1e-9)
        };
        let ends = |row: &Value| Some([row["low"].as_f64()?, row["high"].as_f64()?]);
        rows.filter(is_it).filter_map(ends).collect()
    }
}

fn stderr_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const LATENCY: &[&str] = &["latency", "--blocks", "2", "--size", "128", "-t", "0.1"];
const TCP: &[&str] = &["tcp", "--blocks", "2", "-t", "0.3", "-O", "0.1"];
const FLOOD: &[&str] = &["forwarding", "--flood", "--blocks", "2", "--size", "256", "-t", "0.2"];

const SESSIONS: &[&str] =
    &["sessions", "--test", "concurrent", "--most", "200", "--opening", "500", "--hold", "100ms"];

/// Both ways have figures, though one end only may begin.
fn both_ways_are_measured(home: &Home) {
    let round_trips = home.values(LATENCY, "rtt", "protocol");
    for protocol in ["icmp", "udp", "tcp"] {
        assert!(round_trips.iter().any(|(of, rtt)| of == protocol && *rtt > 0.0), "{protocol}");
    }
    let goodputs = home.values(TCP, "goodput", "from");
    for from in ["lan/eth1", "wan/eth1"] {
        assert!(goodputs.iter().any(|(of, rate)| of == from && *rate > 1e6), "{goodputs:?}");
    }
    for (direction, from) in [("forward", "lan/eth1"), ("reverse", "wan/eth1")] {
        let words = [FLOOD, &["--direction", direction]].concat();
        let received = home.values(&words, "received", "from");
        assert!(received.iter().any(|(of, rate)| of == from && *rate > 1e3), "{received:?}");
    }
}

const ONE_SIDED: &str = "lan/eth1 to wan/eth1 opens and is answered; wan/eth1 to lan/eth1 is not \
                         let in: a NAT or firewall stands between, as home routers do";
const SEEN_AS: &str = "wan/eth1 sees lan/eth1 as 203.0.113.1";

#[test]
fn behind_a_router_that_masquerades_both_ways_are_measured() {
    let Some(_alone) = alone("nat_masquerade", &["ip", "nft", "sysctl"]) else { return };
    let home = Home::new("nat-masquerade", false, &[LETS_OUT, NAT, &[MASQUERADE]]);
    let output = home.ask(LATENCY);
    assert!(output.status.success());
    for words in [ONE_SIDED, SEEN_AS] {
        assert!(stderr_of(&output).contains(words), "{words}");
    }
    both_ways_are_measured(&home);
    let held = home.values(SESSIONS, "connections", "path");
    assert_eq!(held, [("device".to_owned(), 200.0)], "connections from its other address count");
    let refused = home.ask(&[LATENCY, &["--direction", "reverse"]].concat());
    assert!(!refused.status.success(), "nobody is let in");
    assert!(stderr_of(&refused).contains("no conversation is let in that way"));
}

/// What a busy kernel takes at most to translate a packet and its answer.
const TRANSLATION_NS: f64 = 10_000.0;

/// Through a router whose ports are limited, so that its processor is no limit.
#[test]
fn figures_through_a_nat_are_those_of_the_same_router_without_it() {
    const TEST: &str = "nat_equal";
    let Some(_alone) = alone(TEST, &["ip", "nft", "sysctl", "tc"]) else { return };
    if !full() {
        eprintln!("skipped: {TEST} takes a minute, and runs under SWITCHMARK_TESTS=full");
        return;
    }
    let intervals = |rules: &[&[&str]]| {
        let home = Home::new("nat-equal", rules.len() == 1, rules);
        for port in ["lan", "wan"] {
            let limit = ["root", "tbf", "rate", "50mbit", "burst", "20kb", "limit", "200kb"];
            let device = ["netns", "exec", &space("router"), "tc", "qdisc", "add", "dev", port];
            ip(&[&device[..], &limit].concat());
        }
        let tcp = ["tcp", "--blocks", "6", "-t", "1", "-O", "1"];
        let goodputs = home.intervals(&tcp, "goodput");
        let latency = ["latency", "--blocks", "6", "--size", "128", "-t", "0.3"];
        let trips = home.intervals(&latency, "rtt");
        // A packet's translation takes the kernel some time.
        let trips = trips.into_iter().map(|[low, high]| [low, high + TRANSLATION_NS]);
        goodputs.into_iter().chain(trips).collect::<Vec<_>>()
    };
    let with = intervals(&[LETS_OUT, NAT, &[MASQUERADE]]);
    let without = intervals(&[LETS_OUT]);
    assert!(with.len() == without.len() && with.len() >= 5, "{with:?}\n{without:?}");
    for ([low, high], [low_without, high_without]) in with.into_iter().zip(without) {
        println!("{low:.6e}…{high:.6e} with, {low_without:.6e}…{high_without:.6e} without");
        assert!(low <= high_without && low_without <= high, "no value in common");
    }
}

#[test]
fn a_port_anew_for_every_conversation_changes_nothing() {
    let Some(_alone) = alone("nat_random", &["ip", "nft", "sysctl"]) else { return };
    let home = Home::new("nat-random", false, &[LETS_OUT, NAT, &[EVERY_PORT_ANEW]]);
    // As most hosts have it: all but the port's own subnet leaves by another port.
    let wan = space("wan");
    ip(&["-n", &wan, "link", "add", "other", "type", "veth", "peer", "name", "far"]);
    ip(&["-n", &wan, "address", "add", "10.9.9.2/24", "dev", "other"]);
    for end in ["other", "far"] {
        ip(&["-n", &wan, "link", "set", end, "up"]);
    }
    ip(&["-n", &wan, "route", "add", "default", "via", "10.9.9.1"]);
    both_ways_are_measured(&home);
}

#[test]
fn behind_a_firewall_that_translates_nothing_both_ways_are_measured() {
    let Some(_alone) = alone("stateful_firewall", &["ip", "nft", "sysctl"]) else { return };
    let home = Home::new("stateful-firewall", true, &[LETS_OUT]);
    let output = home.ask(LATENCY);
    assert!(stderr_of(&output).contains(ONE_SIDED));
    assert!(!stderr_of(&output).contains("sees lan/eth1 as"));
    both_ways_are_measured(&home);
}

#[test]
fn an_address_outside_the_testbed_is_not_answered_and_the_refusal_says_so() {
    let Some(_alone) = alone("nat_outside", &["ip", "nft", "sysctl"]) else { return };
    let source = "add rule ip nat post oifname wan snat to 198.51.100.7";
    let home = Home::new("nat-outside", false, &[NAT, &[source]]);
    ip(&["-n", &space("wan"), "route", "add", "198.51.100.0/24", "via", "203.0.113.1"]);
    let output = home.ask(LATENCY);
    assert!(!output.status.success());
    let said = "arrive from lan/eth1 at wan/eth1 under an address outside the testbed";
    assert!(stderr_of(&output).contains(said));
}

#[test]
fn where_nothing_passes_way_protocol_and_port_are_named_and_no_host_is_blamed() {
    let Some(_alone) = alone("nat_shut", &["ip", "nft", "sysctl"]) else { return };
    let udp = "add rule ip filter forwards ip protocol udp drop";
    let chain = "add chain ip filter forwards { type filter hook forward priority 0; }";
    let home = Home::new("nat-shut", true, &[&["add table ip filter", chain, udp]]);
    let output = home.ask(LATENCY);
    assert!(!output.status.success());
    let said = stderr_of(&output);
    let ways = "UDP datagrams to a free port do not pass from lan/eth1 to wan/eth1, nor from \
                wan/eth1 to lan/eth1";
    assert!(said.contains(ways), "{said}");
    assert!(said.contains("reach 203.0.113.10:") && said.contains("reach 192.168.1.10:"), "{said}");
    assert!(said.contains("nft list ruleset on lan, on wan and on what is between"), "{said}");
}
