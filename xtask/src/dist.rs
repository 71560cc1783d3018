//! `cargo xtask dist`: a release: one static program for each processor, archives and packages of
//! it, an image, a bill of materials.
//!
//! Owns which there are. The same commit gives the same octets: no path and no time of the building
//! machine gets in. Never uploads anything.

mod archive;
mod bill;
mod content;
mod deb;
mod files;
mod image;
mod program;
mod rpm;

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use sha2::{Digest as _, Sha256};

use crate::steps::{self, capture_output, step};
use files::{Files, read, write};

/// Description of the program, in a line and in full.
const TITLE: &str = "measures switches, routers, NICs and cables";
const ABOUT: &str = "It measures them from the Linux hosts attached to them and says whose limit\n\
                     each figure shows. One static program: controller, agent, lab, simulator, report.";
/// Path of the program.
const PROGRAM: &str = "usr/bin/switchmark";

/// A processor that programs are built for.
#[derive(Debug, Clone, Copy)]
pub struct Processor {
    /// Name that the compiler, the kernel and RPM use.
    pub name: &'static str,
    /// Name that Debian and the OCI use.
    pub short: &'static str,
}

/// All processors.
pub const PROCESSORS: [Processor; 2] =
    [Processor { name: "x86_64", short: "amd64" }, Processor { name: "aarch64", short: "arm64" }];

pub use program::cargo_for;

/// Returns this machine's processor.
pub fn own() -> Result<Processor> {
    processor(std::env::consts::ARCH)
}

fn processor(name: &str) -> Result<Processor> {
    let known = PROCESSORS.iter().find(|processor| processor.name == name);
    known.copied().with_context(|| format!("nothing is distributed for `{name}`"))
}

/// Builds everything into `target/packages`, for all processors or for those named.
pub fn dist(names: &[&str]) -> Result<()> {
    let commit = Commit::here()?;
    let named: Result<Vec<Processor>> = names.iter().map(|name| processor(name)).collect();
    let processors = if names.is_empty() { PROCESSORS.to_vec() } else { named? };
    let folder = folder();
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    // Pages and completions come out of a program that runs here; they are the same for every
    // processor.
    let runs_here = step("this machine's program", || program::build(own()?, &commit))?;
    let content = step("content", || content::files(&runs_here))?;
    for processor in processors {
        step(processor.name, || {
            let program = read(&program::build(processor, &commit)?)?;
            let mut files = content.clone();
            files.program(PROGRAM, program.clone());
            let folder = folder.clone();
            Shipped { folder, program, files, processor, commit: commit.clone() }.pack()
        })?;
    }
    let sums = sums(&folder)?;
    write(&folder.join("SHA256SUMS"), sums.as_bytes())?;
    print!("{sums}");
    Ok(())
}

/// Folder for all of it. Cargo keeps what it builds with in `target/dist`.
pub fn folder() -> PathBuf {
    steps::root().join("target/packages")
}

/// One processor's program and the files around it.
struct Shipped {
    folder: PathBuf,
    program: Vec<u8>,
    /// Files at their paths on a host.
    files: Files,
    processor: Processor,
    commit: Commit,
}

impl Shipped {
    /// Returns the prefix of its files' names.
    fn name(&self) -> String {
        named(&self.commit.version, self.processor)
    }

    fn pack(&self) -> Result<()> {
        let program = self.folder.join(self.name());
        write(&program, &self.program)?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
        archive::pack(self)?;
        deb::pack(self)?;
        rpm::pack(self)?;
        image::pack(self)?;
        bill::write_bill(self)
    }

    /// Creates a release for tests, with a program of that content.
    #[cfg(test)]
    fn pretended(program: &str) -> Self {
        let program = program.as_bytes().to_vec();
        let mut files = Files::default();
        files.program(PROGRAM, program.clone());
        let commit = Commit {
            version: "1.0.0".to_owned(),
            told: "1.0.0".to_owned(),
            hash: "0".repeat(40),
            epoch: 1_000_000_000,
            created: "2001-09-09T01:46:40Z".to_owned(),
        };
        Self { folder: PathBuf::new(), program, files, processor: PROCESSORS[0], commit }
    }
}

/// `switchmark-1.0.0-x86_64-linux`
pub fn named(version: &str, processor: Processor) -> String {
    format!("switchmark-{version}-{}-linux", processor.name)
}

/// Commit that is built, as git reports it.
#[derive(Clone)]
struct Commit {
    /// Version of the workspace.
    version: String,
    /// `0.1.0 (0123456789ab)`, with `, modified` where files differ from the commit.
    told: String,
    hash: String,
    /// Time of the commit in Unix seconds: the time of every file shipped.
    epoch: u64,
    /// Time of the commit by RFC 3339.
    created: String,
}

impl Commit {
    fn here() -> Result<Self> {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let git = |args: &[&str]| {
            let mut git = Command::new("git");
            capture_output(git.env("TZ", "UTC").arg("-C").arg(steps::root()).args(args))
        };
        let hash = git(&["rev-parse", "HEAD"])?;
        let modified = if git(&["status", "--porcelain"])?.is_empty() { "" } else { ", modified" };
        let epoch = git(&["log", "-1", "--format=%ct"])?.parse().context("a commit's time")?;
        let form = "--date=format-local:%Y-%m-%dT%H:%M:%SZ";
        let created = git(&["log", "-1", "--format=%cd", form])?;
        let told = format!("{version} ({}{modified})", &hash[..12]);
        Ok(Self { version, told, hash, epoch, created })
    }
}

/// Formats checksums as `sha256sum --check` reads them.
fn sums(folder: &Path) -> Result<String> {
    let mut sums = String::new();
    let mut names: Vec<_> =
        fs::read_dir(folder)?.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    for name in names {
        let sum = digest(&read(&folder.join(&name))?);
        writeln!(sums, "{sum}  {}", name.display())?;
    }
    Ok(sums)
}

/// SHA-256, in hexadecimal.
fn digest(octets: &[u8]) -> String {
    Sha256::digest(octets).iter().fold(String::new(), |hex, octet| format!("{hex}{octet:02x}"))
}
