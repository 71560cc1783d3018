//! The study `depth`: how many bytes can wait before an output, in which units they are counted,
//! and whether outputs share them.
//!
//! Owns its request and the order of its trials. Every estimator overfills one output and reads
//! what came through; none asks the device anything. Never adds what the hosts held to what the
//! device did.

mod burst;
mod cells;
mod enough;
mod figures;
mod filling;
mod outlets;
mod rig;
mod sharing;
mod shot;
mod threshold;

use crate::study::Varied;
use measure::{FrameSize, Nanos};
use serde::{Deserialize, Serialize};

use crate::study::problem::{self, SpecProblem};
use crate::study::{Estimate, Profile, Ways};
use page::Figure;
use trial::topology::PortRef;
use trial::{Result, Subject, Testbed, Topology};

use rig::Rig;

/// For an estimate of the time it takes: trials before the repeats, those of a burst search, and
/// those that narrow a cell.
const USUAL: (u64, u64, u64) = (6, 10, 8);

/// What fills a buffer of a few hundred kilobytes, and empties it.
const USUAL_BURST: Nanos = Nanos::from_millis(20);

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
    pub senders: u16,
    /// The frames of the estimators.
    pub size: FrameSize,
    /// Frames by which a limit of bytes, of cells and of descriptors are told apart. Empty: they
    /// are not.
    pub sizes: Vec<FrameSize>,
    /// The most outputs that are overfilled at once, to tell a shared buffer; below two it is not
    /// told.
    pub congested: u16,
    /// The longest that one burst may take to send.
    pub longest: Nanos,
    /// Repeats, the sampling unit.
    pub blocks: u32,
    /// The phases around each trial.
    pub profile: Profile,
    /// How often one trial is tried before it is given up; at least 1.
    pub tries: u32,
}

impl DepthSpec {
    /// A look: six repeats of everything, bursts of at most two seconds.
    pub fn quick() -> Self {
        let sizes = [64, 65, 128, 129, 256, 257, 512, 1518];
        Self {
            outputs: Vec::new(),
            subject: None,
            senders: 2,
            size: FrameSize::STANDARD_MAX,
            sizes: sizes.map(|octets| FrameSize::new(octets).expect("legal sizes")).to_vec(),
            congested: 6,
            longest: Nanos::from_secs(2),
            blocks: 6,
            profile: Profile::Quick,
            tries: 3,
        }
    }

    /// Twelve repeats, bursts of up to ten seconds, and the phases of RFC 2544.
    pub fn strict() -> Self {
        Self {
            longest: Nanos::from_secs(10),
            blocks: 12,
            profile: Profile::Strict,
            ..Self::quick()
        }
    }

    /// See [`crate::StudySpec::estimate`].
    pub fn estimate(&self, topology: &Topology) -> Estimate {
        let (first, search, bisections) = USUAL;
        let blocks = u64::from(self.blocks);
        let outlets = outlets::choose(self, topology).map_or(1, |all| all.len() as u64);
        let sharing = u64::from(self.congested.saturating_sub(1)) * blocks;
        let cells = if self.sizes.is_empty() { 0 } else { self.sizes.len() as u64 + bisections };
        let trials = outlets * (first + blocks) + blocks * search + sharing + cells;
        (self.profile.trial(USUAL_BURST) * trials).searching()
    }

    /// See [`crate::StudySpec::check`].
    pub fn check(&self, topology: &Topology) -> Result<(), SpecProblem> {
        problem::counts(self.blocks, self.tries, self.longest)?;
        if self.senders == 0 {
            return Err(problem::out_of_range("the number of senders", "0", "1 or more"));
        }
        outlets::choose(self, topology).map(drop)
    }

    /// Whether anything is asked for beside one output's estimates: then it matters whether the
    /// device runs out of frames a second before the line does.
    const fn tells_more(&self) -> bool {
        !self.sizes.is_empty() || self.congested > 1
    }

    /// See [`crate::StudySpec::run`].
    pub fn run(&self, testbed: &mut dyn Testbed, seed: u64) -> Result<Vec<Figure>> {
        let lost = |problem: SpecProblem| problem.lost("depth");
        let topology = testbed.topology().clone();
        let outlets = outlets::choose(self, &topology).map_err(lost)?;
        let ways = match &self.subject {
            Some(subject) => Ways::of(&topology, std::slice::from_ref(subject)).map_err(lost)?,
            None => Ways::over(&topology, outlets[0].pair()),
        };
        let mut rig = Rig::new(self, &topology, testbed, ways, seed);
        let mut found = Vec::new();
        // How much waits where is known only below what the device decides on in a second.
        if self.tells_more() {
            rig.limit = rig.packet_limit(&outlets[0])?;
            if rig.limit.is_none() {
                rig.send_together(&outlets::ring(self, &topology, &outlets[0]))?;
            }
        }
        for (at, outlet) in outlets.iter().enumerate() {
            let whole = at == 0 || outlet.to == outlets[0].to;
            found.push(filling::of(&mut rig, outlet, self.size, whole)?);
        }
        let filled = found.iter().find(|one| one.is_filled()).cloned();
        if let Some(one) = filled.as_ref().filter(|_| rig.limit.is_some()) {
            found.push(filling::of(&mut rig, &one.outlet, FrameSize::MIN, true)?);
        }
        let first = filled.as_ref();
        let cells = match first {
            Some(one) if !self.sizes.is_empty() => Some(cells::of(&mut rig, one)?),
            _ => None,
        };
        let groups = outlets::together(self, &topology, &outlets[0]);
        let queues = outlets::beside(self, &topology, &outlets[0]);
        let sharing = match first {
            Some(one) => sharing::of(&mut rig, one, cells.as_ref(), (&groups, queues))?,
            None => None,
        };
        let burst = first.and_then(|one| Some((one.burst()?, one.outlet.senders.len())));
        let direct = match burst {
            Some((burst, senders)) => rig.direct((burst.frames, burst.seconds), senders)?,
            None => None,
        };
        Ok(figures::all(&rig, &found, cells.as_ref(), sharing.as_ref(), direct))
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
