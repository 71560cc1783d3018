//! Model of the frame handling of switches and routers, without a clock.
//!
//! Owns the profile of a device, its queues, buffer, port groups and tables, and the network that
//! several devices and cables form. Two drivers advance it: the simulator in virtual time and the
//! lab's emulated switch in real time. Never reads a clock, or draws a random number without the
//! given seed. Never knows more of a frame than its length and addresses.

mod event;
mod frame;
mod network;
pub mod profile;

pub use event::{Cause, Event};
pub use frame::{Frame, Mac};
pub use network::chance;
pub use network::{Edge, Network, PortCounts, Standing};
pub use profile::{PortAddress, Profile, ProfileError, SessionLimits};
