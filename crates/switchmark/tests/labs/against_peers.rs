//! Ours beside other people's programs, in one lab, interleaved: tables of ratios.
//!
//! Ignored in an ordinary test run: `cargo xtask bench` runs it. Never asserts an absolute time;
//! the ratios are printed, and what must hold of them is asserted where it is stated.

mod agents;
mod campaigns;
mod changes;
mod collectives;
mod dumbbell;
mod fat_tree;
mod frames;
mod pacing;
mod round_trips;
mod simulator;

/// Interleaved rounds of each comparison.
const ROUNDS: usize = 7;

/// The median of a few values.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Ours by the peer's, round by round.
fn ratios(ours: &[f64], theirs: &[f64]) -> Vec<f64> {
    ours.iter().zip(theirs).map(|(own, their)| own / their).collect()
}

/// The most memory that a process had so far; `None` once it has ended.
fn largest_kib(process: u32) -> Option<u64> {
    let told = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}
