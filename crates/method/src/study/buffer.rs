//! The study `buffer`: has a device enough buffer for long, fast TCP flows beside other load?
//!
//! ESnet's procedure: TCP between two hosts alone, then with constant UDP from a third host into
//! the same egress, then with as much UDP the other way, which oversubscribes nothing. Adds no
//! delay: the path's round trip is the testbed's own.

mod cell;
mod ends;
mod finding;
mod fit;
mod judgement;
mod page;
mod ratios;
mod request;
mod rows;
mod run;
mod spec;

pub(super) use ends::attached;
pub use request::Buffer;
pub use spec::{
    Background, BufferPorts, BufferSpec, FairShare, Mtu, Retransmits, StabilityLimits, Variation,
};
