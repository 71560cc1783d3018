//! A testbed around a testbed that does not go on with what fails alike every time.
//!
//! Owns how often is enough. Never judges an invalid trial, which ran: only those that failed. What
//! it leaves out is a failed record that says so.

use std::collections::BTreeMap;

use crate::record::Outcome;
use crate::{Path, Subject, Testbed, TestbedError, Topology, Trial, TrialRecord};

/// A test case that failed so often, and each time alike, is not tried again.
const CASE_FAILURES: u32 = 3;
/// A run whose first trials all failed alike, so many of them, is over.
const RUN_FAILURES: u32 = 6;

/// What makes trials the same test case.
type Case = (String, Path, Option<Subject>);

/// Failures one after another, with nothing else between them.
#[derive(Debug, Clone, Default)]
struct Streak {
    /// Of the last one, without its numbers.
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

/// Passes trials on for as long as there is hope.
#[derive(Debug)]
pub struct Futile<T> {
    inner: T,
    cases: BTreeMap<Case, Streak>,
    /// Of the whole run; none once a trial ran to its end.
    run: Option<Streak>,
}

impl<T: Testbed> Futile<T> {
    /// Nothing has failed yet.
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

/// So that failures differ by their kind alone.
fn without_numbers(reason: &str) -> String {
    reason.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}
