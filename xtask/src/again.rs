//! `cargo xtask dist --again`: repeats `dist` elsewhere, and compares.
//!
//! Owns the second clone, whose path is another. Never changes what `dist` made.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::dist;
use crate::steps::{self, run, step};

/// Checks that the same commit in another folder gives the same octets, for all processors or for
/// those named.
pub fn again(processors: &[&str]) -> Result<()> {
    let scratch = std::env::temp_dir().join(format!("switchmark-again-{}", std::process::id()));
    let ended = step("again", || compare(&scratch, processors));
    fs::remove_dir_all(&scratch).with_context(|| format!("remove {}", scratch.display()))?;
    ended
}

fn compare(elsewhere: &Path, processors: &[&str]) -> Result<()> {
    run(Command::new("git").args(["clone", "--quiet"]).arg(steps::root()).arg(elsewhere))?;
    let mut build = Command::new("cargo");
    // Cargo tells its children where the workspace is: this one is another.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_") && name != "CARGO_HOME" {
            build.env_remove(name);
        }
    }
    run(build.args(["xtask", "dist"]).args(processors).current_dir(elsewhere))?;
    let sums = |folder: &Path| -> Result<String> {
        let file = folder.join("SHA256SUMS");
        fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))
    };
    let (here, there) = (sums(&dist::folder())?, sums(&elsewhere.join("target/packages"))?);
    let differs = there.lines().filter(|line| !here.lines().any(|own| own == *line));
    let differs: Vec<&str> = differs.collect();
    ensure!(
        differs.is_empty(),
        "another folder gives other octets (hint: commit first, then `cargo xtask dist`):\n{}",
        differs.join("\n")
    );
    eprintln!("the same octets: {} files", there.lines().count());
    Ok(())
}
