//! The importers' fuzz check on stable: the committed corpus, and truncations and flipped bits of
//! it. Never reads anything else.

#[path = "../../../../fuzz/check/import.rs"]
pub(super) mod check;

use std::path::Path;

#[test]
fn the_corpus_and_what_is_near_it_keep_the_promise() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/import");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("the corpus") {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("a corpus file");
        check::import(&bytes);
        let step = (bytes.len() / 300).max(1);
        for at in (0..bytes.len()).step_by(step) {
            check::import(&bytes[..at]);
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            check::import(&flipped);
        }
        seen += 1;
    }
    assert!(seen >= 20, "the corpus is missing: {seen} files");
}
