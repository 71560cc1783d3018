//! The binary's rooms, as a library so that tests and fuzz targets reach them.
//!
//! Joins what the other crates keep apart: files and flags become a plan, a plan becomes a study on
//! a testbed, its records go to the journal and its figures to the terminal. Never does arithmetic
//! on figures.

// These panic where stdout or stderr is gone, and then whoever should have stopped something has
// not.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod cli;
pub mod config;
pub mod controller;
mod doctor;
mod files;
mod ownership;
mod speak;
pub mod terminal;
