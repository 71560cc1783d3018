//! An archive for whoever has no package manager: to be unpacked at `/` or anywhere.
//!
//! Owns how files become a tar of always the same octets; the image's layers are such too.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::{Commit, Shipped, can_be_made_by};
use crate::steps::run;

/// Packs it, where `zstd` is there to.
pub(super) fn pack(of: &Shipped) -> Result<()> {
    if !can_be_made_by("zstd", "zstd") {
        return Ok(());
    }
    let named = of.folder.join(format!("switchmark-{}-{}.tar", of.commit.version, of.target));
    tar(&of.tree, &named, &of.commit)?;
    run(Command::new("zstd").args(["-q", "-19", "-T1", "--rm"]).arg(&named))
}

/// A folder's content, root's, in the order of names, with the commit's time.
pub(super) fn tar(folder: &Path, archive: &Path, commit: &Commit) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--format=ustar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.arg(format!("--mtime=@{}", commit.epoch)).arg("-C").arg(folder);
    run(tar.arg("-cf").arg(archive).arg("."))
}
