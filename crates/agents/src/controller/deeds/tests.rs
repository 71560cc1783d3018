//! Disturbances are undone, whatever ends a trial: shown by commands that log their actions.
//!
//! Every command is a line for `sh` that appends to a file of the test's own.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use measure::Nanos;
use trial::{Event, Gate, Subject, Topology};

use super::*;
use crate::hosts::hooks::{DeviceHooks, Hooks};

const NEVER: Nanos = Nanos::from_secs(3600);

/// A device's commands, and the file that they write to.
struct Bench {
    file: PathBuf,
    hooks: BTreeMap<String, DeedHook>,
}

impl Bench {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("switchmark-deeds-{}-{number}", std::process::id());
        Self { file: std::env::temp_dir().join(name), hooks: BTreeMap::new() }
    }

    /// A disturbance whose commands log its name and then continue with the given text.
    fn deed(mut self, name: &str, run: &str, undo: Option<&str>) -> Self {
        let file = self.file.display();
        let line = |what: &str, then: &str| {
            format!("echo \"{what} $SWITCHMARK_DEED of $SWITCHMARK_DEVICE\" >> '{file}'; {then}")
        };
        let timeout = Nanos::from_secs(20);
        let undo = undo.map(|then| line("undo", then));
        self.hooks.insert(
            name.to_owned(),
            DeedHook { run: line("do", run), undo, timeout, ready: None, settle: Nanos::ZERO },
        );
        self
    }

    fn subjects(&self) -> Subjects {
        let hooks = DeviceHooks { deeds: self.hooks.clone(), ..DeviceHooks::default() };
        Subjects::new(Hooks::from([("sw1".to_owned(), hooks)]))
    }

    /// Carries events out; `meanwhile` gets the request to stop and the end of the trial.
    fn carry_out(
        &self,
        events: Vec<Event>,
        meanwhile: impl FnOnce(&Stop, &Stop) + Send,
    ) -> Result<Vec<DeedRecord>, TrialError> {
        let mut trial = Trial::quick("deeds", Vec::new(), NEVER, Gate::Flood);
        trial.subject = Some(Subject { device: "sw1".to_owned(), variant: None });
        trial.events = events;
        let start = clock::monotonic();
        let window = Window { start, stop: start + NEVER, closed: start + NEVER };
        let (stop, over, subjects) = (Stop::new(), Stop::new(), self.subjects());
        let topology = Topology::new("none", Vec::new(), Vec::new());
        let context = TrialContext { trial: &trial, topology: &topology, lab: None, stop: &stop };
        thread::scope(|scope| {
            scope.spawn(|| meanwhile(&stop, &over));
            carry_out(context, window, &subjects, &over)
        })
    }

    /// Actions so far, in order.
    fn done(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        text.lines().map(|line| line.replace(" of sw1", "")).collect()
    }

    /// Waits until this many actions are done.
    #[expect(clippy::disallowed_methods, reason = "a command of the test's own is waited for")]
    fn wait_for(&self, lines: usize) {
        while self.done().len() < lines {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

fn at_once(name: &str) -> Event {
    Event { at: Nanos::ZERO, deed: Deed::Do { name: name.to_owned() } }
}

fn undo(at: Nanos, name: &str) -> Event {
    Event { at, deed: Deed::Undo { name: name.to_owned() } }
}

fn nothing(_: &Stop, _: &Stop) {}

#[test]
fn what_is_undone_in_time_is_undone_once() {
    let bench = Bench::new().deed("pull", "true", Some("true"));
    let soon = Nanos::from_millis(30);
    let deeds = bench.carry_out(vec![at_once("pull"), undo(soon, "pull")], nothing).expect("done");
    assert_eq!((deeds.len(), deeds[1].at >= soon), (2, true), "{deeds:?}");
    assert_eq!(bench.done(), ["do pull", "undo pull"]);
}

#[test]
fn a_load_that_is_over_early_and_a_user_who_stops_leave_nothing_done() {
    for user_stops in [false, true] {
        let bench = Bench::new().deed("pull", "true", Some("true"));
        let deeds = bench.carry_out(vec![at_once("pull"), undo(NEVER, "pull")], |stop, over| {
            bench.wait_for(1);
            if user_stops { stop.ask() } else { over.ask() }
        });
        assert_eq!(deeds.expect("both began").len(), 1);
        assert_eq!(bench.done(), ["do pull", "undo pull"], "the user stops: {user_stops}");
    }
}

#[test]
fn a_command_that_is_cut_short_is_undone_to_its_end() {
    let bench = Bench::new().deed("pull", "sleep 60", Some("sleep 0.2; echo undone >> \"$FILE\""));
    let line = bench.hooks["pull"].undo.clone().expect("it has a way back");
    let mut bench = bench;
    let line = line.replace("$FILE", &bench.file.display().to_string());
    bench.hooks.get_mut("pull").expect("it was put there").undo = Some(line);
    let failed = bench.carry_out(vec![at_once("pull")], |stop, _| {
        bench.wait_for(1);
        stop.ask();
    });
    assert!(matches!(failed, Err(TrialError::Failed(_))), "{failed:?}");
    assert_eq!(bench.done(), ["do pull", "undo pull", "undone"]);
}

#[test]
fn a_deed_that_fails_is_told_and_undone_and_so_are_those_before_it() {
    let bench = Bench::new()
        .deed("pull", "true", Some("true"))
        .deed("kill", "echo first >&2; echo no such process >&2; exit 3", Some("true"))
        .deed("drain", "true", None);
    let events = ["pull", "drain", "kill", "pull"].map(at_once).to_vec();
    let error = bench.carry_out(events, nothing).expect_err("it fails").to_string();
    for part in ["do `kill` to device `sw1`", "exit status: 3: no such process", "by hand"] {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(bench.done(), ["do pull", "do drain", "do kill", "undo kill", "undo pull"]);
}

#[test]
fn a_device_that_stays_changed_ends_the_run() {
    let bench = Bench::new().deed("pull", "true", Some("echo unreachable >&2; exit 255"));
    let error = bench.carry_out(vec![at_once("pull")], |_, over| {
        bench.wait_for(1);
        over.ask();
    });
    let Err(TrialError::NotUndone(left)) = error else { panic!("{error:?}") };
    let words = left.to_string();
    for part in [
        "device `sw1` is left with `pull` done to it",
        "exit status: 255: unreachable",
        "what leads back is `echo",
        "SWITCHMARK_DEVICE=sw1",
    ] {
        assert!(words.contains(part), "{words}");
    }
    assert_eq!(bench.done(), ["do pull", "undo pull", "undo pull"], "it is tried twice");
}

/// A late undo makes the outage longer than requested, so the trial fails; the device is restored.
#[test]
fn a_way_back_that_works_at_the_second_try_fails_its_trial_alone() {
    let bench = Bench::new();
    let once = format!("test $(grep -c undo '{}') -gt 1", bench.file.display());
    let bench = bench.deed("pull", "true", Some(&once));
    let failed = bench.carry_out(vec![at_once("pull"), undo(Nanos::ZERO, "pull")], nothing);
    assert!(matches!(failed, Err(TrialError::Failed(_))), "{failed:?}");
    assert_eq!(bench.done(), ["do pull", "undo pull", "undo pull"]);
}

#[test]
fn a_panic_undoes_too() {
    let bench = Bench::new().deed("pull", "true", Some("true"));
    let subjects = bench.subjects();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let (subjects, begun) = (&subjects, Vec::new());
        let mut doing = Doing { device: "sw1", port: None, subjects, lab: None, begun };
        doing.begin("pull", &Stop::new()).expect("it is done");
        panic!("on purpose");
    }));
    assert!(panicked.is_err());
    assert_eq!(bench.done(), ["do pull", "undo pull"]);
}

#[test]
fn what_an_earlier_process_left_is_undone_whether_it_was_done_or_not() {
    let bench = Bench::new().deed("pull", "true", Some("true"));
    for _ in 0..2 {
        undo_left(&bench.subjects(), "sw1", "pull", None).expect("it is undone");
    }
    assert_eq!(bench.done(), ["undo pull", "undo pull"]);
    let gone = undo_left(&bench.subjects(), "sw1", "drain", None).expect_err("it is not known");
    assert!(gone.to_string().starts_with("device `sw1` is left with `drain` done"), "{gone}");
}

#[test]
fn what_the_testbed_does_not_know_is_refused() {
    let bench = Bench::new().deed("drain", "true", None);
    let refused = |events| bench.carry_out(events, nothing).expect_err("refused").to_string();
    let unknown = "do `pull` to device `sw1`: the testbed has no such deed";
    assert_eq!(refused(vec![at_once("pull")]), unknown);
    let no_way = "undo `drain` of device `sw1`: no command leads back";
    assert_eq!(refused(vec![undo(Nanos::ZERO, "drain")]), no_way);
    assert!(bench.done().is_empty());
}
