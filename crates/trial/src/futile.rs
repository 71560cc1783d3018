//! Testbed wrapper that stops repeating trials that always fail the same way.
//!
//! Owns the limits. Counts failed trials only: an invalid trial did run. A trial that it skips
//! becomes a failed record that says so.

use std::collections::BTreeMap;

use crate::record::Outcome;
use crate::{Path, Subject, Testbed, TestbedError, Topology, Trial, TrialRecord};

/// Identical failures in a row after which a test case is skipped.
const CASE_FAILURES: u32 = 3;
/// Identical failures at the start of a run after which the run ends.
const RUN_FAILURES: u32 = 6;

/// Identity of a test case: label, path and subject.
type Case = (String, Path, Option<Subject>);

/// Failures in a row, all alike.
#[derive(Debug, Clone, Default)]
struct Streak {
    /// Reason of the last failure, without its numbers.
    kind: String,
    count: u32,
}

impl Streak {
    fn add(&mut self, reason: &str) {
        let kind = without_numbers(reason);
        self.count = if kind == self.kind { self.count + 1 } else { 1 };
        self.kind = kind;
    }
}

/// Testbed that runs trials until repetition is futile.
#[derive(Debug)]
pub struct Futile<T> {
    inner: T,
    cases: BTreeMap<Case, Streak>,
    /// Failures since the start of the run; `None` once a trial ran to its end.
    run: Option<Streak>,
}

impl<T: Testbed> Futile<T> {
    /// Creates the wrapper with no failures.
    pub fn new(inner: T) -> Self {
        Self { inner, cases: BTreeMap::new(), run: Some(Streak::default()) }
    }
}

impl<T: Testbed> Testbed for Futile<T> {
    fn topology(&self) -> &Topology {
        self.inner.topology()
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        let case = (trial.label.clone(), trial.path, trial.subject.clone());
        let streak = self.cases.entry(case).or_default();
        if streak.count >= CASE_FAILURES {
            let reason = format!("not run: failed {CASE_FAILURES} times alike before");
            return Ok(TrialRecord::failed(0, reason));
        }
        let record = self.inner.run(trial)?;
        let Outcome::Failed { reason } = &record.outcome else {
            *streak = Streak::default();
            self.run = None;
            return Ok(record);
        };
        streak.add(reason);
        let Some(run) = &mut self.run else { return Ok(record) };
        run.add(reason);
        if run.count < RUN_FAILURES {
            return Ok(record);
        }
        let (label, reason, trials) = (trial.label.clone(), reason.clone(), run.count);
        Err(TestbedError::Futile { label, trials, reason })
    }
}

/// Removes digits, so that failures of one kind compare equal.
fn without_numbers(reason: &str) -> String {
    reason.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}
