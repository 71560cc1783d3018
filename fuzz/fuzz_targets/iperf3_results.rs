//! Any octets as an iperf3 server's results. Run: `cargo +nightly fuzz run iperf3_results`.

#![no_main]

#[path = "../check/iperf3_results.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|octets: &[u8]| check::iperf3_results(octets));
