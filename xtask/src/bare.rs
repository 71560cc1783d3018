//! `cargo xtask dist --try`: what `dist` made, made again elsewhere, and run where nothing else is
//! installed.
//!
//! Owns the second clone, whose path is another, and the bare Debian root, which debootstrap fills
//! from this machine's own mirror. Never changes what `dist` made.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::dist;
use crate::steps::{self, run, step};

/// Debian's release, and the variant that holds what no Debian is without.
const RELEASE: [&str; 2] = ["--variant=minbase", "bookworm"];

/// What is done in the root. The first part has nothing of ours but the program; `/proc` and the
/// devices of `/dev` are the kernel's.
const TRIED: &str = r#"
set -e
cd "$1"
mount -t proc proc proc
mount --rbind /dev dev
quietly() { "$@" --quiet --json --store /tmp/journal.db > tmp/told.json || test $? = 3; }
there() { chroot . "$@"; }
echo "packages: $(there dpkg-query -f '.\n' -W | wc -l); ethtool, ip, ssh, fio: $(there sh -c 'command -v ethtool ip ssh fio || echo none')"
there /tmp/switchmark --version
for device in bridge router; do
  quietly there /tmp/switchmark latency --testbed lab:$device --protocol udp --size 64 -t 100ms --blocks 2
  test "$(grep -c '"metric": *"rtt"' tmp/told.json)" -gt 0
  echo "latency, lab:$device: $(grep -c '"metric": *"rtt"' tmp/told.json) figures of round trips"
done
there /tmp/switchmark doctor --testbed lab:bridge --json --quiet > tmp/told.json
echo "doctor, lab:bridge: $(grep -o '"check":' tmp/told.json | wc -l) checks"
there dpkg --install "/tmp/$2"
there dpkg --verify switchmark
there switchmark --version
echo "pages: $(ls usr/share/man/man1/switchmark* | wc -l); completions: $(ls usr/share/bash-completion/completions/switchmark usr/share/zsh/vendor-completions/_switchmark usr/share/fish/vendor_completions.d/switchmark.fish | wc -l)"
there dpkg --remove switchmark
"#;

/// All of it, of this machine's own target.
pub fn attempt() -> Result<()> {
    dist::dist(None)?;
    let made = steps::root().join("target/dist");
    let scratch = std::env::temp_dir().join(format!("switchmark-try-{}", std::process::id()));
    fs::create_dir_all(&scratch).with_context(|| format!("make {}", scratch.display()))?;
    let ended = step("again", || again(&made, &scratch.join("elsewhere")))
        .and_then(|()| step("a bare root", || bare_root(&made, &scratch.join("root"))));
    fs::remove_dir_all(&scratch).with_context(|| format!("remove {}", scratch.display()))?;
    ended
}

/// The same commit in another folder gives the same octets.
fn again(made: &Path, elsewhere: &Path) -> Result<()> {
    run(Command::new("git").args(["clone", "--quiet"]).arg(steps::root()).arg(elsewhere))?;
    let mut build = Command::new("cargo");
    // Cargo tells its children where the workspace is: this one is another.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_") && name != "CARGO_HOME" {
            build.env_remove(name);
        }
    }
    run(build.args(["xtask", "dist"]).current_dir(elsewhere))?;
    let sums = |folder: &Path| -> Result<String> {
        let file = folder.join("SHA256SUMS");
        fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))
    };
    let (here, there) = (sums(made)?, sums(&elsewhere.join("target/dist"))?);
    ensure!(
        here == there,
        "another folder gives other octets (hint: commit first):\n{here}{there}"
    );
    eprintln!("the same octets");
    Ok(())
}

/// Programs and a package in a Debian with nothing else.
fn bare_root(made: &Path, root: &Path) -> Result<()> {
    run(Command::new("debootstrap").args(RELEASE).arg(root).stdout(std::io::stderr()))
        .context("make a bare Debian (hint: as root, with the package debootstrap)")?;
    let file = |start: &str| -> Result<PathBuf> {
        let all = fs::read_dir(made)?.flatten().map(|entry| entry.file_name());
        let named = all.filter_map(|name| name.into_string().ok());
        let found = named.into_iter().find(|name| name.starts_with(start));
        found.map(PathBuf::from).with_context(|| format!("no {start}… in {}", made.display()))
    };
    let package = file("switchmark_")?;
    fs::copy(made.join(file("switchmark-")?), root.join("tmp/switchmark"))?;
    fs::copy(made.join(&package), root.join("tmp").join(&package))?;
    // The mounts go with the last process of a mount namespace of their own.
    let mut tried = Command::new("unshare");
    tried.args(["--mount", "--propagation", "private", "sh", "-c", TRIED, "try"]);
    run(tried.arg(root).arg(package))
}
