//! `switchmark agent`: what a controller starts on a host; and the idle process that marks a lab's host.
//!
//! Owns only the choice between the two.

use std::io::Read as _;
use std::process::ExitCode;

use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};

/// `agent`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Do nothing but stand in a lab's host until stdin ends
    #[arg(long, value_name = "NAME", requires = "lab")]
    lab_host: Option<String>,
    /// The lab's name
    #[arg(long, value_name = "ID", requires = "lab_host")]
    lab: Option<String>,
}

/// What a process says once it stands in its host.
pub const STANDS: &str = "stands";

/// Serves, or stands.
pub fn run(args: &Args) -> ExitCode {
    if args.lab_host.is_none() {
        return crate::agent::main();
    }
    // Two ties, for either may fail alone: the kernel's, and the pipe that closes.
    if prctl::set_pdeathsig(Signal::SIGKILL).is_err() {
        return ExitCode::FAILURE;
    }
    // Ctrl-C reaches the whole terminal; the lab's holder alone decides.
    let mut interrupt = SigSet::empty();
    interrupt.add(Signal::SIGINT);
    if interrupt.thread_block().is_err() {
        return ExitCode::FAILURE;
    }
    // From here on `lab exec` finds this process; only then is the lab said to be up.
    println!("{STANDS}");
    let mut end = [0; 1];
    while std::io::stdin().read(&mut end).is_ok_and(|n| n > 0) {}
    ExitCode::SUCCESS
}
