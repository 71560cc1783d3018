//! One port a host, as its user runs it over runs of the simulator: a direct cable of another run.

use std::path::Path;
use std::process::{Command, Output};

use crate::program::{Scratch, json, switchmark};

/// What the switch of a write-up adds to a round trip of UDP in 64 octets, in nanoseconds: measured
/// beside its cable.
const BOTH: &str = "sim:teg-s16g,hosts=2";

fn run(store: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(switchmark());
    command.args(args).arg("--store").arg(store).output().expect("switchmark starts")
}

fn latency(store: &Path, testbed: &str, more: &[&str]) -> serde_json::Value {
    let args = ["latency", "--testbed", testbed, "--protocol", "udp", "--size", "64", "-t", "0.01"];
    let ran = run(store, &[&args[..], &["--seed", "1", "--json", "--quiet"], more].concat());
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    json(&ran)
}

fn rows<'a>(told: &'a serde_json::Value, metric: &str) -> Vec<&'a serde_json::Value> {
    let rows = told["figures"].as_array().expect("figures");
    rows.iter().filter(|row| row["metric"] == metric).collect()
}

fn id(told: &serde_json::Value) -> String {
    told["run"].as_str().expect("an id").to_owned()
}

#[test]
fn a_cable_of_another_time_gives_the_same_kind_of_figures() {
    let scratch = Scratch::new("one-nic");
    let store = scratch.path("journal.db");
    let beside = latency(&store, BOTH, &[]);
    let truth = rows(&beside, "rtt_added")[0]["value"].as_f64().expect("a value");
    let (device, direct) = (format!("{BOTH},cabling=device"), format!("{BOTH},cabling=direct"));
    let cable = latency(&store, &direct, &[]);
    assert!(rows(&cable, "rtt_added").is_empty(), "nothing is between the hosts");
    let alone = latency(&store, &device, &[]);
    assert!(rows(&alone, "rtt_added").is_empty());
    let mut added_by = Vec::new();
    for (flags, drift) in [
        (&["--bypass", &id(&cable)][..], 0),
        (&["--bypass", &id(&cable), "--bypass", &id(&cable)], 2),
    ] {
        let told = latency(&store, &device, flags);
        let added = rows(&told, "rtt_added");
        assert_eq!(added.len(), 2, "{flags:?}");
        let of = |name: &str| added[0][name].as_f64().expect("a number");
        assert!((of("low")..=of("high")).contains(&truth), "{flags:?}: {}", added[0]);
        assert_eq!(added[0]["verdict"], "device", "{flags:?}");
        let caveats = added[0]["caveats"].as_array().expect("caveats");
        assert!(caveats.contains(&"bypass-at-another-time".into()), "{caveats:?}");
        assert!(!caveats.contains(&"no-bypass".into()), "{caveats:?}");
        added_by.push(id(&told));
        assert_eq!(rows(&told, "bypass_drift").len(), drift, "{flags:?}");
        let again = run(&store, &["report", &id(&told), "--json", "--quiet"]);
        assert_eq!(
            json(&again)["figures"],
            told["figures"],
            "the run stands for itself: {flags:?}"
        );
    }
    let both = json(&run(&store, &["compare", &added_by[0], &added_by[1], "--json", "--quiet"]));
    let reason = both["reasons"][0].as_str().expect("a reason");
    assert!(reason.starts_with("the direct cable was measured at another time"), "{reason}");
    // A run over the cable beside one through the device is no run without a bypass.
    let args = ["compare", &id(&cable), &id(&alone)];
    let text = String::from_utf8_lossy(&run(&store, &args).stdout).into_owned();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("teg-s16g adds ") && text.contains(" to the direct cable's median RTT"),
        "{text}"
    );
    assert!(
        text.contains("One side is the direct cable itself") && !text.contains("no bypass"),
        "{text}"
    );
}

#[test]
fn floods_and_searches_take_the_cable_of_another_run() {
    let scratch = Scratch::new("one-nic-rate");
    let store = scratch.path("journal.db");
    let forwarding = |testbed: &str, more: &[&str]| {
        let args = ["forwarding", "--testbed", testbed, "--size", "64", "-t", "0.02"];
        let ran = run(&store, &[&args[..], &["--seed", "3", "--json", "--quiet"], more].concat());
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        json(&ran)
    };
    let model = "sim:software-bridge,hosts=2";
    let verdicts = |told: &serde_json::Value| -> Vec<(String, String)> {
        let rows = told["figures"].as_array().expect("figures");
        let own = rows.iter().filter(|row| row["where"]["path"] == "device");
        own.map(|row| (row["metric"].to_string(), row["verdict"].to_string())).collect()
    };
    for search in [&[][..], &["--search", "rfc2544"]] {
        let beside = forwarding(model, search);
        let cable = id(&forwarding(&format!("{model},cabling=direct"), search));
        let bypass = [search, &["--bypass", &cable]].concat();
        let told = forwarding(&format!("{model},cabling=device"), &bypass);
        let found = verdicts(&told);
        assert!(found.iter().any(|(_, verdict)| verdict == "\"device\""), "{search:?}: {found:?}");
        assert_eq!(found, verdicts(&beside), "as beside its own cable: {search:?}");
        let trials = &told["trials"];
        assert!(trials.is_null() || trials["failed"] == 0, "each trial was found: {trials}");
    }
}

#[test]
fn what_is_no_direct_cable_is_refused() {
    let scratch = Scratch::new("one-nic-refused");
    let store = scratch.path("journal.db");
    let (device, direct) = (format!("{BOTH},cabling=device"), format!("{BOTH},cabling=direct"));
    let (cable, through) = (id(&latency(&store, &direct, &[])), id(&latency(&store, &device, &[])));
    let other = id(&latency(&store, &direct, &["--blocks", "3"]));
    for (testbed, flags, said) in [
        (&device, &["--bypass", &through][..], "was made through a device"),
        (&device, &["--bypass", "1999"], "1999"),
        (&device, &["--bypass", &other], "has 3 repetitions, and 10 are needed"),
        (&device, &["--bypass", &cable, "--size", "128"], "did not ask for the same"),
        (&direct, &["--bypass", &cable], "has no device"),
        (&BOTH.to_owned(), &["--bypass", &cable], "has a direct cable already"),
        (&device, &["--sittings"], "no cable is moved during a run"),
        (&device, &["--sittings", "2"], "no cable is moved during a run"),
    ] {
        let args = ["latency", "--testbed", testbed, "--protocol", "udp", "-t", "0.01"];
        let size = if flags.contains(&"--size") { &[][..] } else { &["--size", "64"] };
        let refused = run(&store, &[&args[..], size, flags].concat());
        let text = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{flags:?}: {text}");
        assert!(text.contains(said) && text.contains("hint: "), "{flags:?}: {text}");
    }
    let args = ["fabric", "--testbed", &device, "--bypass", &cable];
    let refused = run(&store, &args);
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(text.contains("the study `fabric` cannot"), "{text}");
}
