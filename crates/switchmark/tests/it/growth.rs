//! Memory that does not grow with a run's trials, and figures that are the same kept or computed.
//! Needs no root: all runs are simulated.
//!
//! The kernel counts the memory. No time is asserted.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::memory::peak_memory;
use crate::program::{Scratch, full, json, switchmark};

/// So many trials has a block of [`measured`].
const TRIALS: usize = 12;

fn run(journal: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(switchmark());
    command.args(args).arg("--journal").arg(journal).output().expect("switchmark starts")
}

/// A run of so many blocks; its id.
fn measured(journal: &Path, blocks: usize, seed: u32) -> String {
    let (blocks, seed) = (blocks.to_string(), seed.to_string());
    let study = ["latency", "--testbed", "sim:software-bridge", "-t", "0.01", "--blocks", &blocks];
    let ran = run(journal, &[&study[..], &["--seed", &seed, "--json", "--quiet"]].concat());
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    json(&ran)["run"].as_str().expect("an id").to_owned()
}

/// Lets go of all kept figures: what reads them computes them again.
fn forget(journal: &Path) {
    let db = rusqlite::Connection::open(journal).expect("it is there");
    db.execute("DELETE FROM kept_figures", []).expect("it can be written");
}

/// The most memory in octets that it takes.
fn peak(journal: &Path, args: &[&str]) -> u64 {
    forget(journal);
    let mut command = Command::new(switchmark());
    command.args(args).arg("--journal").arg(journal);
    let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let (octets, output) = peak_memory(started.expect("switchmark starts"));
    assert!(output.status.success(), "{args:?}");
    octets
}

/// A journal with two runs of so many blocks.
fn journal(scratch: &Scratch, blocks: usize) -> (PathBuf, [String; 2]) {
    let journal = scratch.path(&format!("{blocks}.db"));
    let runs = [1, 2].map(|seed| measured(&journal, blocks, seed));
    (journal, runs)
}

#[test]
fn memory_does_not_grow_with_the_trials() {
    let scratch = Scratch::new("growth");
    let (few, many) = if full() { (84, 834) } else { (84, 209) };
    let page = scratch.path("page.html");
    let page = page.to_str().expect("plain");
    let needed = [few, many].map(|blocks| {
        let (journal, [one, other]) = journal(&scratch, blocks);
        let report = peak(&journal, &["report", &one, "--out", page]);
        let compare = peak(&journal, &["compare", &one, &other, "--report", page]);
        [report, compare]
    });
    let trials = ((many - few) * TRIALS) as f64;
    for (at, (verb, runs)) in [("report", 1.0), ("compare", 2.0)].into_iter().enumerate() {
        let grown = needed[1][at].saturating_sub(needed[0][at]) as f64 / (trials * runs);
        eprintln!(
            "{verb}: {} and {} octets, {grown:.0} octets a trial",
            needed[0][at], needed[1][at]
        );
        assert!(grown < 1_500.0, "{verb}: {grown:.0} octets a trial: {needed:?}");
    }
}

#[test]
fn figures_are_the_same_kept_or_computed() {
    let scratch = Scratch::new("kept-figures");
    let journal = scratch.path("journal.db");
    let sim = |study: &[&str]| {
        let args = [study, &["--seed", "7", "--json", "--quiet"]].concat();
        let ran = run(&journal, &args);
        let failed = || String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(matches!(ran.status.code(), Some(0 | 3)), "{study:?}: {}", failed());
        json(&ran)["run"].as_str().expect("an id").to_owned()
    };
    let on = |study: &[&str], testbed: &str| sim(&[study, &["--testbed", testbed]].concat());
    let latency = ["latency", "-t", "0.01", "--blocks", "6"];
    let runs = [
        [on(&latency, "sim:software-bridge"), on(&latency, "sim:teg-s16g")],
        [0, 1].map(|_| on(&["forwarding", "-t", "0.01", "--size", "64"], "sim:teg-s16g")),
        [0, 1].map(|_| on(&["tcp", "-t", "0.05"], "sim:teg-s16g")),
        [0, 1].map(|_| on(&["switching", "-t", "0.02", "--size", "64"], "sim:teg-s16g,hosts=4")),
        [0, 1].map(|_| on(&["fabric", "-t", "0.02"], "sim:teg-s16g,hosts=4")),
        [0, 1].map(|_| on(&["storage", "-t", "0.02"], "sim:teg-s16g")),
    ];
    for pair in &runs {
        let pair: Vec<&str> = pair.iter().map(String::as_str).collect();
        let asked = |verb: &'static str| [&[verb], &pair[..], &["--json", "--quiet"]].concat();
        for args in [asked("compare"), asked("trend")] {
            let kept = run(&journal, &args);
            forget(&journal);
            let computed = run(&journal, &args);
            let again = run(&journal, &args);
            let told = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(kept.stdout == computed.stdout, "{args:?}: {}", told(&kept));
            assert!(kept.stdout == again.stdout, "{args:?}: {}", told(&again));
            assert!(kept.stdout.len() > 100, "{args:?}: {kept:?}");
        }
    }
}
