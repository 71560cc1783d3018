//! Running a study's trials: asks again when one can't be used, and gives up in the end.
//!
//! Owns the repetition and the order's randomness. Never decides what a record means, and never
//! repeats a trial because its figure displeases: only one that is invalid or failed.

use std::cmp::Ordering;

use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_pcg::Pcg64;

use measure::{FrameRate, Nanos};

use crate::record::{DatagramsRecord, Defect, FlowRecord};
use crate::trial::{Flow, FlowKind, Gate, Offloads, Path};
use crate::{Outcome, Testbed, TestbedError, Trial, TrialRecord};

use super::{Paths, Profile, SpecProblem};

/// What starting and collecting a trial costs beside its phases.
pub(super) const TRIAL_OVERHEAD: Nanos = Nanos::from_millis(60);

/// A tester that falls short by more than this, twice in a row and by about the same, is not unlucky
/// but unable: no use asking again. Once may be a stall, however long.
const UNABLE_SHORTFALL: f64 = 0.02;

/// How far apart two shortfalls may be to be about the same, relative to the larger.
const ALIKE: f64 = 0.25;

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

/// The try that counts: the valid one, else the one that came closest to what was asked.
pub(super) struct Tried {
    pub(super) trial: Trial,
    pub(super) record: TrialRecord,
    /// How many there were in all.
    tries: u32,
}

impl Tried {
    /// The record, if figures may come from it.
    pub(super) fn valid(&self) -> Option<&TrialRecord> {
        self.record.outcome.is_valid().then_some(&self.record)
    }

    /// Whether it took more than one try.
    pub(super) const fn repeated(&self) -> bool {
        self.tries > 1
    }

    /// Whether it ran, and what broke were only the tester's own limits.
    pub(super) fn beyond_tester(&self) -> bool {
        let own = |defect: &Defect| {
            matches!(
                defect,
                Defect::OfferedLoad { .. }
                    | Defect::Burst { .. }
                    | Defect::Late { .. }
                    | Defect::TesterCounter { .. }
            )
        };
        match &self.record.outcome {
            Outcome::Invalid { reasons } => reasons.iter().all(own),
            _ => false,
        }
    }

    /// The offered load that passed without a loss in a try that was invalid only by the tester's own
    /// limits. It is taken over the whole load phase, stalls included: all frames arrived, so no more
    /// than rate * time + buffer did, the same bound as a valid trial gives.
    pub(super) fn lossless_load(&self) -> Option<FrameRate> {
        let flow = datagrams(&self.record, 0).filter(|_| self.beyond_tester())?;
        if flow.received.lost(flow.sent) > 0 || flow.sent < 2 {
            return None;
        }
        let seconds = flow.sending.max(self.trial.phases.load).as_secs_f64();
        Some(FrameRate((flow.sent - 1) as f64 / seconds))
    }

    /// The largest share by which the tester fell short, sending or receiving; zero where only a
    /// burst was wrong, `None` where it is not the tester's doing alone.
    fn shortfall(&self) -> Option<f64> {
        let Outcome::Invalid { reasons } = &self.record.outcome else { return None };
        let frames = datagrams(&self.record, 0).map_or(0, |flow| flow.sent).max(1) as f64;
        let short = |defect: &Defect| match defect {
            Defect::OfferedLoad { flow, asked, sent } if is_datagrams(&self.trial, *flow) => {
                1.0 - sent / asked
            }
            Defect::TesterCounter { by, .. } if datagrams(&self.record, 0).is_some() => {
                *by as f64 / frames
            }
            _ => 0.0,
        };
        self.beyond_tester().then(|| reasons.iter().map(short).fold(0.0, f64::max))
    }

    /// Whether this try and the one before failed far short and alike.
    fn unable(&self, before: Option<&Self>) -> bool {
        let before = before.and_then(Self::shortfall);
        let (Some(now), Some(before)) = (self.shortfall(), before) else { return false };
        now.min(before) > UNABLE_SHORTFALL && (now - before).abs() <= ALIKE * now.max(before)
    }

    /// How useful it is beside others that are not valid either: what passed most, then what came
    /// closest to the load, then what ran at all.
    fn rank(&self) -> (f64, f64) {
        let passed = self.lossless_load().map_or(0.0, |rate| rate.0);
        (passed, self.shortfall().map_or(f64::NEG_INFINITY, |short| -short))
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
            subject: None,
            block: ask.block,
            attempt: 0,
            flows: ask.flows,
            phases: self.profile.phases(ask.duration),
            offloads: Offloads::Off,
            gate: ask.gate,
            events: Vec::new(),
        };
        let mut failed: Vec<Tried> = Vec::new();
        loop {
            let record = self.testbed.run(&trial)?;
            let tries = trial.attempt + 1;
            let tried = Tried { trial: trial.clone(), record, tries };
            if tried.valid().is_some() {
                return Ok(tried);
            }
            let over = tries >= self.tries || tried.unable(failed.last());
            failed.push(tried);
            if over {
                let best = failed
                    .into_iter()
                    .max_by(|a, b| a.rank().partial_cmp(&b.rank()).unwrap_or(Ordering::Equal));
                let mut best = best.expect("one was just put in");
                best.tries = tries;
                return Ok(best);
            }
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
