//! `switchmark completions`: what a shell needs to complete arguments, on stdout.
//!
//! Owns nothing but the shell's name; the arguments are each verb's own. Never installs a file.

use clap_complete::Shell;

use super::{Failure, Outcome, command};
use crate::speak;

/// `completions`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Shell whose completions are printed
    shell: Shell,
}

/// Prints.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "switchmark", &mut script);
    speak::print_bytes(&script).map_err(Failure::unusable)?;
    Ok(Outcome::Done)
}
