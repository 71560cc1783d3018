//! Studies: each asks a testbed for trials and turns their records into figures.
//!
//! Owns the resolved request for each study and what they share. Never holds an `Option` that means
//! "default", and never knows where its trials run: the same request, seed, topology and records
//! give the same trials in the same order, which is what makes a journal a resume.

pub mod buffer;
mod burst;
pub mod campaign;
mod consistency;
mod doubts;
pub mod fabric;
pub mod imported;
pub mod latency;
pub mod pattern;
mod problem;
pub mod rate;
mod rows;
mod session;
pub mod storage;
mod ways;
pub mod xray;

use measure::Nanos;
use serde::{Deserialize, Serialize};

use page::Figure;
use trial::{Observed, Testbed, TestbedError, Topology};
use trial::{Phases, Subject};

pub use buffer::depth::DepthSpec;
pub use buffer::{Background, BufferPorts, BufferSpec, StabilityLimits};
pub use campaign::CampaignSpec;
pub use fabric::{Arrangement, FabricSpec, Nodes, Recabling};
pub use imported::ImportedSpec;
pub use latency::{LatencySpec, Load};
pub use pattern::Pattern;
pub use problem::SpecProblem;
pub use rate::forwarding::{self, ForwardingSpec, ForwardingTest, SearchKind};
pub use rate::switching::{self, SwitchTest, SwitchingSpec};
pub use session::TRIAL_OVERHEAD;
pub use storage::StorageSpec;

use doubts::Doubts;
use ways::Ways;

/// Repetitions of everything, where nothing is said. Six reach a 95 % interval; ten also leave a
/// chance of error of 5 % where two devices are compared in up to 25 figures.
pub const BLOCKS: u32 = 10;

/// A study and everything it was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StudySpec {
    /// Round-trip times by size, protocol and load.
    Latency(LatencySpec),
    /// Frames a second under flood, and the tests of RFC 2544.
    Forwarding(ForwardingSpec),
    /// Message exchanges between pairs of ports, by arrangement.
    Fabric(FabricSpec),
    /// TCP beside a constant load: enough buffer for long paths?
    Buffer(BufferSpec),
    /// A switch with all its ports at work: the tests of RFC 2889 and RFC 8239.
    Switching(SwitchingSpec),
    /// How many bytes wait before an output, and who shares them.
    Depth(DepthSpec),
    /// Reads and writes of a storage behind the network, and whose time they take.
    Storage(Box<StorageSpec>),
    /// What another tool measured: no trial at all.
    Imported(ImportedSpec),
    /// Other studies in combinations of factors' levels, in blocks.
    Campaign(Box<CampaignSpec>),
}

impl StudySpec {
    /// `latency`, `forwarding`, `fabric`, `buffer`, `switching`, `depth`, `storage`, `imported`,
    /// `campaign`
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Latency(_) => "latency",
            Self::Forwarding(_) => "forwarding",
            Self::Fabric(_) => "fabric",
            Self::Buffer(_) => "buffer",
            Self::Switching(_) => "switching",
            Self::Depth(_) => "depth",
            Self::Storage(_) => "storage",
            Self::Imported(_) => "imported",
            Self::Campaign(_) => "campaign",
        }
    }

    /// The devices that are named, each in the state that is asked for; none: the first as it is
    /// found.
    pub fn subjects(&self) -> Vec<Subject> {
        match self {
            Self::Latency(spec) => spec.subjects.clone(),
            Self::Forwarding(spec) => spec.subjects.clone(),
            Self::Fabric(spec) => spec.subjects.clone(),
            Self::Buffer(spec) => spec.subjects.clone(),
            Self::Switching(spec) => spec.subjects.clone(),
            Self::Depth(spec) => spec.subject.iter().cloned().collect(),
            Self::Storage(spec) => spec.subjects.clone(),
            Self::Imported(_) => Vec::new(),
            Self::Campaign(spec) => spec.subjects(),
        }
    }

    /// How long all trials should take, for a progress bar. A search counts with the trials that it
    /// needs when the device behaves.
    pub fn estimate(&self, topology: &Topology) -> Nanos {
        match self {
            Self::Latency(spec) => spec.estimate(topology),
            Self::Forwarding(spec) => spec.estimate(topology),
            Self::Fabric(spec) => spec.estimate(topology),
            Self::Buffer(spec) => spec.estimate(topology),
            Self::Switching(spec) => spec.estimate(topology),
            Self::Depth(spec) => spec.estimate(topology),
            Self::Storage(spec) => spec.estimate(topology),
            Self::Imported(_) => Nanos::ZERO,
            Self::Campaign(spec) => spec.estimate(topology),
        }
    }

    /// Whether it can be carried out there at all; call it before anything is built or sent.
    pub fn check(&self, topology: &Topology) -> Result<(), SpecProblem> {
        match self {
            Self::Latency(spec) => spec.check(topology),
            Self::Forwarding(spec) => spec.check(topology),
            Self::Fabric(spec) => spec.check(topology),
            Self::Buffer(spec) => spec.check(topology),
            Self::Switching(spec) => spec.check(topology),
            Self::Depth(spec) => spec.check(topology),
            Self::Storage(spec) => spec.check(topology),
            Self::Imported(_) => Ok(()),
            Self::Campaign(spec) => spec.check(topology),
        }
    }

    /// Asks for all trials and returns the figures. An error means that no further trial could be
    /// run; trials that went wrong are caveats of their figures.
    pub fn run(&self, testbed: &mut dyn Testbed, seed: u64) -> Result<Vec<Figure>, TestbedError> {
        let mut doubts = Doubts::default();
        let mut seen = Observed::new(testbed, |trial, record| doubts.hear(trial, record));
        let mut figures = match self {
            Self::Latency(spec) => spec.run(&mut seen, seed),
            Self::Forwarding(spec) => spec.run(&mut seen, seed),
            Self::Fabric(spec) => spec.run(&mut seen, seed),
            Self::Buffer(spec) => spec.run(&mut seen, seed),
            Self::Switching(spec) => spec.run(&mut seen, seed),
            Self::Depth(spec) => spec.run(&mut seen, seed),
            Self::Storage(spec) => spec.run(&mut seen, seed),
            Self::Imported(spec) => return Ok(spec.figures.clone()),
            // Its cells' studies come through here themselves.
            Self::Campaign(spec) => return spec.run(testbed, seed),
        }?;
        doubts.mark(&mut figures);
        Ok(figures)
    }
}

/// How long the phases around the load are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Shortened for a look; every figure says so.
    Quick,
    /// RFC 2544 §23: two seconds before, two after, five to settle.
    Strict,
}

impl Profile {
    /// The phases around a load of that length.
    pub const fn phases(self, load: Nanos) -> Phases {
        match self {
            Self::Quick => Phases::quick(load),
            Self::Strict => Phases::strict(load),
        }
    }
}
