//! `trend` as its user runs it, over runs of the simulator: a slower device is found, an unchanged
//! one is not, and what cannot be looked at is refused.

use std::path::Path;
use std::process::{Command, Output};

use crate::program::{Scratch, json, switchmark};

fn run(store: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(switchmark());
    command.args(args).arg("--journal").arg(store).output().expect("switchmark starts")
}

/// One run of a study on a model, under a label; its id.
fn measured(store: &Path, study: &[&str], model: &str, label: &str) -> String {
    let testbed = format!("sim:{model}");
    let args = ["--testbed", &testbed, "--label", label, "--seed", "1", "--json", "--quiet"];
    let ran = run(store, &[study, &args].concat());
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    json(&ran)["run"].as_str().expect("an id").to_owned()
}

const LATENCY: &[&str] = &["latency", "--protocol", "udp", "--size", "64", "-t", "0.01"];

fn text(output: &Output) -> String {
    let said = [&output.stdout[..], &output.stderr].concat();
    String::from_utf8_lossy(&said).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_slower_device_is_found_and_an_unchanged_one_is_not() {
    let scratch = Scratch::new("trend");
    let store = scratch.path("journal.db");
    let mut runs: Vec<String> = Vec::new();
    for (count, model, label) in [(4, "teg-s16g", "v1"), (2, "software-bridge", "v2")] {
        runs.extend((0..count).map(|_| measured(&store, LATENCY, model, label)));
    }
    let runs: Vec<&str> = runs.iter().map(String::as_str).collect();
    let junit = scratch.path("trend.xml");
    let page = scratch.path("trend.html");
    let outputs = ["--junit", junit.to_str().unwrap(), "--report", page.to_str().unwrap()];
    let asked = [&["trend", "--by", "release"], &outputs[..]].concat();
    // In any order: time is the journal's.
    let backwards: Vec<&str> = runs.iter().rev().copied().collect();
    let slower = run(&store, &[&asked[..], &backwards].concat());
    let said = text(&slower);
    assert_eq!(slower.status.code(), Some(4), "{said}");
    assert!(said.contains("WORSE Trend over 6 runs"), "{said}");
    assert!(said.contains("2 figures are worse since v2."), "{said}");
    let page = std::fs::read_to_string(&page).expect("the page");
    assert!(page.contains("Since v2; the direct cable did not move as much."), "{page}");
    let lines = String::from_utf8_lossy(&slower.stdout).into_owned();
    assert!(lines.lines().all(|line| line.chars().count() <= 100), "{lines}");
    let xml = std::fs::read_to_string(&junit).expect("the test cases");
    assert_eq!(
        (xml.matches("<testcase ").count(), xml.matches("<failure").count()),
        (2, 2),
        "{xml}"
    );

    let told = json(&run(&store, &[&["trend", "--json", "--quiet"], &runs[..]].concat()));
    assert_eq!((&told["worse"], &told["runs"][4]["id"]), (&true.into(), &runs[4].into()), "{told}");
    let sentence = told["sentence"].as_str().unwrap_or_default();
    let expected = format!("RTT p50 (udp, 64 octets, idle) is worse since {}: 10.51", runs[4]);
    assert!(sentence.starts_with(&expected), "{sentence}");
    let step = &told["series"][0]["step"];
    assert_eq!(
        (&step["since"], &step["earliest"], &step["latest"]),
        (&4.into(), &4.into(), &4.into())
    );
    assert_eq!(told["series"][0]["decision"], "different");
    assert_eq!(told["series"][0]["values"].as_array().map(Vec::len), Some(6));

    let markdown = run(&store, &[&["trend", "--markdown", "--by", "release"], &runs[..]].concat());
    assert!(
        text(&markdown).contains("| rtt p50 | udp 64 idle | 6 | 8.31 µs | 87.4 µs | v2 |"),
        "{}",
        text(&markdown)
    );

    // Of the four that are alike, and of two that differ.
    let same = run(&store, &["trend", "--testbed", "sim:teg-s16g"]);
    assert_eq!(same.status.code(), Some(0), "{}", text(&same));
    assert!(
        text(&same).contains("no figure is known to have moved. 2 figures are the same all along")
    );
    let few = run(&store, &["trend", runs[3], runs[4], runs[5]]);
    assert_eq!(few.status.code(), Some(3), "{}", text(&few));
    assert!(text(&few).contains("Too few runs to tell"), "{}", text(&few));
    // Without arguments: the testbed of the latest.
    let latest = run(&store, &["trend", "--json", "--quiet"]);
    assert_eq!(json(&latest)["runs"].as_array().map(Vec::len), Some(2));
    let one = run(&store, &["trend", "--figure", "rtt p99", "--json", "--quiet", runs[0], runs[1]]);
    assert_eq!(json(&one)["series"].as_array().map(Vec::len), Some(1));
}

#[test]
fn what_can_not_be_looked_at_is_refused() {
    let scratch = Scratch::new("trend-refused");
    let store = scratch.path("journal.db");
    let nothing = run(&store, &["trend"]);
    assert_eq!(nothing.status.code(), Some(2), "{}", text(&nothing));
    let one = measured(&store, LATENCY, "teg-s16g", "v1");
    let alone = run(&store, &["trend"]);
    assert_eq!(alone.status.code(), Some(2), "{}", text(&alone));
    assert!(text(&alone).contains("holds one run that is done"), "{}", text(&alone));
    let other = measured(&store, &["tcp", "-t", "0.05"], "teg-s16g", "v2");
    for (args, said) in [
        (&["1999", &one][..], "1999"),
        (&[&one, &one], "is named twice"),
        (&[&one, &other, "--by", "firmware"], "nothing says which firmware"),
        (&[&one, &other, "--figure", "rtt p5"], "no run has a figure `rtt p5`"),
        (&["--testbed", "sim:nowhere"], "holds no run that is done"),
    ] {
        let refused = run(&store, &[&["trend"], args].concat());
        assert_eq!(refused.status.code(), Some(2), "{args:?}: {}", text(&refused));
        assert!(
            text(&refused).contains(said) && text(&refused).contains("hint: "),
            "{}",
            text(&refused)
        );
    }
    // Of other studies: nothing that both have.
    let apart = run(&store, &["trend"]);
    assert_eq!(apart.status.code(), Some(3), "{}", text(&apart));
    assert!(text(&apart).contains("have no figure in common"), "{}", text(&apart));
}
