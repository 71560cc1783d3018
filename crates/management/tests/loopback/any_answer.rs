//! Arbitrary answers of a device: every file of the fuzz corpus and mutations of them through the
//! same check as the fuzz target, and arbitrary objects for a reader that asks for them.

#[path = "../../../../fuzz/check/snmp_answer.rs"]
mod check;

use std::path::Path;
use std::time::Duration;

use async_snmp::{Oid, Value};
use bytes::Bytes;
use proptest::prelude::*;

use crate::responder::{Objects, Responder};

fn corpus() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/snmp_answer");
    let entries = std::fs::read_dir(folder).expect("a corpus");
    entries.map(|entry| std::fs::read(entry.expect("an entry").path()).expect("a file")).collect()
}

#[test]
fn the_corpus_is_read_or_refused() {
    let corpus = corpus();
    assert!(corpus.len() >= 5);
    for octets in &corpus {
        check::snmp_answer(octets);
    }
}

/// Columns that a reader asks for, and one that it does not.
const COLUMNS: [&[u32]; 12] = [
    &[1, 3, 6, 1, 2, 1, 1],
    &[1, 3, 6, 1, 2, 1, 2, 2, 1, 2],
    &[1, 3, 6, 1, 2, 1, 2, 2, 1, 11],
    &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 1],
    &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 7],
    &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 18],
    &[1, 3, 6, 1, 2, 1, 47, 1, 1, 1, 1, 5],
    &[1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 3],
    &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 4],
    &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 5],
    &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 7],
    &[1, 3],
];

fn values() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i32>().prop_map(Value::Integer),
        (0..12).prop_map(Value::Integer),
        proptest::collection::vec(any::<u8>(), 0..40)
            .prop_map(|o| Value::OctetString(Bytes::from(o))),
        any::<u64>().prop_map(Value::Counter64),
        any::<u32>().prop_map(Value::Counter32),
        any::<u32>().prop_map(Value::TimeTicks),
        any::<[u8; 4]>().prop_map(Value::IpAddress),
        Just(Value::ObjectIdentifier(Oid::from_slice(&[1, 3, 6]))),
        Just(Value::Null),
        Just(Value::NoSuchObject),
    ]
}

proptest! {
    #[test]
    fn so_are_mutations_of_it(at in any::<usize>(), place in any::<usize>(), octet in any::<u8>(), cut in any::<usize>()) {
        let corpus = corpus();
        let mut octets = corpus[at % corpus.len()].clone();
        if !octets.is_empty() {
            let place = place % octets.len();
            octets[place] = octet;
            octets.truncate(cut % (octets.len() + 1) + 1);
        }
        check::snmp_answer(&octets);
    }

    #[test]
    fn and_so_are_any_octets(octets in proptest::collection::vec(any::<u8>(), 0..200)) {
        check::snmp_answer(&octets);
    }

    #[test]
    fn any_objects_are_an_account_or_an_error(
        held in proptest::collection::vec((0..12_usize, proptest::collection::vec(0..4_u32, 0..4), values()), 0..60),
    ) {
        let with = |objects: Objects, (column, row, value): (usize, Vec<u32>, Value)| {
            objects.with(COLUMNS[column], &row, value)
        };
        let device = Responder::of(&held.into_iter().fold(Objects::default(), with));
        let mut reader = device.reader(Duration::from_secs(5), 0);
        let counted = reader.read().map(|account| account.ports.len());
        prop_assert!(counted.is_err() || counted.is_ok_and(|ports| ports > 0));
        let _ = reader.read_only(&["swp1".to_owned(), "ifIndex:1".to_owned()]);
        for neighbour in reader.neighbours().unwrap_or_default() {
            prop_assert!(!neighbour.port.is_empty() && !neighbour.chassis.contains(char::is_control));
        }
        let facts = reader.facts().unwrap_or_default();
        prop_assert!(facts.values().all(|fact| !fact.is_empty() && !fact.contains(char::is_control)));
    }
}
