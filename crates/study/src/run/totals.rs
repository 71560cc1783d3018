//! Totals of a run's trials for its page, collected one trial at a time.
//!
//! Memory grows with the differences among trials, never with their number: 100,000 equal ones take
//! no more than a hundred. Each study collects what it shows itself.

use trial::{Trial, TrialRecord};

use super::accounting::{Accounting, TrialAccount};
use super::{books, conditions, devices, trials};

/// Totals over a run's trials.
#[derive(Debug, Default)]
pub struct TrialTotals {
    accounting: Accounting,
    pub(super) sums: trials::Sums,
    pub(super) ran: conditions::Ran,
    pub(super) devices: devices::Devices,
    pub(super) books: books::Books,
}

impl TrialTotals {
    /// Totals over all of these trials, in the order they ran.
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

    /// Number of valid trials, and the reasons against others.
    pub fn account(&self) -> TrialAccount {
        self.accounting.account()
    }

    /// Accounting in a form that can be merged with other runs'.
    pub const fn accounting(&self) -> &Accounting {
        &self.accounting
    }
}
