//! Request for the study `switching`, with its checks and estimate before anything is built or
//! sent.
//!
//! Owns the allowed contents of a request. A test for which a device has too few ports is no error
//! of the request: its value says so.

use measure::{FrameSize, Nanos, Rate};
use serde::{Deserialize, Serialize};

use super::addresses::estimate as addresses;
use super::{Pattern, SearchRules, SwitchTest, suite};
use crate::problem::{self, SpecProblem, out_of_range};
use crate::ways::Ways;
use crate::{
    Between, Estimate, Known, Link, Needs, Precision, Profile, TRIES, Tries, Varied, pattern,
};
use trial::topology::{PortRef, Topology};
use trial::{Backend, Subject};

/// Usual number of trials of a search over loads or numbers.
const SEARCH_TRIALS: u64 = 12;
/// Usual number of trials of a search over cables that pass all loads.
const CABLE_TRIALS: u64 = 4;

measure::ranged! {
    /// Maximum number of a device's ports that take part.
    PortCount(u32 as i64, 2..=255, "ports that take part", "8 are a look");
    /// Maximum number of addresses that the address tests try.
    Stations(u32 as i64, 1..=1_048_576, "stations", "more than the table is said to hold");
    /// Frames a second that stations send.
    LearnRate(u64 as i64, 1..=1_000_000_000, "frames a second", "1000 is any switch's");
}

/// Request for the study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SwitchingSpec {
    /// Tests, in this order.
    pub tests: Vec<SwitchTest>,
    /// Frame sizes, with FCS.
    pub frames: Vec<FrameSize>,
    /// Maximum number of a device's ports that take part, from the first on.
    pub ports: PortCount,
    /// Devices under test, in their variants; if empty, the first device as found.
    pub subjects: Vec<Subject>,
    /// Ports that take part; if none are named, all of them in the devices' order.
    #[serde(default, skip_serializing_if = "Between::is_open")]
    pub between: Between,
    /// Backend that sends the frames.
    pub backend: Backend,
    /// Rate of the links if known, for the highest load and the theoretical column. If the testbed
    /// states its ports' rates, those of the ports that take part count instead.
    pub link_rate: Option<Rate>,
    /// Load phase of trials at a fixed load, and of a search's intermediate trials.
    pub duration: Nanos,
    /// Length of the trial that confirms a throughput.
    pub final_duration: Nanos,
    /// Width of the bracket at which a search ends, relative to its upper end.
    pub precision: Precision,
    /// Longest duration of a burst on a sender's wire.
    pub burst_duration: Nanos,
    /// Maximum number of stations that the address tests try.
    pub stations: Stations,
    /// Frames a second that stations send at first while their number is searched for. They send
    /// more slowly if the rate may cause the floods.
    pub learn_rate: LearnRate,
    /// Profile of the phases around each load.
    pub profile: Profile,
    /// Attempts at one trial before it is given up; at least 1.
    pub tries: Tries,
    /// Rules of a pattern's search. Runs recorded without this field had rules of their own.
    #[serde(default)]
    pub rules: SearchRules,
}

impl SwitchingSpec {
    /// First look at RFC 2889: eight ports, two sizes, short trials.
    pub fn quick() -> Self {
        Self {
            tests: SwitchTest::RFC2889.to_vec(),
            frames: vec![FrameSize::MIN, FrameSize::STANDARD_MAX],
            ports: PortCount::known(8),
            subjects: Vec::new(),
            between: Between::default(),
            backend: Backend::Auto,
            link_rate: None,
            duration: Nanos::from_millis(100),
            final_duration: Nanos::from_millis(500),
            precision: Precision::known(0.005),
            burst_duration: Nanos::from_millis(100),
            stations: Stations::known(65_536),
            learn_rate: LearnRate::known(4_000),
            profile: Profile::Quick,
            tries: TRIES,
            rules: SearchRules::Buckets,
        }
    }

    /// Sizes of RFC 2544, which RFC 2889 adopts, trials of 30 seconds, and all ports.
    pub fn strict() -> Self {
        let suite = &suite::RFC2889;
        Self {
            frames: suite.frames(),
            ports: PortCount::known(pattern::MOST_PORTS as u32),
            duration: Nanos::from_secs(10),
            final_duration: Nanos::from_secs(suite.usual_seconds),
            burst_duration: Nanos::from_secs(2),
            profile: Profile::Strict,
            ..Self::quick()
        }
    }
}

