//! The few single trials that a page shows: the first of each case.
//!
//! Owns how many are kept, and that a case is a label on a path.

use std::collections::BTreeSet;

use trial::{Trial, TrialRecord};

use super::Who;

/// The first valid trial of each label and path, up to so many.
#[derive(Debug)]
pub struct FirstOfEach {
    most: usize,
    seen: BTreeSet<(String, Who)>,
    trials: Vec<(Trial, TrialRecord)>,
}

impl FirstOfEach {
    /// Keeps nothing yet, and of at most so many cases.
    pub const fn new(most: usize) -> Self {
        Self { most, seen: BTreeSet::new(), trials: Vec::new() }
    }

    /// Keeps a trial, where there is room and it is the first valid one of its case.
    pub fn take(&mut self, trial: &Trial, record: &TrialRecord) {
        let case = || (trial.label.clone(), Who::from_trial(trial));
        let has_room = self.trials.len() < self.most && record.outcome.is_valid();
        if has_room && self.seen.insert(case()) {
            self.trials.push((trial.clone(), record.clone()));
        }
    }

    /// Those that were kept, in the order they ran.
    pub fn trials(&self) -> &[(Trial, TrialRecord)] {
        &self.trials
    }
}
