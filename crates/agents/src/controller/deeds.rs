//! Disturbances of a trial's device while the load runs, and undoing them.
//!
//! Owns their times, and one guarantee: every disturbance that was begun and can be undone is
//! undone before the trial is over, whatever ends it (the load, the user, a failed flow or command,
//! a panic). A failure to undo is an error of its own, which ends the run and names the command
//! that undoes it. Never undoes anything that it did not begin, and never inserts anything into a
//! command's line.

use dataplane::{Window, clock};
use lab::{Lab, PortDeed};
use trial::record::DeedRecord;
use trial::{Deed, PortRef, Trial};

use super::Stop;
use super::command::{self, CommandError};
use super::companion::TrialContext;
use super::deed_notes::{BegunDeed, DeedNote};
use super::subjects::Subjects;
use super::trial_error::TrialError;
use crate::failed::Failed;
use crate::hosts::hooks::{DeedHook, Hooks};
use crate::protocol::describe_error;
use crate::speak::speak;

/// Number of attempts to undo: a repetition does no harm, and may work after a failure.
const ATTEMPTS: u32 = 2;

/// Carries out the trial's events, each at its time after the window's start, until the trial is
/// `over` or the user asks to stop. On return, everything that can be undone is undone.
pub fn carry_out(
    context: TrialContext<'_>,
    window: Window,
    subjects: &Subjects,
    over: &Stop,
) -> Result<Vec<DeedRecord>, TrialError> {
    let TrialContext { trial, lab, stop, .. } = context;
    let Some(subject) = &trial.subject else { return Ok(Vec::new()) };
    let port = trial.receiver();
    let mut doing = Doing { device: &subject.device, port, subjects, lab, begun: Vec::new() };
    let done = doing.each(trial, window, stop, over);
    doing.undo_all().map_err(TrialError::NotUndone)?;
    Ok(done?)
}

/// Undoes a disturbance of an earlier process, which may have been killed before it did so itself.
pub fn undo_left(
    subjects: &Subjects,
    device: &str,
    name: &str,
    note: Option<DeedNote>,
) -> Result<(), Failed> {
    let begun = vec![Begun { name: name.to_owned(), note }];
    let mut doing = Doing { device, port: None, subjects, lab: None, begun };
    doing.undo_all()
}

/// Undoes a disturbance of an ended run, by the testbed file's command.
pub fn undo_noted(hooks: &Hooks, note: DeedNote) -> Result<(), Failed> {
    let BegunDeed { device, deed, .. } = note.begun.clone();
    undo_left(&Subjects::new(hooks.clone()), &device, &deed, Some(note))
}

/// Lists the disturbances of a trial, each with the device.
pub fn done_in(trial: &Trial) -> Vec<(String, String)> {
    let Some(subject) = &trial.subject else { return Vec::new() };
    let done = trial.events.iter().filter_map(|event| match &event.deed {
        Deed::Do { name } => Some((subject.device.clone(), name.clone())),
        Deed::Undo { .. } | Deed::Reset => None,
    });
    done.collect()
}

/// Events in progress.
struct Doing<'a> {
    device: &'a str,
    /// Port at the far end of whose cable a lab disturbs the device.
    port: Option<&'a PortRef>,
    subjects: &'a Subjects,
    lab: Option<&'a Lab>,
    /// Disturbances that may have been done and can be undone.
    begun: Vec<Begun>,
}

/// A disturbance that was begun, and its note.
struct Begun {
    name: String,
    note: Option<DeedNote>,
}

impl<'a> Doing<'a> {
    fn each(
        &mut self,
        trial: &Trial,
        window: Window,
        stop: &Stop,
        over: &Stop,
    ) -> Result<Vec<DeedRecord>, Failed> {
        let mut deeds = Vec::with_capacity(trial.events.len());
        for event in &trial.events {
            if !clock::rest_until(window.start + event.at, || {
                stop.is_requested() || over.is_requested()
            }) {
                break;
            }
            let begun = clock::monotonic();
            match &event.deed {
                Deed::Reset => self.subjects.reset(self.device, self.lab, stop)?,
                Deed::Do { name } => self.begin(name, stop)?,
                Deed::Undo { name } => self.undo(name)?,
            }
            let took = clock::monotonic().saturating_sub(begun);
            deeds.push(DeedRecord { at: begun.saturating_sub(window.start), took });
        }
        Ok(deeds)
    }

    fn begin(&mut self, name: &str, stop: &Stop) -> Result<(), Failed> {
        let what = format!("do `{name}` to device `{}`", self.device);
        if let Some(lab) = self.lab {
            let (deed, port) = self.in_lab(name, &what)?;
            self.begins(name, None);
            return lab.disturb(deed, &port.host, &port.port).map_err(Failed::to(what));
        }
        let hook = self.hook(name, &what)?;
        if let Some(undo) = &hook.undo {
            self.begins(name, Some(undo));
        }
        self.run(what, name, &hook.run, hook, Some(stop))
    }

