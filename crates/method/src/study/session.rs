//! Running a study's trials: asks again when one can't be used, and gives up in the end.
//!
//! Owns the repetition and the order's randomness. Never decides what a record means, and never
//! repeats a trial because its figure displeases: only one that is invalid or failed.

use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_pcg::Pcg64;

use measure::Nanos;

use crate::record::{DatagramsRecord, Defect, FlowRecord};
use crate::trial::{Flow, FlowKind, Gate, Offloads, Path};
use crate::{Outcome, Testbed, TestbedError, Trial, TrialRecord};

use super::{Paths, Profile, SpecProblem};

/// What starting and collecting a trial costs beside its phases.
pub(super) const TRIAL_OVERHEAD: Nanos = Nanos::from_millis(60);

/// Below this share of what was asked, the tester is not unlucky but unable: no use asking again.
const UNABLE_SHARE: f64 = 0.98;

/// A study under way.
pub(super) struct Session<'a> {
    pub(super) paths: Paths,
    testbed: &'a mut dyn Testbed,
    order: Pcg64,
    profile: Profile,
    tries: u32,
}

/// What a study asks for; the session adds what is the same for all.
pub(super) struct Ask {
    pub(super) label: String,
    pub(super) path: Path,
    pub(super) block: u32,
    pub(super) duration: Nanos,
    pub(super) gate: Gate,
    pub(super) flows: Vec<Flow>,
}

/// The last try's trial and record.
pub(super) struct Tried {
    pub(super) trial: Trial,
    pub(super) record: TrialRecord,
}

impl Tried {
    /// The record, if figures may come from it.
    pub(super) fn valid(&self) -> Option<&TrialRecord> {
        self.record.outcome.is_valid().then_some(&self.record)
    }

    /// Whether it took more than one try.
    pub(super) const fn repeated(&self) -> bool {
        self.trial.attempt > 0
    }

    /// Whether it ran, and what broke were only the tester's own limits.
    pub(super) fn beyond_tester(&self) -> bool {
        let own = |defect: &Defect| {
            matches!(
                defect,
                Defect::OfferedLoad { .. } | Defect::Burst { .. } | Defect::TesterCounter { .. }
            )
        };
        match &self.record.outcome {
            Outcome::Invalid { reasons } => reasons.iter().all(own),
            _ => false,
        }
    }

    /// Whether the tester fell so far short, sending or receiving, that it was not bad luck.
    fn unable(&self) -> bool {
        let frames = datagrams(&self.record, 0).map(|flow| flow.sent as f64);
        let far_short = |defect: &Defect| match defect {
            Defect::OfferedLoad { flow, asked, sent } => {
                *sent < UNABLE_SHARE * asked && is_datagrams(&self.trial, *flow)
            }
            Defect::TesterCounter { by, .. } => {
                frames.is_some_and(|frames| *by as f64 > (1.0 - UNABLE_SHARE) * frames)
            }
            _ => false,
        };
        match &self.record.outcome {
            Outcome::Invalid { reasons } => reasons.iter().any(far_short),
            _ => false,
        }
    }
}

fn is_datagrams(trial: &Trial, id: u16) -> bool {
    trial.flows.iter().any(|f| f.id == id && matches!(f.kind, FlowKind::Datagrams(_)))
}

impl<'a> Session<'a> {
    pub(super) fn new(
        testbed: &'a mut dyn Testbed,
        study: &str,
        seed: u64,
        profile: Profile,
        tries: u32,
    ) -> Result<Self, TestbedError> {
        let topology = testbed.topology();
        let paths = Paths::of(topology).ok_or_else(|| TestbedError::Lost {
            label: study.to_owned(),
            cause: Box::new(SpecProblem::NoPair { testbed: topology.name.clone() }),
        })?;
        Ok(Self { paths, testbed, order: Pcg64::seed_from_u64(seed), profile, tries })
    }

    /// Puts a block's trials into random order, so that a drift is nobody's advantage.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        items.shuffle(&mut self.order);
    }

    /// Runs a trial, again while it is invalid or failed, as often as allowed.
    pub(super) fn run(&mut self, ask: Ask) -> Result<Tried, TestbedError> {
        let mut trial = Trial {
            label: ask.label,
            path: ask.path,
            block: ask.block,
            attempt: 0,
            flows: ask.flows,
            phases: self.profile.phases(ask.duration),
            offloads: Offloads::Off,
            gate: ask.gate,
        };
        loop {
            let record = self.testbed.run(&trial)?;
            let tried = Tried { trial, record };
            let last = tried.trial.attempt + 1 >= self.tries;
            if tried.valid().is_some() || last || tried.unable() {
                return Ok(tried);
            }
            trial = tried.trial;
            trial.attempt += 1;
        }
    }
}

/// The record of the flow at `at`, if it is one of datagrams.
pub(super) fn datagrams(record: &TrialRecord, at: usize) -> Option<&DatagramsRecord> {
    match record.flows.get(at)? {
        FlowRecord::Datagrams(datagrams) => Some(datagrams),
        _ => None,
    }
}
