//! `cargo xtask dist --check`: what `dist` made, read by other programs and run where nothing else
//! is installed.
//!
//! Owns the roots that hold one package alone, and the one test that each of them, the image and
//! the program for another processor must pass. Never changes what `dist` made.

mod image;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::dist::{self, Processor};
use crate::steps::{capture_output, run, step};

/// Longest time from the package to the first figure.
const LONGEST: Duration = Duration::from_secs(30);
/// A root of Debian: its release, and the variant that holds what no Debian is without.
const DEBIAN: [&str; 2] = ["--variant=minbase", "bookworm"];
/// Runs a program in a root. The mounts go with it: the namespace is its own. `/proc` and the
/// devices of `/dev` are the kernel's.
const ENTER: &str = "cd \"$1\"; shift; mkdir -p proc dev tmp; mount -t proc proc proc && \
                     mount --rbind /dev dev && exec chroot . \"$@\"";
const COMPILERS: [&str; 4] = ["cc", "gcc", "clang", "rustc"];
/// Crates whose tests ask nothing of a kernel.
const PURE: [&str; 5] = ["wire", "measure", "device", "trial", "sim"];

/// Checks all of it; with `full`, runs unit tests on another processor too.
pub fn check(full: bool) -> Result<()> {
    let made = Made::find()?;
    let scratch = std::env::temp_dir().join(format!("switchmark-check-{}", std::process::id()));
    fs::create_dir_all(&scratch).with_context(|| format!("make {}", scratch.display()))?;
    let ended = step("sums", || made.sums())
        .and_then(|()| step("Debian package", || made.in_debian(&scratch.join("debian"))))
        .and_then(|()| step("RPM package", || made.beside_rpm(&scratch.join("rpm"))))
        .and_then(|()| step("image", || image::check(&made, &scratch)))
        .and_then(|()| step("another processor", || made.on_another_processor(&scratch, full)));
    fs::remove_dir_all(&scratch).with_context(|| format!("remove {}", scratch.display()))?;
    ended
}

/// Files that `dist` made for this machine's processor.
struct Made {
    folder: PathBuf,
    own: Processor,
    version: String,
}

/// Place where only a release is installed: how a program is started there, without its own words.
struct Place {
    start: Vec<OsString>,
    /// Journal; `None` for the usual place.
    journal: Option<PathBuf>,
}

