//! A virtual machine as a device: a kernel of the user's choice, booted under qemu, that forwards
//! between its hosts.
//!
//! Owns all steps from a kernel image to a forwarding machine: what to load ([`Image`]), the
//! configuration of its first process ([`Orders`]), and the emulator as a process ([`Machine`]). A
//! lab lays a cable from each host with [`Emulator::lay_cable`] and configures the hosts. It then
//! calls [`Machine::start`] with the same [`NodePlan`](crate::NodePlan) as for a namespace, and the
//! cables in the order of its interfaces. Dropping the machine, or the death of this process by any
//! signal, ends it and removes the cables. Never leaves a file, never opens a port, and never
//! interprets an emulated kernel's speed.

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
