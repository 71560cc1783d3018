//! Whatever ends a run: nothing stays on the host, what was recorded stays readable, and `--resume`
//! completes it with the earlier trials untouched.
//!
//! Needs root. Only processes that a test started itself are ended, by their id.

#![allow(missing_docs, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "these tests face the kernel")]

mod harness;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use harness::{Scratch, alone, switchmark, wait_for};
use method::{Trial, TrialRecord};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use record::{Journal, Store};

/// A model between two hosts, whose frames cross threads and rings of the run's own process.
const EMULATED: &str =
    concat!("lab:emulated=", env!("CARGO_MANIFEST_DIR"), "/../../profiles/teg-s16g.toml");

/// A latency run with many short trials, so that there is always one under way.
fn start(store: &Path, testbed: &str) -> Child {
    Command::new(switchmark())
        .args(["latency", "--testbed", testbed, "--protocol", "udp", "--size", "64,128"])
        .args(["-t", "150ms", "--blocks", "6", "--seed", "5", "--quiet", "--json", "--store"])
        .arg(store)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("switchmark starts")
}

fn resume(store: &Path) -> Output {
    Command::new(switchmark())
        .args(["run", "--resume", "latest", "--quiet", "--json", "--store"])
        .arg(store)
        .output()
        .expect("switchmark starts")
}

fn recorded(store: &Path) -> Vec<(Trial, TrialRecord)> {
    let Ok(store) = Store::open(store) else { return Vec::new() };
    let Some(run) = store.runs().ok().and_then(|runs| runs.into_iter().next()) else {
        return Vec::new();
    };
    let journal = Journal::new(&store, &run.id, None).expect("a journal");
    journal.records().expect("readable records")
}

/// Waits until so many trials are recorded, and says what the program said where it ended before.
fn wait_for_trials(count: usize, child: &mut Child, store: &Path) {
    wait_for("recorded trials", || {
        if let Some(status) = child.try_wait().expect("it can be asked") {
            let mut told = String::new();
            let stderr = child.stderr.as_mut().expect("piped");
            std::io::Read::read_to_string(stderr, &mut told).expect("readable");
            panic!("it ended with {status} after {} trials: {told}", recorded(store).len());
        }
        recorded(store).len() >= count
    });
}

fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id() as i32), signal).expect("it is ours");
}

/// Every process whose parent chain starts at `root`, by id.
fn descendants(root: u32) -> BTreeSet<u32> {
    let mut family = BTreeSet::from([root]);
    loop {
        let before = family.len();
        for entry in std::fs::read_dir("/proc").expect("procfs").flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
            let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
            let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
            let parent = after_name.split_whitespace().nth(1).and_then(|p| p.parse().ok());
            if parent.is_some_and(|parent: u32| family.contains(&parent)) {
                family.insert(pid);
            }
        }
        if family.len() == before {
            return family;
        }
    }
}

fn alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').map_or("", |(_, rest)| rest).trim_start();
    !state.is_empty() && !state.starts_with('Z')
}

/// The network namespaces that any process is in.
fn namespaces() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir("/proc").expect("procfs").flatten() {
        if let Ok(target) = std::fs::read_link(entry.path().join("ns/net")) {
            found.insert(target.to_string_lossy().into_owned());
        }
    }
    found
}

fn links() -> BTreeSet<String> {
    let text = std::fs::read_to_string("/proc/net/dev").expect("procfs");
    text.lines().filter_map(|l| l.split_once(':')).map(|(name, _)| name.trim().into()).collect()
}

/// Ends a run in the middle by `how`, checks that it left nothing, and completes it.
fn ended_by(how: Signal, testbed: &str, scratch: &Scratch) {
    let store = scratch.path("journal.db");
    let (before_links, before_namespaces) = (links(), namespaces());
    let mut child = start(&store, testbed);
    wait_for_trials(3, &mut child, &store);
    let family = descendants(child.id());
    assert!(family.len() >= 3, "the controller and two agents: {family:?}");
    signal(&child, how);
    child.wait().expect("it ends");
    wait_for("every process to be gone", || !family.iter().any(|pid| alive(*pid)));
    wait_for("every namespace to be gone", || namespaces().is_subset(&before_namespaces));
    assert_eq!(links(), before_links, "links left behind");

    let earlier = recorded(&store);
    assert!(earlier.len() >= 3);
    let output = resume(&store);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{told}");
    let after = recorded(&store);
    assert!(after.len() >= 6 * 2 * 2, "all trials: {}", after.len());
    assert_eq!(after[..earlier.len()], earlier[..], "the earlier trials are untouched");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert!(!document["figures"].as_array().expect("figures").is_empty());
}

#[test]
fn killed_and_resumed() {
    let Some(_alone) = alone("killed_and_resumed", &[]) else { return };
    ended_by(Signal::SIGKILL, "lab:bridge", &Scratch::new("killed"));
}

#[test]
fn killed_between_emulated_ports_and_resumed() {
    let Some(_alone) = alone("killed_between_emulated_ports_and_resumed", &[]) else { return };
    ended_by(Signal::SIGKILL, EMULATED, &Scratch::new("emulated"));
}

#[test]
fn interrupted_and_resumed() {
    let Some(_alone) = alone("interrupted_and_resumed", &[]) else { return };
    ended_by(Signal::SIGINT, "lab:bridge", &Scratch::new("interrupted"));
}

#[test]
fn a_dead_agent_is_a_failed_trial_and_the_run_can_go_on() {
    let name = "a_dead_agent_is_a_failed_trial_and_the_run_can_go_on";
    let Some(_alone) = alone(name, &[]) else { return };
    let scratch = Scratch::new("agent");
    let store = scratch.path("journal.db");
    let mut child = start(&store, "lab:bridge");
    wait_for_trials(2, &mut child, &store);
    let mut agents = descendants(child.id());
    agents.remove(&child.id());
    let victim = *agents.first().expect("an agent");
    kill(Pid::from_raw(victim as i32), Signal::SIGKILL).expect("it is ours");
    let output = child.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("hint:") && told.contains("--resume"), "{told}");
    let records = recorded(&store);
    let failed =
        records.iter().filter(|(_, r)| matches!(r.outcome, method::Outcome::Failed { .. }));
    assert!(failed.count() <= 1, "at most the trial under way");
    assert!(matches!(resume(&store).status.code(), Some(0 | 3)));
}

#[test]
fn a_full_disk_stops_the_run_and_keeps_what_was_recorded() {
    let name = "a_full_disk_stops_the_run_and_keeps_what_was_recorded";
    let Some(_alone) = alone(name, &["unshare", "mount"]) else { return };
    let scratch = Scratch::new("disk");
    // A mount namespace of its own: the small file system goes with its last process.
    let script = format!(
        "mount -t tmpfs -o size=400k tmpfs {folder} && {program} latency --testbed lab:bridge \
         --protocol udp --size 64 -t 50ms --blocks 100 --quiet --store {folder}/journal.db; code=$?; \
         {program} runs --store {folder}/journal.db >&2; exit $code",
        folder = scratch.folder().display(),
        program = switchmark().display(),
    );
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", &script])
        .output()
        .expect("unshare starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("error: ") && told.contains("hint: "), "{told}");
}
