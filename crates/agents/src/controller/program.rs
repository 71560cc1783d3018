//! This program's own file, which agents are started from, and its checksum.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest as _, Sha256};

use crate::failed::Failed;

/// Path of this program's own file. If it was replaced while it ran, as by an upgrade, the path of
/// the running one: agents of another version would not be understood.
pub fn own_file() -> Result<PathBuf, Failed> {
    let file = std::env::current_exe().map_err(Failed::to("find this program's own file"))?;
    let running = || PathBuf::from(format!("/proc/{}/exe", std::process::id()));
    Ok(if file.exists() { file } else { running() })
}

/// This program, as the source of agents.
#[derive(Debug)]
pub struct Program {
    file: PathBuf,
    /// SHA-256, computed once for all hosts: reading some tens of megabytes takes a while.
    sum: Mutex<Option<String>>,
}

impl Program {
    /// Creates the program from its file.
    pub fn new(file: &Path) -> Self {
        Self { file: file.to_owned(), sum: Mutex::default() }
    }

    /// Path of the file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// SHA-256 of the file, in hexadecimal.
    pub fn sum(&self) -> io::Result<String> {
        let mut known = self.sum.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sum) = &*known {
            return Ok(sum.clone());
        }
        let sum = checksum(&self.file)?;
        *known = Some(sum.clone());
        Ok(sum)
    }
}

/// Computes the SHA-256 of a file, in hexadecimal.
fn checksum(file: &Path) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut file = File::open(file)?;
    let mut part = vec![0; 1 << 20];
    loop {
        match file.read(&mut part)? {
            0 => break,
            octets => hasher.update(&part[..octets]),
        }
    }
    Ok(hasher.finalize().iter().fold(String::new(), |mut text, octet| {
        let _ = write!(text, "{octet:02x}");
        text
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_sum() {
        let file = std::env::temp_dir().join(format!("switchmark-sum-{}", std::process::id()));
        std::fs::write(&file, "test").unwrap();
        let sum = checksum(&file);
        std::fs::remove_file(&file).unwrap();
        let known = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
        assert_eq!(sum.unwrap(), known);
    }
}
