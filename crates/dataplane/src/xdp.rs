//! Our programs inside the kernel: one that sends, one that counts, one that forwards, and one that
//! lets frames through.
//!
//! Owns the programs (source and object in `bpf/`), their loading and attaching, and the memory
//! they share with this process. Everything attached is held by a descriptor, so the kernel
//! detaches it however the process ends. Never replaces a program that was there before, and needs
//! neither a compiler nor a library at run time.

mod attached;
pub(crate) mod bpf;
mod buckets;
pub(crate) mod counter;
mod device;
mod image;
pub(crate) mod live;
mod load;
mod memory;
mod object;
mod placed;
mod programs;
mod registered;
mod tally;
#[cfg(test)]
mod tests;

pub use device::{Accepting, Forwarding, accept_frames, forward, takes_frames};
