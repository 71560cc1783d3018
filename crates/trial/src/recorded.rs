//! The one testbed that replays: it answers from records, and runs nothing.
//!
//! Owns how a trial finds its record: in the order in which they ran, or by what it asks for. What
//! is not recorded is a trial that failed, so that a study ends with what it has.

use std::borrow::Borrow;

use crate::{Testbed, TestbedError, Topology, Trial, TrialRecord};

/// Records, each with the trial that it answers.
#[derive(Debug)]
pub struct Recorded<'a, R> {
    topology: &'a Topology,
    trials: &'a [(Trial, R)],
    /// The place of the next one, where they are asked for in order.
    next: Option<usize>,
    broke_off: Option<String>,
}

/// Another trial than the recorded one is asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "trial {ordinal} is recorded as `{recorded}`, and `{asked}` is asked for{}",
    if recorded == asked { " with other settings" } else { "" }
)]
pub struct PlanChanged {
    /// From 0.
    pub ordinal: u64,
    /// The recorded trial's label.
    pub recorded: String,
    /// The asked trial's label.
    pub asked: String,
}

impl PlanChanged {
    /// What the user can do about it, for a `hint:` line.
    pub const HINT: &'static str =
        "the plan or the program changed since: start a new run instead of resuming";
}

impl<'a, R: Borrow<TrialRecord>> Recorded<'a, R> {
    /// Answers trial by trial, as it did.
    pub const fn in_order(topology: &'a Topology, trials: &'a [(Trial, R)]) -> Self {
        Self { topology, trials, next: Some(0), broke_off: None }
    }

    /// Answers whatever is among them, whenever it is asked for.
    pub const fn any_order(topology: &'a Topology, trials: &'a [(Trial, R)]) -> Self {
        Self { topology, trials, next: None, broke_off: None }
    }

    /// The label of the first trial that was asked for and is not recorded.
    pub fn broke_off(&self) -> Option<&str> {
        self.broke_off.as_deref()
    }

    fn find(&mut self, trial: &Trial) -> Result<Option<&'a TrialRecord>, PlanChanged> {
        let Some(next) = &mut self.next else {
            let found = self.trials.iter().find(|(recorded, _)| recorded == trial);
            return Ok(found.map(|(_, record)| record.borrow()));
        };
        let Some((recorded, record)) = self.trials.get(*next) else { return Ok(None) };
        if recorded != trial {
            let (recorded, asked) = (recorded.label.clone(), trial.label.clone());
            return Err(PlanChanged { ordinal: *next as u64, recorded, asked });
        }
        *next += 1;
        Ok(Some(record.borrow()))
    }
}

impl<R: Borrow<TrialRecord>> Testbed for Recorded<'_, R> {
    fn topology(&self) -> &Topology {
        self.topology
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        let found = self.find(trial).map_err(|cause| TestbedError::NotReplayed {
            label: trial.label.clone(),
            cause: Box::new(cause),
        })?;
        Ok(found.cloned().unwrap_or_else(|| {
            self.broke_off.get_or_insert_with(|| trial.label.clone());
            TrialRecord::failed(0, "it is not recorded: the run broke off before it".to_owned())
        }))
    }
}
