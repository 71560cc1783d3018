//! The fuzz check of a server's results on stable: the committed corpus, and truncations and
//! flipped bits of it. Never reads anything else.

#[path = "../../../../fuzz/check/iperf3_results.rs"]
mod check;

use std::path::Path;

#[test]
fn the_corpus_and_what_is_near_it_keep_the_promise() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/iperf3_results");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("the corpus") {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("a corpus file");
        check::iperf3_results(&bytes);
        for at in 0..bytes.len() {
            check::iperf3_results(&bytes[..at]);
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            check::iperf3_results(&flipped);
        }
        seen += 1;
    }
    assert!(seen >= 4, "the corpus is missing: {seen} files");
}
