//! Agents on hosts, and their controller: carries out one trial with real packets.
//!
//! Owns the start of agents on hosts and their end with the controller, the protocol between the
//! two, and the testbed made of them. Never knows a study, a table or a testbed file's text, and
//! never judges a trial's result.

// These panic if stdout or stderr is closed, and the panicking code would leave something running.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod agent;
pub mod controller;
pub mod failed;
pub mod fio_options;
pub mod guest;
pub mod hosts;
pub mod protocol;
pub mod relay;
pub mod speak;
pub mod unfinished;
