//! The program and its controller on real frames, in labs and on hosts made of namespaces; and,
//! when asked for, the benchmarks beside other tools. They run one at a time: labs on one machine
//! disturb each other, and each test compares what the machine has before and after.

#![allow(clippy::disallowed_methods, reason = "these tests face the kernel")]

mod against_peers;
mod agent;
mod books;
mod buffer_emulated;
mod buffer_kernel;
mod bufferbloat;
mod cli_lab;
mod clusters;
mod collectives;
mod conformance;
mod containers;
mod controller;
mod deeds;
mod demo;
mod endings;
mod fabric;
mod failover;
mod goodput;
mod harness;
mod interrupted;
mod interrupts;
mod iperf3;
mod journals;
mod killed;
mod launchers;
mod left_deeds;
mod limits;
mod nat;
mod one_nic;
mod one_nic_truth;
mod open_pages;
mod other_traffic;
#[path = "../program/mod.rs"]
mod program;
mod random_fabrics;
mod rfc2544;
mod routers;
mod senders;
mod sessions;
mod ssh;
mod storage_harm;
mod switching;
mod truth;
mod tunnels;
mod two_paths;
mod unworkable;
mod walks;
mod watch;
