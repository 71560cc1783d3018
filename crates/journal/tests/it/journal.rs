//! The journal: what is recorded is replayed, what broke off is run again, and nothing that went
//! wrong disturbs what was kept.

use std::path::{Path, PathBuf};

use crate::synthetic::{self, Chance, echo_record, echo_trial, meta, topology};
use crate::testbed::testbed;
use journal::{Journal, ReplayError, Store, StoreError, hint_for};
use page::{Figure, Key, Metric, Unit};
use scripted::Scripted;
use study::run::{RunMeta, RunStatus};
use study::{ImportedSpec, StudySpec};
use trial::topology::KnownDeed;
use trial::{BlockIndex, Bulk, Deed, Event, FlowKind, Path as Way, Protocol, Subject};
use trial::{Outcome, Recorded, Testbed, TestbedError, Trial};

/// A directory of this test's own, gone afterwards.
pub struct Place(PathBuf);

impl Place {
    pub fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("journal-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("the target directory can be written");
        Self(path)
    }

    pub fn store(&self) -> PathBuf {
        self.0.join("store.sqlite")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn trial(n: u32) -> Trial {
    echo_trial(Protocol::Udp, 64, Way::Device, n)
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut link = error.source();
    while let Some(cause) = link {
        text = format!("{text}: {cause}");
        link = cause.source();
    }
    text
}

#[test]
fn what_was_recorded_is_replayed_after_reopening() {
    let place = Place::new("replay");
    let store = Store::open(&place.store()).expect("a new store");
    store.create_run(&meta("r1")).expect("a new run");
    let (inner, ran) = testbed(100);
    let mut journal = Journal::new(&store, "r1", inner).expect("a journal");
    let first: Vec<_> = (0..5).map(|n| journal.run(&trial(n)).expect("it runs")).collect();
    assert_eq!((journal.counts().run, journal.counts().replayed, ran.get()), (5, 0, 5));
    drop(journal);
    drop(store);

    let store = Store::open(&place.store()).expect("the same store");
    let (inner, ran) = testbed(100);
    let mut journal = Journal::new(&store, "r1", inner).expect("a journal");
    assert_eq!(journal.recorded(), 5);
    let again: Vec<_> = (0..5).map(|n| journal.run(&trial(n)).expect("it replays")).collect();
    assert_eq!(first, again, "a replayed record equals the one first returned, to the last bit");
    journal.run(&trial(5)).expect("it goes on");
    assert_eq!((journal.counts().run, journal.counts().replayed, ran.get()), (1, 5, 1));
    assert_eq!(store.records("r1").expect("readable").len(), 6);

    let (topology, records) = (topology(), store.records("r1").expect("readable"));
    let mut alone = Recorded::in_order(&topology, &records);
    for n in 0..6 {
        alone.run(&trial(n)).expect("it replays without a testbed");
    }
    assert_eq!(alone.broke_off(), None);
    let end = alone.run(&trial(6)).expect("a failure");
    assert!(matches!(end.outcome, Outcome::Failed { .. }), "{end:?}");
    assert_eq!(alone.broke_off(), Some(trial(6).label.as_str()));
}

/// Streams of earlier versions name one congestion control, and later ones also what may stand in
/// for it: a journal of the earlier answers the later, and no other algorithm does.
#[test]
fn streams_recorded_before_a_stand_in_was_named_are_replayed() {
    let streams = |control: &str| {
        let mut trial = trial(0);
        trial.flows[0].kind = FlowKind::Bulk(Bulk {
            streams: 1,
            congestion_control: control.to_owned(),
            interval: measure::Nanos::from_millis(100),
        });
        trial
    };
    let topology = topology();
    let recorded = vec![(streams("cubic"), echo_record(0, 64, 20_000.0, &mut Chance::new(1)))];
    let index = BlockIndex::from_records(&recorded).expect("an index");
    for (asked, answered) in [("cubic", true), ("cubic reno", true), ("reno", false)] {
        let in_order = Recorded::in_order(&topology, &recorded).run(&streams(asked));
        assert_eq!(in_order.is_ok(), answered, "{asked}");
        let mut block = Recorded::within_block(&topology, &recorded, &index, 0);
        block.run(&streams(asked)).expect("a record, or a failure");
        assert_eq!(block.broke_off().is_none(), answered, "{asked}");
    }
}

/// Whatever happens while a device is put into a variant, or after, whoever goes on knows of it.
#[test]
fn the_variant_applied_last_is_known_to_whoever_goes_on() {
    let place = Place::new("variant");
    let store = Store::open(&place.store()).expect("a new store");
    store.create_run(&meta("r1")).expect("a new run");
    let interrupted = |_: usize, _: &Trial| Err(TestbedError::Interrupted);
    let inner = Box::new(Scripted::new(topology(), interrupted));
    let mut journal = Journal::new(&store, "r1", inner).expect("a journal");
    let mut asked = trial(0);
    for (variant, last) in
        [(None, None), (Some("v1"), Some("v1")), (Some("v2"), Some("v2")), (None, Some("v2"))]
    {
        let variant = variant.map(str::to_owned);
        asked.subject = Some(Subject { device: "sw1".to_owned(), variant });
        assert!(matches!(journal.run(&asked), Err(TestbedError::Interrupted)));
        let reopened = Store::open(&place.store()).expect("the same store");
        let applied = reopened.applied("r1").expect("readable");
        assert_eq!(applied.get("sw1").map(String::as_str), last);
    }
}

/// Whatever happens while something is done to a device, whoever goes on knows that it may be done
/// still.
#[test]
fn a_deed_that_is_perhaps_not_undone_is_known_to_whoever_goes_on() {
    let known =
        |name: &str, undo| KnownDeed { name: name.to_owned(), undo, settle: measure::Nanos::ZERO };
    let mut place_of_it = topology();
    place_of_it.hosts.iter_mut().for_each(|host| host.reach = format!("ssh://{}", host.name));
    place_of_it.devices[0].deeds = vec![known("pull", true), known("kill", false)];
    let device = place_of_it.devices[0].name.clone();
    let run_of = RunMeta { topology: place_of_it.clone(), ..meta("r1") };
    let not_undone = |trial: &Trial| TestbedError::NotUndone {
        label: trial.label.clone(),
        cause: "it is left".into(),
    };
    for (ends, left) in [("well", 0), ("stopped", 0), ("not undone", 1), ("killed", 1)] {
        let place = Place::new(&format!("deed-{}", ends.replace(' ', "-")));
        let store = Store::open(&place.store()).expect("a new store");
        store.create_run(&run_of).expect("a new run");
        let file = place.store();
        let seen = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let note = std::rc::Rc::clone(&seen);
        let play = move |_: usize, trial: &Trial| {
            let reader = Store::open(&file).expect("the same store");
            note.borrow_mut().extend(reader.begun_deeds("r1").expect("readable"));
            match ends {
                "well" => Ok(echo_record(0, 64, 20_000.0, &mut Chance::new(1))),
                "stopped" => Err(TestbedError::Interrupted),
                "killed" => panic!("on purpose"),
                _ => Err(not_undone(trial)),
            }
        };
        let inner = Box::new(Scripted::new(place_of_it.clone(), play));
        let mut journal = Journal::new(&store, "r1", inner).expect("a journal");
        let mut asked = trial(0);
        asked.subject = Some(Subject { device: device.clone(), variant: None });
        let deed = |name: &str| Deed::Do { name: name.to_owned() };
        asked.events = ["pull", "kill", "pull"]
            .map(|name| Event { at: measure::Nanos::ZERO, deed: deed(name) })
            .to_vec();
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| journal.run(&asked)));
        assert_eq!(ran.is_err(), ends == "killed");
        let during: Vec<String> = seen.borrow().iter().map(|b| b.deed.clone()).collect();
        assert_eq!(during, ["pull"], "{ends}");
        let begun = Store::open(&place.store()).expect("the same store").begun_deeds("r1");
        assert_eq!(begun.expect("readable").len(), left, "{ends}");
    }
}

