//! `switchmark agent`: what a controller starts on a host, or on each node of a job step; the idle
//! process that marks a lab's host; and what becomes another program that must not outlive its
//! agent.
//!
//! Owns only the choice between them.

use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use agents::protocol::describe_error;
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};

use crate::speak::print_stderr;

/// `agent`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only hold a lab's host until stdin ends
    #[arg(long, value_name = "NAME", requires = "lab")]
    lab_host: Option<String>,
    /// The lab's name
    #[arg(long, value_name = "ID", requires = "lab_host")]
    lab: Option<String>,
    /// Addresses and ports by which ssh reached this host, as in SSH_CONNECTION
    #[arg(long, hide = true, value_name = "ENDS")]
    connection: Option<String>,
    /// Start an agent, and relay its streams through those of the job step that this is a task of
    #[arg(long, hide = true)]
    step: bool,
    /// Become this program, and die with whoever started it
    #[arg(long, hide = true, value_name = "PROGRAM", num_args = 1.., allow_hyphen_values = true)]
    lead: Vec<String>,
}

/// Line that a process prints once it is in its lab's host.
pub const STANDS: &str = "stands";

/// Serves a controller, relays an agent's streams, marks a lab's host, or becomes another program.
pub fn run(args: &Args) -> ExitCode {
    if let Some((program, rest)) = args.lead.split_first() {
        return lead(program, rest);
    }
    if args.step {
        return match agents::relay::run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(failed) => {
                print_stderr(&format!("agent: {}\n", describe_error(&failed)));
                ExitCode::FAILURE
            }
        };
    }
    if args.lab_host.is_none() {
        agents::agent::main(args.connection.as_deref());
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
    if writeln!(std::io::stdout(), "{STANDS}").is_err() {
        return ExitCode::FAILURE;
    }
    let mut end = [0; 1];
    while std::io::stdin().read(&mut end).is_ok_and(|n| n > 0) {}
    ExitCode::SUCCESS
}

/// Becomes another program. The tie to the parent holds across exec; only what the program forks is
/// free of it. So does a mask of signals: the agent waits for those that end it, and the program
/// has to receive them.
fn lead(program: &str, rest: &[String]) -> ExitCode {
    if prctl::set_pdeathsig(Signal::SIGKILL).is_err() || SigSet::all().thread_unblock().is_err() {
        return ExitCode::FAILURE;
    }
    let cause = Command::new(program).args(rest).exec();
    print_stderr(&format!("start {program}: {cause}\n"));
    ExitCode::from(127)
}
