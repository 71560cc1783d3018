//! What a run's trials come to on its page, gathered one trial at a time.
//!
//! What it holds grows with what differs among trials, never with their number: 100,000 alike take
//! no more than a hundred. What a study shows of its trials it gathers itself.

use trial::{Trial, TrialRecord};

use super::accounting::{Accounting, TrialAccount};
use super::{books, conditions, devices, trials};

/// Sums over a run's trials.
#[derive(Debug, Default)]
pub struct TrialTotals {
    accounting: Accounting,
    pub(super) sums: trials::Sums,
    pub(super) ran: conditions::Ran,
    pub(super) devices: devices::Devices,
    pub(super) books: books::Books,
}

impl TrialTotals {
    /// Sums over all of these trials, in the order they ran.
    pub fn from_trials<'r>(trials: impl IntoIterator<Item = &'r (Trial, TrialRecord)>) -> Self {
        let mut totals = Self::default();
        for (trial, record) in trials {
            totals.take(trial, record);
        }
        totals
    }

    /// Takes the next trial, in the order they ran.
    pub fn take(&mut self, trial: &Trial, record: &TrialRecord) {
        self.accounting.take(trial, record);
        self.sums.take(trial, record);
        self.ran.take(trial, record);
        self.devices.take(trial, record);
        self.books.take(trial, record);
    }

    /// The trials that count, and why others don't.
    pub fn account(&self) -> TrialAccount {
        self.accounting.account()
    }

    /// The same, to be counted together with other runs'.
    pub const fn accounting(&self) -> &Accounting {
        &self.accounting
    }
}
