//! A mesh of simulated ports has a flow for every two of them: what memory that takes, and that no
//! run begins which would take too much. Needs no root: nothing is sent.

use std::process::{Command, Output, Stdio};

use crate::memory::peak_memory;
use crate::program::{Scratch, full, switchmark};

const SWITCH: &str = r#"
name = "sw"
ports = 255
rate = "1Gbit"
buffer = { total = "2MiB", alpha = 1.0 }
"#;

/// `switching` of a mesh over so many ports, behind what a shell does first.
fn mesh(scratch: &Scratch, before: &str, ports: u32, more: &[&str]) -> Command {
    std::fs::write(scratch.path("sw.toml"), SWITCH).expect("a file");
    let (testbed, ports) = (format!("sim:sw.toml,hosts={ports}"), ports.to_string());
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{before}exec \"$0\" \"$@\"")])
        .arg(switchmark())
        .args(["switching", "--testbed", &testbed, "--ports", &ports, "--test", "mesh"])
        .args(["--size", "64", "-t", "10ms", "--final-time", "10ms", "--seed", "1"])
        .args(["--journal", "j.db", "--quiet"])
        .args(more)
        .current_dir(scratch.folder())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// The most memory in MB that a mesh took.
fn peak(ports: u32) -> u64 {
    let scratch = Scratch::new(&format!("mesh-{ports}"));
    let child = mesh(&scratch, "", ports, &[]).spawn().expect("sh starts");
    let (octets, output) = peak_memory(child);
    assert!(output.status.success(), "{}", said(&output));
    octets / 1_000_000
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn memory_goes_by_flows_in_flight() {
    // 4,032 flows took 936 MB when each kept the histograms that nobody reads.
    let memory = peak(64);
    assert!(memory < 120, "{memory} MB at 64 ports");
    if !full() {
        eprintln!("skipped: 255 ports take a minute; set SWITCHMARK_TESTS=full");
        return;
    }
    let memory = peak(255);
    assert!(memory < 1_000, "{memory} MB at 255 ports");
}

#[test]
fn a_run_that_would_fill_the_memory_is_not_begun() {
    let scratch = Scratch::new("mesh-refused");
    let limit = "ulimit -d 900000; ";
    let output = mesh(&scratch, limit, 255, &[]).output().expect("sh starts");
    let told = said(&output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    for part in ["64,770 flows at once", "MB of memory", "half of what there is", "--yes"] {
        assert!(told.contains(part), "no `{part}` in: {told}");
    }
    let runs = Command::new(switchmark())
        .args(["runs", "--journal", "j.db"])
        .current_dir(scratch.folder())
        .output()
        .expect("switchmark starts");
    assert!(!String::from_utf8_lossy(&runs.stdout).contains("switching"), "it has begun");
}

#[test]
fn a_rehearsal_says_what_memory_it_takes() {
    let scratch = Scratch::new("mesh-rehearsed");
    let output = mesh(&scratch, "", 255, &["--dry-run"]).output().expect("sh starts");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("of memory for 64,770 flows at once"), "{told}{}", said(&output));
}
