//! Studies that exist, in one table, and how one of them is carried out.
//!
//! Never holds an `Option` that means "default", and never knows where trials run: the same
//! request, seed, topology and records give the same trials in the same order, which is what makes
//! a journal a resume.

use measure::FrameSize;
use serde::{Deserialize, Serialize};

use page::{CaseId, Figure, Key, Trials};
use trial::{Observed, Subject, Testbed, TestbedError, Topology};

use crate::doubts::Doubts;
use crate::line_share;
use crate::place::Numbered;
use crate::{
    Blocks, BufferSpec, CampaignSpec, DepthSpec, Estimate, FabricSpec, FailoverSpec, Finding,
    ForwardingSpec, ImportedSpec, Known, LatencySpec, Needs, SessionsSpec, SpecProblem,
    StorageSpec, StudyPlace, SwitchingSpec, TcpSpec, Varied,
};

/// Rows of all studies: documentation, request, and name in plans.
macro_rules! studies {
    ($($(#[doc = $doc:literal])+ $study:ident($spec:ty) $name:literal;)+) => {
        /// Study with its complete request.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum StudySpec {
            $($(#[doc = $doc])+ $study($spec),)+
        }

        impl StudySpec {
            /// Name of the study in plans.
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

            /// Returns the settings that a campaign can change.
            pub fn varied(&mut self) -> &mut dyn Varied {
                match self { $(Self::$study(spec) => spec.varied(),)+ }
            }

            /// Needs of the study itself; the needs of a campaign are those of its parts.
            pub fn needs(&self) -> Needs {
                match self { $(Self::$study(spec) => spec.needs(),)+ }
            }

            /// Named devices under test, each with its variant; if empty, the first device as
            /// found.
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
    /// Exchanges between pairs of ports: is the fabric non-blocking for every pattern?
    Fabric(FabricSpec) "fabric";
    /// TCP next to a constant load: is the buffer large enough for long paths?
    Buffer(BufferSpec) "buffer";
    /// Switch with all its ports at work: the tests of RFC 2889 and RFC 8239.
    Switching(SwitchingSpec) "switching";
    /// Buffer size at an egress port, and how ports share it.
    Depth(DepthSpec) "depth";
    /// Storage I/O over the network: latency, and the network's share of it.
    Storage(Box<StorageSpec>) "storage";
    /// TCP one way and both ways: goodput and what limits it.
    Tcp(TcpSpec) "tcp";
    /// New TCP connections a second, connections at once, and the time of a handshake.
    Sessions(SessionsSpec) "sessions";
    /// Interruption of flows while something is done to the device or its paths.
    Failover(FailoverSpec) "failover";
    /// Results of another tool; runs no trial.
    Imported(ImportedSpec) "imported";
    /// Other studies in combinations of factors' levels, in blocks.
    Campaign(Box<CampaignSpec>) "campaign";
}

impl StudySpec {
    /// Estimates the number of trials and their total time. A search counts the trials that a
    /// well-behaved device needs.
    pub fn estimate(&self, topology: &Topology) -> Estimate {
        let estimate = self.estimated(topology);
        if topology.is_simulated() { estimate } else { estimate.on_real_hosts() }
    }

    /// Refuses a request that a testbed cannot carry out, as far as is known. Checks the needs
    /// first, then the study's own numbers, then the ports it would use.
    pub fn check<'a>(&self, known: impl Into<Known<'a>>) -> Result<(), SpecProblem> {
        let known = known.into();
        // A campaign has no needs of its own; its studies pass through here themselves.
        if self.campaign().is_none() {
            let needs = self.needs();
            needs.check_bursts()?;
            known.outline.map_or(Ok(()), |outline| outline.check(self.name(), &needs))?;
        }
        self.check_own(known)
    }

    /// Campaign; `None` for any other study.
    pub const fn campaign(&self) -> Option<&CampaignSpec> {
        match self {
            Self::Campaign(spec) => Some(spec),
            _ => None,
        }
    }

    /// Lines of other tools' output that were not understood; `None` for a study that measures.
    pub fn unread(&self) -> Option<&[page::UnreadLine]> {
        match self {
            Self::Imported(spec) => Some(&spec.unread),
            _ => None,
        }
    }

    /// Studies to carry out: those of a campaign, otherwise this one alone.
    pub fn parts(&self) -> &[Self] {
        self.campaign().map_or(std::slice::from_ref(self), |campaign| &campaign.studies)
    }

    /// Runs [`Self::find`] and returns its rows.
    pub fn run(&self, testbed: &mut dyn Testbed, seed: u64) -> Result<Vec<Figure>, TestbedError> {
        Ok(self.find(testbed, seed)?.rows())
    }

    /// Runs all trials and returns the findings. An error means that no further trial could be run;
    /// invalid trials become caveats of their values.
    pub(crate) fn find(
        &self,
        testbed: &mut dyn Testbed,
        seed: u64,
    ) -> Result<Box<dyn Finding>, TestbedError> {
        if self.campaign().is_some() {
            // The studies of its cells pass through here themselves.
            let mut finding = self.ask(testbed, seed)?;
            line_share::mark(finding.values());
            CaseId::number(finding.values());
            return Ok(finding);
        }
        let mut doubts = Doubts::default();
        let mut seen = Observed::new(testbed, |trial, record| doubts.observe(trial, record));
        let mut finding = self.ask(&mut seen, seed)?;
        doubts.mark(finding.values());
        line_share::mark(finding.values());
        for value in finding.values() {
            value.set(Key::Study, self.name());
        }
        CaseId::number(finding.values());
        Ok(finding)
    }

    /// Runs [`Self::find`] as one study of a run, and marks its trials and values with `place`.
    /// `asked` counts the trials of the run.
    pub fn find_as(
        &self,
        place: StudyPlace,
        testbed: &mut dyn Testbed,
        asked: &mut u64,
        seed: u64,
    ) -> Result<Box<dyn Finding>, TestbedError> {
        if self.campaign().is_some() {
            // A campaign's studies have places of their own, and a plan holds nothing else with it.
            return self.find(testbed, seed);
        }
        let (number, first) = (place.number, *asked);
        let mut finding = self.find(&mut Numbered { testbed, number, asked }, seed)?;
        for value in finding.values() {
            place.mark(value);
            // A value without trials of its own rests on all trials of its study.
            if value.trials.is_empty() {
                value.trials = Trials::between(first, *asked);
            }
        }
        Ok(finding)
    }

    /// Runs [`Self::find_as`] and returns its rows.
    pub fn run_as(
        &self,
        place: StudyPlace,
        testbed: &mut dyn Testbed,
        asked: &mut u64,
        seed: u64,
    ) -> Result<Vec<Figure>, TestbedError> {
        Ok(self.find_as(place, testbed, asked, seed)?.rows())
    }

    /// True if the study has a frame size to vary.
    pub fn has_size(&self) -> bool {
        self.clone().varied().set_size(FrameSize::MIN)
    }

    /// Returns the part that every block repeats, reduced to one block, and the number of blocks.
    pub(crate) fn in_one_block(&self) -> Option<(Self, u32)> {
        let mut alone = self.clone();
        let own = alone.varied();
        let blocks = own.keep_repeated().then(|| own.blocks())??;
        let count = std::mem::replace(blocks, Blocks::known(1));
        Some((alone, count.get()))
    }
}
