//! The program as its user runs it where no lab is built: its words, its files, and what it
//! measures in virtual time. No test needs the machine for itself, so all run beside each other.

#![allow(clippy::disallowed_methods, reason = "these tests wait for a process")]

mod accept;
mod at_a_glance;
mod axe;
mod bad_inputs;
mod buffer_plan;
mod ci;
mod cli_binary;
mod cli_config;
mod cli_report;
mod compare;
mod crafted;
mod data;
mod dry_run;
mod elsewhere;
mod growth;
mod kept;
mod large_outputs;
mod many_flows;
mod memory;
mod one_nic;
mod pages;
#[path = "../program/mod.rs"]
mod program;
mod prove;
mod serve;
mod shown;
mod sim;
mod site;
mod terminal;
mod trend;
mod two_of_a_kind;
mod walks;
mod watch;
mod wrong_inputs;
