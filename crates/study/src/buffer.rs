//! The study `buffer`: does a device have enough buffer for long, fast TCP flows next to other
//! load?
//!
//! ESnet's procedure: TCP between two hosts alone, then with constant UDP from a third host into
//! the same egress port. The control sends as much UDP in the other direction, which oversubscribes
//! nothing. Adds no delay: the path's RTT is the testbed's own.

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
