//! `cargo xtask dist`: what is given to people: one static program, its manual, completions, a
//! package.
//!
//! Owns what is in them and how large the program may be. The same commit gives the same octets: no
//! path and no time of the building machine gets in. Never uploads anything.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::steps::{self, cargo, run, step};

/// It is copied to every host before a run.
const LARGEST: u64 = 25_000_000;
/// A C library that is made to be linked into one static file; what is shipped.
const MUSL: &str = "unknown-linux-musl";
/// The one that programs are built with where they are developed.
const GNU: &str = "unknown-linux-gnu";

/// Builds everything into `target/dist`, for this machine's processor or for `target`.
pub fn dist(target: Option<&str>) -> Result<()> {
    let commit = Commit::here()?;
    let target = target.map_or_else(|| own(MUSL), |named| Ok(named.to_owned()))?;
    let program = step("program", || program(&target, &commit))?;
    let folder = steps::root().join("target/dist");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let named = folder.join(format!("switchmark-{}-{target}", commit.version));
    fs::copy(&program, &named).with_context(|| format!("copy {}", program.display()))?;
    // Pages and completions come out of a program that runs here; they are the same for every
    // processor.
    let own = [own(MUSL)?, own(GNU)?];
    let runs_here = if own.contains(&target) {
        program
    } else {
        step("host", || self::program(&own[1], &commit))?
    };
    let tree = step("tree", || tree(&folder, &named, &runs_here, &commit))?;
    step("package", || package(&folder, &tree, &target, &commit))?;
    fs::remove_dir_all(&tree).with_context(|| format!("remove {}", tree.display()))?;
    let mut sums = Command::new("sh");
    sums.args(["-c", "sha256sum switchmark* > SHA256SUMS && cat SHA256SUMS"]);
    run(sums.current_dir(&folder))
}

/// What is built, as git tells it.
struct Commit {
    /// Of the workspace.
    version: String,
    /// `0.1.0 (0123456789ab)`, with `, modified` where files differ from the commit.
    told: String,
    /// When it was made: the time of every file shipped.
    epoch: String,
}

impl Commit {
    fn here() -> Result<Self> {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let hash = told(Command::new("git").args(["rev-parse", "--short=12", "HEAD"]))?;
        let epoch = told(Command::new("git").args(["log", "-1", "--format=%ct"]))?;
        let clean = told(Command::new("git").args(["status", "--porcelain"]))?.is_empty();
        let modified = if clean { "" } else { ", modified" };
        Ok(Self { told: format!("{version} ({hash}{modified})"), version, epoch })
    }
}

