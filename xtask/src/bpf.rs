//! The programs that run inside the kernel: built from C by clang, their objects committed.
//!
//! Owns the compiler's flags and the list of hashes beside the objects. A build of switchmark needs
//! no clang; `check` finds an object that is older than its source by the hashes alone.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

const FOLDER: &str = "crates/dataplane/bpf";
const HEADER: &str = "program.h";
const HASHES: &str = "objects.txt";
const SOURCE: &str = ".bpf.c";
/// The third generation of the instruction set has 32-bit arithmetic and atomics that answer
/// (Linux 5.12).
const FLAGS: &[&str] = &["-O2", "-g0", "-target", "bpf", "-mcpu=v3", "-Wall", "-Wextra", "-Werror"];
/// A header's helpers are not used by every program.
const ALLOWED: &[&str] = &["-Wno-unused-function", "-Wno-unused-variable", "-Wno-unused-parameter"];

/// Compiles every program and replaces the objects that came out different.
pub fn build(root: &Path) -> Result<()> {
    let folder = root.join(FOLDER);
    for source in sources(&folder)? {
        let object = format!("{}.o", source.trim_end_matches(".c"));
        let fresh = folder.join(format!("{object}.new"));
        let compiled = Command::new("clang")
            .args(FLAGS)
            .args(ALLOWED)
            .args(["-c", &source, "-o"])
            .arg(&fresh)
            .current_dir(&folder)
            .status()
            .context("start clang (Debian's packages clang and llvm)")?;
        if !compiled.success() {
            let _ = fs::remove_file(&fresh);
            bail!("clang did not compile {source}: {compiled}");
        }
        let same = fs::read(&fresh)? == fs::read(folder.join(&object)).unwrap_or_default();
        fs::rename(&fresh, folder.join(&object)).with_context(|| format!("replace {object}"))?;
        eprintln!("{object}: {}", if same { "unchanged" } else { "replaced" });
    }
    fs::write(folder.join(HASHES), list(&folder)?).context("write the hashes of the objects")
}

/// Fails if a source or an object is not what was built last.
pub fn check(root: &Path) -> Result<()> {
    let folder = root.join(FOLDER);
    let recorded = fs::read_to_string(folder.join(HASHES)).context("read the objects' hashes")?;
    if recorded != list(&folder)? {
        bail!("a program in {FOLDER} differs from its object: run `cargo xtask bpf`");
    }
    Ok(())
}

/// Lists each program's name with the hashes of its source (the header included) and of its object.
fn list(folder: &Path) -> Result<String> {
    let header = read(&folder.join(HEADER))?;
    let mut list =
        "# program, hash of source and header, hash of object; by `cargo xtask bpf`\n".to_owned();
    for source in sources(folder)? {
        let text = [header.as_slice(), &read(&folder.join(&source))?].concat();
        let object = read(&folder.join(format!("{}.o", source.trim_end_matches(".c"))))?;
        let name = source.trim_end_matches(SOURCE);
        writeln!(list, "{name} {:016x} {:016x}", hash(&text), hash(&object))?;
    }
    Ok(list)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("read {}", path.display()))
}

fn sources(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.retain(|name| name.ends_with(SOURCE));
    names.sort();
    Ok(names)
}

/// FNV-1a: against forgetting, not against malice.
fn hash(octets: &[u8]) -> u64 {
    octets.iter().fold(0xcbf2_9ce4_8422_2325, |hash, octet| {
        (hash ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3)
    })
}
