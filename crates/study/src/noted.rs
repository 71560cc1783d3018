//! Notes on the trials behind a value: caveats, and which trials they were.
//!
//! Never decides what a caveat means.

use std::collections::BTreeSet;

use super::rows::Row;
use super::session::Tried;
use page::{Caveat, Trials};

/// Caveats and numbers of some trials.
#[derive(Debug, Clone, Default)]
pub(super) struct Noted {
    pub(super) caveats: BTreeSet<Caveat>,
    trials: Trials,
}

impl Noted {
    /// Creates notes with one caveat and no trial.
    pub(super) fn only(caveat: Caveat) -> Self {
        Self { caveats: BTreeSet::from([caveat]), trials: Trials::default() }
    }

    /// Notes the attempt that counts, and whether the trial was repeated.
    pub(super) fn observe(&mut self, tried: &Tried) {
        self.trials.insert(tried.record.ordinal);
        if tried.repeated() {
            self.caveats.insert(Caveat::RepeatedTrials);
        }
    }

    /// Adds a caveat.
    pub(super) fn doubt(&mut self, caveat: Caveat) {
        self.caveats.insert(caveat);
    }

    /// Adds the notes of another value.
    pub(super) fn extend(&mut self, other: &Self) {
        self.caveats.extend(&other.caveats);
        self.trials.extend(&other.trials);
    }
}

impl Row {
    /// Adds the caveats and trials that its values rest on.
    pub(super) fn note(&mut self, noted: &Noted) {
        self.caveats.extend(&noted.caveats);
        self.trials.extend(&noted.trials);
    }
}
