//! What switches and routers do with frames: a model without a clock.
//!
//! Owns the profile of a device, its queues, buffer, port groups and tables, and the network that
//! several devices and cables make. Two drivers turn it: the simulator in virtual time and the
//! lab's emulated switch in real time. Never reads a clock, draws a random number without the seed
//! that it was given, or knows what is in a frame besides its length and addresses.

mod event;
mod frame;
mod network;
pub mod profile;

pub use event::{Cause, Event};
pub use frame::{Frame, Mac};
pub use network::chance;
pub use network::{Edge, Network, PortCounts, Standing};
pub use profile::{PortAddress, Profile, ProfileError};
