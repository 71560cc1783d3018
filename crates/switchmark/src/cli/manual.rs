//! `switchmark manual`: the manual's pages, one a verb, for a package to ship.
//!
//! Owns where they go. Never writes a page's text: that is the help's.

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
    pages(&root, &args.folder).map_err(Failure::unusable)?;
    Ok(Outcome::Done)
}

fn pages(of: &Command, folder: &Path) -> std::io::Result<()> {
    for verb in of.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        pages(verb, folder)?;
    }
    let sections = examples::sections(of.get_name());
    // The help has them in its own form.
    let plain = if sections.is_empty() {
        of.clone()
    } else {
        of.clone().after_help(None::<&str>).after_long_help(None::<&str>)
    };
    let man = Man::new(plain);
    let mut page = Vec::new();
    man.render(&mut page)?;
    page.extend(sections.as_bytes());
    std::fs::write(folder.join(man.get_filename()), page)
}
