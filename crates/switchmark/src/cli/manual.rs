//! `switchmark manual`: the manual's pages, one a verb, for a package to ship.
//!
//! Owns where they go. Never writes a page's text: that is the help's.

use std::path::PathBuf;

use clap::CommandFactory as _;

use super::{Cli, Failure, Outcome};

/// `manual`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder, made where it is missing
    folder: PathBuf,
}

/// Writes.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    std::fs::create_dir_all(&args.folder).map_err(Failure::unusable)?;
    let root = Cli::command().disable_help_subcommand(true);
    clap_mangen::generate_to(root, &args.folder).map_err(Failure::unusable)?;
    Ok(Outcome::Done)
}
