//! Rates: how many frames a second pass, between two ports or among all of a switch's.
//!
//! Owns the studies `forwarding` and `switching`, two requests for the same question, and what a
//! path is said to sustain. The same question asked through both has the same answer.

pub(super) mod counts;
pub mod forwarding;
mod pacing;
mod rules;
pub mod suite;
mod sustained;
pub mod switching;
mod throughput;
