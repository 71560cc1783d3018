//! The histogram reader's fuzz check on stable: the committed corpus, and every truncation and bit
//! flip of it. Never reads anything else.

#[path = "../../../../fuzz/check/histogram.rs"]
mod check;

use std::path::Path;

#[test]
fn the_corpus_and_what_is_near_it_keep_the_promise() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/histogram");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("the corpus") {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("a corpus file");
        check::histogram(&bytes);
        // A histogram is a quarter of a megabyte to build: a few hundred are enough here.
        let step = (bytes.len() / 100).max(1);
        for at in (0..bytes.len()).step_by(step) {
            check::histogram(&bytes[..at]);
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            check::histogram(&flipped);
        }
        seen += 1;
    }
    assert!(seen >= 3, "the corpus is missing: {seen} files");
}
