//! The study `depth`: how many bytes can wait before an output, in which units they are counted,
//! and whether outputs share them.
//!
//! Every estimator overfills one output and reads what came through; none asks the device anything.
//! Never adds what the hosts held to what the device did.

mod burst;
mod cells;
mod enough;
mod filling;
mod finding;
mod outlets;
mod page;
mod request;
mod rig;
mod rows;
mod run;
mod sharing;
mod shot;
mod spec;
mod threshold;

pub use request::Depth;
pub use spec::{Congested, DepthSpec, OutputSenders};
