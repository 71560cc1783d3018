//! A device that is a virtual machine: a kernel of the user's choice, booted under qemu, that
//! forwards between its hosts.
//!
//! Owns the way from a kernel image to a machine that forwards: what to load ([`Image`]), what its
//! first process is told ([`Orders`]), and the emulator as a process ([`Machine`]). What a lab
//! does: lay a cable from each host with [`Emulator::lay_cable`], furnish the hosts, then
//! [`Machine::start`] with the same [`NodePlan`](crate::NodePlan) that a namespace would have got,
//! and the cables in the order of its interfaces. Dropping the machine, or the death of this
//! process by whatever signal, ends it and takes the cables away. Never leaves a file, never opens
//! a port, and never judges what an emulated kernel's speed means.

mod archive;
mod cable;
mod console;
mod control;
mod emulator;
mod first_process;
mod handover;
mod image;
mod machine;
mod modules;
mod object;
mod orders;

pub use cable::{Cable, CableLosses};
pub use control::{Notice, Request};
pub use emulator::{Acceleration, Emulator, MAX_PORTS};
pub use first_process::{is_first_process, serve};
pub use handover::{EMULATOR_NAME, become_emulator};
pub use image::Image;
pub use machine::{Facts, Machine};
pub use orders::{CONTROL_DEVICE, ORDERS_FILE, Orders};
