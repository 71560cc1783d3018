//! Any octets as a histogram from a peer or a file. Run: `cargo +nightly fuzz run histogram`.

#![no_main]

#[path = "../check/histogram.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| check::histogram(octets));
