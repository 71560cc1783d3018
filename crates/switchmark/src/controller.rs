//! The side that asks: brings agents up, hands out a trial's flows, and gathers what came of them.
//!
//! Owns the agents' processes, the common start and [`LiveTestbed`]. Never sends or receives a probe
//! itself, and never judges a figure: what makes a trial valid is `method`'s.

mod stop;
mod testbed;

pub use stop::Stop;
pub use testbed::{ControllerError, LiveTestbed};
