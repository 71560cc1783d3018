//! A testbed around a testbed whose ports were joined directly at another time: records over that
//! cable answer for it.
//!
//! Owns how a trial finds its record in another run. Never carries one out, and never takes the
//! record of another trial for it: a trial without a record has failed.

use trial::topology::AnotherTime;
use trial::{Path, Testbed, TestbedError, Topology, Trial, TrialRecord};

/// A run over the direct cable.
#[derive(Debug)]
pub struct CableRun {
    /// Id of the run.
    pub id: String,
    /// Trials of the run, in the order they ran.
    pub records: Vec<(Trial, TrialRecord)>,
}

/// A testbed, and the runs that measured its ports joined.
#[derive(Debug)]
pub struct RecordedCable<T> {
    testbed: T,
    topology: Topology,
    times: AnotherTime,
    runs: Vec<CableRun>,
}

impl<T: Testbed> RecordedCable<T> {
    /// The testbed's own trials go through the device, those over the cable are looked up.
    pub fn new(testbed: T, times: AnotherTime, runs: Vec<CableRun>) -> Self {
        let topology = Topology { another_time: Some(times.clone()), ..testbed.topology().clone() };
        Self { testbed, topology, times, runs }
    }

    fn recorded(&self, trial: &Trial) -> TrialRecord {
        // Each of several runs answers for a part of the repetitions, its own first ones. A search
        // has none, and is that of the first run.
        let round = self.times.round(trial.block);
        let own = &self.runs[round as usize];
        let found = own.answer(trial, trial.block / self.times.rounds());
        found.or_else(|| self.runs[0].answer(trial, trial.block)).cloned().unwrap_or_else(|| {
            let reason = format!("run {} has no such trial over the direct cable", own.id);
            TrialRecord::failed(0, reason)
        })
    }
}

impl CableRun {
    /// Returns the record of the same trial in that block, a valid try before others.
    fn answer(&self, trial: &Trial, block: u32) -> Option<&TrialRecord> {
        let alike = |(recorded, _): &&(Trial, TrialRecord)| {
            recorded.block == block
                && recorded.label == trial.label
                && recorded.flows == trial.flows
                && recorded.phases.load == trial.phases.load
                && recorded.offloads == trial.offloads
                && recorded.gate == trial.gate
        };
        let found = self.records.iter().filter(alike).map(|(_, record)| record);
        found.max_by_key(|record| record.outcome.is_valid())
    }
}

impl<T: Testbed> Testbed for RecordedCable<T> {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        if trial.path == Path::Bypass {
            return Ok(self.recorded(trial));
        }
        self.testbed.run(trial)
    }
}
