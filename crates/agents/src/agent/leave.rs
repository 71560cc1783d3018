//! The only way for an agent to end: it restores its changes, and then the process ends, whatever
//! else happens.
//!
//! Owns the order: undo, report, exit. Never returns, never waits longer than [`PATIENCE`] for
//! anything, and lets no panic out.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::exit;
use std::thread;
use std::time::Duration;

use super::cancel::Cancel;
use crate::failed::Failed;
use crate::protocol::describe_error;
use crate::speak::speak;

/// Time-out for restoring, if the kernel does not answer: the original state is in a file for the
/// next agent ([`super::found`]).
const PATIENCE: Duration = Duration::from_millis(2500);

/// Reason why an agent ends.
#[derive(Debug)]
pub struct End {
    code: u8,
    words: Option<String>,
}

impl End {
    /// Regular end.
    pub const fn well() -> Self {
        Self { code: 0, words: None }
    }

    /// End with an exit status and a message.
    pub fn because(code: u8, words: impl Into<String>) -> Self {
        Self { code, words: Some(words.into()) }
    }
}

impl<T> From<Result<T, Failed>> for End {
    fn from(ended: Result<T, Failed>) -> Self {
        match ended {
            Ok(_) => Self::well(),
            Err(fault) => Self::because(1, describe_error(&fault)),
        }
    }
}

/// Runs `work` on this thread and ends the process with its result, even after a panic.
pub fn leave_after<E: Into<End>>(cancel: &Cancel, work: impl FnOnce() -> E) -> ! {
    let ended = catch_unwind(AssertUnwindSafe(work));
    // The panic's own message was printed where it began.
    leave(cancel, ended.map_or_else(|_| End::because(1, "ended by a fault of its own"), Into::into))
}

/// Runs `work` on a named thread; its end, even by a panic, ends the process.
pub fn tie<E: Into<End>>(
    name: &'static str,
    cancel: &Cancel,
    work: impl FnOnce() -> E + Send + 'static,
) -> Result<(), Failed> {
    let cancel = cancel.clone();
    let started =
        thread::Builder::new().name(name.to_owned()).spawn(move || leave_after(&cancel, work));
    started.map(drop).map_err(|cause| Failed::because(format!("start thread `{name}`"), cause))
}

fn leave(cancel: &Cancel, end: End) -> ! {
    let code = i32::from(end.code);
    // If no thread can be started, there is no time-out.
    let _ = thread::Builder::new().name("end".to_owned()).spawn(move || {
        thread::park_timeout(PATIENCE);
        exit(code);
    });
    let undone = catch_unwind(AssertUnwindSafe(|| cancel.halt_and_restore_for_good()));
    if let Ok(Err(fault)) = undone {
        speak(&format!("agent: {}", describe_error(&fault)));
    }
    if let Some(words) = end.words {
        speak(&format!("agent: {words}"));
    }
    exit(code)
}
