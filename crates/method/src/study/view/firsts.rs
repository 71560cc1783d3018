//! The few single trials that a page shows: the first of each case.
//!
//! Owns how many are kept. Never decides what a case is.

use std::collections::BTreeSet;

use trial::{Trial, TrialRecord};

/// The first trial of each case, up to so many cases.
#[derive(Debug)]
pub struct FirstOfEach<K> {
    most: usize,
    seen: BTreeSet<K>,
    trials: Vec<(Trial, TrialRecord)>,
}

impl<K: Ord> FirstOfEach<K> {
    /// Keeps nothing yet, and of at most so many cases.
    pub const fn new(most: usize) -> Self {
        Self { most, seen: BTreeSet::new(), trials: Vec::new() }
    }

    /// Keeps a trial, where there is room and it is the first of its case.
    pub fn take(&mut self, case: impl FnOnce() -> K, trial: &Trial, record: &TrialRecord) {
        if self.trials.len() < self.most && self.seen.insert(case()) {
            self.trials.push((trial.clone(), record.clone()));
        }
    }

    /// Those that were kept, in the order they ran.
    pub fn trials(&self) -> &[(Trial, TrialRecord)] {
        &self.trials
    }
}
