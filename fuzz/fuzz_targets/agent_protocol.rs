//! Any bytes on an agent's pipe. Run: `cargo +nightly fuzz run --features agent agent_protocol`.

#![no_main]

#[path = "../check/agent_protocol.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check::agent_protocol(bytes));
