//! What a person does between trials: moves cables, where there are fewer hosts than ports, and
//! sets what a campaign varies and no command reaches.
//!
//! Owns the words that are shown and the wait for an answer: a line on standard input, which may
//! also come from a program that moves cables. Never guesses that a cable was moved.

use std::io::{self, BufRead as _};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use trial::{ByHand, Cable};
use trial::{TestbedError, Trial};

use super::Stop;
use crate::speak::tell;

/// How often the user's wish to stop is looked at.
const PATIENCE: Duration = Duration::from_millis(100);

/// Whoever moves cables.
#[derive(Debug, Default)]
pub struct ManualCabling {
    /// As they are plugged; none before the first step.
    present: Vec<Cable>,
    /// As it was last said to be set.
    set: Vec<ByHand>,
    steps: u32,
    answers: Option<Receiver<()>>,
}

impl ManualCabling {
    /// Has the trial's cables plugged, and returns when that is said to be done.
    pub fn plug(&mut self, trial: &Trial, stop: &Stop) -> Result<(), TestbedError> {
        if !trial.by_hand.is_empty() && trial.by_hand != self.set {
            let text = settings(self.steps + 1, &self.set, &trial.by_hand);
            self.ask(&text, trial, stop)?;
            self.set.clone_from(&trial.by_hand);
        }
        if trial.cabling.is_empty() || trial.cabling == self.present {
            return Ok(());
        }
        let device = trial.subject.as_ref().map_or("the device", |subject| &subject.device);
        let text = words(self.steps + 1, device, &self.present, &trial.cabling);
        self.ask(&text, trial, stop)?;
        self.present.clone_from(&trial.cabling);
        Ok(())
    }

    fn ask(&mut self, text: &str, trial: &Trial, stop: &Stop) -> Result<(), TestbedError> {
        self.steps += 1;
        tell(text);
        self.wait(trial, stop)
    }

    fn wait(&mut self, trial: &Trial, stop: &Stop) -> Result<(), TestbedError> {
        let answers = self.answers.get_or_insert_with(listen);
        loop {
            if stop.asked() {
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

/// A line each.
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

/// Only what has to be changed.
fn settings(step: u32, present: &[ByHand], wanted: &[ByHand]) -> String {
    let changed: Vec<String> = wanted
        .iter()
        .filter(|one| !present.contains(one))
        .map(|one| {
            let before = present.iter().find(|old| old.factor == one.factor);
            let from = before.map_or_else(String::new, |old| format!(" from {}", old.level));
            format!("  {}{from} to {}\n", one.factor, one.level)
        })
        .collect();
    format!("\nstep {step}: set, wait for all links, and press Enter\n{}", changed.concat())
}

/// Only the cables that have to be moved.
fn words(step: u32, device: &str, present: &[Cable], wanted: &[Cable]) -> String {
    let moved: Vec<String> = wanted
        .iter()
        .filter(|cable| !present.contains(cable))
        .map(|cable| {
            let before = present.iter().find(|old| old.port == cable.port);
            let from = before.map_or_else(String::new, |old| format!(" from {}", old.device_port));
            format!("  {}{from} to port {}\n", cable.port, cable.device_port)
        })
        .collect();
    let cables = if moved.len() == 1 { "this cable" } else { "these cables" };
    format!(
        "\nstep {step}: plug {cables} into {device}, wait for their links, and press Enter\n{}",
        moved.concat()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cable(host: u32, device_port: u32) -> Cable {
        let port = format!("h{host}/eth1").parse().expect("a port");
        Cable { port, device_port }
    }

    #[test]
    fn only_what_changes_is_said() {
        let set = |factor: &str, level: &str| ByHand {
            factor: factor.to_owned(),
            level: level.to_owned(),
        };
        let before = [set("nic", "x722"), set("cable", "dac")];
        let after = [set("nic", "cx3"), set("cable", "dac")];
        assert!(settings(1, &[], &before).ends_with("  nic to x722\n  cable to dac\n"));
        assert!(settings(2, &before, &after).ends_with("Enter\n  nic from x722 to cx3\n"));
    }

    #[test]
    fn only_what_moves_is_said() {
        let before = [cable(1, 1), cable(2, 7)];
        let after = [cable(1, 1), cable(2, 12)];
        let first = words(1, "sw1", &[], &before);
        assert!(first.contains("plug these cables into sw1"), "{first}");
        assert!(first.contains("  h1/eth1 to port 1\n  h2/eth1 to port 7\n"), "{first}");
        let next = words(2, "sw1", &before, &after);
        assert!(next.contains("plug this cable"), "{next}");
        assert!(next.ends_with("  h2/eth1 from 7 to port 12\n"), "{next}");
    }
}
