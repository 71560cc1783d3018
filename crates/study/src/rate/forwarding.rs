//! The study `forwarding`: frames a second that pass under flood, without loss and in bursts, their
//! delays, and the effect of an overload or a reset: RFC 2544's tests and a flood.
//!
//! Owns its request, its tests, what they find and its page. Never calls a tester's limit a
//! device's: each value is paired with that of the same procedure over the direct cable.

mod back_to_back;
mod check;
mod estimate;
mod finding;
mod flood;
mod frames;
mod latency;
mod loss_curve;
mod page;
mod recovery;
mod request;
mod reset;
mod rig;
mod run;
mod spec;
mod throughput;

pub use super::rules::SearchRules;
pub use super::suite::ForwardingTest;
pub use super::throughput::SearchKind;
pub use request::Forwarding;
pub use spec::{ForwardingSpec, LoadPercent, Repeats, Senders, Verifications};
