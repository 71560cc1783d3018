//! A testbed around a testbed: has a person set what a campaign varies and no command reaches.
//!
//! Owns the words that are shown and the wait for an answer: a line on standard input, which may
//! also come from a program. Never guesses that something was done.

use std::io::{self, BufRead as _};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use agents::controller::Stop;
use trial::{Setting, Testbed, TestbedError, Topology, Trial, TrialRecord};

use crate::speak::print_stderr;

/// Interval at which the user's interrupt is checked.
const PATIENCE: Duration = Duration::from_millis(100);

/// A testbed, and a person who does by hand what no command can.
#[derive(Debug)]
pub struct ManualSteps<T> {
    pub(super) testbed: T,
    stop: Stop,
    /// Settings as they were last confirmed; empty before the first step.
    present: Vec<Setting>,
    steps: u32,
    answers: Option<Receiver<()>>,
}

impl<T> ManualSteps<T> {
    /// Begins with nothing set; after `stop` nobody is waited for.
    pub fn new(testbed: T, stop: Stop) -> Self {
        Self { testbed, stop, present: Vec::new(), steps: 0, answers: None }
    }

    /// Asks for the settings that the trial needs, and returns once they are confirmed.
    fn prepare(&mut self, trial: &Trial) -> Result<(), TestbedError> {
        let settings = &trial.by_hand;
        if !settings.is_empty() && *settings != self.present {
            self.ask(&settings_text(&self.present, settings), trial)?;
            self.present.clone_from(settings);
        }
        Ok(())
    }

    fn ask(&mut self, text: &str, trial: &Trial) -> Result<(), TestbedError> {
        self.steps += 1;
        print_stderr(&format!("\nstep {}: {text}", self.steps));
        let answers = self.answers.get_or_insert_with(listen);
        loop {
            if self.stop.is_requested() {
                return Err(TestbedError::Interrupted);
            }
            match answers.recv_timeout(PATIENCE) {
                Ok(()) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(TestbedError::Unavailable {
                        label: trial.label.clone(),
                        reason:
                            "hands are needed, and standard input has ended: nobody can say that \
                                 it was done"
                                .to_owned(),
                    });
                }
            }
        }
    }
}

impl<T: Testbed> Testbed for ManualSteps<T> {
    fn topology(&self) -> &Topology {
        self.testbed.topology()
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        self.prepare(trial)?;
        self.testbed.run(trial)
    }
}

/// Receives a message for each line.
fn listen() -> Receiver<()> {
    let (lines, answers) = mpsc::channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            if line.is_err() || lines.send(()).is_err() {
                return;
            }
        }
    });
    answers
}

/// Lists only what has to be changed.
fn settings_text(present: &[Setting], wanted: &[Setting]) -> String {
    let changed: Vec<String> = wanted
        .iter()
        .filter(|one| !present.contains(one))
        .map(|one| {
            let before = present.iter().find(|old| old.factor == one.factor);
            let from = before.map_or_else(String::new, |old| format!(" from {}", old.level));
            format!("  {}{from} to {}\n", one.factor, one.level)
        })
        .collect();
    format!("set, wait for all links, and press Enter\n{}", changed.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changes_is_said() {
        let set = |factor: &str, level: &str| Setting {
            factor: factor.to_owned(),
            level: level.to_owned(),
        };
        let before = [set("nic", "x722"), set("cable", "dac")];
        let after = [set("nic", "cx3"), set("cable", "dac")];
        assert!(settings_text(&[], &before).ends_with("  nic to x722\n  cable to dac\n"));
        assert!(settings_text(&before, &after).ends_with("Enter\n  nic from x722 to cx3\n"));
    }
}
