//! A/A: two bridges alike between the same hosts, of which one is asked for its counters. Asking
//! must change no figure.
//!
//! Owns the bed. Both are measured in one run, in turn, so that what the machine does meanwhile is
//! common to both. Needs root, iproute2 and snmpd.

use std::fmt::Write as _;
use std::process::{Command, Stdio};

use super::super::harness::spaces::{Spaces, ip, space};
use super::super::harness::{Scratch, alone, full, json, snmpd, switchmark};
use super::{BY_SNMP, join, quiet, tc};

/// h1 and h2 with a port at each of two bridges in one namespace.
fn bed(scratch: &Scratch) -> Spaces {
    let names = ["h1", "switch", "h2"];
    let spaces = Spaces::new(&names);
    for name in names {
        quiet(name);
    }
    let mut text = String::new();
    for (name, counters) in [("asked", BY_SNMP), ("unasked", "")] {
        let bridge = ["link", "add", name, "type", "bridge", "mcast_snooping", "0"];
        ip(&[&["-n", &space("switch")][..], &bridge].concat());
        ip(&["-n", &space("switch"), "link", "set", name, "up"]);
        let ports = "ports = { \"1\" = \"asked1\", \"2\" = \"asked2\" }\n";
        let ports = if counters.is_empty() { "" } else { ports };
        let _ = write!(text, "[[device]]\nname = \"{name}\"\nkind = \"switch\"\n{ports}{counters}");
    }
    for (number, host) in [(1, "h1"), (2, "h2")] {
        let _ = writeln!(text, "[[host]]\nname = \"{host}\"\nreach = \"netns:{}\"", space(host));
        for (port, subnet, bridge) in [("eth1", 5, "asked"), ("eth2", 6, "unasked")] {
            let own = format!("{bridge}{number}");
            join((host, port), ("switch", &own));
            ip(&["-n", &space("switch"), "link", "set", &own, "master", bridge, "up"]);
            let address = format!("198.18.{subnet}.{number}/24");
            ip(&["-n", &space(host), "address", "add", &address, "dev", port]);
            let _ = writeln!(
                text,
                "[[host.port]]\nname = \"{port}\"\naddress = \"{address}\"\ncable = \"{bridge}/{number}\""
            );
        }
    }
    std::fs::write(scratch.path("bench.toml"), text).expect("a testbed file");
    spaces
}

#[test]
fn asking_changes_no_figure() {
    if !full() {
        eprintln!("skipped: asking_changes_no_figure takes minutes of a quiet machine");
        return;
    }
    let programs = ["ip", "tc", "snmpd", "chrt", "taskset"];
    let Some(_alone) = alone("asking_changes_no_figure", &programs) else { return };
    let scratch = Scratch::new("books-same");
    let _spaces = bed(&scratch);
    let _agent = snmpd::start(&scratch, "switch", "");
    let bucket = ["tbf", "rate", "50mbit", "burst", "20k", "limit", "30k"];
    for port in ["asked2", "unasked2"] {
        tc("switch", &[&["qdisc", "add", "dev", port, "root"][..], &bucket].concat());
    }
    // What this machine does beside makes round trips of two processors differ by a tenth from
    // trial to trial, asked or not: before its other business, on one, they do not.
    let program = |args: &[&str]| {
        let mut command = Command::new("chrt");
        command.args(["--rr", "20"]);
        if args[0] == "latency" {
            command.args(["taskset", "--cpu-list", "0"]);
        }
        command.arg(switchmark()).args(args).args(["--json", "--journal", "j.db"]);
        command.current_dir(scratch.folder()).stdin(Stdio::null());
        json(&command.output().expect("it starts"))
    };
    let flood = ["forwarding", "--flood", "-t", "0.5", "--size", "512,1518", "--blocks", "20"];
    let latency = ["latency", "--protocol", "udp", "-t", "0.3", "--size", "64", "--blocks", "60"];
    for (study, of) in [(&flood[..], "received"), (&latency[..], "rtt")] {
        let both = ["-q", "--seed", "1", "--testbed", "bench.toml", "--device", "asked,unasked"];
        let run = program(&[study, &both].concat());
        let [unasked, asked] = ["unasked", "asked"]
            .map(|device| format!("{}/{device}", run["run"].as_str().expect("an id")));
        let compared = program(&["compare", &unasked, &asked, "--margin", "1%"]);
        println!("{}", compared["sentence"].as_str().unwrap_or_default());
        let rows = compared["differences"].as_array().expect("rows").iter();
        let rows: Vec<_> = rows.filter(|row| row["where"]["of"] == of).collect();
        assert!(!rows.is_empty(), "{compared}");
        for row in rows {
            let decision = row["where"]["decision"].as_str().expect("one");
            // What is rare in a trial no hundred trials tell to a hundredth.
            let rare = row["where"]["of_quantile"].as_f64().is_some_and(|of| of > 0.5);
            assert!(decision == "equivalent" || (rare && decision != "different"), "{row:#}");
        }
    }
}
