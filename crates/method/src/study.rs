//! Studies: each asks a testbed for trials and turns their records into figures.
//!
//! Owns the resolved request for each study and what they share. Never holds an `Option` that means
//! "default", and never knows where its trials run: the same request, seed, topology and records
//! give the same trials in the same order, which is what makes a journal a resume.

mod accounts;
mod between;
pub mod buffer;
mod burst;
pub mod campaign;
mod capacity;
mod consistency;
pub mod depth;
mod doubts;
mod estimate;
pub mod fabric;
pub mod failover;
pub mod imported;
pub mod latency;
mod line_share;
mod needs;
mod noted;
mod outage;
mod outline;
pub mod pattern;
mod problem;
mod ranges;
pub mod rate;
mod rows;
mod series;
mod session;
pub mod storage;
pub mod tcp;
mod varied;
mod view;
mod ways;
pub mod xray;

use std::num::NonZeroU16;

use measure::{FrameSize, Nanos};
use serde::{Deserialize, Serialize};

use page::{CaseId, Figure, Key, Trials};
use trial::{Observed, Testbed, TestbedError, Topology};
use trial::{Phases, Subject, Trial, TrialRecord};

use noted::Noted;
use rows::Row;
use session::{Ask, Session, Tried};
use ways::{Link, Way, Ways};

pub use between::Between;
pub use buffer::{Background, BufferPorts, BufferSpec, StabilityLimits};
pub use campaign::CampaignSpec;
pub use depth::DepthSpec;
pub use estimate::{Estimate, TRIAL_OVERHEAD, trial_overhead};
pub use fabric::{Arrangement, FabricSpec, Nodes};
pub use failover::FailoverSpec;
pub use imported::ImportedSpec;
pub use latency::{LatencySpec, Load};
pub use needs::{Agents, Bypass, Needs, PacedFrames};
pub use outline::{Known, KnownDevice, LinkMtu, Outline};
pub use pattern::Pattern;
pub use problem::SpecProblem;
pub use ranges::{Blocks, Precision, Streams, Tries};
pub use rate::forwarding::{self, ForwardingSpec, ForwardingTest, SearchKind};
pub use rate::switching::{self, SwitchTest, SwitchingSpec};
pub use storage::StorageSpec;
pub use tcp::{TcpDirection, TcpSpec};
pub use varied::Varied;
pub use view::{Finding, StudyPage, Topic, Values, Who};

use doubts::Doubts;

/// Repetitions of everything, where nothing is said. Six reach a 95 % interval; ten also leave a
/// chance of error of 5 % where two devices are compared in up to 25 figures.
pub const BLOCKS: Blocks = Blocks::known(10);

/// Attempts at one trial before it is given up.
pub const TRIES: Tries = Tries::known(3);

/// One row a study: what it asks, its request, and its name in plans.
macro_rules! studies {
    ($($(#[doc = $doc:literal])+ $study:ident($spec:ty) $name:literal;)+) => {
        /// A study and everything it was asked for.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum StudySpec {
            $($(#[doc = $doc])+ $study($spec),)+
        }

        impl StudySpec {
            /// As plans name it.
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$study(_) => $name,)+ }
            }

            fn estimated(&self, topology: &Topology) -> Estimate {
                match self { $(Self::$study(spec) => spec.estimate(topology),)+ }
            }

            fn check_own(&self, known: Known<'_>) -> Result<(), SpecProblem> {
                match self { $(Self::$study(spec) => spec.check(known),)+ }
            }

            fn ask(
                &self,
                testbed: &mut dyn Testbed,
                seed: u64,
            ) -> Result<Box<dyn Finding>, TestbedError> {
                Ok(match self { $(Self::$study(spec) => Box::new(spec.run(testbed, seed)?),)+ })
            }

            /// What others may set in it.
            pub fn varied(&mut self) -> &mut dyn Varied {
                match self { $(Self::$study(spec) => spec.varied(),)+ }
            }

            /// Needs of its own; a campaign's are those of its parts.
            pub fn needs(&self) -> Needs {
                match self { $(Self::$study(spec) => spec.needs(),)+ }
            }

            /// The devices that are named, each in the state that is asked for; none: the first as
            /// it is found.
            pub fn subjects(&self) -> Vec<Subject> {
                match self { $(Self::$study(spec) => spec.subjects(),)+ }
            }
        }
    };
}

