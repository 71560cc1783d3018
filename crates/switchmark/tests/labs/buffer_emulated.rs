//! The buffer verb on an emulated device, whose profile is the truth: how many bytes wait, and
//! whether TCP is stable, as the simulator says of the same profile.
//!
//! Owns the bars. A machine with other business may leave a verdict open or a figure out; what is
//! told must be right. Needs root, or user namespaces.

use std::process::{Command, Stdio};

use crate::harness::{Scratch, alone, full, json, switchmark};
use serde_json::Value;

/// A hundredth of a switch of 2 Gbit/s with 16 MB before each output, in front of a path of 24 ms.
const DEEP: &str = "name = \"deep\"\nports = 4\nrate = \"2Gbit\"\nscale = 0.01\nlink_delay = \"6ms\"\n\
    buffer = { per_port = \"16MB\" }\nforwarding = { mode = \"store-and-forward\" }\n";
/// The same with far less than the path holds.
const SHALLOW: &str = "name = \"shallow\"\nports = 4\nrate = \"2Gbit\"\nscale = 0.01\n\
    link_delay = \"6ms\"\nbuffer = { per_port = \"900kB\" }\nmax_frame = 1518\n\
    forwarding = { mode = \"store-and-forward\" }\n";
/// What is looked for in bytes; 172 frames of 1518 octets.
const BYTES: &str = "name = \"bytes\"\nports = 4\nrate = \"20Mbit\"\n\
    buffer = { per_port = \"261096B\" }\nforwarding = { mode = \"store-and-forward\" }\n";
const TRUTH: f64 = 261_096.0;
const FRAME: f64 = 1518.0;
const BAR: f64 = 0.05;

/// The figures of one command.
fn figures(folder: &Scratch, args: &[&str]) -> Vec<Value> {
    let output = Command::new(switchmark())
        .args(args)
        .args(["--json", "--quiet", "--seed", "1", "--store", "j.db"])
        .current_dir(folder.folder())
        .stdin(Stdio::null())
        .output()
        .expect("switchmark starts");
    json(&output)["figures"].as_array().expect("figures").clone()
}

fn profile(folder: &Scratch, name: &str, text: &str) {
    std::fs::write(folder.path(name), text).expect("a profile is written");
}

#[test]
fn an_emulated_devices_buffer_is_found() {
    let Some(_alone) = alone("an_emulated_devices_buffer_is_found", &[]) else { return };
    if !full() {
        eprintln!(
            "skipped: a hundred bursts, and a bar that is not reached; set SWITCHMARK_TESTS=full"
        );
        return;
    }
    let folder = Scratch::new("buffer-bytes");
    profile(&folder, "bytes.toml", BYTES);
    let place = "lab:emulated=bytes.toml,hosts=4,mtu=1500";
    let found = figures(
        &folder,
        &["buffer", "--estimate", "--testbed", place, "--congested", "1", "--blocks", "6"],
    );
    let mut near = 0;
    for figure in found.iter().filter(|f| f["metric"] == "buffer") {
        let (name, bound) = (&figure["where"]["estimator"], &figure["where"]["bound"]);
        let Some(value) = figure["value"].as_f64().filter(|_| bound.is_null()) else {
            println!("{name}: {} {}", figure["value"], figure["caveats"]);
            continue;
        };
        let end = |key: &str| figure[key].as_f64().unwrap_or(value);
        let (low, high) = (end("low"), end("high"));
        println!(
            "{name}: truth {TRUTH} found {value:.0} ({:+.2} %) {low:.0}…{high:.0}",
            (value / TRUTH - 1.0) * 100.0
        );
        let bar = (BAR * TRUTH).max(2.0 * FRAME);
        let is_near = (value - TRUTH).abs() <= bar;
        let wide = high - low > bar && low - bar <= TRUTH && TRUTH <= high + bar;
        assert!(is_near || wide, "{figure:#}");
        near += usize::from(is_near);
    }
    assert!(near >= 3, "only {near} estimators within 5 %");
}

/// Whether TCP alone, beside a load, and beside the load the other way is stable.
fn verdicts(folder: &Scratch, place: &str) -> Vec<(String, Option<f64>, String)> {
    let args = [
        "buffer",
        "--testbed",
        place,
        "-P",
        "2",
        "-t",
        "10",
        "-O",
        "3",
        "--blocks",
        "1",
        "--mtu",
        "1500",
        // A hundredth of the rate has as many losses a second, and so a hundred times more a
        // gigabyte.
        "--most-retransmits",
        "4000",
    ];
    let said = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let stable =
        |figure: &&Value| figure["metric"] == "stable" && figure["where"]["path"] == "device";
    let found = figures(folder, &args);
    let of = |figure: &Value| {
        let place = &figure["where"];
        (said(&place["scenario"]), figure["value"].as_f64(), said(&place["reasons"]))
    };
    found.iter().filter(stable).map(of).collect()
}

#[test]
fn the_simulator_and_the_emulated_device_agree_on_tcp() {
    let Some(_alone) = alone("the_simulator_and_the_emulated_device_agree_on_tcp", &[]) else {
        return;
    };
    if !full() {
        eprintln!("skipped: eight trials of thirteen seconds; set SWITCHMARK_TESTS=full");
        return;
    }
    let folder = Scratch::new("buffer-verdicts");
    let mut agreed = 0;
    for (name, text) in [("deep.toml", DEEP), ("shallow.toml", SHALLOW)] {
        profile(&folder, name, text);
        let modelled = verdicts(&folder, &format!("sim:{name},hosts=4,mtu=1500"));
        let real = verdicts(&folder, &format!("lab:emulated={name},hosts=4,mtu=1500"));
        assert_eq!((modelled.len(), real.len()), (3, 3), "{modelled:?} {real:?}");
        for (scenario, stable, why) in modelled {
            let (_, seen, reasons) =
                real.iter().find(|row| row.0 == scenario).expect("the same case");
            println!("{name} {scenario}: simulated {stable:?} {why}; emulated {seen:?} {reasons}");
            if let (Some(stable), Some(seen)) = (stable, *seen) {
                assert!((stable - seen).abs() < 0.5, "{name} {scenario}");
                agreed += 1;
            }
        }
    }
    println!("{agreed} of 6 verdicts told by both, and alike");
}
