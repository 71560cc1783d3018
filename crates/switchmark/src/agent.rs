//! What runs on a host: takes orders on stdin, runs the trial's flows, answers on stdout.
//!
//! Owns a host's part of one trial at a time. Never listens on a control port, never writes anything
//! but protocol to stdout, never decides what to run, and never outlives its controller.

use std::process::ExitCode;

/// Serves the controller at stdin and stdout until it says goodbye or its end of the pipe closes.
pub fn main() -> ExitCode {
    ExitCode::FAILURE
}
