//! One port a host on real frames: a direct cable of another run.

use std::process::Command;

use serde_json::Value;

use super::harness::{self, Scratch, switchmark};

/// Slow enough that no machine's own delays matter beside it: 5 ms each way.
const SLOW: &str = "name = \"slow\"\nports = 2\nrate = \"1Gbit\"\nbuffer = { per_port = \"1MiB\" }\n\
                    forwarding = { mode = \"cut-through\", latency = \"5ms\" }\n";
const ADDED_NS: f64 = 1e7;

fn added(told: &Value) -> &Value {
    let rows = told["figures"].as_array().expect("figures");
    rows.iter().find(|row| row["metric"] == "rtt_added").unwrap_or_else(|| panic!("{told:#}"))
}

fn is_at_another_time(row: &Value) -> bool {
    row["caveats"].as_array().expect("caveats").contains(&"bypass-at-another-time".into())
}

#[test]
fn a_known_delay_is_found_beside_the_cable_of_another_run() {
    let Some(_alone) = harness::alone("a known delay beside the cable of another run", &[]) else {
        return;
    };
    let scratch = Scratch::new("one-nic");
    let profile = scratch.path("slow.toml");
    std::fs::write(&profile, SLOW).expect("a profile");
    let store = scratch.path("journal.db");
    let run = |testbed: &str, more: &[&str]| {
        let mut command = Command::new(switchmark());
        command.args(["latency", "--testbed", testbed, "--protocol", "udp", "--size", "64"]);
        command.args(["-t", "0.1", "--blocks", "6", "--seed", "1", "--json", "--quiet"]);
        command.args(more).arg("--store").arg(&store);
        harness::json(&command.output().expect("switchmark starts"))
    };
    let cable = run("lab:cable", &[]);
    let id = cable["run"].as_str().expect("an id");
    let device = format!("lab:emulated={},bypass=no", profile.display());
    let told = run(&device, &["--bypass", id]);
    let row = added(&told);
    assert!(is_at_another_time(row), "{row:#}");
    let (low, value) = (row["low"].as_f64().expect("an end"), row["value"].as_f64().expect("one"));
    // The emulator's own time comes on top, however busy the machine.
    assert!(low <= value && value >= 0.99 * ADDED_NS, "{row:#}");
    assert_ne!(row["verdict"], "tester", "{row:#}");
}
