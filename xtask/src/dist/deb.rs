//! A Debian package: two archives in a third (deb(5)).
//!
//! Owns its control file. It depends on nothing, and no script runs when it is installed.

use anyhow::Result;

use super::files::{Files, gzip, write};
use super::{ABOUT, Shipped, TITLE};

/// Packs it.
pub(super) fn pack(of: &Shipped) -> Result<()> {
    let (version, architecture) = (&of.commit.version, of.processor.short);
    let control = format!(
        "Package: switchmark\nVersion: {version}\nArchitecture: {architecture}\n\
         Maintainer: the switchmark developers\nInstalled-Size: {}\nSection: net\n\
         Priority: optional\nDescription: {TITLE}\n {}\n",
        of.files.size().div_ceil(1024),
        ABOUT.replace('\n', "\n ")
    );
    let mut about = Files::default();
    about.file("control", control);
    let mut package = b"!<arch>\n".to_vec();
    for (name, octets) in [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", gzip(&about.tar(of.commit.epoch)?)?),
        ("data.tar.gz", gzip(&of.files.tar(of.commit.epoch)?)?),
    ] {
        package.extend(member(name, of.commit.epoch, &octets));
    }
    write(&of.folder.join(format!("switchmark_{version}_{architecture}.deb")), &package)
}

/// A file in an `ar` archive, which begins at an even octet.
fn member(name: &str, epoch: u64, octets: &[u8]) -> Vec<u8> {
    let (owner, group, mode) = (0, 0, "100644");
    let size = octets.len();
    let head = format!("{name:<16}{epoch:<12}{owner:<6}{group:<6}{mode:<8}{size:<10}`\n");
    let mut member = head.into_bytes();
    member.extend(octets);
    if size % 2 == 1 {
        member.push(b'\n');
    }
    member
}
