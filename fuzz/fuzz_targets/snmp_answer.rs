//! Any octets as a device's answer in SNMP. Run: `cargo +nightly fuzz run snmp_answer`.

#![no_main]

#[path = "../check/snmp_answer.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| check::snmp_answer(octets));
