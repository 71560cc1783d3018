//! What the trials behind a value leave to be said beside it: doubts, and which trials they were.
//!
//! Never decides what a doubt means.

use std::collections::BTreeSet;

use super::rows::Row;
use super::session::Tried;
use page::{Caveat, Trials};

/// Of some trials.
#[derive(Debug, Clone, Default)]
pub(super) struct Noted {
    pub(super) caveats: BTreeSet<Caveat>,
    trials: Trials,
}

impl Noted {
    /// Of no trial.
    pub(super) fn only(caveat: Caveat) -> Self {
        Self { caveats: BTreeSet::from([caveat]), trials: Trials::default() }
    }

    /// Takes the try that counts, and whether there were others.
    pub(super) fn hear(&mut self, tried: &Tried) {
        self.trials.insert(tried.record.ordinal);
        if tried.repeated() {
            self.caveats.insert(Caveat::RepeatedTrials);
        }
    }

    /// One more doubt.
    pub(super) fn doubt(&mut self, caveat: Caveat) {
        self.caveats.insert(caveat);
    }

    /// Takes in another's.
    pub(super) fn extend(&mut self, other: &Self) {
        self.caveats.extend(&other.caveats);
        self.trials.extend(&other.trials);
    }
}

impl Row {
    /// Its values rest on these trials.
    pub(super) fn note(&mut self, noted: &Noted) {
        self.caveats.extend(&noted.caveats);
        self.trials.extend(&noted.trials);
    }
}
