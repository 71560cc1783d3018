//! Ending a trial from outside, and putting back what was changed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use dataplane::{Halt, clock};
use measure::Nanos;

use super::found::Notes;
use crate::failed::Failed;

/// So long what was changed is tried to be put back, and between two tries.
const TRYING: Nanos = Nanos::from_millis(1000);
const PAUSE: Duration = Duration::from_millis(10);

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
    ///
    /// What the trial still holds keeps some of it from being put back: a virtual port takes no
    /// offload back while its peer has an XDP program. So it is tried again while flows end.
    pub fn let_go_for_good(&self) -> Result<(), Failed> {
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