#[test]
fn a_run_that_is_older_than_deeds_goes_on() {
    let store = Store::open(Path::new(":memory:")).expect("a new store");
    store.create_run(&meta("r1")).expect("a new run");
    let mut inner = testbed(1).0;
    inner.topology.devices[0].deeds =
        vec![KnownDeed { name: "pull".to_owned(), undo: true, settle: measure::Nanos::ZERO }];
    assert!(Journal::new(&store, "r1", inner).is_ok());
}

#[test]
fn a_changed_plan_is_told() {
    let place = Place::new("changed");
    let store = Store::open(&place.store()).expect("a new store");
    store.create_run(&meta("r1")).expect("a new run");
    let mut journal = Journal::new(&store, "r1", testbed(9).0).expect("a journal");
    journal.run(&trial(0)).expect("it runs");
    let mut journal = Journal::new(&store, "r1", testbed(9).0).expect("a journal");
    let other = echo_trial(Protocol::Tcp, 1518, Way::Device, 0);
    let error = journal.run(&other).expect_err("the plan changed");
    let text = chain(&error);
    assert!(text.contains("`rtt udp 64 idle`") && text.contains("`rtt tcp 1518 idle`"), "{text}");
    assert!(hint_for(&error).is_some_and(|h| h.contains("start a new run")));
    // Only a setting differs: the labels cannot tell, so the text does.
    let mut longer = trial(0);
    longer.phases.load = longer.phases.load * 2;
    let error = journal.run(&longer).expect_err("the plan changed");
    assert!(chain(&error).contains("other settings"), "{}", chain(&error));
    let TestbedError::NotReplayed { cause, .. } = error else { panic!("{error:?}") };
    let Some(ReplayError::PlanChanged(changed)) = cause.downcast_ref() else { panic!("{cause}") };
    assert_eq!(changed.ordinal, 0);
    // And the same where nothing is measured.
    let (topology, records) = (topology(), store.records("r1").expect("readable"));
    let error = Recorded::in_order(&topology, &records).run(&other).expect_err("it differs");
    assert!(hint_for(&error).is_some_and(|h| h.contains("start a new run")));
}

