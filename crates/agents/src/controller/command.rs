//! Runs a user's command line to its end: captures the output, limits the time, and ends it with
//! this program, unless it undoes something.
//!
//! Owns the child. Never inserts anything into the line: it is the testbed file's own text, and the
//! values of a study go into the environment.

use std::io::Read;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use measure::Nanos;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::Stop;
use crate::unfinished::{self, Kind};

/// Maximum size of output; the rest is cut off. It is a fact for a record, not a log.
const OUTPUT_LIMIT: usize = 16 * 1024;
/// Maximum size of a device's counters. The rest is cut off, which makes the JSON invalid.
const ACCOUNT_LIMIT: usize = 8 << 20;
/// Interval at which a wait checks for its end.
const GLANCE: Duration = Duration::from_millis(20);

/// Number of checks for the end of a pipe after its command's end: half a second.
const LINGER_GLANCES: u32 = 25;

/// Reason why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// No shell, or no process available.
    #[error("start `{line}`")]
    Start {
        /// The command line.
        line: String,
        /// Cause of the failure.
        #[source]
        cause: std::io::Error,
    },
    /// The command reported a failure.
    #[error("`{line}` ended with {status}{}", errors_suffix(.errors))]
    Failed {
        /// The command line.
        line: String,
        /// Exit status of the command.
        status: ExitStatus,
        /// Last line of its standard error.
        errors: String,
    },
    /// The command took too long.
    #[error("`{line}` was not over after {limit}")]
    Slow {
        /// The command line.
        line: String,
        /// Time-out of the command.
        limit: Nanos,
    },
    /// The user asked to stop.
    #[error("interrupted")]
    Stopped,
}

fn errors_suffix(errors: &str) -> String {
    if errors.is_empty() { String::new() } else { format!(": {errors}") }
}

/// Script that runs the line in a shell. It survives a closed output pipe, as when this program
/// ends before it does.
const UNHEARD: &str = "trap '' PIPE; exec sh -c \"$0\"";

/// Runs `line` by `sh -c` and returns its standard output, trimmed.
pub fn run(
    line: &str,
    environment: &[(&str, &str)],
    limit: Nanos,
    stop: &Stop,
) -> Result<String, CommandError> {
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).envs(environment.iter().copied()).stdin(Stdio::null());
    run_to_end(shell, line, limit, stop)
}

/// Runs a line that undoes another one. The user's request to stop does not end it, and it
/// continues if this program ends first.
pub fn run_back(
    line: &str,
    environment: &[(&str, &str)],
    limit: Nanos,
) -> Result<(), CommandError> {
    let mut shell = Command::new("sh");
    shell.args(["-c", UNHEARD, line]).envs(environment.iter().copied()).stdin(Stdio::null());
    run_within(shell, line, limit, OUTPUT_LIMIT, &Stop::new(), Kind::WayBack).map(drop)
}

/// Runs a program with its arguments, without a shell, and returns its complete standard output.
pub fn print(words: &[String], limit: Nanos, stop: &Stop) -> Result<String, CommandError> {
    let [program, arguments @ ..] = words else { return Ok(String::new()) };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    run_within(command, &words.join(" "), limit, ACCOUNT_LIMIT, stop, Kind::Program)
}

/// Runs a command whose standard input is set already, and returns its standard output, trimmed.
/// Errors name it `line`.
pub fn run_to_end(
    command: Command,
    line: &str,
    limit: Nanos,
    stop: &Stop,
) -> Result<String, CommandError> {
    run_within(command, line, limit, OUTPUT_LIMIT, stop, Kind::Program)
}

