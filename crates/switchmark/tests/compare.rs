//! `compare` as its user runs it, over runs of the simulator: what is decided, attributed and ended with.

#![allow(missing_docs, reason = "a test")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn switchmark(store: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchmark"));
    command.args(args).arg("--store").arg(store).output().expect("switchmark starts")
}

/// Round trips on a model; the run's id.
fn measured(store: &Path, profile: &str) -> String {
    let profiles = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles");
    let testbed = format!("sim:{}", profiles.join(profile).display());
    let args =
        ["latency", "--testbed", &testbed, "--protocol", "udp", "--size", "64", "-t", "0.01"];
    let ran = switchmark(store, &[&args[..], &["--seed", "1", "--json", "--quiet"]].concat());
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let told: serde_json::Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    told["run"].as_str().expect("an id").to_owned()
}

#[test]
fn models_are_compared() {
    let folder = scratch("compare");
    let store = folder.join("journal.db");
    let bridge = measured(&store, "software-bridge.toml");
    let switch = measured(&store, "teg-s16g.toml");
    let again = measured(&store, "teg-s16g.toml");
    let fast = measured(&store, "trident2.toml");
    // Baseline, subject, exit code, what is said.
    for (baseline, subject, code, said) in [
        (&switch, &bridge, 4, "software-bridge is worse than teg-s16g in 2 of 2 figures"),
        (&bridge, &switch, 0, "teg-s16g is better than software-bridge in 2 of 2 figures"),
        (&switch, &again, 0, "equivalent in all 2 figures"),
        (&switch, &fast, 3, "not attributable: the direct cable's own figures changed"),
    ] {
        let junit = folder.join("compare.xml");
        let args = ["compare", "--baseline", baseline, subject, "--junit", junit.to_str().unwrap()];
        let compared = switchmark(&store, &args);
        let text = String::from_utf8_lossy(&compared.stdout);
        assert_eq!(compared.status.code(), Some(code), "{text}");
        assert!(text.replace('\n', " ").contains(said), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        let xml = std::fs::read_to_string(&junit).expect("the test cases");
        assert_eq!(xml.matches("<testcase ").count(), 2, "{xml}");
        assert_eq!(xml.contains("<failure"), code == 4, "{xml}");
        assert_eq!(xml.contains("<skipped"), code == 3, "{xml}");
    }
    let page = folder.join("compare.html");
    let args = ["compare", &bridge, &switch, "--report", page.to_str().unwrap(), "--json", "-q"];
    let compared = switchmark(&store, &args);
    let told: serde_json::Value = serde_json::from_slice(&compared.stdout).expect("JSON");
    assert_eq!(told["attributable"], true);
    assert_eq!(told["figures"][0]["metric"], "ratio");
    assert_eq!(told["figures"][0]["where"]["decision"], "different");
    assert_eq!(told["blocks"][0]["subject"].as_array().map(Vec::len), Some(6));
    let html = std::fs::read_to_string(&page).expect("the page");
    assert!(html.contains("Figure by figure") && html.contains("software-bridge"), "{html}");
}

#[test]
fn what_can_not_be_compared_is_refused() {
    let store = scratch("compare_refused").join("journal.db");
    let run = measured(&store, "teg-s16g.toml");
    for (sides, said) in [
        (&[run.as_str()][..], "has one device"),
        (&[&run, &run], "both sides are teg-s16g"),
        (&[&format!("{run}/other"), &run], "has no figures of `other`"),
        (&[&run, "1999"], "1999"),
    ] {
        let refused = switchmark(&store, &[&["compare"], sides].concat());
        let text = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{text}");
        assert!(text.contains(said) && text.contains("hint: "), "{text}");
    }
}

fn corpus(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/import");
    folder.join(name).display().to_string()
}

fn json(output: &Output) -> serde_json::Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Ping and fio through two switches, once each: a ratio, and that nothing follows from it.
#[test]
fn published_outputs_are_compared_and_attributed_to_nobody() {
    let store = scratch("compare_imported").join("journal.db");
    let imported = |name: &str, more: &[&str]| {
        let file = corpus(name);
        json(&switchmark(&store, &[&["import", &file, "--json", "--quiet"], more].concat()))
    };
    let run = |told: &serde_json::Value| told["run"].as_str().expect("an id").to_owned();
    let bridge = run(&imported("ping-fio-linux-bridge.txt", &[]));
    let switch = run(&imported("ping-fio-trendnet.txt", &[]));
    let told = json(&switchmark(&store, &["compare", &bridge, &switch, "--json", "--quiet"]));
    assert_eq!(told["attributable"], false);
    assert_eq!(told["reasons"], serde_json::json!(["no bypass", "one run"]));
    let ratio = |of: &str| {
        let rows = told["figures"].as_array().expect("figures");
        let row = rows.iter().find(|row| row["where"]["of"] == of).expect("a row");
        assert_eq!(row["where"]["decision"], "inconclusive");
        (row["value"].as_f64().expect("a ratio") * 1000.0).round()
    };
    assert_eq!((ratio("rtt"), ratio("iops")), (699.0, 1047.0));
    // The same output five times is five blocks, and one cable beside them makes the hosts the limit.
    let sum = corpus("iperf-sum.txt");
    let told =
        imported("iperf-sum.txt", &["--device", "routers", "--bypass", &corpus("rows.json")]);
    let rows = told["figures"].as_array().expect("figures");
    let received = rows.iter().find(|row| row["metric"] == "received").expect("a rate");
    assert_eq!(received["verdict"], "tester-limited");
    let many = run(&imported("iperf-sum.txt", &["--device", "again", &sum, &sum, &sum, &sum]));
    let told = json(&switchmark(&store, &["compare", &run(&told), &many, "--json", "--quiet"]));
    assert_eq!(told["blocks"][0]["subject"].as_array().map(Vec::len), Some(5));
}
