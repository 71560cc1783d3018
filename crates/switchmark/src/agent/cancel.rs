//! Ending a trial from outside, and putting back what was changed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dataplane::Halt;

use super::found::Notes;
use crate::failed::Failed;

/// What must be ended or undone from outside: by an abort, or when the pipe ends.
#[derive(Clone, Default)]
pub struct Cancel {
    halt: Arc<Mutex<Halt>>,
    notes: Arc<Mutex<Notes>>,
}

impl Cancel {
    /// Ends the trial under way.
    pub fn halt(&self) {
        self.halt.lock().unwrap_or_else(PoisonError::into_inner).ask();
    }

    /// Ends the trial under way and puts back what was changed.
    pub fn let_go(&self) -> Result<(), Failed> {
        self.halt();
        self.notes().undo()
    }

    /// The same for the last time: whoever would change something afterwards waits for the
    /// process's end.
    pub fn let_go_for_good(&self) -> Result<(), Failed> {
        self.halt();
        let mut notes = self.notes();
        let undone = notes.undo();
        std::mem::forget(notes);
        undone
    }

    /// What is to be put back.
    pub fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn fresh_halt(&self) -> Halt {
        let halt = Halt::new();
        *self.halt.lock().unwrap_or_else(PoisonError::into_inner) = halt.clone();
        halt
    }
}
