//! Names the method by which figures are computed: a hash of every source that has a part in it.
//!
//! Figures that a journal keeps carry this name, and count only under the same one. So nobody has
//! to remember to change a number when a figure's computation changes.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// From this crate: what comes between a record and its figures, and what figures are kept as.
const SOURCES: [&str; 7] = [
    "../measure/src",
    "../trial/src",
    "../page/src",
    "../study/src",
    "src/store/kept.rs",
    "../switchmark/src/cli/figures.rs",
    "../../Cargo.lock",
];

fn main() -> io::Result<()> {
    let mut files = Vec::new();
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
        list(Path::new(source), &mut files)?;
    }
    files.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    // FNV-1a: the same on every machine.
    let mut add = |octets: &[u8]| {
        for octet in octets {
            hash = (hash ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for file in files {
        add(file.as_os_str().as_encoded_bytes());
        add(&fs::read(&file)?);
    }
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    println!("cargo::rustc-env=SWITCHMARK_METHOD={version}-{hash:016x}");
    Ok(())
}

fn list(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        list(&entry?.path(), files)?;
    }
    Ok(())
}
