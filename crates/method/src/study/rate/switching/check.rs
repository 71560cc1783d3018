//! Whether a switching study can be carried out, told before anything is built or sent, and about
//! how long it takes.
//!
//! Owns what a request may hold. A test for which a device has too few ports is no fault of the
//! request: its figure says so.

use measure::{Nanos, Rate};

use super::addresses::estimate as addresses;
use super::{Pattern, SwitchTest, SwitchingSpec};
use crate::study::problem::{self, SpecProblem, out_of_range};
use crate::study::ways::Ways;
use crate::study::{Estimate, Link, pattern};
use trial::topology::{PortRef, Topology};

/// Trials of a search over loads, or of numbers, on the average.
const SEARCH_TRIALS: u64 = 12;
/// Those of a search over cables that pass all that it looks for.
const CABLE_TRIALS: u64 = 4;

impl SwitchingSpec {
    /// See [`crate::StudySpec::check`].
    pub fn check(&self, topology: &Topology) -> Result<(), SpecProblem> {
        problem::some("frame size", &self.frames)?;
        problem::some("test", &self.tests)?;
        problem::counts(1, self.tries, self.duration)?;
        problem::link(self.link_rate)?;
        problem::search(self.duration, self.final_duration, self.precision)?;
        if self.burst_duration == Nanos::ZERO {
            return Err(out_of_range("the longest burst's duration", "0", "more than 0"));
        }
        if self.ports < 2 {
            return Err(out_of_range("the number of ports", &self.ports, "2 or more"));
        }
        if !(1..=1 << 20).contains(&self.stations) {
            return Err(out_of_range("the most stations", &self.stations, "1 to 1048576"));
        }
        if self.learn_rate == 0 {
            return Err(out_of_range("the stations' rate", &0, "1 or more a second"));
        }
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
                let trials = self.trials(*test, (ports, cables));
                self.profile.trial(self.duration).with_flows(flows(*test, ports)) * trials
            }
        };
        let all = self.tests.iter().map(one).sum::<Estimate>() * subjects.len() as u64;
        if self.tests.iter().any(|test| searches(*test)) { all.searching() } else { all }
    }

    /// The rate of the slowest link that takes part, where it is known.
    pub fn link(&self, topology: &Topology) -> Option<Rate> {
        let ways = self.ways(topology).ok()?;
        let device = |way| ways.subject(way).map(|subject| subject.device.as_str());
        let ports =
            ways.subjects().into_iter().flat_map(|way| self.ports_of(device(way), topology));
        Link::among(topology, &ports.collect::<Vec<_>>()).slowest(self.link_rate)
    }

    pub(super) fn ways(&self, topology: &Topology) -> Result<Ways, SpecProblem> {
        Ways::between(topology, &self.between.first(), &self.subjects)
    }

    /// Those of a device's ports that take part, in their order.
    pub(crate) fn ports_of(&self, device: Option<&str>, topology: &Topology) -> Vec<PortRef> {
        let mut ports = self.between.among(&topology.ports_of(device));
        ports.truncate((self.ports as usize).min(pattern::MOST_PORTS));
        ports
    }

    fn trials(&self, test: SwitchTest, (ports, cables): (u64, u64)) -> u64 {
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

    /// The patterns whose throughput it searches.
    pub fn patterns(&self) -> impl Iterator<Item = Pattern> {
        self.tests.iter().filter_map(|test| test.pattern())
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

/// Whether its trials follow from the results of those before.
fn searches(test: SwitchTest) -> bool {
    use SwitchTest::{AddressCaching, AddressLearning, Broadcast, Microburst};
    let of_numbers = matches!(test, AddressCaching | AddressLearning | Broadcast | Microburst);
    of_numbers || test.pattern().is_some()
}