    /// Notes a disturbance before it begins: a failed one may have done half of its work. In a lab
    /// nothing is written down, because the lab goes with its processes.
    fn begins(&mut self, name: &str, undo: Option<&str>) {
        if self.begun.iter().any(|deed| deed.name == name) {
            return;
        }
        let of = self.subjects.origin().zip(undo);
        let note = of.and_then(|(origin, undo)| {
            DeedNote::write(origin, self.device, name, undo).unwrap_or_else(|cause| {
                // The journal has it as well.
                speak(&format!("warning: write down that `{name}` is done to a device: {cause}"));
                None
            })
        });
        self.begun.push(Begun { name: name.to_owned(), note });
    }

    /// Undoes a disturbance; the user's request to stop does not interrupt this.
    fn undo(&mut self, name: &str) -> Result<(), Failed> {
        let what = format!("undo `{name}` of device `{}`", self.device);
        if let Some(lab) = self.lab {
            let (deed, port) = self.in_lab(name, &what)?;
            lab.restore(deed, &port.host, &port.port).map_err(Failed::to(what))?;
        } else {
            let hook = self.hook(name, &what)?;
            let line = hook.undo.as_ref();
            let line = line.ok_or_else(|| Failed::new(format!("{what}: no command leads back")))?;
            self.run(what, name, line, hook, None)?;
        }
        let at = self.begun.iter().position(|deed| deed.name == name);
        if let Some(note) = at.and_then(|at| self.begun.remove(at).note) {
            note.strike();
        }
        Ok(())
    }

    /// Undoes all disturbances, the last one first. Tries all of them and returns the first
    /// failure.
    fn undo_all(&mut self) -> Result<(), Failed> {
        let mut left = Ok(());
        while let Some(name) = self.begun.last().map(|deed| deed.name.clone()) {
            let mut undone = self.undo(&name);
            for _ in 1..ATTEMPTS {
                undone = undone.or_else(|_| self.undo(&name));
            }
            // Its note remains if it was not undone.
            self.begun.retain(|deed| deed.name != name);
            if let Err(cause) = undone {
                left = left.and(Err(self.undo_failure(&name, &cause)));
            }
        }
        left
    }

    fn undo_failure(&self, name: &str, cause: &Failed) -> Failed {
        let device = self.device;
        let hook = self.subjects.deed(device, name).filter(|_| self.lab.is_none());
        let back = hook.and_then(|hook| hook.undo.as_deref()).map_or_else(
            || "the lab goes with this run".to_owned(),
            |line| format!("what leads back is `{line}`, with SWITCHMARK_DEVICE={device} and SWITCHMARK_DEED={name}"),
        );
        let cause = describe_error(cause);
        Failed::new(format!("device `{device}` is left with `{name}` done to it: {cause}; {back}"))
    }

    fn hook(&self, name: &str, what: &str) -> Result<&'a DeedHook, Failed> {
        let hook = self.subjects.deed(self.device, name);
        hook.ok_or_else(|| Failed::new(format!("{what}: the testbed has no such deed")))
    }

    fn in_lab(&self, name: &str, what: &str) -> Result<(PortDeed, &'a PortRef), Failed> {
        let failed = |why: &str| Failed::new(format!("{what}: {why}"));
        let deed = PortDeed::ALL.into_iter().find(|deed| deed.as_str() == name);
        let deed = deed.ok_or_else(|| failed("a lab has no such deed"))?;
        Ok((deed, self.port.ok_or_else(|| failed("no flow is measured"))?))
    }

    /// Runs a command. The names go into the environment, never into the line. Without `stop` the
    /// command undoes a disturbance.
    fn run(
        &self,
        what: String,
        name: &str,
        line: &str,
        hook: &DeedHook,
        stop: Option<&Stop>,
    ) -> Result<(), Failed> {
        let environment = [("SWITCHMARK_DEVICE", self.device), ("SWITCHMARK_DEED", name)];
        let ran = match stop {
            Some(stop) => command::run(line, &environment, hook.timeout, stop).map(drop),
            None => command::run_back(line, &environment, hook.timeout),
        };
        ran.map_err(|cause| {
            let advice = match &cause {
                CommandError::Stopped => return Failed::because(what, cause),
                CommandError::Slow { .. } => {
                    "give the deed a longer `timeout`, or a faster command"
                }
                _ => "try the line by hand, and put it right in the testbed file",
            };
            Failed::new(format!("{what}: {cause}; {advice}"))
        })
    }
}

impl Drop for Doing<'_> {
    /// Undoes the disturbances even after a panic.
    fn drop(&mut self) {
        if let Err(left) = self.undo_all() {
            speak(&describe_error(&left));
        }
    }
}

#[cfg(test)]
mod tests;
