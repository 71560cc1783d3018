//! Journal: a testbed wrapper that records every trial and replays recorded ones.
//!
//! To resume a run is to run its studies again over the same journal. Recorded trials are replayed,
//! and the first unrecorded one goes to the inner testbed. `trial::Recorded` analyses a run again.
//! Never decides which trial comes next; a study that requests another trial than the recorded one
//! gets an error.

use std::collections::BTreeMap;
use std::error::Error;

use trial::{PlanChanged, Testbed, TestbedError, Topology, Trial, TrialRecord};

use crate::store::{BegunDeed, Store, StoreError};

/// Testbed that records one run's trials, or replays them.
pub struct Journal<'a> {
    store: &'a Store,
    run: String,
    topology: Topology,
    inner: Box<dyn Testbed + 'a>,
    next: u64,
    resume_point: u64,
    counts: JournalCounts,
    /// Variant that each device was last put into.
    applied: BTreeMap<String, String>,
}

/// Number of trials replayed and run by a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JournalCounts {
    /// Trials answered from the record.
    pub replayed: u64,
    /// Trials carried out and recorded.
    pub run: u64,
}

/// Error: a recorded trial cannot answer the requested one.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// A different trial is recorded at this index.
    #[error(transparent)]
    PlanChanged(#[from] PlanChanged),
    /// The record cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Returns the hint of this crate's first error in a chain of causes; `None` if there is none.
pub fn hint_for(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let mut link = Some(error);
    while let Some(error) = link {
        let of_store = |error: &StoreError| error.hint();
        let hint = match error.downcast_ref::<ReplayError>() {
            Some(ReplayError::PlanChanged(_)) => Some(PlanChanged::HINT),
            Some(ReplayError::Store(error)) => of_store(error),
            None if error.is::<PlanChanged>() => Some(PlanChanged::HINT),
            None => error.downcast_ref::<StoreError>().and_then(of_store),
        };
        if hint.is_some() {
            return hint;
        }
        link = error.source();
    }
    None
}

impl<'a> Journal<'a> {
    /// Opens a journal of `run` (full id) in `store`, over `inner`.
    pub fn new(
        store: &'a Store,
        run: &str,
        inner: Box<dyn Testbed + 'a>,
    ) -> Result<Self, StoreError> {
        let meta = store.load(run)?;
        let present = inner.topology();
        if !present.is_that_of(&meta.topology) {
            return Err(StoreError::TestbedChanged {
                run: meta.id,
                recorded: meta.topology.name,
                present: present.name.clone(),
            });
        }
        let resume_point = store.resume_point(&meta.id)?;
        let applied = store.applied(&meta.id)?;
        Ok(Self {
            store,
            run: meta.id,
            topology: meta.topology,
            inner,
            next: 0,
            resume_point,
            counts: JournalCounts::default(),
            applied,
        })
    }

    /// Number of trials replayed and run.
    pub const fn counts(&self) -> JournalCounts {
        self.counts
    }

    /// Number of trials from the start that are replayed rather than run.
    pub const fn recorded(&self) -> u64 {
        self.resume_point
    }

    /// Runs a trial. Reversible changes to a device are noted before they happen: whoever continues
    /// the run must undo them first, however it ends.
    fn run_noted(&mut self, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        let begun = BegunDeed::of_trial(trial, &self.topology);
        let unnoted = |e: StoreError| {
            let (label, cause) = (trial.label.clone(), Box::new(e));
            TestbedError::NotRecorded { label, cause }
        };
        begun
            .iter()
            .try_for_each(|deed| self.store.note_begun(&self.run, deed))
            .map_err(unnoted)?;
        let ran = self.inner.run(trial);
        if !matches!(ran, Err(TestbedError::NotUndone { .. })) {
            let undone = begun.iter().try_for_each(|deed| self.store.note_undone(&self.run, deed));
            // An extra note only means one more undo.
            if ran.is_ok() {
                undone.map_err(unnoted)?;
            }
        }
        ran
    }

    /// Returns the recorded answer to `trial`, if one counts.
    fn replay(&self, trial: &Trial) -> Result<Option<TrialRecord>, ReplayError> {
        let Some(stored) = self.store.trial(&self.run, self.next)? else { return Ok(None) };
        let what = format!("trial {} of run {}", self.next, self.run);
        if !trial.is_answered_by(&self.store.decode(&what, &stored.trial)?) {
            let (recorded, asked) = (stored.label, trial.label.clone());
            return Err(PlanChanged { ordinal: self.next, recorded, asked }.into());
        }
        // A failure before finished trials is part of the history that the study reacted to. A
        // failure at the end is where the run stopped: it is tried again.
        if stored.failed && self.next >= self.resume_point {
            return Ok(None);
        }
        Ok(Some(self.store.decode(&what, &stored.record)?))
    }
}

impl Testbed for Journal<'_> {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        let label = || trial.label.clone();
        let replayed = self
            .replay(trial)
            .map_err(|e| TestbedError::NotReplayed { label: label(), cause: Box::new(e) })?;
        if let Some(record) = replayed {
            self.next += 1;
            self.counts.replayed += 1;
            return Ok(record);
        }
        // Noted before it is applied: whoever continues the run must know of it, however it ends.
        let varied = trial.subject.as_ref().and_then(|subject| {
            let variant = subject.variant.as_deref()?;
            Some((subject.device.as_str(), variant))
        });
        if let Some((device, variant)) = varied
            && self.applied.get(device).is_none_or(|last| last != variant)
        {
            self.store
                .note_applied(&self.run, device, variant)
                .map_err(|e| TestbedError::NotRecorded { label: label(), cause: Box::new(e) })?;
            self.applied.insert(device.to_owned(), variant.to_owned());
        }
        let mut fresh = self.run_noted(trial)?;
        fresh.leave_out_unread(&trial.flows);
        let record = self
            .store
            .keep(&self.run, self.next, trial, &fresh)
            .map_err(|e| TestbedError::NotRecorded { label: label(), cause: Box::new(e) })?;
        self.next += 1;
        self.counts.run += 1;
        Ok(record)
    }
}
