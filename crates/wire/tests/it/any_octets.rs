//! The fuzz target's check on stable: the committed corpus, and pseudo-random mutations of it.

#[path = "../../../../fuzz/check/wire_frame.rs"]
mod check;

use std::fs;
use std::path::Path;

const MUTATIONS: u32 = 100_000;
const SEED: u64 = 0x5eed_0002;

fn corpus() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/wire_frame");
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("corpus").map(|entry| entry.expect("entry").path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("corpus file")).collect()
}

/// SplitMix64 (Steele et al., 2014): enough to pick octets, and no dependency.
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    fn mutate(&mut self, frame: &mut Vec<u8>, interesting: &[u8]) {
        for _ in 0..=self.below(4) {
            let length = frame.len().max(1);
            let at = self.below(length);
            match self.below(5) {
                0 => frame.truncate(at),
                1 => frame.extend_from_slice(&interesting[..self.below(interesting.len())]),
                2 if at < frame.len() => frame[at] ^= 1 << self.below(8),
                3 if at < frame.len() => frame[at] = interesting[self.below(interesting.len())],
                _ if at < frame.len() => frame[at] = self.below(256) as u8,
                _ => {}
            }
        }
    }
}

/// Corrects the header checksum, so that a mutation reaches the content after it.
fn repair_ipv4(frame: &mut [u8]) {
    if frame.len() >= 34 && frame[12..14] == [8, 0] {
        frame[24..26].fill(0);
        let sum = wire::Checksum::new().with(&frame[14..34]).finish();
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
    }
}

#[test]
fn the_corpus_keeps_the_promise() {
    let corpus = corpus();
    assert!(corpus.len() >= 10, "the corpus is missing");
    let probes = corpus.iter().filter(|frame| wire::parse_udp_probe(frame).is_ok()).count();
    assert!(probes >= 5, "only {probes} of the corpus carry a probe");
    for frame in &corpus {
        check::wire_frame(frame);
    }
}

#[test]
fn mutations_of_the_corpus_keep_the_promise() {
    let corpus = corpus();
    let interesting = [0, 0xff, 4, 5, 6, 0x45, 0x60, 0x80, 0x81, 0x7f, 17, 1, 8, 20, 60, 0x40];
    let mut random = SplitMix(SEED);
    let mut accepted = 0;
    for number in 0..MUTATIONS {
        let mut frame = corpus[random.below(corpus.len())].clone();
        random.mutate(&mut frame, &interesting);
        if random.below(2) == 0 {
            repair_ipv4(&mut frame);
        }
        let kept = frame.clone();
        std::panic::catch_unwind(|| check::wire_frame(&frame))
            .unwrap_or_else(|_| panic!("seed {SEED:#x}, mutation {number}: {kept:02x?}"));
        accepted += u32::from(wire::parse_udp_probe(&kept).is_ok());
    }
    // If nothing were accepted, the mutations would have tested the refusals only.
    assert!(accepted > MUTATIONS / 100, "{accepted} of {MUTATIONS} mutations still carry a probe");
}
