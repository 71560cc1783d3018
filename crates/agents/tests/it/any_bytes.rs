//! The agent protocol's fuzz check on stable: the committed corpus, and every truncation and bit
//! flip of it.

#[path = "../../../../fuzz/check/agent_protocol.rs"]
mod check;

use std::path::Path;

#[test]
fn the_corpus_and_what_is_near_it_keep_the_promise() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/agent_protocol");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("the corpus") {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("a corpus file");
        check::agent_protocol(&bytes);
        for at in 0..bytes.len() {
            check::agent_protocol(&bytes[..at]);
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            check::agent_protocol(&flipped);
        }
        seen += 1;
    }
    assert!(seen >= 5, "the corpus is missing: {seen} files");
}
