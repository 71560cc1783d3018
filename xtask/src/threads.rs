//! How many of a test program's tests run at once: all that there is room for where they only
//! compute, else one.
//!
//! Owns which crates those are. Cargo starts every test program through this program, so that all
//! are built and run by one command.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Crates that know no clock, no kernel and no process: nothing outside disturbs their tests, nor
/// do they.
const PURE: [&str; 7] = ["device", "measure", "method", "record", "sim", "trial", "wire"];

/// The word that cargo puts before each test program, after this one.
pub const STARTS: &str = "start-test";

/// What tells cargo so.
pub fn runner() -> Result<String> {
    let this = std::env::current_exe().context("find this program")?;
    let this = this.to_str().context("a path in UTF-8")?;
    // A literal string of TOML.
    if this.contains('\'') {
        bail!("{this}: a quote in the path");
    }
    Ok(format!("target.'cfg(all())'.runner = ['{this}', '{STARTS}']"))
}

/// Becomes the test program; returns only where it can't.
pub fn start(program: &str, args: &[&str]) -> Result<()> {
    let package = std::env::var("CARGO_PKG_NAME").context("ask cargo for the package's name")?;
    let mut command = Command::new(program);
    command.args(args);
    if !PURE.contains(&package.as_str()) {
        command.arg("--test-threads=1");
    }
    Err(command.exec()).with_context(|| format!("start {program}"))
}
