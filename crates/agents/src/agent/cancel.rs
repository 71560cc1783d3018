//! Ending a trial from outside, and restoring changed settings.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use dataplane::{Halt, clock};
use measure::Nanos;

use super::found::Notes;
use crate::failed::Failed;

/// Total time for attempts to restore settings, and the pause between two attempts.
const TRYING: Nanos = Nanos::from_millis(1000);
const PAUSE: Duration = Duration::from_millis(10);

/// State that must be ended or undone from outside: by an abort, or when the pipe ends.
#[derive(Clone, Default)]
pub struct Cancel {
    halt: Arc<Mutex<Halt>>,
    notes: Arc<Mutex<Notes>>,
}

impl Cancel {
    /// Ends the current trial.
    pub fn halt(&self) {
        self.halt.lock().unwrap_or_else(PoisonError::into_inner).ask();
    }

    /// Ends the current trial and restores changed settings.
    pub fn halt_and_restore(&self) -> Result<(), Failed> {
        self.halt();
        self.notes().undo()
    }

    /// Ends the current trial and restores settings for the last time: any later change waits for
    /// the end of the process.
    ///
    /// Resources of the trial may prevent a restore: a virtual port cannot turn offloads on while
    /// its peer has an XDP program. Restoring is therefore retried while flows end.
    pub fn halt_and_restore_for_good(&self) -> Result<(), Failed> {
        self.halt();
        let began = clock::monotonic();
        loop {
            let mut notes = self.notes();
            let undone = notes.undo();
            if undone.is_ok() || clock::monotonic().saturating_sub(began) > TRYING {
                std::mem::forget(notes);
                return undone;
            }
            drop(notes);
            thread::park_timeout(PAUSE);
        }
    }

    /// Locks the notes of changed settings.
    pub fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn fresh_halt(&self) -> Halt {
        let halt = Halt::new();
        *self.halt.lock().unwrap_or_else(PoisonError::into_inner) = halt.clone();
        halt
    }
}
