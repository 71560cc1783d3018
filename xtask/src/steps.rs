//! The commands themselves, each as the list of steps it is.
//!
//! Never parses a tool's output beyond its exit status.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::{
    attack, bpf, circles, deny, edges, guards, makers, packages, pages, site, threads, tidy, voice,
};

/// The workspace's root: the folder above this crate's.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_owned()
}

/// Format, lints and house rules, in the profile that `test` builds with: the bundled C code is
/// compiled once for both.
pub fn check() -> Result<()> {
    step("format", || run(&mut cargo(&["fmt", "--all", "--check"])))?;
    step("tidy", || tidy::check(&root()))?;
    step("voice", || voice::check(&root()))?;
    step("programs inside the kernel", || bpf::check(&root()))?;
    step("crate edges", edges::check)?;
    step("circles of modules", || circles::check(&root()))?;
    step("makers of verdicts and conditions", || makers::check(&root()))?;
    step("pages from findings", || guards::check(&root()))?;
    step("pages and links", || pages::check(&root()))?;
    step("licences and sources", || deny::check(&root()))?;
    step("clippy", || {
        let args = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
        run(&mut cargo(&args))
    })
}

/// Runs every test of the workspace; those that own a network lab run in namespaces of their own.
/// Comments hold no code to be tested, so rustdoc is not run.
pub fn test(full: bool) -> Result<()> {
    step("packages", packages::ensure)?;
    let tests = ["test", "--workspace", "--tests"];
    step("build", || run(cargo(&tests).arg("--no-run")))?;
    if full {
        // A test looks at it where there is what makes it.
        site::build()?;
    }
    step("tests", || {
        let runner = threads::runner()?;
        let mut tests = cargo(&tests);
        tests.args(["--no-fail-fast", "--config", &runner]);
        if full {
            tests.env("SWITCHMARK_TESTS", "full");
        }
        run(&mut tests)
    })?;
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: attack needs root, to stand apart from the network");
        return Ok(());
    }
    let seconds = if full { ["--seconds", "3600"] } else { ["--seconds", "30"] };
    step("attack", || attack::attack(&seconds))
}

/// Measures simulated devices with known properties: a hundred, or two thousand with `--full`.
/// Other arguments go to `switchmark prove` unchanged.
pub fn prove(args: &[&str]) -> Result<()> {
    let (full, mut rest): (Vec<&str>, Vec<&str>) = args.iter().partition(|arg| **arg == "--full");
    if !rest.contains(&"--devices") {
        rest.extend(["--devices", if full.is_empty() { "100" } else { "2000" }]);
    }
    step("build", || run(&mut cargo(&["build", "--release", "--package", "switchmark"])))?;
    step("prove", || {
        let program = ["run", "--release", "--quiet", "--package", "switchmark", "--"];
        let mut prove = cargo(&program);
        prove.args(["prove", "--only", "sim"]).args(rest);
        run(&mut prove)
    })
}

/// Benchmarks are ignored tests that print tables; they need the peers installed.
pub fn bench(names: &[&str]) -> Result<()> {
    step("packages", || {
        let simulator = |name: &&str| name.starts_with("simulator");
        if names.is_empty() || names.iter().any(simulator) {
            packages::ensure_ns3()?;
        }
        if names.is_empty() || !names.iter().all(simulator) {
            packages::ensure()?;
        }
        Ok(())
    })?;
    step("bench", || {
        let args = ["test", "--release", "--package", "switchmark", "--test", "labs"];
        let mut bench = cargo(&args);
        bench.args(["--", "--ignored", "--nocapture", "--test-threads=1"]).args(names);
        run(&mut bench)
    })
}

/// Does a step, and reports what is done and how long it took.
pub fn step<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    eprintln!("== {name}");
    let begun = Instant::now();
    let done = work().with_context(|| format!("step `{name}`"))?;
    eprintln!("== {name}: ok, {:.0} s", begun.elapsed().as_secs_f64());
    Ok(done)
}

/// The cargo that runs this, in the workspace's root.
pub fn cargo(args: &[&str]) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(args).current_dir(root());
    cargo
}

/// The program as `cargo build --release` left it.
pub fn built() -> Result<PathBuf> {
    program_in(&target()?, "release")
}

/// The program as `cargo build` and the tests left it.
pub fn tested() -> Result<PathBuf> {
    program_in(&target()?, "debug")
}

/// The program of a profile in a target folder: below the host's name, for the configuration names
/// the target.
pub fn program_in(target: &Path, profile: &str) -> Result<PathBuf> {
    let host = if cfg!(target_arch = "aarch64") { "aarch64" } else { "x86_64" };
    let folders = [target.join(format!("{host}-unknown-linux-gnu")), target.to_owned()];
    let programs = folders.map(|folder| folder.join(profile).join("switchmark"));
    let found = programs.into_iter().find(|path| path.is_file());
    found.with_context(|| format!("find {profile}/switchmark below {}", target.display()))
}

fn target() -> Result<PathBuf> {
    let told = cargo(&["metadata", "--format-version=1", "--no-deps"]).output()?;
    let metadata: serde_json::Value = serde_json::from_slice(&told.stdout)?;
    Ok(PathBuf::from(metadata["target_directory"].as_str().context("a target directory")?))
}

/// Runs it to its end; an error where it did not succeed.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("start {command:?}"))?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}

/// Returns what it prints, without the last line's end; an error if it did not succeed.
pub fn capture_output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("start {command:?}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?} ended with {}: {}", output.status, said.trim_end());
    }
    let text = String::from_utf8(output.stdout).with_context(|| format!("read {command:?}"))?;
    Ok(text.trim_end().to_owned())
}
