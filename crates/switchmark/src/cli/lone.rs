//! Values that come from outside any plan: a seed, a run's name, the time.
//!
//! The one place where chance and the calendar enter; everything drawn here is recorded.

use std::hash::{BuildHasher as _, RandomState};

use jiff::Timestamp;

/// A seed short enough to type.
pub fn seed() -> u64 {
    u64::from(u32::from_le_bytes(random()))
}

/// `20261121-140312-3f9a`: sortable, and told apart by chance within a second.
pub fn run_id(now: Timestamp) -> String {
    let [first, second, ..] = random();
    format!("{}-{first:02x}{second:02x}", now.strftime("%Y%m%d-%H%M%S"))
}

/// `run 20261121-140312-3f9a (process 4711 on lab-3)`: who holds a port, as another run is told.
pub fn holder(run: &str) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("run {run} (process {} on {})", std::process::id(), host.trim())
}

/// Nanoseconds since 1970.
pub fn unix_ns(now: Timestamp) -> u64 {
    u64::try_from(now.as_nanosecond()).unwrap_or(0)
}

/// The command as it was typed, quoted where a shell would need it.
pub fn command_line() -> String {
    let quoted = |arg: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
        if !arg.is_empty() && arg.chars().all(plain) {
            arg
        } else {
            format!("'{}'", arg.replace('\'', r"'\''"))
        }
    };
    // The program's path says nothing about the measurement and much about the machine.
    let rest = std::env::args().skip(1).map(quoted);
    std::iter::once("switchmark".to_owned()).chain(rest).collect::<Vec<_>>().join(" ")
}

/// The kernel gives every process's hash maps keys by chance, also where there is no `/dev`.
fn random() -> [u8; 4] {
    (RandomState::new().hash_one(()) as u32).to_le_bytes()
}
