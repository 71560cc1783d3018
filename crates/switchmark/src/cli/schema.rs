//! `switchmark schema`: the JSON Schema of what `--json` prints.
//!
//! Never reads a run: `render` makes the schema from the tables of names.

use super::Outcome;
use super::failure::Failure;
use crate::speak;

/// `schema`
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Prints the schema.
pub fn run(_: &Args) -> Result<Outcome, Failure> {
    speak::print_json(&render::schema())?;
    Ok(Outcome::Done)
}