studies! {
    /// Round-trip times by size, protocol and load.
    Latency(LatencySpec) "latency";
    /// Frames a second under flood, and the tests of RFC 2544.
    Forwarding(ForwardingSpec) "forwarding";
    /// Exchanges between pairs of ports: is it non-blocking, whichever ports talk?
    Fabric(FabricSpec) "fabric";
    /// TCP beside a constant load: enough buffer for long paths?
    Buffer(BufferSpec) "buffer";
    /// A switch with all its ports at work: the tests of RFC 2889 and RFC 8239.
    Switching(SwitchingSpec) "switching";
    /// How many bytes wait before an output, and who shares them.
    Depth(DepthSpec) "depth";
    /// Reads and writes of a storage behind the network, and whose time they take.
    Storage(Box<StorageSpec>) "storage";
    /// TCP each way and both ways: how much payload, and who was the limit?
    Tcp(TcpSpec) "tcp";
    /// How long flows are interrupted by what is done to the device or its paths.
    Failover(FailoverSpec) "failover";
    /// What another tool measured: no trial at all.
    Imported(ImportedSpec) "imported";
    /// Other studies in combinations of factors' levels, in blocks.
    Campaign(Box<CampaignSpec>) "campaign";
}

impl StudySpec {
    /// How many trials there should be and how long they take. A search counts with the trials that
    /// it needs when the device behaves.
    pub fn estimate(&self, topology: &Topology) -> Estimate {
        let estimate = self.estimated(topology);
        if topology.is_simulated() { estimate } else { estimate.on_real_hosts() }
    }