#[test]
fn trailing_failures_are_run_again_and_kept_as_history() {
    let place = Place::new("failed");
    let store = Store::open(&place.store()).expect("a new store");
    store.create_run(&meta("r1")).expect("a new run");
    let mut journal = Journal::new(&store, "r1", testbed(3).0).expect("a journal");
    for n in 0..2 {
        journal.run(&trial(n)).expect("it runs");
    }
    let failed = journal.run(&trial(2)).expect("a failure is a record");
    assert!(matches!(failed.outcome, Outcome::Failed { .. }));
    let gone = journal.run(&trial(3)).expect_err("the testbed is gone");
    assert!(matches!(gone, TestbedError::Lost { .. }));
    let before = store.records("r1").expect("readable");
    assert_eq!(store.runs().expect("readable")[0].failed, 1);

    // Without a testbed the failure is what there is; with one it is tried again.
    let topology = topology();
    let mut alone = Recorded::in_order(&topology, &before);
    let replayed: Vec<_> = (0..3).map(|n| alone.run(&trial(n)).expect("it replays")).collect();
    assert!(matches!(replayed[2].outcome, Outcome::Failed { .. }));
    let (inner, ran) = testbed(9);
    let mut journal = Journal::new(&store, "r1", inner).expect("a journal");
    for n in 0..4 {
        assert!(journal.run(&trial(n)).expect("it goes on").outcome.is_valid());
    }
    assert_eq!((journal.counts().replayed, ran.get()), (2, 2));
    let after = store.records("r1").expect("readable");
    assert_eq!(after[..2], before[..2], "earlier trials are untouched");
    assert_eq!(after.len(), 4);
    let db = rusqlite::Connection::open(place.store()).expect("a database");
    let kept: (i64, String) = db
        .query_row("SELECT ordinal, record FROM abandoned_trial", [], |r| {
            Ok((r.get(0)?, r.get(1)?))
        })
        .expect("one row of history");
    assert!(kept.0 == 2 && kept.1.contains("agent on h2 ended"), "{kept:?}");
}

