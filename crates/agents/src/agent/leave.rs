//! The one way out of an agent: what was changed is put back, and then the process ends, whatever
//! else happens.
//!
//! Owns the order: undo, speak, exit. Never returns, never waits longer than [`PATIENCE`] for
//! anything, and lets no panic out.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::exit;
use std::thread;
use std::time::Duration;

use super::cancel::Cancel;
use crate::failed::Failed;
use crate::protocol::in_words;
use crate::speak::speak;

/// A kernel that does not answer within this keeps nobody here: what was found is written down for
/// the next agent ([`super::found`]).
const PATIENCE: Duration = Duration::from_millis(2500);

/// Why an agent ends.
#[derive(Debug)]
pub struct End {
    code: u8,
    words: Option<String>,
}

impl End {
    /// As it should.
    pub const fn well() -> Self {
        Self { code: 0, words: None }
    }

    /// For a reason that its exit status tells.
    pub fn because(code: u8, words: impl Into<String>) -> Self {
        Self { code, words: Some(words.into()) }
    }
}

impl<T> From<Result<T, Failed>> for End {
    fn from(ended: Result<T, Failed>) -> Self {
        match ended {
            Ok(_) => Self::well(),
            Err(fault) => Self::because(1, in_words(&fault)),
        }
    }
}

/// Does `work` on this thread and leaves with what it comes to; a panic of it leaves too.
pub fn leave_after<E: Into<End>>(cancel: &Cancel, work: impl FnOnce() -> E) -> ! {
    let ended = catch_unwind(AssertUnwindSafe(work));
    // The panic's own words were said where it began.
    leave(cancel, ended.map_or_else(|_| End::because(1, "ended by a fault of its own"), Into::into))
}

/// The same on a thread of that name: whatever becomes of it becomes of the process.
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
    // A process that can't have another thread has to do without.
    let _ = thread::Builder::new().name("end".to_owned()).spawn(move || {
        thread::park_timeout(PATIENCE);
        exit(code);
    });
    let undone = catch_unwind(AssertUnwindSafe(|| cancel.let_go_for_good()));
    if let Ok(Err(fault)) = undone {
        speak(&format!("agent: {}", in_words(&fault)));
    }
    if let Some(words) = end.words {
        speak(&format!("agent: {words}"));
    }
    exit(code)
}