impl SwitchingSpec {
    /// See [`crate::StudySpec::check`].
    pub(crate) fn check(&self, known: Known<'_>) -> Result<(), SpecProblem> {
        problem::some("frame size", &self.frames)?;
        problem::some("test", &self.tests)?;
        problem::lasts(self.duration)?;
        problem::link(self.link_rate)?;
        problem::search(self.duration, self.final_duration)?;
        if self.burst_duration == Nanos::ZERO {
            return Err(out_of_range("the longest burst's duration", "0", "more than 0"));
        }
        let Some(topology) = known.topology else { return Ok(()) };
        let ways = self.ways(topology)?;
        for way in ways.subjects() {
            let device = ways.subject(way).map(|subject| subject.device.as_str());
            let patterns = self.tests.iter().map(|test| test.pattern());
            self.between.check(patterns, device, topology)?;
            if device.is_none() || self.ports_of(device, topology).len() < 2 {
                return Err(SpecProblem::NoPair { testbed: topology.name.clone() });
            }
        }
        Ok(())
    }

    /// See [`crate::StudySpec::estimate`].
    pub fn estimate(&self, topology: &Topology) -> Estimate {
        let Ok(ways) = self.ways(topology) else { return Estimate::NONE };
        let subjects = ways.subjects();
        let device = subjects.first().and_then(|way| ways.subject(*way));
        let device = device.map(|subject| subject.device.as_str());
        let ports = self.ports_of(device, topology).len() as u64;
        let cables = subjects.first().is_some_and(|way| ways.bypass_of(*way).is_some());
        let cables = if cables { CABLE_TRIALS } else { 0 };
        let one = |test: &SwitchTest| match test {
            SwitchTest::AddressCaching => addresses::of_caching(self, topology),
            SwitchTest::AddressLearning => addresses::of_learning(self, topology),
            _ => {
                let trials = self.trials(*test, ports, cables);
                self.profile.trial(self.duration).with_flows(flows(*test, ports)) * trials
            }
        };
        let all = self.tests.iter().map(one).sum::<Estimate>() * subjects.len() as u64;
        if self.tests.iter().any(|test| searches(*test)) { all.searching() } else { all }
    }

    /// Rate of the slowest link that takes part; `None` if unknown.
    pub fn link(&self, topology: &Topology) -> Option<Rate> {
        let ways = self.ways(topology).ok()?;
        let device = |way| ways.subject(way).map(|subject| subject.device.as_str());
        let ports =
            ways.subjects().into_iter().flat_map(|way| self.ports_of(device(way), topology));
        Link::among(topology, &ports.collect::<Vec<_>>()).slowest(self.link_rate)
    }

    /// See [`crate::StudySpec::needs`].
    pub fn needs(&self) -> Needs {
        Needs { sizes: self.frames.clone(), ..Needs::default() }
    }

    pub(super) fn ways(&self, topology: &Topology) -> Result<Ways, SpecProblem> {
        Ways::between(topology, &self.between.first(), &self.subjects)
    }

    /// Ports of a device that take part, in their order.
    pub(crate) fn ports_of(&self, device: Option<&str>, topology: &Topology) -> Vec<PortRef> {
        let mut ports = self.between.among(&topology.ports_of(device));
        ports.truncate((self.ports.get() as usize).min(pattern::MOST_PORTS));
        ports
    }

    fn trials(&self, test: SwitchTest, ports: u64, cables: u64) -> u64 {
        let sizes = self.frames.len() as u64;
        match test {
            _ if test.pattern().is_some() => sizes * (1 + SEARCH_TRIALS + cables),
            SwitchTest::Congestion => sizes,
            SwitchTest::HeadOfLine => sizes * ports,
            SwitchTest::Broadcast => sizes * (SEARCH_TRIALS + ports),
            SwitchTest::LineRate => 2 * sizes,
            SwitchTest::Microburst => sizes * SEARCH_TRIALS * ports.div_ceil(2).max(1),
            SwitchTest::Incast => 3 + ports,
            _ => 0,
        }
    }

    /// Patterns of the tests that search a throughput.
    pub fn patterns(&self) -> impl Iterator<Item = Pattern> {
        self.tests.iter().filter_map(|test| test.pattern())
    }
}

impl Varied for SwitchingSpec {
    fn subjects(&self) -> Vec<Subject> {
        self.subjects.clone()
    }

    fn set_subject(&mut self, subject: Subject) {
        self.subjects = vec![subject];
    }

    fn set_size(&mut self, size: FrameSize) -> bool {
        self.frames = vec![size];
        true
    }
}

/// Flows of a test's largest trial.
fn flows(test: SwitchTest, ports: u64) -> u64 {
    let pattern = if test == SwitchTest::LineRate { Some(Pattern::Mesh) } else { test.pattern() };
    let of = |pattern: Pattern| {
        let (senders, each) = pattern.senders(ports.max(1) as usize);
        (senders * each) as u64
    };
    pattern.map_or(ports, of)
}

/// True if a test's trials follow from the results of those before.
fn searches(test: SwitchTest) -> bool {
    use SwitchTest::{AddressCaching, AddressLearning, Broadcast, Microburst};
    let of_numbers = matches!(test, AddressCaching | AddressLearning | Broadcast | Microburst);
    of_numbers || test.pattern().is_some()
}
