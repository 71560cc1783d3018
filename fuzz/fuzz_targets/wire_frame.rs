//! Any octets as a captured frame. Run: `cargo +nightly fuzz run wire_frame`.

#![no_main]

#[path = "../check/wire_frame.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|frame: &[u8]| check::wire_frame(frame));
