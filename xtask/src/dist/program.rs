//! The program itself: one static file of musl, stripped, without the building machine's paths.
//!
//! Owns how it is compiled and linked, and how large it may be.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::files::read;
use super::{Commit, Processor, own};
use crate::steps::{self, cargo, run};

/// Largest size in octets: it is copied to every host before a run.
const LARGEST: usize = 20_000_000;

/// Returns the compiler's name of the target, whose C library can be linked into one static file.
pub(super) fn target(processor: Processor) -> String {
    format!("{}-unknown-linux-musl", processor.name)
}

/// Returns cargo, set to build for that processor with the flags of all programs shipped.
pub fn cargo_for(processor: Processor, args: &[&str]) -> Result<Command> {
    let (root, target) = (steps::root(), target(processor));
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let mut flags = vec!["-Ctarget-feature=+crt-static".to_owned()];
    flags.push(format!("--remap-path-prefix={}=.", root.display()));
    flags.extend(home.map(|home| format!("--remap-path-prefix={}=cargo", home.display())));
    let mut build = cargo(args);
    build.args(["--target", &target]);
    // The compiler brings a linker and the C library along; what is in C, SQLite and ring, is
    // compiled by Debian's cross-compiler.
    let is_own = processor.name == own()?.name;
    // A program that may lie anywhere names each of its own addresses, in 24 octets, or in a bit so
    // (DT_RELR, which musl reads since 1.2.4). On aarch64 it lies where it was linked to.
    if processor.name == "x86_64" {
        let linker = if is_own { "-Wl,-z," } else { "-z" };
        flags.push(format!("-Clink-arg={linker}pack-relative-relocs"));
    }
    if !is_own {
        flags.extend(["-Clinker=rust-lld", "-Clink-self-contained=yes"].map(str::to_owned));
        let tool = |kind: &str| format!("{kind}_{}", target.replace('-', "_"));
        build.env(tool("CC"), format!("{}-linux-gnu-gcc", processor.name));
        build.env(tool("AR"), format!("{}-linux-gnu-ar", processor.name));
        // glibc's header would rename files' functions to those that musl does not have; on a
        // processor of 64 bits they are the same.
        build.env(tool("CFLAGS"), "-DSQLITE_DISABLE_LFS");
    }
    build.env("RUSTFLAGS", flags.join(" "));
    // What was compiled before, and in which parts, must not show.
    build.env("CARGO_INCREMENTAL", "0");
    Ok(build)
}

/// Builds the program, and returns its path.
pub(super) fn build(processor: Processor, commit: &Commit) -> Result<PathBuf> {
    let target = target(processor);
    let args = ["rustc", "--package", "switchmark", "--bin", "switchmark", "--profile", "dist"];
    let mut build = cargo_for(processor, &args)?;
    build.args(["--", "-Cstrip=symbols"]);
    build.env("SWITCHMARK_VERSION", &commit.told);
    build.env("SOURCE_DATE_EPOCH", commit.epoch.to_string());
    run(&mut build).with_context(|| {
        let short = processor.name.replace('_', "-");
        format!(
            "build for {target} (hint: `rustup target add {target}`, and Debian's packages \
             musl-tools and gcc-{short}-linux-gnu)"
        )
    })?;
    let program = steps::root().join("target").join(&target).join("dist/switchmark");
    let octets = read(&program)?;
    let size = octets.len();
    ensure!(size <= LARGEST, "{} has {size} octets, over {LARGEST}", program.display());
    ensure!(is_static(&octets), "{} is not static", program.display());
    eprintln!("{}: {:.1} MB, static", program.display(), size as f64 / 1e6);
    Ok(program)
}

/// True if no program header asks for an interpreter (ELF-64: e_phoff, e_phentsize, e_phnum;
/// PT_INTERP).
fn is_static(elf: &[u8]) -> bool {
    const PT_INTERP: u32 = 3;
    let two = |at: usize| elf.get(at..at + 2).map(|b| u16::from_le_bytes([b[0], b[1]]));
    let table = elf.get(32..40).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes);
    let (Some(table), Some(size), Some(count)) = (table, two(54), two(56)) else { return false };
    (0..u64::from(count)).all(|i| {
        let at = (table + i * u64::from(size)) as usize;
        let kind = elf.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes);
        kind.is_some_and(|kind| kind != PT_INTERP)
    })
}
