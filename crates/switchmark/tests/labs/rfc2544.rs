//! The whole of RFC 2544 from one command, in labs: every test comes to its end, and what the lab
//! knows of its device is found.
//!
//! The limit is a kernel token bucket's, which no code of ours touches. Never asserts a time of
//! ours. The command itself is carried out in virtual time, and in labs with
//! `SWITCHMARK_TESTS=full`; else a plan asks a lab for the same six tests with fewer and shorter
//! trials.

use std::process::Command;

use crate::harness::{Scratch, alone, conclusion, full, json, switchmark};
use serde_json::Value;

/// The figures of the one command, or what went wrong.
fn suite(scratch: &Scratch, testbed: &str, size: &str) -> Vec<Value> {
    let suite = ["forwarding", "--rfc2544", "--testbed", testbed, "--size", size, "--seed", "7"];
    carried_out(scratch, &suite)
}

/// The same six tests of a lab, of each as few and short trials as tell its figure.
fn short_suite(scratch: &Scratch, testbed: &str, size: &str) -> Vec<Value> {
    let plan = scratch.path("plan.toml");
    let text = format!(
        "testbed = \"{testbed}\"\nseed = 7\n[[study]]\n[study.forwarding]\ntests = [\"rfc2544\"]\n\
         sizes = [{size}]\nblocks = 2\nlatency_duration = \"300ms\"\nlatency_repeats = 2\nburst_repeats = 1\n\
         reset_duration = \"3s\"\n"
    );
    std::fs::write(&plan, text).expect("writes");
    carried_out(scratch, &["run", plan.to_str().expect("a plain path")])
}

fn carried_out(scratch: &Scratch, args: &[&str]) -> Vec<Value> {
    let output = Command::new(switchmark())
        .args(args)
        .args(["--json", "--quiet", "--store"])
        .arg(scratch.path("journal.db"))
        .output()
        .expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{args:?}: {errors}");
    let data = json(&output);
    data["figures"].as_array().cloned().expect("figures")
}

/// The figures of a metric on the device's path, in frames a second where that is a choice.
fn of<'a>(figures: &'a [Value], metric: &str) -> Vec<&'a Value> {
    let wanted = |f: &&Value| {
        f["metric"] == metric && f["where"]["path"] == "device" && f["unit"] != "bits/s"
    };
    figures.iter().filter(wanted).collect()
}

const METRICS: [&str; 6] =
    ["throughput", "one_way_delay", "loss_ratio", "back_to_back", "recovery_time", "reset_time"];

/// One command, and every test has its figure.
#[test]
fn the_suite_is_one_command() {
    let scratch = Scratch::new("rfc2544-sim");
    let profile = scratch.path("sw.toml");
    let text = "name = \"sw\"\nports = 2\nrate = \"100Mbit\"\nbuffer = { per_port = \"64KiB\" }\n";
    std::fs::write(&profile, text).expect("writes");
    let figures = suite(&scratch, &format!("sim:{}", profile.display()), "1518");
    for metric in METRICS {
        assert!(!of(&figures, metric).is_empty(), "no figure of {metric}");
    }
}

#[test]
fn the_suite_finds_what_a_limited_bridge_is() {
    let Some(_alone) = alone("the_suite_finds_what_a_limited_bridge_is", &[]) else { return };
    let scratch = Scratch::new("rfc2544");
    // `truth` searches the throughput of such a bridge beside its bypass.
    let figures = if full() {
        suite(&scratch, "lab:bridge,rate=100Mbit", "1518")
    } else {
        short_suite(&scratch, "lab:bridge,rate=100Mbit,bypass=no", "1518")
    };
    for metric in METRICS {
        assert!(!of(&figures, metric).is_empty(), "no figure of {metric}");
    }
    // The bucket counts a frame without its FCS.
    let truth = 100e6 / (8.0 * 1514.0);
    // Its queue lets a two-second trial pass with a little more than its rate.
    let found = conclusion(of(&figures, "throughput")[0], truth, 0.005);
    println!("throughput {found:?} frames/s, the bucket's {truth:.1}");
    assert!(found.is_some() || !full(), "no answer on a machine that should be idle");
    if found.is_none() {
        eprintln!("skipped: the throughput, because the machine was too busy to tell");
    }
    for reset in of(&figures, "reset_time") {
        if let Some(outage) = reset["value"].as_f64() {
            println!("reset {} {:.0} ms", reset["where"]["estimate"], outage / 1e6);
            // The lab holds its ports down for half a second, and brings them up after. What a busy
            // machine lost without a reset is taken off the value, and stands in its interval.
            let end = |name: &str| reset[name].as_f64().unwrap_or(outage);
            assert!(
                end("low") <= 2e9 && end("high") >= 0.49e9,
                "an outage of {outage} ns: {reset}"
            );
        }
    }
}

#[test]
fn the_suite_ends_in_every_lab() {
    if !full() {
        eprintln!("skipped: the_suite_ends_in_every_lab is of the full profile");
        return;
    }
    let Some(_alone) = alone("the_suite_ends_in_every_lab", &[]) else { return };
    let scratch = Scratch::new("rfc2544-all");
    for testbed in ["lab:bridge", "lab:router"] {
        let figures = suite(&scratch, testbed, "512");
        for metric in METRICS {
            assert!(!of(&figures, metric).is_empty(), "{testbed}: no figure of {metric}");
        }
        let throughput = of(&figures, "throughput")[0]["value"].as_f64();
        println!("{testbed}: {throughput:?} frames/s of 512 octets");
    }
}