    /// Refuses what can't be carried out on a testbed, as far as that is known: first with what
    /// its needs come to there, then with its own numbers, last with the ports that it would use.
    pub fn check<'a>(&self, known: impl Into<Known<'a>>) -> Result<(), SpecProblem> {
        let known = known.into();
        // A campaign has no needs beside those of its studies, which come through here themselves.
        if self.campaign().is_none() {
            let needs = self.needs();
            needs.check_bursts()?;
            known.outline.map_or(Ok(()), |outline| outline.check(self.name(), &needs))?;
        }
        self.check_own(known)
    }

    /// The campaign that it is, if it is one.
    pub const fn campaign(&self) -> Option<&CampaignSpec> {
        match self {
            Self::Campaign(spec) => Some(spec),
            _ => None,
        }
    }

    /// Lines of other tools' outputs that were not understood, if it is what they measured.
    pub fn unread(&self) -> Option<&[page::UnreadLine]> {
        match self {
            Self::Imported(spec) => Some(&spec.unread),
            _ => None,
        }
    }

    /// Studies that it carries out: a campaign's, else itself alone.
    pub fn parts(&self) -> &[Self] {
        self.campaign().map_or(std::slice::from_ref(self), |campaign| &campaign.studies)
    }

    /// The rows of what [`Self::find`] finds.
    pub fn run(&self, testbed: &mut dyn Testbed, seed: u64) -> Result<Vec<Figure>, TestbedError> {
        Ok(self.find(testbed, seed)?.rows())
    }

    /// Asks for all trials and returns what was found. An error means that no further trial could
    /// be run; trials that went wrong are caveats of their values.
    fn find(&self, testbed: &mut dyn Testbed, seed: u64) -> Result<Box<dyn Finding>, TestbedError> {
        if self.campaign().is_some() {
            // Its cells' studies come through here themselves.
            let mut finding = self.ask(testbed, seed)?;
            line_share::mark(finding.values());
            CaseId::number(finding.values());
            return Ok(finding);
        }
        let mut doubts = Doubts::default();
        let mut seen = Observed::new(testbed, |trial, record| doubts.hear(trial, record));
        let mut finding = self.ask(&mut seen, seed)?;
        doubts.mark(finding.values());
        line_share::mark(finding.values());
        for value in finding.values() {
            value.set(Key::Study, self.name());
        }
        CaseId::number(finding.values());
        Ok(finding)
    }

    /// The same as one of its run's studies: its trials and its values say so. `asked` counts the
    /// run's trials.
    pub fn find_as(
        &self,
        place: StudyPlace,
        (testbed, asked): (&mut dyn Testbed, &mut u64),
        seed: u64,
    ) -> Result<Box<dyn Finding>, TestbedError> {
        if self.campaign().is_some() {
            // Its studies' places are theirs: a plan has no other beside it.
            return self.find(testbed, seed);
        }
        let (number, first) = (place.number, *asked);
        let mut finding = self.find(&mut Numbered { testbed, number, asked }, seed)?;
        for value in finding.values() {
            place.mark(value);
            // What its study does not tell closer rests on any of its trials.
            if value.trials.is_empty() {
                value.trials = Trials::between(first, *asked);
            }
        }
        Ok(finding)
    }

    /// The rows of what [`Self::find_as`] finds.
    pub fn run_as(
        &self,
        place: StudyPlace,
        numbered: (&mut dyn Testbed, &mut u64),
        seed: u64,
    ) -> Result<Vec<Figure>, TestbedError> {
        Ok(self.find_as(place, numbered, seed)?.rows())
    }

    /// Whether it has a frame size to vary.
    pub fn has_size(&self) -> bool {
        self.clone().varied().set_size(FrameSize::MIN)
    }

    /// The part of it that is repeated in every block, once; and in how many.
    pub(crate) fn in_one_block(&self) -> Option<(Self, u32)> {
        let mut alone = self.clone();
        let own = alone.varied();
        let blocks = own.keep_repeated().then(|| own.blocks())??;
        let count = std::mem::replace(blocks, Blocks::known(1));
        Some((alone, count.get()))
    }
}

/// Where in its run a study stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StudyPlace {
    /// Among all, from 1 in the plan's order.
    pub number: NonZeroU16,
    /// Among those of its kind, from 1.
    nth: u16,
}

impl StudyPlace {
    /// Says so in a figure. Only a second study of a kind has to be told from another, so that
    /// figures of one are the same whatever else its plan asks.
    pub(crate) fn mark(self, figure: &mut Figure) {
        figure.case.study = self.number;
        if self.nth > 1 {
            figure.set(Key::Nth, u64::from(self.nth));
        }
    }
}

/// A run's studies in the plan's order, each with its place.
pub fn numbered(studies: &[StudySpec]) -> impl Iterator<Item = (StudyPlace, &StudySpec)> {
    let places = (1..=u16::MAX).filter_map(NonZeroU16::new).enumerate();
    places.zip(studies).map(|((before, number), study)| {
        let kind = studies[..=before].iter().filter(|other| other.name() == study.name());
        (StudyPlace { number, nth: kind.count() as u16 }, study)
    })
}

/// A testbed that one of a run's studies asks.
struct Numbered<'a> {
    testbed: &'a mut dyn Testbed,
    number: NonZeroU16,
    asked: &'a mut u64,
}

impl Testbed for Numbered<'_> {
    fn topology(&self) -> &Topology {
        self.testbed.topology()
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        let ordinal = std::mem::replace(self.asked, *self.asked + 1);
        let record = self.testbed.run(&Trial { study: Some(self.number), ..trial.clone() })?;
        Ok(TrialRecord { ordinal, ..record })
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

    /// A trial with such a load.
    pub(crate) fn trial(self, load: Nanos) -> Estimate {
        Estimate::trial(self.phases(load).total() + TRIAL_OVERHEAD)
    }
}