#[test]
fn a_failure_amid_finished_trials_is_history() {
    let place = Place::new("amid");
    let store = Store::open(&place.store()).expect("a new store");
    store.create_run(&meta("r1")).expect("a new run");
    let mut journal = Journal::new(&store, "r1", testbed(1).0).expect("a journal");
    journal.run(&trial(0)).expect("a failure is a record");
    // The study tried again, and this time it worked.
    let mut second = trial(0);
    second.attempt = 1;
    let (inner, ran) = testbed(9);
    let mut live = Journal::new(&store, "r1", inner).expect("a journal");
    assert_eq!(live.recorded(), 0, "so far the failure is the end");
    live.run(&trial(0)).expect("it is run again");
    live.run(&second).expect("it runs");
    let mut again = Journal::new(&store, "r1", testbed(9).0).expect("a journal");
    again.run(&trial(0)).expect("it replays");
    again.run(&second).expect("it replays");
    assert_eq!((again.counts().replayed, ran.get()), (2, 2));
}

#[test]
fn studies_replay_to_the_same_figures_and_fill_a_report() {
    let place = Place::new("studies");
    let store = Store::open(&place.store()).expect("a new store");
    let mut latency = study::LatencySpec::quick();
    // Fewer blocks would not show what the bridge adds.
    (latency.blocks, latency.protocols) = (study::Blocks::known(6), vec![Protocol::Udp]);
    let mut forwarding = study::ForwardingSpec::quick();
    forwarding.blocks = study::Blocks::known(2);
    let mut run = meta("r1");
    run.studies = vec![StudySpec::Latency(latency), StudySpec::Forwarding(forwarding)];
    store.create_run(&run).expect("a new run");
    assert_eq!(store.load("r1").expect("readable"), run);
    let figures = |testbed: &mut dyn Testbed| -> Vec<_> {
        let one = |s: &StudySpec| s.run(testbed, run.seed).expect("the study ends");
        run.studies.iter().flat_map(one).collect()
    };
    let mut live = Journal::new(&store, "r1", testbed(5_000).0).expect("a journal");
    let first = figures(&mut live);
    assert!(live.counts().run > 20, "{:?}", live.counts());
    let records = store.records("r1").expect("readable");
    let mut replay = Recorded::in_order(&run.topology, &records);
    assert_eq!(figures(&mut replay), first, "figures are a pure function of the records");
    let trials = study::run::TrialTotals::from_trials(&records);
    let mut replay = Recorded::in_order(&run.topology, &records);
    let mut asked = 0;
    let page = |(place, study): (study::StudyPlace, &StudySpec)| {
        let found = study.find_as(place, &mut replay, &mut asked, run.seed);
        (place.number, found.expect("the study ends").page())
    };
    let pages: Vec<_> = study::numbered(&run.studies).map(page).collect();
    let input = study::run::ReportInput {
        meta: &run,
        figures: &first,
        claims: &[],
        pages: &pages,
        trials: &trials,
        comparable: None,
    };
    let html = render::html(study::run::document(&[input]), synthetic::BEGAN).expect("it renders");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("synthetic-studies.html");
    std::fs::write(path, &html).expect("the target directory can be written");
    for text in [
        "<h2>Added latency</h2>",
        "direct cable",
        "Throughput, 64 octets",
        "title=\"search bracket\"",
    ] {
        assert!(html.contains(text), "missing: {text}");
    }
}

#[test]
fn another_testbed_is_refused() {
    let store = Store::open(Path::new(":memory:")).expect("a new store");
    store.create_run(&meta("r1")).expect("a new run");
    let mut other = testbed(1).0;
    other.topology.hosts[0].ports[0].name = "eth7".to_owned();
    let error = Journal::new(&store, "r1", other).err().expect("it differs");
    assert!(matches!(error, StoreError::TestbedChanged { .. }) && error.hint().is_some());
}

/// Set in the child of [`a_killed_writer_loses_at_most_the_trial_under_way`].
const CHILD: &str = "SWITCHMARK_SYNTHETIC_JOURNAL";

