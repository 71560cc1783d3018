//! The depth study's request: which outputs, by which frames, how often, and for how long.
//!
//! Owns its defaults and its estimate. Never runs a trial.

use measure::{FrameSize, Nanos};
use serde::{Deserialize, Serialize};

use super::outlets;
use crate::study::problem::{self, SpecProblem};
use crate::study::{Blocks, Estimate, Known, Needs, Profile, TRIES, Tries, Varied};
use trial::topology::PortRef;
use trial::{Subject, Topology};

/// For an estimate of the time it takes: trials before the repeats, those of a burst search, and
/// those that narrow a cell.
const USUAL: (u64, u64, u64) = (6, 10, 8);

/// What fills a buffer of a few hundred kilobytes, and empties it.
const USUAL_BURST: Nanos = Nanos::from_millis(20);

measure::ranged! {
    /// Hosts that send into one output at once.
    OutputSenders(u16 as i64, 1..=1024, "numbers of senders", "two overfill an output of their own rate");
    /// Outputs overfilled at once, at most; below two, sharing is not asked for.
    Congested(u16 as i64, 0..=1024, "numbers of outputs", "0 or 1: sharing is not asked for");
}

/// What to measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DepthSpec {
    /// The outputs that are overfilled, in turn; all but the first by one-shot bursts only. Empty:
    /// the second host's.
    pub outputs: Vec<PortRef>,
    /// The device, as it is found or in a variant; none is the first.
    pub subject: Option<Subject>,
    /// How many hosts send into one output at once, at most; more only where so many don't overfill
    /// it.
    pub senders: OutputSenders,
    /// The frames of the estimators.
    pub size: FrameSize,
    /// Frames by which a limit of bytes, of cells and of descriptors are told apart. Empty: they
    /// are not.
    pub sizes: Vec<FrameSize>,
    /// The most outputs that are overfilled at once, to tell a shared buffer; below two it is not
    /// told.
    pub congested: Congested,
    /// The longest that one burst may take to send.
    pub longest: Nanos,
    /// Repeats, the sampling unit.
    pub blocks: Blocks,
    /// The phases around each trial.
    pub profile: Profile,
    /// How often one trial is tried before it is given up; at least 1.
    pub tries: Tries,
}

impl DepthSpec {
    /// A look: six repeats of everything, bursts of at most two seconds.
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

    /// Twelve repeats, bursts of up to ten seconds, and the phases of RFC 2544.
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

    /// Whether anything is asked for beside one output's estimates: then it matters whether the
    /// device runs out of frames a second before the line does.
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
