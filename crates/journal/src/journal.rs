//! The journal: a testbed around a testbed that records every trial and replays what is recorded.
//!
//! Resuming a run is running its studies again over the same journal: what is recorded comes back
//! unrun, and the first trial that isn't goes to the testbed inside. Analysing a run again is
//! `trial::Recorded`'s. Never decides what is asked; a study that asks otherwise than the
//! record has it is told so.

use std::collections::BTreeMap;
use std::error::Error;

use trial::{PlanChanged, Testbed, TestbedError, Topology, Trial, TrialRecord};

use crate::store::{BegunDeed, Store, StoreError};

/// Records one run's trials, or replays them.
pub struct Journal<'a> {
    store: &'a Store,
    run: String,
    topology: Topology,
    inner: Box<dyn Testbed + 'a>,
    next: u64,
    resume_point: u64,
    counts: JournalCounts,
    /// The variant that each device was last put into.
    applied: BTreeMap<String, String>,
}

/// What a journal did so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JournalCounts {
    /// Trials that were answered from the record.
    pub replayed: u64,
    /// Trials that were carried out and recorded.
    pub run: u64,
}

/// A recorded trial can't stand for the one that is asked for.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// Another trial is recorded at this place.
    #[error(transparent)]
    PlanChanged(#[from] PlanChanged),
    /// It can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The hint of the first of this crate's errors in a chain of causes, if any has one.
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
    /// A journal of `run` (full id) in `store`, over `inner`.
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

    /// How many trials were replayed and how many run.
    pub const fn counts(&self) -> JournalCounts {
        self.counts
    }

    /// How many trials from the start will be replayed rather than run.
    pub const fn recorded(&self) -> u64 {
        self.resume_point
    }

    /// Runs it. What it does to a device is noted for as long as it may be done: whoever goes on
    /// with this run has to undo it first, however it breaks off.
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
            // Noted once too often, it is only undone once more.
            if ran.is_ok() {
                undone.map_err(unnoted)?;
            }
        }
        ran
    }

    /// The recorded answer to `trial`, where there is one that counts.
    fn replay(&self, trial: &Trial) -> Result<Option<TrialRecord>, ReplayError> {
        let Some(stored) = self.store.trial(&self.run, self.next)? else { return Ok(None) };
        let what = format!("trial {} of run {}", self.next, self.run);
        if !trial.is_answered_by(&self.store.decode(&what, &stored.trial)?) {
            let (recorded, asked) = (stored.label, trial.label.clone());
            return Err(PlanChanged { ordinal: self.next, recorded, asked }.into());
        }
        // A failure with finished trials behind it is part of the history that the study reacted
        // to. One at the end is where the run broke off: it is tried again.
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
        // Before it is applied: whoever goes on with this run has to know of it, however it breaks
        // off.
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