#[test]
fn a_killed_writer_loses_at_most_the_trial_under_way() {
    if let Ok(path) = std::env::var(CHILD) {
        write_until_killed(Path::new(&path));
    }
    let place = Place::new("killed");
    let program = std::env::current_exe().expect("this test has a file");
    let mut child = std::process::Command::new(program)
        .args([
            "--exact",
            "journal::a_killed_writer_loses_at_most_the_trial_under_way",
            "--nocapture",
        ])
        .env(CHILD, place.store())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("this test runs itself");
    let out = std::io::BufReader::new(child.stdout.take().expect("it is piped"));
    let said = std::io::BufRead::lines(out)
        .map_while(Result::ok)
        .filter_map(|l| l.strip_prefix("recorded ").and_then(|n| n.parse::<u32>().ok()))
        .find(|n| *n >= 7)
        .expect("it recorded seven trials before it ended");
    child.kill().expect("SIGKILL");
    child.wait().expect("it ended");

    let store = Store::open(&place.store()).expect("it opens again");
    assert_eq!(store.status("r1").expect("readable"), RunStatus::Running);
    let records = store.records("r1").expect("readable");
    assert!(records.len() >= said as usize, "{} of at least {said}", records.len());
    for (n, (kept, record)) in records.iter().enumerate() {
        let n = n as u32;
        assert_eq!(*kept, trial(n));
        let expect = echo_record(u64::from(n), 64, 30_000.0, &mut Chance::new(u64::from(n)));
        assert_eq!(*record, expect, "trial {n} is whole");
    }
    let (inner, ran) = testbed(100);
    let mut journal = Journal::new(&store, "r1", inner).expect("no lock is left");
    for n in 0..=records.len() as u32 {
        journal.run(&trial(n)).expect("it goes on");
    }
    assert_eq!(ran.get(), 1);
}

fn write_until_killed(path: &Path) -> ! {
    let store = Store::open(path).expect("a new store");
    store.create_run(&meta("r1")).expect("a new run");
    let mut journal = Journal::new(&store, "r1", testbed(u64::MAX).0).expect("a journal");
    for n in 0..5_000 {
        journal.run(&trial(n)).expect("it runs");
        println!("recorded {}", n + 1);
    }
    std::process::exit(1)
}

#[test]
fn runs_are_found_by_prefix_and_latest() {
    let store = Store::open(Path::new(":memory:")).expect("a new store");
    assert!(matches!(store.load("latest"), Err(StoreError::NoRun { .. })));
    for (id, later) in
        [("20261121-140312-3f9a", 0), ("20261121-150000-aaaa", 2), ("20261121-15", 1)]
    {
        let mut run = meta(id);
        run.created_unix_ns += later;
        store.create_run(&run).expect("a new run");
    }
    let check = |asked: &str, expect: Option<&str>| {
        let found = store.load(asked).ok().map(|m| m.id);
        assert_eq!(found.as_deref(), expect, "{asked}");
    };
    check("latest", Some("20261121-150000-aaaa"));
    check("20261121-14", Some("20261121-140312-3f9a"));
    check("20261121-15", Some("20261121-15"));
    for nothing in ["2026", "%", "_", "", "7"] {
        check(nothing, None);
    }
    for id in ["20261121-140312-3f9a", "20261121-15"] {
        store.label(id, Some("desk")).expect("writable");
        store.label(id, Some(&format!("{id} on the desk"))).expect("writable");
    }
    check("20261121-15 on the desk", Some("20261121-15"));
    store.label("20261121-15", Some("latest")).expect("writable");
    check("latest", Some("20261121-150000-aaaa"));
    let Err(ambiguous) = store.load("2026") else { panic!("it fits three") };
    assert!(matches!(&ambiguous, StoreError::Ambiguous { fitting, .. } if fitting.len() == 3));
    assert!(store.create_run(&meta("20261121-15")).is_err(), "an id is used once");
}

