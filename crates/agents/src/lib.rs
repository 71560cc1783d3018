//! Agents on hosts, and whoever asks them: one trial carried out with real packets.
//!
//! Owns how agents get onto hosts and end with their controller, what the two say to each other,
//! and the testbed made of them. Never knows a study, a table or a testbed file's text, and never
//! judges what a trial came to.

// These panic where stdout or stderr is gone, and then whoever should have stopped something has
// not.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod agent;
pub mod controller;
pub mod failed;
pub mod fio_options;
pub mod guest;
pub mod hosts;
pub mod protocol;
pub mod speak;
pub mod unfinished;