#[expect(clippy::disallowed_methods, reason = "a command of the user's is waited for")]
fn run_within(
    command: Command,
    line: &str,
    limit: Nanos,
    most: usize,
    stop: &Stop,
    kind: fn(u32) -> Kind,
) -> Result<String, CommandError> {
    let mut child = start(command, line)?;
    let under_way = unfinished::note(format!("`{line}`"), kind(child.id()));
    let output = child.stdout.take().map(|pipe| Reader::spawn(pipe, most));
    let errors = child.stderr.take().map(|pipe| Reader::spawn(pipe, OUTPUT_LIMIT));
    let begun = Instant::now();
    let end = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Ok(status),
            Ok(None) if stop.is_requested() => break Err(CommandError::Stopped),
            Ok(None) if begun.elapsed() >= limit.as_duration() => {
                break Err(CommandError::Slow { line: line.to_owned(), limit });
            }
            Ok(None) => thread::sleep(GLANCE),
            Err(cause) => break Err(CommandError::Start { line: line.to_owned(), cause }),
        }
    };
    if end.is_err() {
        finish(&mut child);
    }
    drop(under_way);
    let status = end?;
    let text = |reader: Option<Reader>| reader.map(Reader::text).unwrap_or_default();
    let (output, errors) = (text(output), text(errors));
    if status.success() {
        return Ok(output.trim().to_owned());
    }
    let errors = errors.trim().lines().last().unwrap_or_default().to_owned();
    Err(CommandError::Failed { line: line.to_owned(), status, errors })
}

/// Starts the command in a process group of its own, so that all processes of the line can be ended
/// with it.
fn start(mut command: Command, line: &str) -> Result<Child, CommandError> {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|cause| CommandError::Start { line: line.to_owned(), cause })
}

fn finish(child: &mut Child) {
    if let Ok(group) = i32::try_from(child.id()) {
        // Any remaining process of the group; if there is none, that is no error.
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
    let _ = child.wait();
}

/// Output of a pipe so far.
struct Reader {
    text: Arc<Mutex<Vec<u8>>>,
    thread: thread::JoinHandle<()>,
}

impl Reader {
    /// Reads on a thread of its own; output beyond `most` octets is read but dropped, so that the
    /// writer never waits.
    fn spawn(mut pipe: impl Read + Send + 'static, most: usize) -> Self {
        let text = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&text);
        let thread = thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(octets @ 1..) = pipe.read(&mut part) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let room = most.saturating_sub(kept.len());
                kept.extend_from_slice(&part[..octets.min(room)]);
            }
        });
        Self { text, thread }
    }

    /// Returns all output; if a program that the line left running keeps the pipe open, the output
    /// so far.
    #[expect(clippy::disallowed_methods, reason = "a pipe is waited for")]
    fn text(self) -> String {
        for _ in 0..LINGER_GLANCES {
            if self.thread.is_finished() {
                break;
            }
            thread::sleep(GLANCE);
        }
        let kept = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Nanos = Nanos::from_secs(20);

    #[test]
    fn output_failure_and_time() {
        let stop = Stop::new();
        let hello = run("echo \"$WHO\"", &[("WHO", "sw1; exit 7")], SOON, &stop).unwrap();
        assert_eq!(hello, "sw1; exit 7", "a name is no part of the line");
        let failed = run("echo first >&2; echo why >&2; exit 3", &[], SOON, &stop).unwrap_err();
        assert_eq!(
            failed.to_string(),
            "`echo first >&2; echo why >&2; exit 3` ended with exit status: 3: why"
        );
        let slow = run("sleep 60 & sleep 60", &[], Nanos::from_millis(60), &stop).unwrap_err();
        assert!(matches!(slow, CommandError::Slow { .. }), "{slow}");
        let much = run("yes | head -c 1000000", &[], SOON, &stop).unwrap();
        assert!(much.len() <= OUTPUT_LIMIT);
        run_back("test \"$WHO\" = sw1; yes | head -c 100000", &[("WHO", "sw1")], SOON).unwrap();
        let slow = run_back("sleep 60", &[], Nanos::from_millis(60)).unwrap_err();
        assert!(matches!(slow, CommandError::Slow { .. }), "{slow}");
        stop.ask();
        let stopped = run("sleep 60", &[], SOON, &stop).unwrap_err();
        assert!(matches!(stopped, CommandError::Stopped), "{stopped}");
    }
}
