//! One port a host on real frames: a direct cable of another run, and one that a scripted person
//! joins while the run goes on.

use std::process::Command;

use serde_json::Value;

use super::harness::{self, Scratch, switchmark};
use super::person::Bench;

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

/// Cable, device, cable, device, cable: five steps, and nothing more is asked for.
#[test]
fn a_person_joins_the_ports_and_leads_them_to_the_device() {
    let Some(_alone) = harness::alone("a person who joins two ports", &[]) else { return };
    let scratch = Scratch::new("sittings");
    let mut bench = Bench::new(&scratch);
    let args = ["latency", "--testbed", "bench.toml", "--protocol", "udp", "--size", "64"];
    let more = ["-t", "0.1", "--blocks", "6", "--seed", "1", "--sittings", "2"];
    let (asked, said) = bench.person(&[&args[..], &more].concat(), None);
    assert_eq!(asked, 5, "{said}");
    let from = said.find('{').unwrap_or_else(|| panic!("{said}"));
    let told: Value = serde_json::from_str(&said[from..]).expect("JSON behind what was said");
    assert!(is_at_another_time(added(&told)), "{told:#}");
    let rows = told["figures"].as_array().expect("figures");
    assert!(rows.iter().any(|row| row["metric"] == "bypass_drift"), "{told:#}");
    assert!(said.contains("step 2: cable h1/eth1 and h2/eth1 to sw1"), "{said}");
    // Who goes away in the middle leaves a run that can be taken up again.
    let (asked, said) = bench.person(&[&args[..], &more].concat(), Some(2));
    assert!(asked == 3 && said.contains("--resume"), "{said}");
    let (asked, said) = bench.person(&["run", "--resume", "latest"], None);
    assert_eq!(asked, 3, "from where it stood: {said}");
}