impl Place {
    fn start(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.start[0]);
        command.args(&self.start[1..]).args(words);
        command
    }

    fn root(root: &Path, program: &str) -> Self {
        let words = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", ENTER, "enter"];
        let mut start: Vec<OsString> = words.map(Into::into).to_vec();
        start.extend([root.into(), program.into()]);
        Self { start, journal: Some(PathBuf::from("/tmp/journal.db")) }
    }

    /// A study's figures, by rows of JSON. Real frames on a busy machine may give invalid trials
    /// and figures without a value: that is an answer too.
    fn figures(&self, testbed: &str) -> Result<usize> {
        let words = "latency --protocol udp --size 64 -t 100ms --blocks 2 --quiet --json --testbed";
        let mut study = self.start(&words.split(' ').chain([testbed]).collect::<Vec<_>>());
        if let Some(journal) = &self.journal {
            study.arg("--journal").arg(journal);
        }
        let output = study.output().with_context(|| format!("start {study:?}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        let open = testbed.starts_with("lab:") && output.status.code() == Some(3);
        ensure!(output.status.success() || open, "{study:?}: {said}");
        let document: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        let figures = document["figures"].as_array().map_or(0, Vec::len);
        ensure!(figures > 0, "{study:?} gives no figure: {said}");
        Ok(figures)
    }
}

/// The one test. `begun` is when the installing was.
fn smoke(made: &Made, place: &Place, begun: Instant) -> Result<()> {
    let version = capture_output(&mut place.start(&["--version"]))?;
    ensure!(version.starts_with(&format!("switchmark {}", made.version)), "it is {version}");
    let figures = place.figures("sim:x450a-48t")?;
    let took = begun.elapsed();
    ensure!(took < LONGEST, "the first figure took {:.0} s", took.as_secs_f64());
    eprintln!(
        "{version}: installed, and {figures} figures of sim:x450a-48t, in {:.1} s",
        took.as_secs_f64()
    );
    Ok(())
}

/// Runs the studies with real frames, where namespaces can be made.
fn smoke_of_labs(place: &Place) -> Result<()> {
    for testbed in ["lab:bridge", "lab:router"] {
        eprintln!("{testbed}: {} figures", place.figures(testbed)?);
    }
    Ok(())
}

impl Made {
    fn find() -> Result<Self> {
        let this = Self {
            folder: dist::folder(),
            own: dist::own()?,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let program = this.file(&dist::named(&this.version, this.own));
        ensure!(program.is_file(), "no {} (hint: `cargo xtask dist` first)", program.display());
        Ok(this)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn sums(&self) -> Result<()> {
        let mut sums = Command::new("sha256sum");
        run(sums.args(["--check", "--strict", "SHA256SUMS"]).current_dir(&self.folder))
    }

    /// Installed by dpkg in a Debian with nothing else.
    fn in_debian(&self, root: &Path) -> Result<()> {
        run(Command::new("debootstrap").args(DEBIAN).arg(root).stdout(std::io::stderr()))
            .context("make a bare Debian (hint: as root, with the package debootstrap)")?;
        has_no_compiler(root)?;
        let begun = Instant::now();
        let name = format!("switchmark_{}_{}.deb", self.version, self.own.short);
        fs::copy(self.file(&name), root.join("tmp").join(&name))?;
        let dpkg = Place::root(root, "dpkg");
        run(&mut dpkg.start(&["--install", &format!("/tmp/{name}")]))?;
        let place = Place::root(root, "switchmark");
        smoke(self, &place, begun)?;
        smoke_of_labs(&place)?;
        run(&mut dpkg.start(&["--verify", "switchmark"]))?;
        for path in [
            "usr/share/man/man1/switchmark.1.gz",
            "usr/share/bash-completion/completions/switchmark",
            "usr/share/doc/switchmark/README.md",
            "usr/share/doc/switchmark/docs/README.md",
            "usr/share/doc/switchmark/examples/plan.toml",
            "usr/share/switchmark/claims/trident2.toml",
            "usr/share/switchmark/monitoring/switchmark.rules.yml",
            "usr/share/switchmark/monitoring/grafana.json",
        ] {
            ensure!(root.join(path).is_file(), "the Debian package has no {path}");
        }
        run(&mut dpkg.start(&["--purge", "switchmark"]))?;
        let left = root.join("usr/share/switchmark");
        ensure!(!left.exists(), "{} is left", left.display());
        Ok(())
    }

    /// Unpacked by rpm into a root that has nothing at all.
    fn beside_rpm(&self, root: &Path) -> Result<()> {
        let package = self.file(&format!("switchmark-{}-1.{}.rpm", self.version, self.own.name));
        let about =
            capture_output(Command::new("rpm").args(["-qp", "--nosignature", "-i"]).arg(&package))
                .context("read the package (hint: install Debian's package rpm)")?;
        eprintln!("{about}");
        let begun = Instant::now();
        let mut install = Command::new("rpm");
        install.args(["--install", "--nosignature", "--root"]).arg(root).arg(&package);
        run(&mut install)?;
        has_no_compiler(root)?;
        let place = Place::root(root, "/usr/bin/switchmark");
        smoke(self, &place, begun)?;
        smoke_of_labs(&place)
    }

    /// The program of another processor, by an emulator.
    fn on_another_processor(&self, scratch: &Path, full: bool) -> Result<()> {
        for other in dist::PROCESSORS.iter().filter(|other| other.name != self.own.name) {
            let program = self.file(&dist::named(&self.version, *other));
            if !program.is_file() {
                eprintln!("left out: no {}", program.display());
                continue;
            }
            let emulator = format!("qemu-{}-static", other.name);
            let start = vec![emulator.clone().into(), program.into()];
            smoke(self, &Place { start, journal: Some(scratch.join("j.db")) }, Instant::now())
                .context("hint: install Debian's package qemu-user-static")?;
            if full {
                let mut tests = dist::cargo_for(*other, &["test", "--lib"])?;
                tests.args(PURE.iter().flat_map(|name| ["--package", name]));
                let named = format!("CARGO_TARGET_{}_UNKNOWN_LINUX_MUSL_RUNNER", other.name);
                run(tests.env(named.to_uppercase(), &emulator))?;
            }
        }
        Ok(())
    }
}

fn has_no_compiler(root: &Path) -> Result<()> {
    for compiler in COMPILERS {
        let path = root.join("usr/bin").join(compiler);
        ensure!(!path.exists(), "the root has a compiler: {}", path.display());
    }
    Ok(())
}