#[test]
fn status_and_meta_come_back() {
    let store = Store::open(Path::new(":memory:")).expect("a new store");
    let run = meta("r1");
    store.create_run(&run).expect("a new run");
    assert_eq!(store.load("r1").expect("readable"), run);
    let failed = RunStatus::Failed { reason: "agent on h2 ended".to_owned() };
    for status in [RunStatus::Done, RunStatus::Interrupted, failed, RunStatus::Running] {
        store.set_status("r1", &status).expect("writable");
        assert_eq!(store.status("r1").expect("readable"), status);
        assert_eq!(store.runs().expect("readable")[0].status, status);
    }
    assert!(matches!(store.set_status("r2", &RunStatus::Done), Err(StoreError::NoRun { .. })));
}

/// Figures that an earlier version imported are part of its plan, with words in their conditions.
#[test]
fn figures_of_an_earlier_version_come_in_code_words() {
    let place = Place::new("earlier");
    let mut figure = Figure::new(Metric::Rtt, Unit::Nanoseconds, Some(1.0));
    figure.set(Key::Schedule, "open-loop");
    figure.set(Key::ScheduleRate, 1_000_u64);
    let spec = ImportedSpec {
        files: vec!["irtt.json".to_owned()],
        figures: vec![figure],
        unread: Vec::new(),
    };
    let run = RunMeta { studies: vec![StudySpec::Imported(spec)], ..meta("r1") };
    Store::open(&place.store()).and_then(|store| store.create_run(&run)).expect("a new run");
    let db = rusqlite::Connection::open(place.store()).expect("a database");
    let was = r#"replace(meta, '"open-loop","schedule_rate_per_s":1000', '"open loop 1000/s"')"#;
    db.execute(&format!("UPDATE run SET meta = {was}"), []).expect("writable");
    let meta: String = db.query_row("SELECT meta FROM run", [], |row| row.get(0)).expect("a run");
    assert!(meta.contains("open loop 1000/s"), "{meta}");
    drop(db);
    let store = Store::open(&place.store()).expect("a store");
    assert_eq!(store.load("r1").expect("readable"), run);
}

#[test]
fn runs_are_listed_newest_first_with_what_is_said_of_them() {
    let place = Place::new("listed");
    let store = Store::open(&place.store()).expect("a store");
    for (at, id) in ["r1", "r2", "r3"].into_iter().enumerate() {
        let mut run = meta(id);
        run.created_unix_ns = at as u64;
        store.create_run(&run).expect("a new run");
        let (inner, _) = testbed(1);
        Journal::new(&store, id, inner).expect("a journal").run(&trial(0)).expect("it runs");
    }
    store.label("r2", Some("before")).expect("writable");
    store.note("r2", Some("a loose cable")).expect("writable");
    store.held_by("r3", "somebody").expect("writable");
    let listed = store.runs().expect("readable");
    assert_eq!(listed.iter().map(|run| run.id.as_str()).collect::<Vec<_>>(), ["r3", "r2", "r1"]);
    assert_eq!(listed[1].label.as_deref(), Some("before"));
    assert_eq!(listed[1].note.as_deref(), Some("a loose cable"));
    assert_eq!(listed[0].holder.as_deref(), Some("somebody"));
    store.label("r2", None).expect("writable");
    assert_eq!(store.runs().expect("readable")[1].label, None);

    // All or none.
    let ids = |of: &[&str]| of.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    let missing = store.remove(&ids(&["r1", "r9"]));
    assert!(matches!(missing, Err(StoreError::NoRun { .. })), "{missing:?}");
    assert_eq!(store.runs().expect("readable").len(), 3);
    store.remove(&ids(&["r1", "r3"])).expect("writable");
    assert_eq!(store.runs().expect("readable").len(), 1);
    assert_eq!(store.records("r2").expect("readable").len(), 1);
    let db = rusqlite::Connection::open(place.store()).expect("a database");
    let trials: i64 =
        db.query_row("SELECT count(*) FROM trial", [], |row| row.get(0)).expect("a count");
    assert_eq!(trials, 1, "a run's trials go with it");
}

