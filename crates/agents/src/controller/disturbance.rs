//! Devices as companions of a trial: put into a state before the load, disturbed during it.
//!
//! Owns the thread for disturbances during the load. Never leaves a disturbance that was begun.

use std::panic::resume_unwind;
use std::thread;

use dataplane::Window;
use trial::TrialRecord;

use super::companion::{Companion, Done, Load, Preparing, TrialContext};
use super::subjects::Subjects;
use super::trial_error::TrialError;
use super::{Stop, deeds};

impl Companion for Subjects {
    /// Puts the device into the requested state first, so that the trial does not include the
    /// change.
    fn prepare(&mut self, context: TrialContext<'_>, _hosts: &mut Preparing<'_>) -> Done {
        self.settle(context.stop)?;
        let subject = context.trial.subject.as_ref();
        Ok(subject.map_or(Ok(()), |subject| self.set_state(subject, context.lab, context.stop))?)
    }

    /// Disturbs the device on another thread, as the trial specifies.
    fn around(&mut self, context: TrialContext<'_>, window: Window, load: Load<'_>) -> Done {
        self.done.clear();
        if context.trial.events.is_empty() {
            return load();
        }
        self.unsettled = deeds::done_in(context.trial);
        let (known, over) = (&*self, &Stop::new());
        let done = thread::scope(|scope| {
            // Even if the load panics, disturbances are undone before the panic goes on.
            let ended = Ending(over);
            let doing = scope.spawn(move || deeds::carry_out(context, window, known, over));
            let loaded = load();
            drop(ended);
            match doing.join().unwrap_or_else(|panic| resume_unwind(panic)) {
                // Worse than any other cause of the trial's end.
                Err(left @ TrialError::NotUndone(_)) => Err(left),
                done => loaded.and(done),
            }
        });
        self.done = done?;
        Ok(())
    }

    fn after(&mut self, context: TrialContext<'_>, record: &mut TrialRecord) -> Done {
        let subject = context.trial.subject.as_ref();
        record.device.probe = subject.and_then(|subject| self.probe_of(&subject.device));
        record.device.deeds = std::mem::take(&mut self.done);
        Ok(())
    }
}

/// Marks the trial as over when dropped.
struct Ending<'a>(&'a Stop);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.ask();
    }
}
