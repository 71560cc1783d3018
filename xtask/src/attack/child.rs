//! A process under attack: watched to its end, asked to end where it goes on, killed where it
//! hangs.
//!
//! Owns the time and memory that are counted. Never judges them: that is its door's.

use std::io::Read;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A simulation may have much to do; then it is asked to end.
pub const PATIENCE: Duration = Duration::from_millis(1500);
/// The time from the first signal to the end.
const HANG: Duration = Duration::from_secs(3);
const GLANCE: Duration = Duration::from_millis(1);

/// The end of a process.
#[derive(Debug, Default, Clone)]
pub struct End {
    pub code: Option<i32>,
    pub panicked: bool,
    /// True if it did not end by itself in the time it was given.
    pub asked: bool,
    pub hung: bool,
    /// The most it held, in kB, but for its last millisecond.
    pub memory: u64,
    /// Text that it printed, on both streams.
    pub said: String,
}

impl End {
    /// The worse of both in each respect, and what both printed.
    pub fn and(self, other: &Self) -> Self {
        Self {
            code: if self.code == Some(0) { other.code } else { self.code },
            panicked: self.panicked || other.panicked,
            asked: self.asked || other.asked,
            hung: self.hung || other.hung,
            memory: self.memory.max(other.memory),
            said: self.said + &other.said,
        }
    }
}

/// A process with its output read.
pub struct Watched {
    child: Child,
    readers: Vec<JoinHandle<String>>,
}

impl Watched {
    pub fn start(mut command: Command) -> Result<Self> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(Self::over(command.spawn().context("start the program")?))
    }

    /// Watches a process that runs; its pipes are read from here on.
    pub fn over(mut child: Child) -> Self {
        let stdout = child.stdout.take().map(read_all);
        let stderr = child.stderr.take().map(read_all);
        Self { child, readers: stdout.into_iter().chain(stderr).collect() }
    }

    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Waits for its end, asking for it by SIGINT after this time.
    pub fn end_within(self, patience: Duration) -> Result<End> {
        self.end_watched(patience, || {})
    }

    /// Waits for its end in the same way, and calls `glance` in every turn.
    pub fn end_watched(mut self, patience: Duration, mut glance: impl FnMut()) -> Result<End> {
        let pid = self.pid();
        let (began, mut asked) = (Instant::now(), None);
        let (mut hung, mut memory) = (false, 0);
        let status = loop {
            memory = peak(pid).unwrap_or(0).max(memory);
            glance();
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            match asked {
                None if began.elapsed() > patience => {
                    kill(pid, Signal::SIGINT)?;
                    asked = Some(Instant::now());
                }
                Some(since) if Instant::elapsed(&since) > HANG => {
                    hung = true;
                    self.child.kill()?;
                    break self.child.wait()?;
                }
                _ => {}
            }
            thread::sleep(GLANCE);
        };
        let texts = self.readers.into_iter().map(|reader| reader.join().unwrap_or_default());
        let said: String = texts.collect();
        let code = status.code();
        let asked = asked.is_some();
        // A reader without a journal of its own leaves the signal to the kernel.
        let obeyed = asked && status.signal() == Some(Signal::SIGINT as i32);
        let killed = code.is_none() && !hung && !obeyed;
        let panicked = said.contains("panicked at") || code == Some(101) || killed;
        Ok(End { code, panicked, asked, hung, memory, said })
    }
}

/// Runs it to its end.
pub fn watch(command: Command) -> Result<End> {
    Watched::start(command)?.end_within(PATIENCE)
}

/// A living process's largest resident memory so far, in kB.
fn peak(pid: Pid) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// A reader that keeps a pipe from filling.
fn read_all(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut octets = Vec::new();
        let _ = from.read_to_end(&mut octets);
        String::from_utf8_lossy(&octets).into_owned()
    })
}
