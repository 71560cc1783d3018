//! Wrapper of a testbed: a cell's part of it, with the campaign's block on every trial.
//!
//! Owns what the campaign learns from passing records: the time spent, and the variants that keep
//! failing. Never requests a trial of its own.

use std::collections::BTreeMap;

use measure::Nanos;

use trial::{Outcome, Testbed, TestbedError, Topology, Trial, TrialRecord};
use trial::{Setting, Subject};

/// Failures of a variant in one block after which its other trials are skipped.
const MOST_FAILURES: u32 = 2;
/// Consecutive blocks with such failures after which the variant is skipped for good.
const MOST_BLOCKS: u32 = 2;
/// Longest step between two trials that counts as time spent; anything longer is a pause.
const LONGEST_STEP: Nanos = Nanos::from_secs(3600);

/// Observed state of a whole campaign.
pub(super) struct Watch<'a> {
    testbed: &'a mut dyn Testbed,
    failing: BTreeMap<Subject, Failing>,
    spent: Nanos,
    /// Start of the last trial and its planned duration.
    last: Option<(u64, Nanos)>,
}

#[derive(Debug, Default)]
struct Failing {
    in_block: u32,
    blocks: u32,
}

impl<'a> Watch<'a> {
    pub(super) fn new(testbed: &'a mut dyn Testbed) -> Self {
        Self { testbed, failing: BTreeMap::new(), spent: Nanos::ZERO, last: None }
    }

    pub(super) fn begin_block(&mut self) {
        for failing in self.failing.values_mut() {
            let failed = failing.in_block >= MOST_FAILURES;
            failing.blocks = if failed { failing.blocks + 1 } else { 0 };
            if failing.blocks < MOST_BLOCKS {
                failing.in_block = 0;
            }
        }
    }

    /// Time since the first trial, by the records' own stamps; a pause counts as one hour at most.
    pub(super) fn spent(&self) -> Nanos {
        self.spent + self.last.map_or(Nanos::ZERO, |(_, planned)| planned)
    }

    /// Returns the testbed as a cell's studies see it.
    pub(super) fn seat<'b>(
        &'b mut self,
        topology: &'b Topology,
        block: u32,
        cell: &'b str,
        settings: Vec<Setting>,
    ) -> Seat<'a, 'b> {
        Seat { watch: self, topology, block, cell, settings }
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        let varied = trial.subject.clone().filter(|subject| subject.variant.is_some());
        let failed = varied.as_ref().and_then(|subject| self.failing.get(subject));
        if failed.is_some_and(|failing| failing.in_block >= MOST_FAILURES) {
            let reason = "not run: the variant failed before".to_owned();
            return Ok(TrialRecord::failed(0, reason));
        }
        let record = self.testbed.run(trial)?;
        self.count_time(trial, &record);
        if let Some(subject) = varied {
            let failing = self.failing.entry(subject).or_default();
            let failed = matches!(record.outcome, Outcome::Failed { .. });
            failing.in_block = if failed { failing.in_block + 1 } else { 0 };
        }
        Ok(record)
    }

    fn count_time(&mut self, trial: &Trial, record: &TrialRecord) {
        if let Some((started, planned)) = self.last {
            let step = record.started_unix_ns.checked_sub(started).filter(|step| *step > 0);
            self.spent += step.map_or(planned, |step| Nanos(step).min(LONGEST_STEP));
        }
        self.last = Some((record.started_unix_ns, trial.phases.total()));
    }
}

/// View of the testbed for one cell.
pub(super) struct Seat<'a, 'b> {
    watch: &'b mut Watch<'a>,
    topology: &'b Topology,
    block: u32,
    cell: &'b str,
    settings: Vec<Setting>,
}

impl Testbed for Seat<'_, '_> {
    fn topology(&self) -> &Topology {
        self.topology
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        self.watch.run(&Trial {
            label: format!("{}, {}", trial.label, self.cell),
            block: self.block,
            by_hand: self.settings.clone(),
            ..trial.clone()
        })
    }
}
