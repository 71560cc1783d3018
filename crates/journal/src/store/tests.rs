//! A full disk, by way of SQLite's own limit on pages: the one fault that needs the connection
//! itself.

use std::collections::BTreeMap;

use measure::Nanos;
use scripted::Scripted;
use trial::{Gate, Testbed, TestbedError, Topology, Trial, TrialRecord};

use super::*;
use crate::{Journal, hint_for};

/// Answers every trial with a record of many kilobytes.
fn verbose(topology: Topology) -> impl Testbed {
    let long = || TrialRecord::failed(1, "synthetic ".repeat(1000));
    Scripted::new(topology, move |_: usize, _: &Trial| Ok(long()))
}

fn trial(block: u32) -> Trial {
    let load = Nanos::from_millis(1);
    Trial { block, ..Trial::quick("synthetic", Vec::new(), load, Gate::Strict) }
}

/// Of nothing, on a testbed without hosts.
pub(super) fn run_meta() -> RunMeta {
    RunMeta {
        id: "r1".to_owned(),
        created_unix_ns: 1,
        verb: "demo".to_owned(),
        command_line: "switchmark demo".to_owned(),
        folder: PathBuf::new(),
        version: "0".to_owned(),
        seed: 0,
        studies: Vec::new(),
        topology: Topology::new("synthetic", Vec::new(), Vec::new()),
        facts: BTreeMap::new(),
        notes: Vec::new(),
        sweep: None,
        claims: Vec::new(),
        watch: None,
    }
}

#[test]
fn a_full_disk_keeps_what_was_recorded() {
    let topology = run_meta().topology;
    let run = RunMeta { topology: topology.clone(), ..run_meta() };
    let store = Store::open(Path::new(":memory:")).expect("a new store");
    store.create_run(&run).expect("a new run");
    let pages: i64 =
        store.db.pragma_query_value(None, "page_count", |r| r.get(0)).expect("readable");
    store
        .db
        .pragma_update_and_check(None, "max_page_count", pages + 20, |_| Ok(()))
        .expect("it can be limited");
    let mut journal = Journal::new(&store, "r1", Box::new(verbose(topology))).expect("a journal");
    let (mut kept, mut error) = (0, None);
    while error.is_none() && kept < 100 {
        match journal.run(&trial(kept)) {
            Ok(_) => kept += 1,
            Err(e) => error = Some(e),
        }
    }
    let error = error.expect("twenty pages do not hold a hundred trials");
    assert!(kept > 2 && matches!(error, TestbedError::NotRecorded { .. }), "{kept}: {error:?}");
    assert!(hint_for(&error).is_some_and(|h| h.contains("free some space")), "{error:?}");
    assert_eq!(store.records("r1").expect("readable").len(), kept as usize);

    // Space is made: the same journal goes on where it stopped.
    store
        .db
        .pragma_update_and_check(None, "max_page_count", pages + 2000, |_| Ok(()))
        .expect("it can be limited");
    journal.run(&trial(kept)).expect("there is room");
    assert_eq!(store.records("r1").expect("readable").len(), kept as usize + 1);
}

#[test]
fn a_record_that_could_not_be_read_again_is_refused() {
    let store = Store::open(Path::new(":memory:")).expect("a new store");
    let mut record = TrialRecord::failed(1, "synthetic".to_owned());
    // JSON has no NaN: it would be written as null and be no number any more.
    record.hosts.push(trial::record::HostUsage {
        host: "h1".to_owned(),
        usage: trial::record::Usage {
            busy: f64::NAN,
            softirq: 0.0,
            stolen: 0.0,
            foreign: 0.0,
            counters: BTreeMap::new(),
        },
    });
    let error = store.keep("r1", 0, &trial(0), &record).expect_err("it cannot be read back");
    assert!(matches!(error, StoreError::Decode { .. }), "{error:?}");
}

#[test]
fn a_run_that_is_listed_has_its_holder() {
    let store = Store::open(Path::new(":memory:")).expect("a new store");
    store.create_held_run(&run_meta(), "host 1 2 3").expect("a new run");
    let listed = store.uncounted().expect("readable");
    assert_eq!(listed[0].holder.as_deref(), Some("host 1 2 3"));
    assert_eq!(listed[0].status, RunStatus::Running);
}

#[test]
fn hashes_are_stable_between_versions() {
    assert_eq!(hash_hex(""), "cbf29ce484222325");
    assert_eq!(hash_hex("a"), "af63dc4c8601ec8c");
}

/// Any version of ours is accepted as its steps make it, whatever the white space.
#[test]
fn every_version_has_its_own_schema() {
    let path = std::env::temp_dir().join(format!("switchmark-steps-{}.db", std::process::id()));
    for version in schema::OLDEST_READ..=schema::VERSION {
        let _ = std::fs::remove_file(&path);
        let db = rusqlite::Connection::open(&path).expect("a database");
        for step in &schema::MIGRATIONS[..version as usize] {
            db.execute_batch(&step.replace("    ", "\t")).expect("a step");
        }
        db.pragma_update(None, "application_id", schema::APPLICATION_ID).expect("writable");
        db.pragma_update(None, "user_version", version).expect("writable");
        Store::untouched(&path).expect("as it is").runs().expect("readable");
        let other = if version == schema::VERSION { version - 1 } else { version + 1 };
        db.pragma_update(None, "user_version", other).expect("writable");
        let error = Store::untouched(&path).expect_err("the schema of another version");
        assert!(matches!(error, StoreError::Altered { .. }), "{error}");
        db.pragma_update(None, "user_version", version).expect("writable");
        drop(db);
        assert_eq!(
            Store::open(&path).expect("it opens").version().expect("it has one"),
            schema::VERSION
        );
    }
    let _ = std::fs::remove_file(&path);
}

#[test]
fn a_trial_that_could_not_be_read_again_is_refused_with_its_name() {
    let store = Store::open(Path::new(":memory:")).expect("a new store");
    store.create_run(&run_meta()).expect("a new run");
    let record = TrialRecord::failed(1, "x".repeat(packed::most(0)));
    let error = store.keep("r1", 0, &trial(0), &record).expect_err("it is too long");
    assert!(matches!(error, StoreError::TooLong { .. }), "{error:?}");
    assert!(error.to_string().contains("`synthetic`") && error.hint().is_some(), "{error}");
    assert!(store.records("r1").expect("readable").is_empty());
}

#[test]
fn a_query_without_end_is_ended() {
    let store =
        Store::open(Path::new(":memory:")).expect("a new store").within(Duration::from_millis(50));
    let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
               SELECT count(*) FROM n";
    let what = || "numbers".to_owned();
    let error = store.gather(&what, sql, [], |row| row.get::<_, i64>(0)).expect_err("no end");
    assert!(matches!(error, StoreError::Endless { .. }), "{error:?}");
    // Rows that go on are bounded by what they hold.
    let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
               SELECT hex(zeroblob(100000)) FROM n";
    let error = store.gather(&what, sql, [], |row| row.get::<_, String>(0)).expect_err("no end");
    assert!(matches!(error, StoreError::TooLarge { .. }), "{error:?}");
}
