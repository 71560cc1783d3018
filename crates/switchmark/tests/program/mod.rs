//! The program under test and a place for its files: what tests with labs and tests without share.
//!
//! Never retries, and never asserts a time.

pub mod browser;
pub mod docs;
pub mod prometheus;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use serde_json::Value;

pub fn switchmark() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_switchmark"))
}

/// The one object on its stdout.
pub fn json(output: &Output) -> Value {
    let told = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {told}"))
}

/// Status and body of what a server of this machine answers.
pub fn get(host: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(host).expect("it listens");
    // Of version 1.0, so that the answer comes in one piece.
    write!(stream, "GET {path} HTTP/1.0\r\nhost: {host}\r\nconnection: close\r\n\r\n")
        .expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answered");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.get(9..12).and_then(|code| code.parse().ok()).unwrap_or(0), body.to_owned())
}

/// Waits until `done` holds, for at most a minute: long enough for a machine that is busy with
/// others.
pub fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..6000 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("waited in vain for {what}");
}

/// Whether this is the long profile, which is run on a machine with nothing else to do.
pub fn full() -> bool {
    std::env::var("SWITCHMARK_TESTS").as_deref() == Ok("full")
}

/// A scratch folder, removed when dropped.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("switchmark-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a scratch folder");
        Self(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn folder(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
