//! `sessions` through a router whose limits nftables and conntrack set: the rate of new connections
//! or UDP flows, their number at once, and how long idle flows live are known.
//!
//! Owns the bed, h1 – r – h2 with a direct cable beside, and the brackets. Needs root, iproute2 and
//! nft.

use std::process::Command;

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;
use serde_json::Value;

use super::harness::spaces::{Spaces, cable, call, host_table, ip, space};
use super::harness::{Scratch, alone, full, json, switchmark};

/// New connections a second that the router lets pass, and how many may come at once.
const RATE: f64 = 1_000.0;
const BURST: f64 = 20.0;

/// Connections at once that it lets pass.
const COUNT: f64 = 2_000.0;

/// Trials that decide a rate, in seconds: a burst adds its share of one to the rate.
const FINAL_S: f64 = 3.0;

/// Widths of the searches' last brackets, and the error of a rate over such trials.
const WIDTH: f64 = 0.03;

struct Bed {
    file: std::path::PathBuf,
    _spaces: Spaces,
}

/// Seconds for which the router remembers a UDP flow of one packet each way.
const LIFE: f64 = 3.0;

/// Builds the bed, whose router drops new connections of a protocol by a rule. Of UDP, only the
/// first host may open any, and each is remembered for `life` seconds.
fn bed(scratch: &Scratch, protocol: &str, rule: &str, life: f64) -> Bed {
    let spaces = Spaces::new(&["h1", "r", "h2"]);
    cable(("h1", "eth1", "198.18.1.2/24"), ("r", "p1", "198.18.1.1/24"));
    cable(("r", "p2", "198.18.2.1/24"), ("h2", "eth1", "198.18.2.2/24"));
    cable(("h1", "direct", "198.19.0.1/30"), ("h2", "direct", "198.19.0.2/30"));
    for (host, gateway, far) in
        [("h1", "198.18.1.1", "198.18.2.0/24"), ("h2", "198.18.2.1", "198.18.1.0/24")]
    {
        ip(&["-n", &space(host), "route", "add", far, "via", gateway]);
    }
    let inside = ["netns", "exec", &space("r")];
    ip(&[&inside[..], &["sysctl", "-qw", "net.ipv4.ip_forward=1"]].concat());
    let life = format!("net.netfilter.nf_conntrack_udp_timeout={life}");
    ip(&[&inside[..], &["sysctl", "-qw", &life]].concat());
    let table = format!(
        "table ip limits {{ chain forward {{ type filter hook forward priority 0; \
         meta l4proto {protocol} ct state new {rule} drop;\n\
         meta l4proto udp iifname \"p2\" ct state new drop; }}\n}}\n"
    );
    let rules = scratch.path("rules.nft");
    std::fs::write(&rules, table).expect("rules");
    let rules = rules.display().to_string();
    call("ip", &[&inside[..], &["nft", "-f", &rules]].concat());
    let direct = |own: &str, other: &str| {
        format!(
            "[[host.port]]\nname = \"direct\"\naddress = \"{own}\"\ncable = \"{other}/direct\"\n"
        )
    };
    let text = [
        "[[device]]\nname = \"router\"\nkind = \"router\"\n".to_owned(),
        host_table("h1", "198.18.1.2/24", "router/p1"),
        direct("198.19.0.1/30", "h2"),
        host_table("h2", "198.18.2.2/24", "router/p2"),
        direct("198.19.0.2/30", "h1"),
    ]
    .concat();
    let file = scratch.path("testbed.toml");
    std::fs::write(&file, text).expect("a testbed file");
    Bed { file, _spaces: spaces }
}

/// The device's figure of this metric.
fn measure(scratch: &Scratch, bed: &Bed, metric: &str, args: &[&str]) -> Value {
    let mut command = Command::new(switchmark());
    command.arg("sessions").args(args).args(["--seed", "1", "--json", "--quiet", "--testbed"]);
    command.arg(&bed.file).arg("--store").arg(scratch.path("journal.db"));
    let told = json(&command.output().expect("switchmark starts"));
    let rows = told["figures"].as_array().expect("figures");
    let is_it = |row: &&Value| row["metric"] == metric && row["where"]["path"] == "device";
    let row = rows.iter().find(is_it).unwrap_or_else(|| panic!("{told:#}"));
    println!("{metric}: {} [{}, {}], {}", row["value"], row["low"], row["high"], row["verdict"]);
    row.clone()
}

/// The bracket holds what the router lets pass, and SYNs beyond were dropped. A machine that begins
/// connections late blames itself for what failed: it has only the lower end, which holds too.
fn assert_limit(row: &Value, least: f64, most: f64) {
    let low = row["low"].as_f64().unwrap_or_else(|| panic!("no low: {row:#}"));
    assert!(low >= 0.9 * least, "{least}…{most}: {row:#}");
    assert_held(row, least, most);
}

