//! Whatever comes in a request: every file of the fuzz corpus, and mutations of them, through the
//! same check as the fuzz target.

#[path = "../../../../fuzz/check/request_parts.rs"]
mod check;

use std::path::Path;

use proptest::prelude::*;

fn corpus() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/request_parts");
    let entries = std::fs::read_dir(folder).expect("a corpus");
    entries.map(|entry| std::fs::read(entry.expect("an entry").path()).expect("a file")).collect()
}

#[test]
fn the_corpus_is_read_or_refused() {
    let corpus = corpus();
    assert!(corpus.len() >= 5);
    for octets in &corpus {
        check::request_parts(octets);
    }
}

proptest! {
    #[test]
    fn so_are_mutations_of_it(at in 0..1000_usize, place in any::<usize>(), octet in any::<u8>(), cut in any::<usize>()) {
        let corpus = corpus();
        let mut octets = corpus[at % corpus.len()].clone();
        if !octets.is_empty() {
            let place = place % octets.len();
            octets[place] = octet;
            octets.truncate(cut % (octets.len() + 1) + 1);
        }
        check::request_parts(&octets);
    }

    #[test]
    fn and_so_is_any_text(octets in proptest::collection::vec(any::<u8>(), 0..200)) {
        check::request_parts(&octets);
    }
}