#[test]
fn unusable_paths_and_files_are_told() {
    let place = Place::new("paths");
    let check = |path: &Path, expect: &str| {
        let error = Store::open(path).err().unwrap_or_else(|| panic!("{} opened", path.display()));
        let text = chain(&error);
        assert!(text.contains(expect) && text.contains("store"), "{text}");
        assert!(error.hint().is_some_and(|h| h.contains("--journal FILE")), "{text}");
    };
    let file = place.0.join("plain");
    std::fs::write(&file, "this is no database, whatever its name may say, and long enough")
        .expect("writable");
    check(&file, "not a database");
    check(&file.join("below/store.sqlite"), "create directory");
    check(&place.0, "unable to open");
    // Not even root can create a file there.
    check(Path::new("/proc/switchmark-store.sqlite"), "unable to open");

    let foreign = place.0.join("foreign.sqlite");
    let db = rusqlite::Connection::open(&foreign).expect("a database");
    db.execute_batch("CREATE TABLE somebody_elses (x)").expect("writable");
    drop(db);
    let before = std::fs::read(&foreign).expect("readable");
    check(&foreign, "another program's database");
    assert_eq!(std::fs::read(&foreign).expect("readable"), before, "it is left as it was");
}

#[test]
fn a_newer_store_is_refused_and_untouched() {
    let place = Place::new("newer");
    drop(Store::open(&place.store()).expect("a new store"));
    let db = rusqlite::Connection::open(place.store()).expect("a database");
    db.pragma_update(None, "user_version", 99).expect("writable");
    drop(db);
    let error = Store::open(&place.store()).expect_err("it is newer");
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");
    assert!(error.hint().is_some_and(|h| h.contains("newer switchmark")));
}

#[test]
fn many_may_open_a_new_store_at_once() {
    for round in 0..30 {
        let place = Place::new(&format!("at-once-{round}"));
        let path = place.store();
        let gate = std::sync::Barrier::new(6);
        std::thread::scope(|scope| {
            let openers: Vec<_> = (0..6)
                .map(|_| {
                    scope.spawn(|| {
                        gate.wait();
                        Store::open(&path).map(drop)
                    })
                })
                .collect();
            for opener in openers {
                opener.join().expect("it ends").unwrap_or_else(|e| panic!("round {round}: {e:?}"));
            }
        });
    }
}

#[test]
fn two_controllers_can_not_both_record_a_trial() {
    let place = Place::new("two");
    let (a, b) = (Store::open(&place.store()), Store::open(&place.store()));
    let (a, b) = (a.expect("a new store"), b.expect("the same store"));
    a.create_run(&meta("r1")).expect("a new run");
    let mut first = Journal::new(&a, "r1", testbed(9).0).expect("a journal");
    let mut second = Journal::new(&b, "r1", testbed(9).0).expect("a journal");
    first.run(&trial(0)).expect("it runs");
    second.run(&trial(0)).expect("it replays what the other recorded");
    assert_eq!(second.counts().replayed, 1);
}

#[test]
fn ten_thousand_trials_resume_in_one_pass() {
    let place = Place::new("many");
    let store = Store::open(&place.store()).expect("a new store");
    store.create_run(&meta("r1")).expect("a new run");
    let mut journal = Journal::new(&store, "r1", testbed(2).0).expect("a journal");
    journal.run(&trial(0)).expect("it runs");
    drop(journal);
    // Nine thousand nine hundred and ninety-nine copies, in one transaction.
    let db = rusqlite::Connection::open(place.store()).expect("a database");
    db.execute_batch(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
         INSERT INTO trial SELECT run, i, trial_hash, label, outcome, started_unix_ns, trial, record, packed
         FROM trial, n WHERE ordinal = 0",
    )
    .expect("writable");
    let (inner, ran) = testbed(9);
    let mut journal = Journal::new(&store, "r1", inner).expect("a journal");
    for _ in 0..10_000 {
        journal.run(&trial(0)).expect("it replays");
    }
    assert_eq!((journal.counts().replayed, ran.get()), (10_000, 0));
}

