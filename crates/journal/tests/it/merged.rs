//! Journals of several hosts in one: every finished run comes whole, once, and no other run of the
//! same id is written over.

use journal::store::MERGED;
use journal::{Journal, Merged, Store, StoreError};
use study::run::RunStatus;
use trial::Testbed as _;

use crate::journal::{Place, trial};
use crate::synthetic::meta;
use crate::testbed::testbed;

/// A run of so many trials, ended as said.
fn put(store: &Store, id: &str, trials: u32, status: &RunStatus) {
    if store.summary(id).is_err() {
        store.create_run(&meta(id)).expect("a new run");
    }
    let mut journal = Journal::new(store, id, testbed(100).0).expect("a journal");
    for n in 0..trials {
        journal.run(&trial(n)).expect("it runs");
    }
    drop(journal);
    store.set_status(id, status).expect("a status");
}

fn ids(of: &[&str]) -> Vec<String> {
    of.iter().map(|id| (*id).to_owned()).collect()
}

#[test]
fn runs_come_whole_and_once() {
    let (here, there) = (Place::new("merged-here"), Place::new("merged-there"));
    let ours = Store::open(&here.store()).expect("a store");
    let theirs = Store::open(&there.store()).expect("a store");
    put(&ours, "r1", 2, &RunStatus::Done);
    put(&theirs, "r2", 3, &RunStatus::Done);
    put(&theirs, "r3", 2, &RunStatus::Interrupted);
    put(&theirs, "r4", 1, &RunStatus::Running);
    theirs.label("r2", Some("before")).expect("a label");
    theirs.held_by("r2", "4711@there").expect("a holder");

    let merged = ours.merge(&theirs).expect("they are taken");
    let running = ids(&["r4"]);
    let first = Merged { added: ids(&["r2", "r3"]), running: running.clone(), ..Merged::default() };
    assert_eq!(merged, first);
    assert_eq!(ours.records("r2").expect("readable"), theirs.records("r2").expect("readable"));
    assert_eq!(ours.load("before").expect("by its label").id, "r2");
    let holder = ours.summary("r2").expect("there").holder;
    assert_eq!(holder.as_deref(), Some(MERGED), "no process of this machine");
    assert_eq!(ours.status("r3").expect("there"), RunStatus::Interrupted);
    assert!(ours.summary("r4").is_err(), "what is under way stays where it is");

    // What went on there is brought up to date; what was said of it here stays.
    ours.note("r3", Some("odd")).expect("a note");
    put(&theirs, "r3", 4, &RunStatus::Done);
    let merged = ours.merge(&theirs).expect("they are taken");
    let second =
        Merged { renewed: ids(&["r3"]), known: ids(&["r2"]), running, ..Merged::default() };
    assert_eq!(merged, second);
    assert_eq!(ours.records("r3").expect("readable").len(), 4);
    assert_eq!(ours.summary("r3").expect("there").note.as_deref(), Some("odd"));
    assert_eq!(ours.runs().expect("a list").len(), 3);
    assert_eq!(ours.merge(&ours).expect("itself").known.len(), 3);
}

#[test]
fn another_run_of_the_same_id_is_left() {
    let (here, there) = (Place::new("other-here"), Place::new("other-there"));
    let ours = Store::open(&here.store()).expect("a store");
    let theirs = Store::open(&there.store()).expect("a store");
    put(&ours, "r1", 2, &RunStatus::Done);
    let mut other = meta("r1");
    other.seed += 1;
    theirs.create_run(&other).expect("a new run");
    theirs.set_status("r1", &RunStatus::Done).expect("a status");
    let error = ours.merge(&theirs).expect_err("it is another run");
    assert!(matches!(&error, StoreError::Another { run, .. } if run == "r1"), "{error}");
    assert!(error.hint().is_some());
    assert_eq!(ours.records("r1").expect("readable").len(), 2);
}

/// What was measured here, and what was taken before, is never written over by another journal that
/// calls a run as one of ours.
#[test]
fn no_trial_that_is_here_changes() {
    let (here, there) = (Place::new("same-here"), Place::new("same-there"));
    let ours = Store::open(&here.store()).expect("a store");
    let theirs = Store::open(&there.store()).expect("a store");
    put(&ours, "r1", 2, &RunStatus::Interrupted);
    put(&theirs, "r1", 5, &RunStatus::Done);
    let before = ours.records("r1").expect("readable");
    assert_eq!(ours.merge(&theirs).expect("one's own stays").known, ids(&["r1"]));
    assert_eq!(ours.records("r1").expect("readable"), before);

    // One that was taken goes on only from where it was.
    put(&theirs, "r2", 2, &RunStatus::Interrupted);
    assert_eq!(ours.merge(&theirs).expect("taken").added, ids(&["r2"]));
    let before = ours.records("r2").expect("readable");
    let forged = Place::new("same-forged");
    let others = Store::open(&forged.store()).expect("a store");
    others.create_run(&meta("r2")).expect("a new run");
    let mut journal = Journal::new(&others, "r2", testbed(7).0).expect("a journal");
    for n in 3..9 {
        journal.run(&trial(n)).expect("it runs");
    }
    drop(journal);
    others.set_status("r2", &RunStatus::Done).expect("a status");
    let error = ours.merge(&others).expect_err("its trials are others");
    assert!(matches!(&error, StoreError::Another { run, .. } if run == "r2"), "{error}");
    assert_eq!(ours.records("r2").expect("readable"), before);
}

/// Nobody here has to undo what was done to a device there.
#[test]
fn what_was_done_to_devices_stays_where_it_was_done() {
    let (here, there) = (Place::new("deeds-here"), Place::new("deeds-there"));
    let ours = Store::open(&here.store()).expect("a store");
    let theirs = Store::open(&there.store()).expect("a store");
    put(&theirs, "r1", 2, &RunStatus::Interrupted);
    let db = rusqlite::Connection::open(there.store()).expect("a database");
    db.execute_batch(
        "INSERT INTO begun_deed VALUES ('r1', 'sw1', 'pull');
         INSERT INTO applied VALUES ('r1', 'sw1', 'v1')",
    )
    .expect("writable");
    assert_eq!(theirs.begun_deeds("r1").expect("readable").len(), 1);
    ours.merge(&theirs).expect("taken");
    assert!(ours.begun_deeds("r1").expect("readable").is_empty());
    assert!(ours.applied("r1").expect("readable").is_empty());
}
