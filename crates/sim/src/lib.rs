//! Testbed in virtual time: the same trials and the same records, without real packets.
//!
//! Owns the simulated hosts (their ports' rate, their limits, their TCP) and the order of events
//! around a [`device::Network`]. A trial's record is what a live testbed would return. The same
//! seed gives the same octets on every machine. Never reads a clock, never touches the kernel, and
//! never decides the meaning of a figure.

mod agenda;
mod build;
mod bulk;
mod collective;
mod conversation;
mod deeds;
mod disk;
mod durations;
mod echo;
mod exchange;
mod exchange_way;
mod flight;
mod hosts;
mod jitter;
mod learning;
mod load;
mod mishap;
mod nic;
mod offered;
mod record;
mod sequences;
mod sessions;
mod shared_state;
mod stations;
mod storage;
mod stream;
pub mod tcp;
mod testbed;
mod topology;
mod turns;
mod world;

pub use deeds::RESET_TIME;
pub use hosts::{Cabling, Death, DiskModel, HostModel, ServiceTime, SlowHost};
pub use record::port_counters;
pub use testbed::VirtualTestbed;
