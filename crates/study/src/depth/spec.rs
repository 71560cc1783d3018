//! Request for the depth study: outputs, frame sizes, repetitions and burst length.
//!
//! Owns its defaults and its estimate. Never runs a trial.

use measure::{FrameSize, Nanos};
use serde::{Deserialize, Serialize};

use super::outlets;
use crate::problem::{self, SpecProblem};
use crate::{Blocks, Estimate, Known, Needs, Profile, TRIES, Tries, Varied};
use trial::topology::PortRef;
use trial::{Subject, Topology};

/// Trials for the time estimate: those before the repetitions, those of a burst search, and those
/// that narrow a cell.
const USUAL: (u64, u64, u64) = (6, 10, 8);

/// Duration of a burst that fills a buffer of a few hundred kilobytes, and of its drain.
const USUAL_BURST: Nanos = Nanos::from_millis(20);

measure::ranged! {
    /// Hosts that send into one output at once.
    OutputSenders(u16 as i64, 1..=1024, "numbers of senders", "two overfill an output of their own rate");
    /// Maximum number of outputs overfilled at once; below two, sharing is not measured.
    Congested(u16 as i64, 0..=1024, "numbers of outputs", "0 or 1: sharing is not asked for");
}

/// Request for a depth study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DepthSpec {
    /// Outputs to overfill, in turn; all but the first by one-shot bursts only. If empty, the
    /// second host's.
    pub outputs: Vec<PortRef>,
    /// Device under test, as found or in a variant; `None` for the first.
    pub subject: Option<Subject>,
    /// Hosts that send into one output at once, at most; more only if these do not overfill it.
    pub senders: OutputSenders,
    /// Frame size of the estimators.
    pub size: FrameSize,
    /// Frame sizes that distinguish limits in bytes, cells and descriptors; if empty, they are not
    /// distinguished.
    pub sizes: Vec<FrameSize>,
    /// Maximum number of outputs overfilled at once, to detect a shared buffer; below two, none is
    /// looked for.
    pub congested: Congested,
    /// Longest time that one burst may take to send.
    pub longest: Nanos,
    /// Repetitions, the sampling unit.
    pub blocks: Blocks,
    /// Profile of the phases around each trial.
    pub profile: Profile,
    /// Attempts at one trial before it is given up; at least 1.
    pub tries: Tries,
}

impl DepthSpec {
    /// First look: six repetitions of everything, bursts of at most two seconds.
    pub fn quick() -> Self {
        let sizes = [64, 65, 128, 129, 256, 257, 512, 1518];
        Self {
            outputs: Vec::new(),
            subject: None,
            senders: OutputSenders::known(2),
            size: FrameSize::STANDARD_MAX,
            sizes: sizes.map(|octets| FrameSize::new(octets).expect("legal sizes")).to_vec(),
            congested: Congested::known(6),
            longest: Nanos::from_secs(2),
            blocks: Blocks::known(6),
            profile: Profile::Quick,
            tries: TRIES,
        }
    }

    /// Twelve repetitions, bursts of up to ten seconds, and the phases of RFC 2544.
    pub fn strict() -> Self {
        Self {
            longest: Nanos::from_secs(10),
            blocks: Blocks::known(12),
            profile: Profile::Strict,
            ..Self::quick()
        }
    }

    /// See [`crate::StudySpec::estimate`].
    pub fn estimate(&self, topology: &Topology) -> Estimate {
        let (first, search, bisections) = USUAL;
        let blocks = u64::from(self.blocks.get());
        let outlets = outlets::choose(self, topology).map_or(1, |all| all.len() as u64);
        let sharing = u64::from(self.congested.get().saturating_sub(1)) * blocks;
        let cells = if self.sizes.is_empty() { 0 } else { self.sizes.len() as u64 + bisections };
        let trials = outlets * (first + blocks) + blocks * search + sharing + cells;
        (self.profile.trial(USUAL_BURST) * trials).searching()
    }

    /// See [`crate::StudySpec::check`].
    pub(crate) fn check(&self, known: Known<'_>) -> Result<(), SpecProblem> {
        problem::lasts(self.longest)?;
        let Some(topology) = known.topology else { return Ok(()) };
        outlets::choose(self, topology).map(drop)
    }

    /// See [`crate::StudySpec::needs`].
    pub fn needs(&self) -> Needs {
        Needs { sizes: self.sizes.iter().copied().chain([self.size]).collect(), ..Needs::default() }
    }

    /// True if more than one output's estimates are requested. Then it matters whether the device's
    /// frame rate is the limit before line rate is.
    pub(super) const fn tells_more(&self) -> bool {
        !self.sizes.is_empty() || self.congested.get() > 1
    }
}

impl Varied for DepthSpec {
    fn subjects(&self) -> Vec<Subject> {
        self.subject.iter().cloned().collect()
    }

    fn set_subject(&mut self, subject: Subject) {
        self.subject = Some(subject);
    }

    fn set_size(&mut self, size: FrameSize) -> bool {
        self.size = size;
        true
    }
}
