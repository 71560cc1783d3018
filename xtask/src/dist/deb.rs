//! A Debian package.
//!
//! Owns its control file. It depends on nothing.

use std::fs;
use std::process::Command;

use anyhow::Result;

use super::{ABOUT, Names, Shipped, TITLE, can_be_made_by};
use crate::steps::run;

/// Packs it, where `dpkg-deb` is there to.
pub(super) fn pack(of: &Shipped) -> Result<()> {
    if !can_be_made_by("dpkg-deb", "dpkg") {
        return Ok(());
    }
    let (version, architecture) = (&of.commit.version, of.processor(Names::Debian)?);
    let control = format!(
        "Package: switchmark\nVersion: {version}\nArchitecture: {architecture}\n\
         Maintainer: the switchmark developers\nSection: net\nPriority: optional\n\
         Description: {TITLE}\n {}\n",
        ABOUT.replace('\n', "\n ")
    );
    let about = of.tree.join("DEBIAN");
    fs::create_dir_all(&about)?;
    fs::write(about.join("control"), control)?;
    let named = of.folder.join(format!("switchmark_{version}_{architecture}.deb"));
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "-Zxz", "--build"]).arg(&of.tree).arg(named);
    build.env("SOURCE_DATE_EPOCH", &of.commit.epoch);
    run(&mut build)?;
    Ok(fs::remove_dir_all(about)?)
}
