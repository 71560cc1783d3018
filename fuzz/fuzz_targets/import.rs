//! Any octets as the output of another tool. Run: `cargo +nightly fuzz run import`.

#![no_main]

#[path = "../check/import.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| check::import(octets));
