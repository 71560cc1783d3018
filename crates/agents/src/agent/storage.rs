//! The two sides of a storage flow: a client that runs fio, and a keeper that serves storage, or
//! only observes a disk.
//!
//! Owns the shared parts: finding a program, starting it so that it cannot outlive the agent, and
//! waiting for it. Never builds a command line for a shell, and never ends a process that it did
//! not start.

mod client;
mod location;
mod nameless;
mod room;
mod server;
mod target;

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread;

use dataplane::{FlowError, Halt, clock};
use measure::Nanos;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use trial::Storage;

pub use client::StorageClient;
use nameless::NamelessFiles;
pub use server::StorageServer;

/// Files laid out for jobs. They are kept until this process ends, since later trials need them
/// too.
pub type Files = Arc<Mutex<NamelessFiles>>;

/// A storage flow for its client.
#[derive(Clone)]
pub struct Job {
    /// Parameters from the trial.
    pub asked: Storage,
    /// Files laid out for earlier trials.
    pub files: Files,
}

/// Interval at which a wait checks for a request to end.
const GLANCE: Nanos = Nanos::from_millis(20);
/// Time that a program gets to end before it is killed.
const GRACE: Nanos = Nanos::from_secs(2);

/// Finds a program by its name alone.
fn find(program: &'static str) -> Result<PathBuf, FlowError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    folders.map(|folder| folder.join(program)).find(|file| file.is_file()).ok_or_else(|| {
        FlowError::Unavailable {
            asked: format!("the program `{program}`"),
            why: format!("this host has none: install it (Debian: apt-get install {program})"),
        }
    })
}

/// Builds the command that becomes `program` and dies with this process: see [`crate::cli`]'s
/// `agent --lead`.
fn leashed(program: &PathBuf) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.args(["agent", "--lead"]).arg(program);
    command
}

/// Creates a file in memory that a child writes to and this process reads.
fn scratch() -> Result<File, FlowError> {
    let made = memfd_create("switchmark", MFdFlags::MFD_CLOEXEC);
    made.map(File::from).map_err(|e| FlowError::kernel("make", "a file in memory", e.into()))
}

fn contents(mut file: &File) -> Result<String, FlowError> {
    let failed = |e: io::Error| FlowError::kernel("read", "a program's output", e);
    let mut octets = Vec::new();
    file.rewind().map_err(failed)?;
    file.read_to_end(&mut octets).map_err(failed)?;
    Ok(String::from_utf8_lossy(&octets).into_owned())
}

/// Waits for `child` until `at`; returns true if it ended by itself.
fn wait(child: &mut Child, at: Nanos, halt: &Halt) -> Result<bool, FlowError> {
    loop {
        let ended = child.try_wait().map_err(|e| FlowError::kernel("wait for", "a program", e))?;
        if ended.is_some() {
            return Ok(true);
        }
        let left = at.saturating_sub(clock::monotonic());
        if left == Nanos::ZERO || halt.is_requested() {
            return Ok(false);
        }
        thread::park_timeout(left.min(GLANCE).as_duration());
    }
}

/// Asks the child to end, and kills it after a grace period.
fn end(child: &mut Child) {
    if matches!(child.try_wait(), Ok(Some(_))) {
        return;
    }
    let _ = kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM);
    if !matches!(wait(child, clock::monotonic() + GRACE, &Halt::new()), Ok(true)) {
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Returns the last lines of a program's output, for an error.
fn last_words(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let from = lines.len().saturating_sub(3);
    lines[from..].join("; ")
}