/// The compiler's name for this machine's processor with that C library.
fn own(library: &str) -> Result<String> {
    let version = told(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let processor = host.and_then(|host| host.split('-').next());
    Ok(format!("{}-{library}", processor.context("rustc does not tell its host")?))
}

/// One static file, stripped, without the building machine's paths.
fn program(target: &str, commit: &Commit) -> Result<PathBuf> {
    let root = steps::root();
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let mut flags = vec!["-Ctarget-feature=+crt-static".to_owned()];
    flags.push(format!("--remap-path-prefix={}=.", root.display()));
    flags.extend(home.map(|home| format!("--remap-path-prefix={}=cargo", home.display())));
    let args = ["build", "--package", "switchmark", "--profile", "dist", "--target", target];
    let mut build = cargo(&args);
    build.env("RUSTFLAGS", flags.join(" "));
    build.env("SWITCHMARK_VERSION", &commit.told);
    build.env("SOURCE_DATE_EPOCH", &commit.epoch);
    // What was compiled before, and in which parts, must not show.
    build.env("CARGO_INCREMENTAL", "0");
    run(&mut build).with_context(|| {
        format!("build for {target} (hint: `rustup target add {target}`, and a linker for it)")
    })?;
    let program = root.join("target").join(target).join("dist/switchmark");
    let octets = fs::metadata(&program)?.len();
    ensure!(octets <= LARGEST, "{} has {octets} octets, over {LARGEST}", program.display());
    ensure!(is_static(&fs::read(&program)?), "{} is not static", program.display());
    eprintln!("{}: {:.1} MB, static", program.display(), octets as f64 / 1e6);
    Ok(program)
}

/// Whether no program header asks for an interpreter (ELF-64: e_phoff, e_phentsize, e_phnum;
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

/// The package's files as they will lie on a host.
fn tree(folder: &Path, shipped: &Path, runs_here: &Path, commit: &Commit) -> Result<PathBuf> {
    let tree = folder.join("tree");
    let place = |path: &str| -> Result<PathBuf> {
        let place = tree.join(path);
        let above = place.parent().context("a path below the tree")?;
        fs::create_dir_all(above).with_context(|| format!("make {}", above.display()))?;
        Ok(place)
    };
    fs::copy(shipped, place("usr/bin/switchmark")?)?;
    let shells = [
        ("bash", "usr/share/bash-completion/completions/switchmark"),
        ("zsh", "usr/share/zsh/vendor-completions/_switchmark"),
        ("fish", "usr/share/fish/vendor_completions.d/switchmark.fish"),
    ];
    for (shell, path) in shells {
        let script = told(Command::new(runs_here).args(["completions", shell]))?;
        fs::write(place(path)?, script + "\n")?;
    }
    let pages = place("usr/share/man/man1/switchmark.1")?;
    let pages = pages.parent().context("a folder of pages")?;
    run(Command::new(runs_here).arg("manual").arg(pages))?;
    let root = steps::root();
    for folder in ["profiles", "examples"] {
        copy_all(&root.join(folder), &place(&format!("usr/share/switchmark/{folder}"))?)?;
    }
    let licences = format!(
        "{}\n{}",
        fs::read_to_string(root.join("LICENSE-MIT"))?,
        fs::read_to_string(root.join("LICENSE-APACHE"))?
    );
    fs::write(place("usr/share/doc/switchmark/copyright")?, licences)?;
    fs::copy(root.join("README.md"), place("usr/share/doc/switchmark/README.md")?)?;
    fs::copy(root.join("CHANGELOG.md"), place("usr/share/doc/switchmark/changelog")?)?;
    // Modes and times that do not depend on who built it, or when.
    let script = format!(
        "find . -type d -exec chmod 755 {{}} + && find . -type f -exec chmod 644 {{}} + && \
         chmod 755 usr/bin/switchmark && gzip -9n usr/share/man/man1/*.1 usr/share/doc/switchmark/changelog && \
         find . -exec touch -h -d @{} {{}} +",
        commit.epoch
    );
    run(Command::new("sh").args(["-c", &script]).current_dir(&tree))?;
    Ok(tree)
}

/// A folder with all that is in it.
fn copy_all(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("make {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("read {}", from.display()))? {
        let from = entry?.path();
        let to = to.join(from.file_name().context("a name in a folder")?);
        if from.is_dir() {
            copy_all(&from, &to)?;
        } else {
            fs::copy(&from, &to).with_context(|| format!("copy {}", from.display()))?;
        }
    }
    Ok(())
}

/// A Debian package, where `dpkg-deb` is there to make one.
fn package(folder: &Path, tree: &Path, target: &str, commit: &Commit) -> Result<()> {
    let architecture = match target.split('-').next() {
        Some("x86_64") => "amd64",
        Some("aarch64") => "arm64",
        _ => bail!("no name in Debian for {target}"),
    };
    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        eprintln!("no package: `dpkg-deb` is missing (hint: install the package dpkg)");
        return Ok(());
    }
    let control = format!(
        "Package: switchmark\nVersion: {}\nArchitecture: {architecture}\nMaintainer: the switchmark developers\n\
         Section: net\nPriority: optional\nDescription: measures switches, routers, NICs and cables\n \
         It measures them from the Linux hosts attached to them and says whose limit\n each figure shows. \
         One static program: controller, agent, lab, simulator, report.\n",
        commit.version
    );
    let about = tree.join("DEBIAN");
    fs::create_dir_all(&about)?;
    fs::write(about.join("control"), control)?;
    let named = folder.join(format!("switchmark_{}_{architecture}.deb", commit.version));
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "-Zxz", "--build"]).arg(tree).arg(named);
    build.env("SOURCE_DATE_EPOCH", &commit.epoch);
    run(&mut build)
}

/// What a program prints, without the last line's end.
fn told(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("start {command:?}"))?;
    ensure!(output.status.success(), "{command:?} ended with {}", output.status);
    let text = String::from_utf8(output.stdout).with_context(|| format!("read {command:?}"))?;
    Ok(text.trim_end().to_owned())
}
