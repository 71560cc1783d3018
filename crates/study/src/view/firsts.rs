//! Single trials that a page shows: the first of each case.
//!
//! Owns how many are kept, and the definition of a case: a label on a path.

use std::collections::BTreeSet;

use trial::{Trial, TrialRecord};

use super::Who;

/// First valid trial of each label and path, up to a maximum number.
#[derive(Debug)]
pub struct FirstOfEach {
    most: usize,
    seen: BTreeSet<(String, Who)>,
    trials: Vec<(Trial, TrialRecord)>,
}

impl FirstOfEach {
    /// Creates an empty collection for at most `most` cases.
    pub const fn new(most: usize) -> Self {
        Self { most, seen: BTreeSet::new(), trials: Vec::new() }
    }

    /// Keeps a trial if there is room and it is the first valid one of its case.
    pub fn take(&mut self, trial: &Trial, record: &TrialRecord) {
        let case = || (trial.label.clone(), Who::from_trial(trial));
        let has_room = self.trials.len() < self.most && record.outcome.is_valid();
        if has_room && self.seen.insert(case()) {
            self.trials.push((trial.clone(), record.clone()));
        }
    }

    /// Kept trials, in the order in which they ran.
    pub fn trials(&self) -> &[(Trial, TrialRecord)] {
        &self.trials
    }
}
