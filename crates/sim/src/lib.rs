//! The testbed in virtual time: the same trials, the same records, no packet anywhere.
//!
//! Owns the simulated hosts (their ports' rate, their limits, their TCP) and the order of events
//! around a [`device::Network`]. A trial's record is what a live testbed would return. Same seed, same
//! octets, on every machine. Never reads a clock, never touches the kernel, and decides nothing about
//! what a figure means.

mod hosts;
pub mod tcp;
mod testbed;

pub use hosts::HostModel;
pub use testbed::VirtualTestbed;