/// Root writes wherever it likes, so an archive is one here by its file system: a read-only view of
/// the folder in a mount namespace of the test's own.
#[test]
fn an_archive_is_read_where_nothing_can_be_written() {
    let place = Place::new("archive");
    let path = place.store();
    let store = Store::open(&path).expect("a store");
    store.create_run(&meta("archived")).expect("a run");
    drop(store);
    let of = |path: &Path| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777
    };
    assert_eq!(of(&path), 0o600, "nobody else's business");
    let folder = place.0.clone();
    let read = std::thread::spawn(move || {
        use nix::mount::{MsFlags, mount};
        use nix::sched::{CloneFlags, unshare};
        if unshare(CloneFlags::CLONE_NEWNS).is_err() {
            eprintln!("skipped: a mount namespace needs root");
            return None;
        }
        let none = None::<&str>;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).expect("private");
        mount(Some(&folder), &folder, none, MsFlags::MS_BIND, none).expect("a view");
        let flags = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
        mount(none, &folder, none, flags, none).expect("read-only");
        assert!(std::fs::write(folder.join("x"), b"").is_err(), "it cannot be written");
        Some(Store::read(&path).and_then(|store| store.runs()).map(|runs| runs.len()))
    });
    if let Some(runs) = read.join().expect("no panic") {
        assert_eq!(runs.expect("an archive is read"), 1);
    }
    let none = place.0.join("none.db");
    assert!(Store::read(&none).and_then(|store| store.runs()).expect("empty").is_empty());
    assert!(!none.exists(), "reading makes nothing");
}

/// Whoever only looks changes neither the file nor its version, and sees what others write.
#[test]
fn a_look_changes_nothing_and_sees_what_is_written() {
    let place = Place::new("look");
    let path = place.store();
    let store = Store::open(&path).expect("a store");
    for id in ["r1", "r2"] {
        store.create_run(&meta(id)).expect("a new run");
        store.set_status(id, &RunStatus::Done).expect("writable");
    }
    let look = Store::untouched(&path).expect("readable");
    let before = look.revision().expect("readable");
    assert_eq!(look.revision().expect("readable"), before);
    let (inner, _) = testbed(100);
    let mut journal = Journal::new(&store, "r1", inner).expect("a journal");
    for n in 0..5 {
        journal.run(&trial(n)).expect("it runs");
    }
    let failed = |_: usize, _: &Trial| Ok(trial::TrialRecord::failed(1, "gone".to_owned()));
    let inner = Box::new(Scripted::new(topology(), failed));
    Journal::new(&store, "r2", inner).expect("a journal").run(&trial(0)).expect("it runs");
    assert_ne!(look.revision().expect("readable"), before);

    let mut runs = look.uncounted().expect("readable");
    for run in &mut runs {
        look.count(run).expect("readable");
    }
    runs.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!((runs[0].trials, runs[0].failed, &runs[0].status), (5, 0, &RunStatus::Done));
    assert_eq!((runs[1].trials, runs[1].failed, &runs[1].status), (1, 1, &RunStatus::NoFigures));
    let newest = look.newest_records("r1", 1, 3).expect("readable");
    assert_eq!(newest.iter().map(|(at, ..)| *at).collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(look.newest_records("r1", 4, 3).expect("readable").len(), 1);
    drop(look);
    drop(journal);
    drop(store);

    let db = rusqlite::Connection::open(&path).expect("a database");
    db.execute_batch(
        "DROP TABLE kept_figures; DROP TABLE begun_deed; DROP TABLE watch_visit;
         DROP TABLE watch_hour; DROP TABLE watch_news; ALTER TABLE run DROP COLUMN dictionary;
         ALTER TABLE trial DROP COLUMN packed; ALTER TABLE abandoned_trial DROP COLUMN packed;
         PRAGMA user_version = 3; VACUUM",
    )
    .expect("writable");
    drop(db);
    let octets = std::fs::read(&path).expect("a file");
    let look = Store::untouched(&path).expect("as it is");
    assert_eq!(look.uncounted().expect("readable").len(), 2);
    assert!(Store::untouched(&place.0.join("none/x.db")).is_err(), "no such folder");
    drop(look);
    assert_eq!(std::fs::read(&path).expect("a file"), octets, "not brought up to date");
    let beside = std::fs::read_dir(&place.0).expect("listed").count();
    assert_eq!(beside, 1, "nothing is left beside it");
}
