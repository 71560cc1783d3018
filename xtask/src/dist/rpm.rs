//! An RPM package.
//!
//! Owns its spec. It depends on nothing, and nothing is done to its files: they are what the other
//! packages hold.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use super::{ABOUT, Names, Shipped, TITLE, can_be_made_by, told};
use crate::steps::run;

/// What rpmbuild would do to files, or tell of the machine it runs on, and shall not.
const SETTINGS: [&str; 9] = [
    "__os_install_post %{nil}",
    "debug_package %{nil}",
    "_build_id_links none",
    "_buildhost switchmark",
    "use_source_date_epoch_as_buildtime 1",
    "clamp_mtime_to_source_date_epoch 1",
    "_binary_payload w19.zstdio",
    "_source_filedigest_algorithm 8",
    "_binary_filedigest_algorithm 8",
];

/// Packs it, where `rpmbuild` is there to.
pub(super) fn pack(of: &Shipped) -> Result<()> {
    if !can_be_made_by("rpmbuild", "rpm") {
        return Ok(());
    }
    let processor = of.processor(Names::Compiler)?;
    let work = of.folder.join("rpm");
    fs::create_dir_all(&work)?;
    let spec = work.join("switchmark.spec");
    fs::write(&spec, self::spec(of))?;
    let mut build = Command::new("rpmbuild");
    build.args(["-bb", "--quiet", "--target", processor]).arg("--define");
    build.arg(format!("_topdir {}", work.display()));
    for setting in SETTINGS {
        build.args(["--define", setting]);
    }
    run(build.env("SOURCE_DATE_EPOCH", &of.commit.epoch).arg(&spec))?;
    let version = &of.commit.version;
    let named = format!("switchmark-{version}-1.{processor}.rpm");
    let made = work.join("RPMS").join(processor).join(&named);
    fs::rename(&made, of.folder.join(&named))
        .with_context(|| format!("move {}", made.display()))?;
    fs::remove_dir_all(&work).with_context(|| format!("remove {}", work.display()))?;
    let package = of.folder.join(named);
    // What it says of itself, to whoever reads the build's output.
    let told = told(Command::new("rpm").args(["-qp", "--nosignature"]).arg(package))?;
    eprintln!("{told}");
    Ok(())
}

fn spec(of: &Shipped) -> String {
    let (version, tree) = (&of.commit.version, of.tree.display());
    // Fedora's zsh looks elsewhere than Debian's.
    format!(
        "Name: switchmark\nVersion: {version}\nRelease: 1\nSummary: {TITLE}\n\
         License: MIT OR Apache-2.0\nAutoReqProv: no\n\
         %description\n{ABOUT}\n\
         %install\nmkdir -p %{{buildroot}}\ncp -a {tree}/. %{{buildroot}}/\n\
         mkdir -p %{{buildroot}}/usr/share/zsh/site-functions\n\
         mv %{{buildroot}}/usr/share/zsh/vendor-completions/_switchmark \
         %{{buildroot}}/usr/share/zsh/site-functions/\n\
         rmdir %{{buildroot}}/usr/share/zsh/vendor-completions\n\
         find %{{buildroot}} -exec touch -h -d @{} {{}} +\n\
         %files\n%defattr(-,root,root,-)\n/usr/bin/switchmark\n/usr/share/switchmark\n\
         /usr/share/doc/switchmark\n/usr/share/man/man1/*\n\
         /usr/share/bash-completion/completions/switchmark\n\
         /usr/share/fish/vendor_completions.d/switchmark.fish\n\
         /usr/share/zsh/site-functions/_switchmark\n",
        of.commit.epoch
    )
}
