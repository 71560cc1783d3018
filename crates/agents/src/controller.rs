//! The controller: starts agents, distributes a trial's flows, and gathers their results.
//!
//! Owns the agents' processes, the common start and [`LiveTestbed`]. Never sends or receives a
//! probe itself, and never judges a result: `trial` decides whether a trial is valid.

mod accounts;
mod assemble;
mod clocks;
mod command;
mod companion;
mod companions;
mod conduct;
mod connection;
mod deadline_writer;
pub mod deed_notes;
mod deeds;
mod delays;
mod discovery;
mod disturbance;
mod facts;
mod far_counter;
pub mod far_shell;
mod handle;
mod heartbeat;
mod lab_devices;
mod launcher;
mod launching;
mod lost_hosts;
mod models;
mod numbers;
mod orders;
mod own_addresses;
mod pool;
mod program;
mod readiness;
mod rights;
mod sender_split;
mod site;
mod step;
mod stop;
mod subjects;
mod tail;
mod testbed;
mod trial_error;

pub use command::run_to_end;
pub use deeds::undo_noted;
pub use discovery::{Known, Surroundings};
pub use facts::Facts;
pub use handle::{Agent, AgentError};
pub use launcher::Launcher;
pub use lost_hosts::killed_at;
pub use models::Ports;
pub use program::Program;
pub use readiness::Proof;
pub use stop::Stop;
pub use testbed::LiveTestbed;
