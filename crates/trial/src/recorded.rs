//! The one testbed that replays: it answers from records, and runs nothing.
//!
//! Owns how a trial finds its record: in the order in which they ran, or within one block by what
//! it asks for. Records are read one at a time, wherever they lie. What is not recorded is a trial
//! that failed, so that a study ends with what it has.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher as _};

use crate::{Testbed, TestbedError, Topology, Trial, TrialRecord};

/// Why a record could not be read.
pub type Unread = Box<dyn Error + Send + Sync>;

/// A run's trials with their records, in the order they ran, each read when it is asked for.
pub trait Records {
    /// How many there are.
    fn count(&self) -> usize;

    /// The trial at a place below [`Records::count`].
    fn trial(&self, at: usize) -> Result<Cow<'_, Trial>, Unread>;

    /// Its record.
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

/// Where each block's trials are among a run's.
#[derive(Debug, Default)]
pub struct BlockIndex {
    /// Block, hash of the trial as one of block 0, place; ascending.
    places: Vec<(u32, u64, usize)>,
}

impl BlockIndex {
    /// The index of these records; reads every trial and no record.
    pub fn of(records: &dyn Records) -> Result<Self, Unread> {
        let mut places = Vec::with_capacity(records.count());
        for at in 0..records.count() {
            let trial = records.trial(at)?;
            places.push((trial.block, hash(&in_first_block(&trial)), at));
        }
        places.sort_unstable();
        Ok(Self { places })
    }

    /// Places of a block's trials that may be this one, in the order they ran.
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
    let asked = Trial { study: None, ..trial.clone() };
    // A hasher takes anything.
    let _ = write!(hashed, "{asked:?}");
    hashed.0.finish()
}

/// In which order trials find their records.
#[derive(Debug)]
enum Order<'a> {
    /// As they ran; the place of the next one.
    AsTheyRan(usize),
    /// Within one block, whenever they are asked for.
    WithinBlock(&'a BlockIndex, u32),
}

/// Whoever is called with each trial and its record.
type Hear<'a> = &'a mut dyn FnMut(&Trial, &TrialRecord);

/// Records, each with the trial that it answers.
pub struct Recorded<'a> {
    topology: &'a Topology,
    records: &'a dyn Records,
    order: Order<'a>,
    broke_off: Option<String>,
    hear: Option<Hear<'a>>,
}

/// Another trial than the recorded one is asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "trial {ordinal} is recorded as `{recorded}`, and `{asked}` is asked for{}",
    if recorded == asked { " with other settings" } else { "" }
)]
pub struct PlanChanged {
    /// From 0.
    pub ordinal: u64,
    /// The recorded trial's label.
    pub recorded: String,
    /// The asked trial's label.
    pub asked: String,
}

impl PlanChanged {
    /// What the user can do about it, for a `hint:` line.
    pub const HINT: &'static str =
        "the plan or the program changed since: start a new run instead of resuming";
}

impl<'a> Recorded<'a> {
    /// Answers trial by trial, as it did.
    pub const fn in_order(topology: &'a Topology, records: &'a dyn Records) -> Self {
        Self { topology, records, order: Order::AsTheyRan(0), broke_off: None, hear: None }
    }

    /// Calls `hear` with each trial that it answers as it did, and its record.
    #[must_use]
    pub fn hearing(self, hear: Hear<'a>) -> Self {
        Self { hear: Some(hear), ..self }
    }

    /// Lets the trials be heard that nobody asked for.
    pub fn hear_rest(&mut self) -> Result<(), Unread> {
        if let (Order::AsTheyRan(next), Some(hear)) = (&mut self.order, &mut self.hear) {
            for at in *next..self.records.count() {
                hear(&*self.records.trial(at)?, &*self.records.record(at)?);
            }
            *next = self.records.count();
        }
        Ok(())
    }

    /// Answers trials of block 0 with what one block recorded, whenever they are asked for.
    pub const fn within_block(
        topology: &'a Topology,
        records: &'a dyn Records,
        index: &'a BlockIndex,
        block: u32,
    ) -> Self {
        let order = Order::WithinBlock(index, block);
        Self { topology, records, order, broke_off: None, hear: None }
    }

    /// The label of the first trial that was asked for and is not recorded.
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