/// The bracket, or the lower end alone, holds what the router lets pass.
fn assert_held(row: &Value, least: f64, most: f64) {
    assert!(row["low"].as_f64().is_some_and(|low| low <= most), "{least}…{most}: {row:#}");
    let Some(high) = row["high"].as_f64() else {
        println!("only a lower end: this machine is too busy");
        assert_eq!(row["where"]["bound"], "at-least", "{row:#}");
        assert_ne!(row["verdict"], "device", "{row:#}");
        return;
    };
    assert!(high >= least && high <= 1.1 * most, "{least}…{most}: {row:#}");
    assert_eq!(row["where"]["failed_by"], "timed-out", "{row:#}");
    assert_ne!(row["verdict"], "tester", "{row:#}");
}

fn rate_over(limit: f64) -> String {
    format!("limit rate over {limit}/second burst {BURST} packets")
}

/// Searches a limit of the rate, and holds the bracket against it.
fn find_rate(protocol: &str, limit: f64, assert: fn(&Value, f64, f64)) {
    let scratch = &Scratch::new("sessions-rate");
    let bed = bed(scratch, protocol, &rate_over(limit), LIFE);
    let time = FINAL_S.to_string();
    let rest = (LIFE + 1.0).to_string();
    let args =
        ["-p", protocol, "--test", "rate", "-t", "1", "--final-time", &time, "--rest", &rest];
    let row = measure(scratch, &bed, "connection_rate", &args);
    assert(&row, limit * (1.0 - WIDTH), (limit + BURST / FINAL_S) * (1.0 + WIDTH));
}

/// Searches a limit of the number at once, and holds the bracket against it.
fn find_count(protocol: &str, limit: f64, assert: fn(&Value, f64, f64)) {
    let scratch = &Scratch::new("sessions-count");
    let bed = bed(scratch, protocol, &format!("ct count over {limit}"), LIFE);
    let held = ["--test", "concurrent", "--most", "20000", "--opening", "4000", "--hold", "300ms"];
    let args = [&["-p", protocol][..], &held].concat();
    let row = measure(scratch, &bed, "connections", &args);
    assert(&row, limit * (1.0 - WIDTH), limit * (1.0 + WIDTH));
}

/// Searches how long the router remembers idle flows of one packet each way or, with `active`,
/// those that it takes for streams, which it remembers for twice as long.
fn find_life(life: f64, active: bool) {
    let scratch = Scratch::new("sessions-idle");
    let bed = bed(&scratch, "udp", "ct count over 60000", life);
    let streams = format!("net.netfilter.nf_conntrack_udp_timeout_stream={}", 2.0 * life);
    ip(&["netns", "exec", &space("r"), "sysctl", "-qw", &streams]);
    let life = if active { 2.0 * life } else { life };
    let longest = (2.0 * life).to_string();
    let idle = ["-p", "udp", "--test", "idle", "--idle", &longest];
    let args = [&idle[..], if active { &["--active", "3"] } else { &[] }].concat();
    let row = measure(&scratch, &bed, "idle_time", &args);
    let [low, high] = ["low", "high"].map(|end| row[end].as_f64().expect("an end") / 1e9);
    // The kernel counts in ticks; the machine may be late.
    assert!(low <= life + 0.1 && high >= life - 0.1 && high - low < 0.5, "{life}: {low}…{high}");
    assert_eq!(row["verdict"], "device", "{row:#}");
}

#[test]
fn a_limit_of_new_connections_is_found() {
    const TEST: &str = "a_limit_of_new_connections_is_found";
    let Some(_alone) = alone(TEST, &["ip", "nft", "sysctl"]) else { return };
    find_rate("tcp", RATE, assert_limit);
}

#[test]
fn a_limit_of_connections_at_once_is_found() {
    const TEST: &str = "a_limit_of_connections_at_once_is_found";
    let Some(_alone) = alone(TEST, &["ip", "nft", "sysctl"]) else { return };
    find_count("tcp", COUNT, assert_limit);
}

#[test]
fn a_limit_of_udp_flows_at_once_is_found() {
    const TEST: &str = "a_limit_of_udp_flows_at_once";
    let Some(_alone) = alone(TEST, &["ip", "nft", "sysctl"]) else { return };
    find_count("udp", COUNT, assert_limit);
}

#[test]
fn how_long_an_idle_udp_flow_lives_is_found() {
    const TEST: &str = "how_long_an_idle_udp_flow_lives";
    let Some(_alone) = alone(TEST, &["ip", "nft", "sysctl"]) else { return };
    find_life(LIFE, false);
}

#[test]
fn random_limits_of_a_router_are_found() {
    const TEST: &str = "random_limits_of_a_router";
    let Some(_alone) = alone(TEST, &["ip", "nft", "sysctl"]) else { return };
    if !full() {
        eprintln!("skipped: {TEST} takes minutes, and runs under SWITCHMARK_TESTS=full");
        return;
    }
    let mut rng = Pcg64::seed_from_u64(20_261_128);
    for number in 0..4 {
        let rate = 200.0 * 15_f64.powf(rng.random());
        let count = 1_000.0 * 8_f64.powf(rng.random());
        for protocol in ["tcp", "udp"] {
            println!("{number}: {} new a second, {protocol}", rate.round());
            find_rate(protocol, rate.round(), assert_held);
            println!("{number}: {} at once, {protocol}", count.round());
            find_count(protocol, count.round(), assert_held);
        }
        let life = 2.0 * 10_f64.powf(rng.random());
        println!("{number}: {} s", life.round());
        find_life(life.round(), number % 2 == 1);
    }
}
