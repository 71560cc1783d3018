//! The side that asks: brings agents up, hands out a trial's flows, and gathers what came of them.
//!
//! Owns the agents' processes, the common start and [`LiveTestbed`]. Never sends or receives a probe
//! itself, and never judges a figure: what makes a trial valid is `method`'s.

mod assemble;
mod command;
mod conduct;
mod crew;
mod events;
mod facts;
mod handle;
mod launcher;
mod mishap;
mod offset;
mod orders;
mod site;
mod stop;
mod subjects;
mod testbed;

pub use facts::Facts;
pub use handle::{Agent, AgentError};
pub use launcher::{LaunchError, Launcher};
pub use stop::Stop;
pub use testbed::{ControllerError, LiveTestbed};
