//! Files that call themselves journals and are none that this program made: refused at every way to
//! open one, before anything of them is read, and left as they are.

use journal::{Journal, Store, StoreError};
use study::run::RunStatus;
use trial::Testbed as _;

use crate::generator::{KINDS, Wishes, craft};
use crate::journal::{Place, trial};
use crate::synthetic::meta;
use crate::testbed::testbed;

/// A journal with two runs, closed.
fn sound(place: &Place) {
    let store = Store::open(&place.store()).expect("a store");
    for id in ["r1", "r2"] {
        store.create_run(&meta(id)).expect("a new run");
        let mut journal = Journal::new(&store, id, testbed(100).0).expect("a journal");
        for n in 0..4 {
            journal.run(&trial(n)).expect("it runs");
        }
        store.set_status(id, &RunStatus::Done).expect("a status");
    }
}

/// All that is read of a journal, as its readers do; whether all of it could be read.
fn read_all(store: &Store) -> Result<(), StoreError> {
    for run in store.runs()? {
        store.load(&run.id)?;
        store.records(&run.id)?;
        store.newest_records(&run.id, 0, 100)?;
        store.applied(&run.id)?;
        store.begun_deeds(&run.id)?;
        store.visits(&run.id, 0, |_| ())?;
        store.hours(&run.id)?;
        store.news(&run.id, 100)?;
    }
    store.uncounted().map(drop)
}

#[test]
fn a_schema_that_is_not_ours_is_refused_everywhere() {
    let place = Place::new("foreign");
    sound(&place);
    let ours = Store::open(std::path::Path::new(":memory:")).expect("a store");
    let crafted = place.store().with_extension("crafted");
    let wishes = Wishes { folder: std::path::Path::new("/"), testbed: "x", holder: "h", run: "r9" };
    for number in 0..12 {
        let what = craft(&place.store(), &crafted, number, &wishes);
        let octets = std::fs::read(&crafted).expect("a file");
        for open in [Store::open, Store::read, Store::untouched] {
            let error = open(&crafted).err().unwrap_or_else(|| panic!("{what} is opened"));
            let is_told = matches!(error, StoreError::Altered { .. } | StoreError::Open { .. });
            assert!(is_told && error.hint().is_some(), "{what}: {error:?}");
        }
        assert_eq!(std::fs::read(&crafted).expect("a file"), octets, "{what}: it was changed");
    }
    assert!(ours.runs().expect("readable").is_empty());
}

/// Whatever else was changed: each reader ends with an answer or an error.
#[test]
fn crafted_journals_are_read_or_refused() {
    let place = Place::new("crafted");
    sound(&place);
    let ours = Store::open(std::path::Path::new(":memory:")).expect("a store");
    ours.create_run(&meta("r9")).expect("a new run");
    let mut journal = Journal::new(&ours, "r9", testbed(100).0).expect("a journal");
    journal.run(&trial(0)).expect("it runs");
    drop(journal);
    let before = ours.records("r9").expect("readable");
    let crafted = place.store().with_extension("crafted");
    let wishes = Wishes { folder: std::path::Path::new("/"), testbed: "x", holder: "h", run: "r9" };
    let full = std::env::var("SWITCHMARK_TESTS").is_ok_and(|profile| profile == "full");
    let (mut read, mut refused) = (0, 0);
    for number in 0..KINDS * if full { 100 } else { 10 } {
        let what = craft(&place.store(), &crafted, number, &wishes);
        let opened = Store::untouched(&crafted);
        match opened.as_ref().map(read_all) {
            Ok(Ok(())) => read += 1,
            _ => refused += 1,
        }
        if let Ok(store) = opened {
            let _ = ours.merge(&store);
        }
        assert_eq!(ours.records("r9").expect("readable"), before, "{what}");
        assert_eq!(ours.summary("r9").expect("there").trials, 1, "{what}");
    }
    println!("{read} were read, {refused} were not");
}
