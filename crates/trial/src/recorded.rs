//! Replay testbed: answers trials from records and runs nothing.
//!
//! Owns how a trial finds its record: in the order of the run, or within one block by its settings.
//! Reads records one at a time. A trial without a record counts as failed, so that a study ends
//! with the results it has.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher as _};

use crate::{Flow, Testbed, TestbedError, Topology, Trial, TrialRecord};

/// Error that prevented reading a record.
pub type Unread = Box<dyn Error + Send + Sync>;

/// Trials of a run with their records, in the order they ran, each read on demand.
pub trait Records {
    /// Number of trials.
    fn count(&self) -> usize;

    /// Returns the trial at an index below [`Records::count`].
    fn trial(&self, at: usize) -> Result<Cow<'_, Trial>, Unread>;

    /// Returns the record at an index below [`Records::count`].
    fn record(&self, at: usize) -> Result<Cow<'_, TrialRecord>, Unread>;
}

impl Records for Vec<(Trial, TrialRecord)> {
    fn count(&self) -> usize {
        self.len()
    }

    fn trial(&self, at: usize) -> Result<Cow<'_, Trial>, Unread> {
        Ok(Cow::Borrowed(&self[at].0))
    }

    fn record(&self, at: usize) -> Result<Cow<'_, TrialRecord>, Unread> {
        Ok(Cow::Borrowed(&self[at].1))
    }
}

/// Index of a run's trials by block.
#[derive(Debug, Default)]
pub struct BlockIndex {
    /// Block, hash of the trial as one of block 0, index; ascending.
    places: Vec<(u32, u64, usize)>,
}

impl BlockIndex {
    /// Builds the index of these records; reads every trial and no record.
    pub fn from_records(records: &dyn Records) -> Result<Self, Unread> {
        let mut places = Vec::with_capacity(records.count());
        for at in 0..records.count() {
            let trial = records.trial(at)?;
            places.push((trial.block, hash(&in_first_block(&trial)), at));
        }
        places.sort_unstable();
        Ok(Self { places })
    }

    /// Indices of a block's trials that may be this one, in the order they ran.
    fn candidates(&self, block: u32, trial: &Trial) -> impl Iterator<Item = usize> {
        let wanted = (block, hash(trial));
        let first = self.places.partition_point(|(block, hash, _)| (*block, *hash) < wanted);
        let alike = move |(block, hash, _): &&(u32, u64, usize)| (*block, *hash) == wanted;
        self.places[first..].iter().take_while(alike).map(|(.., at)| *at)
    }
}

fn in_first_block(trial: &Trial) -> Trial {
    Trial { block: 0, ..trial.clone() }
}

fn hash(trial: &Trial) -> u64 {
    struct Hashed(DefaultHasher);
    impl std::fmt::Write for Hashed {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0.write(text.as_bytes());
            Ok(())
        }
    }
    let mut hashed = Hashed(DefaultHasher::new());
    let mut asked = trial.clone();
    asked.study = None;
    asked.flows.iter_mut().for_each(Flow::keep_first_choice);
    // A hasher takes anything.
    let _ = write!(hashed, "{asked:?}");
    hashed.0.finish()
}

/// Order in which trials find their records.
#[derive(Debug)]
enum Order<'a> {
    /// In the order of the run; holds the index of the next record.
    AsTheyRan(usize),
    /// Within one block, in any order.
    WithinBlock(&'a BlockIndex, u32),
}

/// Callback for each trial and its record.
type Hear<'a> = &'a mut dyn FnMut(&Trial, &TrialRecord);

/// Testbed that answers trials from records.
pub struct Recorded<'a> {
    topology: &'a Topology,
    records: &'a dyn Records,
    order: Order<'a>,
    broke_off: Option<String>,
    hear: Option<Hear<'a>>,
}

/// Error: the requested trial differs from the recorded one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "trial {ordinal} is recorded as `{recorded}`, and `{asked}` is asked for{}",
    if recorded == asked { " with other settings" } else { "" }
)]
pub struct PlanChanged {
    /// Index of the trial, from 0.
    pub ordinal: u64,
    /// Label of the recorded trial.
    pub recorded: String,
    /// Label of the requested trial.
    pub asked: String,
}

impl PlanChanged {
    /// Remedy for the user, for a `hint:` line.
    pub const HINT: &'static str =
        "the plan or the program changed since: start a new run instead of resuming";
}

impl<'a> Recorded<'a> {
    /// Answers trials in the order of the run.
    pub const fn in_order(topology: &'a Topology, records: &'a dyn Records) -> Self {
        Self { topology, records, order: Order::AsTheyRan(0), broke_off: None, hear: None }
    }

    /// Calls `hear` with each trial answered in order, and its record.
    #[must_use]
    pub fn hearing(self, hear: Hear<'a>) -> Self {
        Self { hear: Some(hear), ..self }
    }

    /// Passes the remaining trials, which no study requested, to the callback.
    pub fn hear_rest(&mut self) -> Result<(), Unread> {
        if let (Order::AsTheyRan(next), Some(hear)) = (&mut self.order, &mut self.hear) {
            for at in *next..self.records.count() {
                hear(&*self.records.trial(at)?, &*self.records.record(at)?);
            }
            *next = self.records.count();
        }
        Ok(())
    }

    /// Answers trials of block 0 from one recorded block, in any order.
    pub const fn within_block(
        topology: &'a Topology,
        records: &'a dyn Records,
        index: &'a BlockIndex,
        block: u32,
    ) -> Self {
        let order = Order::WithinBlock(index, block);
        Self { topology, records, order, broke_off: None, hear: None }
    }

    /// Label of the first requested trial without a record; `None` if there is none.
    pub fn broke_off(&self) -> Option<&str> {
        self.broke_off.as_deref()
    }

    fn find(&mut self, trial: &Trial) -> Result<Option<TrialRecord>, Unread> {
        match &mut self.order {
            Order::AsTheyRan(next) if *next >= self.records.count() => Ok(None),
            Order::AsTheyRan(next) => {
                let recorded = self.records.trial(*next)?;
                if !trial.is_answered_by(&recorded) {
                    let (recorded, asked) = (recorded.label.clone(), trial.label.clone());
                    let ordinal = *next as u64;
                    return Err(PlanChanged { ordinal, recorded, asked }.into());
                }
                let record = self.records.record(*next)?.into_owned();
                if let Some(hear) = &mut self.hear {
                    hear(trial, &record);
                }
                *next += 1;
                Ok(Some(record))
            }
            Order::WithinBlock(index, block) => {
                for at in index.candidates(*block, trial) {
                    if trial.is_answered_by(&in_first_block(&*self.records.trial(at)?)) {
                        return Ok(Some(self.records.record(at)?.into_owned()));
                    }
                }
                Ok(None)
            }
        }
    }
}

impl Testbed for Recorded<'_> {
    fn topology(&self) -> &Topology {
        self.topology
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        let found = self
            .find(trial)
            .map_err(|cause| TestbedError::NotReplayed { label: trial.label.clone(), cause })?;
        Ok(found.unwrap_or_else(|| {
            self.broke_off.get_or_insert_with(|| trial.label.clone());
            TrialRecord::failed(0, "it is not recorded: the run broke off before it".to_owned())
        }))
    }
}
