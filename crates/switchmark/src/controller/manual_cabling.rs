//! A testbed around a testbed: has a person move cables between trials, where there are fewer hosts
//! than ports or one port a host, and set what a campaign varies and no command reaches.
//!
//! Owns the words that are shown and the wait for an answer: a line on standard input, which may
//! also come from a program that moves cables. Never guesses that a cable was moved.

use std::io::{self, BufRead as _};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use trial::{ByHand, Cable, Joined, Setting};
use trial::{Testbed, TestbedError, Topology, Trial, TrialRecord};

use super::Stop;
use crate::speak::tell;

/// How often the user's wish to stop is looked at.
const PATIENCE: Duration = Duration::from_millis(100);

/// A testbed, and whoever moves its cables.
#[derive(Debug)]
pub struct ManualCabling<T> {
    pub(super) testbed: T,
    stop: Stop,
    /// As everything was last said to be; nothing before the first step.
    present: ByHand,
    steps: u32,
    answers: Option<Receiver<()>>,
}

impl<T> ManualCabling<T> {
    /// Nothing is moved yet; once `stop` is asked nobody is waited for.
    pub fn new(testbed: T, stop: Stop) -> Self {
        Self { testbed, stop, present: ByHand::default(), steps: 0, answers: None }
    }

    /// Has everything set and plugged as the trial needs it, and returns when that is said to be
    /// done.
    fn prepare(&mut self, trial: &Trial) -> Result<(), TestbedError> {
        let ByHand { cabling, settings, joined } = &trial.by_hand;
        if !settings.is_empty() && *settings != self.present.settings {
            let text = settings_text(self.steps + 1, &self.present.settings, settings);
            self.ask(&text, trial)?;
            self.present.settings.clone_from(settings);
        }
        if let Some(wanted) = joined
            && self.present.joined.as_ref() != Some(wanted)
        {
            self.ask(&joined_text(self.steps + 1, wanted), trial)?;
            self.present.joined = Some(wanted.clone());
        }
        if cabling.is_empty() || *cabling == self.present.cabling {
            return Ok(());
        }
        let device = trial.subject.as_ref().map_or("the device", |subject| &subject.device);
        let text = cabling_text(self.steps + 1, device, &self.present.cabling, cabling);
        self.ask(&text, trial)?;
        self.present.cabling.clone_from(cabling);
        Ok(())
    }

    fn ask(&mut self, text: &str, trial: &Trial) -> Result<(), TestbedError> {
        self.steps += 1;
        tell(text);
        let answers = self.answers.get_or_insert_with(listen);
        loop {
            if self.stop.asked() {
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

impl<T: Testbed> Testbed for ManualCabling<T> {
    fn topology(&self) -> &Topology {
        self.testbed.topology()
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        self.prepare(trial)?;
        self.testbed.run(trial)
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
fn settings_text(step: u32, present: &[Setting], wanted: &[Setting]) -> String {
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

/// Where the hosts' only cables have to lead from now on.
fn joined_text(step: u32, wanted: &Joined) -> String {
    match wanted {
        Joined::Directly(one, other) => format!(
            "\nstep {step}: join {one} and {other} directly by one cable, wait for the link, and \
             press Enter\n"
        ),
        Joined::Through { device, ports: (one, other) } => format!(
            "\nstep {step}: cable {one} and {other} to {device}, wait for their links, and press \
             Enter\n"
        ),
    }
}

/// Only the cables that have to be moved.
fn cabling_text(step: u32, device: &str, present: &[Cable], wanted: &[Cable]) -> String {
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
        let set = |factor: &str, level: &str| Setting {
            factor: factor.to_owned(),
            level: level.to_owned(),
        };
        let before = [set("nic", "x722"), set("cable", "dac")];
        let after = [set("nic", "cx3"), set("cable", "dac")];
        assert!(settings_text(1, &[], &before).ends_with("  nic to x722\n  cable to dac\n"));
        assert!(settings_text(2, &before, &after).ends_with("Enter\n  nic from x722 to cx3\n"));
    }

    #[test]
    fn the_only_cables_are_joined_or_led_to_the_device() {
        let port = |text: &str| text.parse::<trial::PortRef>().expect("a port");
        let (one, other) = (port("a/eth1"), port("b/eth1"));
        let direct = joined_text(1, &Joined::Directly(one.clone(), other.clone()));
        assert!(direct.starts_with("\nstep 1: join a/eth1 and b/eth1 directly"), "{direct}");
        let device = "sw1".to_owned();
        let through = joined_text(2, &Joined::Through { device, ports: (one, other) });
        assert!(through.starts_with("\nstep 2: cable a/eth1 and b/eth1 to sw1,"), "{through}");
    }

    #[test]
    fn only_what_moves_is_said() {
        let before = [cable(1, 1), cable(2, 7)];
        let after = [cable(1, 1), cable(2, 12)];
        let first = cabling_text(1, "sw1", &[], &before);
        assert!(first.contains("plug these cables into sw1"), "{first}");
        assert!(first.contains("  h1/eth1 to port 1\n  h2/eth1 to port 7\n"), "{first}");
        let next = cabling_text(2, "sw1", &before, &after);
        assert!(next.contains("plug this cable"), "{next}");
        assert!(next.ends_with("  h2/eth1 from 7 to port 12\n"), "{next}");
    }
}
