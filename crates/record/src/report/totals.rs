//! What a run's trials come to on its page, gathered one trial at a time: sums over all of them,
//! and for each study merged distributions and the few single trials that are shown.
//!
//! Owns which trial goes to which section. What it holds grows with what differs among trials,
//! never with their number: 100,000 alike take no more than a hundred.

use std::collections::BTreeMap;
use std::num::NonZeroU16;

use method::StudySpec;
use trial::{Trial, TrialRecord};

use super::buffer::over_time;
use super::firsts::FirstOfEach;
use super::forwarding::{loss, pacing};
use super::subject::Who;
use super::{books, conditions, devices, latency, storage, streams, switching, tcp, trials};
use crate::accounting::{Accounting, TrialAccount};

/// What a run's trials come to.
#[derive(Debug)]
pub struct TrialTotals {
    /// Trials of these studies are known by their labels, in a run that has them.
    has_switching: bool,
    has_tcp: bool,
    accounting: Accounting,
    pub(super) sums: trials::Sums,
    pub(super) ran: conditions::Ran,
    pub(super) devices: devices::Devices,
    pub(super) books: books::Books,
    by_study: BTreeMap<NonZeroU16, StudyTotals>,
    /// Of trials that don't tell their study, as those of 0.2's journals, and of studies without a
    /// trial.
    of_any: StudyTotals,
}

/// What one study's trials come to.
#[derive(Debug)]
pub(super) struct StudyTotals {
    pub(super) latency: latency::Merged,
    pub(super) loss: loss::Curves,
    pub(super) pacing: pacing::Pacing,
    pub(super) streams: streams::Firsts,
    pub(super) buffer: FirstOfEach<(String, Who)>,
    pub(super) tcp: FirstOfEach<(String, Who)>,
}

impl Default for StudyTotals {
    fn default() -> Self {
        Self {
            latency: latency::Merged::default(),
            loss: loss::Curves::default(),
            pacing: pacing::Pacing::default(),
            streams: streams::Firsts::default(),
            buffer: FirstOfEach::new(over_time::MOST_TRIALS),
            tcp: FirstOfEach::new(tcp::MOST_TRIALS),
        }
    }
}

impl Default for TrialTotals {
    fn default() -> Self {
        Self::new(&[])
    }
}

impl TrialTotals {
    /// Of no trial yet, of a run of these studies.
    pub fn new(studies: &[StudySpec]) -> Self {
        Self {
            has_switching: studies.iter().any(|s| matches!(s, StudySpec::Switching(_))),
            has_tcp: studies.iter().any(|s| matches!(s, StudySpec::Tcp(_))),
            accounting: Accounting::default(),
            sums: trials::Sums::default(),
            ran: conditions::Ran::default(),
            devices: devices::Devices::default(),
            books: books::Books::default(),
            by_study: BTreeMap::new(),
            of_any: StudyTotals::default(),
        }
    }

    /// Of all of these trials, in the order they ran.
    pub fn of<'r>(
        studies: &[StudySpec],
        trials: impl IntoIterator<Item = &'r (Trial, TrialRecord)>,
    ) -> Self {
        let mut totals = Self::new(studies);
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
        let is_valid = record.outcome.is_valid();
        let is_of_another = self.is_of_another_study(trial);
        let study = match trial.study {
            Some(number) => self.by_study.entry(number).or_default(),
            None => &mut self.of_any,
        };
        if is_valid && tcp::is_own(trial) {
            study.tcp.take(|| tcp::case(trial), trial, record);
        }
        if is_of_another {
            return;
        }
        study.pacing.take(trial, record);
        if !is_valid {
            return;
        }
        study.latency.take(trial, record);
        study.loss.take(trial, record);
        study.streams.take(trial, record);
        if over_time::measured(trial, record).is_some() {
            study.buffer.take(|| case(trial), trial, record);
        }
    }

    /// What a study's trials come to.
    pub(super) fn of_study(&self, number: NonZeroU16) -> &StudyTotals {
        self.by_study.get(&number).unwrap_or(&self.of_any)
    }

    /// Whether it belongs to a study that shows its trials itself.
    fn is_of_another_study(&self, trial: &Trial) -> bool {
        (self.has_switching && switching::is_own(trial))
            || (self.has_tcp && tcp::is_own(trial))
            || storage::is_own(trial)
    }

    /// How many count, and why others don't.
    pub fn account(&self) -> TrialAccount {
        self.accounting.account()
    }

    /// The same, to be counted together with other runs'.
    pub const fn accounting(&self) -> &Accounting {
        &self.accounting
    }
}

/// One trial of each label and device.
fn case(trial: &Trial) -> (String, Who) {
    (trial.label.clone(), Who::of_trial(trial))
}
