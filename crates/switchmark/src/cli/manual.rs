//! `switchmark manual`: the manual's pages, one a verb, for a package to ship.
//!
//! Owns where they go. Never words anything: the pages are the help's text.

use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::Man;

use super::{Failure, Outcome, command, examples};

/// `manual`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder, made where it is missing
    folder: PathBuf,
}

/// Writes.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    std::fs::create_dir_all(&args.folder).map_err(Failure::unusable)?;
    let mut root = command().disable_help_subcommand(true);
    root.build();
    write(&root, "", &args.folder).map_err(Failure::unusable)?;
    Ok(Outcome::Done)
}

/// A verb and those below it, which share its examples.
fn write(of: &Command, verb: &str, folder: &Path) -> std::io::Result<()> {
    for below in of.get_subcommands().filter(|below| !below.is_hide_set()) {
        write(below, if verb.is_empty() { below.get_name() } else { verb }, folder)?;
    }
    // The help has examples in its own form.
    let man = Man::new(of.clone().after_help(None::<&str>).after_long_help(None::<&str>));
    let mut page = Vec::new();
    man.render(&mut page)?;
    page.extend(examples::sections(verb).to_roff().bytes());
    std::fs::write(folder.join(man.get_filename()), page)
}
