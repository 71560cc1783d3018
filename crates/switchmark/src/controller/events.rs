//! What a trial does to its device while the load runs.
//!
//! Owns the waiting for each event's moment. Never decides one, and never outlasts the trial's
//! reports.

use std::thread;

use dataplane::{Window, clock};
use lab::Lab;
use measure::Nanos;
use trial::Deed;
use trial::Trial;
use trial::record::DeedRecord;

use super::Stop;
use super::subjects::{SubjectError, Subjects};

/// How often a wait looks whether it is over.
const GLANCE: Nanos = Nanos::from_millis(10);

/// Carries the trial's events out, each at its moment after the window's start, until the trial is
/// `over` or the user asks to stop.
pub fn carry_out(
    trial: &Trial,
    window: Window,
    (subjects, lab): (&Subjects, Option<&Lab>),
    (stop, over): (&Stop, &Stop),
) -> Result<Vec<DeedRecord>, SubjectError> {
    let mut deeds = Vec::with_capacity(trial.events.len());
    for event in &trial.events {
        if !rest_until(window.start + event.at, || stop.asked() || over.asked()) {
            return Ok(deeds);
        }
        let Some(subject) = &trial.subject else { continue };
        let begun = clock::monotonic();
        match event.deed {
            Deed::Reset => subjects.reset(&subject.device, lab, stop)?,
        }
        let took = clock::monotonic().saturating_sub(begun);
        deeds.push(DeedRecord { at: begun.saturating_sub(window.start), took });
    }
    Ok(deeds)
}

/// False where the wait was cut short.
#[expect(clippy::disallowed_methods, reason = "an event has its moment")]
fn rest_until(at: Nanos, is_over: impl Fn() -> bool) -> bool {
    loop {
        if is_over() {
            return false;
        }
        let left = at.saturating_sub(clock::monotonic());
        if left == Nanos::ZERO {
            return true;
        }
        thread::sleep(left.min(GLANCE).as_duration());
    }
}
