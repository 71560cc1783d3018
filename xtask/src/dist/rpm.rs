//! An RPM package, by rpmbuild.
//!
//! Owns its spec. It depends on nothing, and nothing is done to its files: they are what the other
//! packages hold.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{ABOUT, Shipped, TITLE};
use crate::steps::{capture_output, run};

/// Settings of rpmbuild, so that it leaves files unchanged and does not name the machine it runs
/// on.
const SETTINGS: [&str; 8] = [
    "__os_install_post %{nil}",
    "debug_package %{nil}",
    "_build_id_links none",
    "_buildhost switchmark",
    "use_source_date_epoch_as_buildtime 1",
    "clamp_mtime_to_source_date_epoch 1",
    "_binary_payload w19.zstdio",
    "_binary_filedigest_algorithm 8",
];
/// Folders in which Fedora's zsh looks, and Debian's.
const COMPLETIONS: [&str; 2] = ["usr/share/zsh/site-functions", "usr/share/zsh/vendor-completions"];

/// Packs it if rpmbuild is there; else reports what is missing.
pub(super) fn pack(of: &Shipped) -> Result<()> {
    if Command::new("rpmbuild").arg("--version").output().is_err() {
        eprintln!("left out: `rpmbuild` is missing (hint: install the package rpm)");
        return Ok(());
    }
    let processor = of.processor.name;
    let work = of.folder.join("rpm");
    let files = of.files.moved(|path| Some(path.replace(COMPLETIONS[1], COMPLETIONS[0])));
    files.write_below(&work.join("files"))?;
    let spec = work.join("switchmark.spec");
    let own: Vec<&str> = files.paths().filter(|path| is_own(path)).collect();
    fs::write(&spec, self::spec(of, &work.join("files").display().to_string(), &own))?;
    let mut build = Command::new("rpmbuild");
    build.args(["-bb", "--quiet", "--target", processor]).arg("--define");
    build.arg(format!("_topdir {}", work.display()));
    for setting in SETTINGS {
        build.args(["--define", setting]);
    }
    build.env("SOURCE_DATE_EPOCH", of.commit.epoch.to_string()).stdout(std::io::stderr());
    run(build.arg(&spec))?;
    let named = format!("switchmark-{}-1.{processor}.rpm", of.commit.version);
    let made = work.join("RPMS").join(processor).join(&named);
    let package = of.folder.join(named);
    fs::rename(&made, &package).with_context(|| format!("move {}", made.display()))?;
    fs::remove_dir_all(&work).with_context(|| format!("remove {}", work.display()))?;
    let held =
        capture_output(Command::new("rpm").args(["-qp", "--nosignature", "--list"]).arg(package))?;
    for path in own {
        ensure!(held.lines().any(|line| line[1..] == *path), "the RPM package lacks /{path}");
    }
    Ok(())
}

/// True if a path is the package's own, and not one that every system has.
fn is_own(path: &str) -> bool {
    path.contains("switchmark")
}

fn spec(of: &Shipped, files: &str, own: &[&str]) -> String {
    // A folder alone: what is in it is listed itself.
    let is_folder = |path: &str| own.iter().any(|other| other.starts_with(&format!("{path}/")));
    let line = |path: &&str| format!("{}\"/{path}\"\n", if is_folder(path) { "%dir " } else { "" });
    format!(
        "Name: switchmark\nVersion: {}\nRelease: 1\nSummary: {TITLE}\n\
         License: MIT OR Apache-2.0\nAutoReqProv: no\n%description\n{ABOUT}\n\
         %install\nmkdir -p %{{buildroot}}\ncp -a {files}/. %{{buildroot}}/\n\
         %files\n%defattr(-,root,root,-)\n{}",
        of.commit.version,
        own.iter().map(line).collect::<String>()
    )
}
