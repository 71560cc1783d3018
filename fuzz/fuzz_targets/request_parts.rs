//! Any octets as the parts of a request that serve reads itself. Run: `cargo +nightly fuzz run
//! request_parts`.

#![no_main]

#[path = "../check/request_parts.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| check::request_parts(octets));
