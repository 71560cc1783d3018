//! The study `depth`: the buffer size at an egress port, the unit in which it is counted, and
//! whether outputs share it.
//!
//! Every estimator overfills one output and reads what was received; none queries the device. Never
//! attributes the hosts' queues to the device.

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
