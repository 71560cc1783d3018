//! How a test program's tests run: beside each other where nothing disturbs them, apart from each
//! other where they build networks, and one at a time where neither can be.
//!
//! Owns which programs those are. Cargo starts every test program through this program, so that all
//! are built and run by one command.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::apart;

/// Programs whose tests run beside each other: a crate's `tests/it`, and the unit tests of crates
/// that know no clock, no kernel and no process. All others, `tests/labs` above all, run apart;
/// long statistics want a quiet machine and run one at a time.
const BESIDE: [&str; 11] = [
    "it", "device", "import", "journal", "measure", "study", "page", "render", "sim", "trial",
    "wire",
];

/// The word that cargo puts before each test program, after this one.
pub const STARTS: &str = "start-test";

/// Returns cargo's setting that starts test programs through this program.
pub fn runner() -> Result<String> {
    let this = std::env::current_exe().context("find this program")?;
    let this = this.to_str().context("a path in UTF-8")?;
    // A literal string of TOML.
    if this.contains('\'') {
        bail!("{this}: a quote in the path");
    }
    Ok(format!("target.'cfg(all())'.runner = ['{this}', '{STARTS}']"))
}

/// Runs a test program's tests, or becomes it.
pub fn start(program: &str, args: &[&str]) -> Result<()> {
    let mut command = Command::new(program);
    command.args(args);
    if !BESIDE.contains(&name(program)) {
        let full = std::env::var("SWITCHMARK_TESTS").is_ok_and(|wanted| wanted == "full");
        if !full && args.is_empty() && apart::possible() {
            return apart::run(program);
        }
        command.arg("--test-threads=1");
    }
    Err(command.exec()).with_context(|| format!("start {program}"))
}

/// A test program's name without the hash that cargo puts behind it.
fn name(program: &str) -> &str {
    let file = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or(program);
    file.rsplit_once('-').map_or(file, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nothing_disturbs_runs_beside_each_other() {
        for (program, beside) in [("it", true), ("sim", true), ("labs", false), ("lab", false)] {
            let path = format!("/target/release/deps/{program}-5e601f3950f87d35");
            assert_eq!(BESIDE.contains(&name(&path)), beside, "{program}");
        }
    }
}
