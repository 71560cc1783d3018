//! The binary's rooms, as a library so that tests and fuzz targets reach them.
//!
//! Joins what the other crates keep apart: files and flags become a plan, a plan becomes a study on a
//! testbed, its records go to the journal and its figures to the terminal. Never does arithmetic on
//! figures.

pub mod agent;
pub mod cli;
pub mod config;
pub mod controller;
pub mod guest;
pub mod protocol;
pub mod terminal;
