//! Request for the failover study: the deeds, the fields that distinguish flows, and the durations
//! within a trial; its checks and its estimate.
//!
//! Owns the choice of a device's deeds. Never runs a trial.

use measure::sequence::MOST_CONVERSATIONS;
use measure::{FrameRate, FrameSize, Nanos, Rate};
use serde::{Deserialize, Serialize};

use crate::ways::{Way, Ways};
use crate::{
    BLOCKS, Between, Blocks, Estimate, Known, Needs, Profile, SpecProblem, TRIES, Tries, problem,
    varied,
};
use trial::topology::KnownDeed;
use trial::{Headers, Spread, Subject, Topology};

/// Maximum number of distinct flows, as each is accounted for separately.
const MOST_FLOWS: u64 = MOST_CONVERSATIONS as u64;

/// Request for a failover study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailoverSpec {
    /// Devices under test, in their variants; if empty, the first device as found.
    pub subjects: Vec<Subject>,
    /// Pair of ports; if not named, those of the first hosts.
    #[serde(default, skip_serializing_if = "Between::is_open")]
    pub between: Between,
    /// Deeds by their names in the testbed. If empty, all that it knows; with [`Self::NOTHING`]
    /// alone, none.
    pub deeds: Vec<String>,
    /// Size of the frames.
    pub frame_size: FrameSize,
    /// Headers that distinguish the flows, one entry for each kind of flows. With several, path
    /// sharing is measured for each; deeds run with the first.
    pub spreads: Vec<Spread>,
    /// Frames a second of each flow.
    pub rate: FrameRate,
    /// True if as many flows run in the other direction at once.
    pub bidirectional: bool,
    /// Time from the start of the load to the deed.
    pub before: Nanos,
    /// Time from the deed until it is undone.
    pub away: Nanos,
    /// Time from undoing the deed to the end of the load.
    pub after: Nanos,
    /// Repetitions of everything, in random order; the sampling unit.
    pub blocks: Blocks,
    /// Profile of the phases around the load.
    pub profile: Profile,
    /// Attempts at one trial before it is given up; at least 1.
    pub tries: Tries,
}

impl FailoverSpec {
    /// Name of doing nothing.
    pub const NOTHING: &str = "nothing";

    /// First look: sixteen flows of a thousand frames a second, in one direction. The deed comes
    /// after half a second and is undone two seconds later, with two more afterwards; ten blocks.
    pub fn quick() -> Self {
        Self {
            subjects: Vec::new(),
            between: Between::default(),
            deeds: Vec::new(),
            frame_size: FrameSize::MIN,
            spreads: vec![Spread { source_ports: 16, ..Spread::NONE }],
            rate: FrameRate(1_000.0),
            bidirectional: false,
            before: Nanos::from_millis(500),
            away: Nanos::from_secs(2),
            after: Nanos::from_secs(2),
            blocks: BLOCKS,
            profile: Profile::Quick,
            tries: TRIES,
        }
    }

    /// Ten seconds for each part, also for a path that recovers slowly.
    pub fn strict() -> Self {
        Self {
            before: Nanos::from_secs(2),
            away: Nanos::from_secs(10),
            after: Nanos::from_secs(10),
            profile: Profile::Strict,
            ..Self::quick()
        }
    }

    /// See [`crate::StudySpec::estimate`].
    pub fn estimate(&self, topology: &Topology) -> Estimate {
        let Ok(ways) = self.ways(topology) else { return Estimate::NONE };
        let trial = self.profile.trial(self.load());
        let of = |way| -> Estimate {
            let deeds = self.deeds(topology, &ways, way).into_iter();
            let deeds: Estimate =
                deeds.map(|deed| Estimate { time: trial.time + deed.settle, ..trial }).sum();
            trial * self.spreads.len() as u64 + deeds
        };
        ways.subjects().into_iter().map(of).sum::<Estimate>() * u64::from(self.blocks.get())
    }

    /// See [`crate::StudySpec::check`].
    pub(crate) fn check(&self, known: Known<'_>) -> Result<(), SpecProblem> {
        let zero = [
            ("the time before the deed", self.before),
            ("the time until the deed is undone", self.away),
            ("the time after that", self.after),
        ];
        if let Some((what, _)) = zero.into_iter().find(|(_, time)| *time == Nanos::ZERO) {
            return Err(problem::out_of_range(what, "0", "more than 0"));
        }
        problem::some("way to tell flows apart", &self.spreads)?;
        let counts = self.spreads.iter().map(|spread| spread.conversations());
        if let Some(flows) = counts.into_iter().find(|flows| !(1..=MOST_FLOWS).contains(flows)) {
            return Err(problem::out_of_range("the number of flows", &flows, "1 to 4096"));
        }
        problem::rate("each flow's rate", self.rate, self.frame_size, None)?;
        let Some(topology) = known.topology else { return Ok(()) };
        let ways = self.ways(topology)?;
        for way in ways.subjects() {
            let pair = ways.pair(way);
            for end in [&pair.from, &pair.to] {
                let link = topology.rate(end);
                for spread in &self.spreads {
                    let rate = self.load_rate(*spread);
                    problem::rate("the flows' rate", rate, self.frame_size, link)?;
                }
            }
            let Some(subject) = ways.subject(way) else {
                return Err(SpecProblem::NoDeviceToFail { testbed: topology.name.clone() });
            };
            let device = subject.device.clone();
            let known = known_deeds(topology, &device);
            let names = || known.iter().map(|deed| deed.name.clone()).collect();
            if self.does_nothing() {
                continue;
            }
            let unknown = |name: &&String| known.iter().all(|deed| deed.name != **name);
            if let Some(deed) = self.deeds.iter().find(unknown) {
                let (deed, known) = (Some(deed.clone()), names());
                return Err(SpecProblem::NoDeed { deed, device, known });
            }
            if known.is_empty() {
                return Err(SpecProblem::NoDeed { deed: None, device, known: names() });
            }
        }
        Ok(())
    }

    /// See [`crate::StudySpec::needs`].
    pub fn needs(&self) -> Needs {
        let headers = |spread: &Spread| Headers { spread: *spread, ..Headers::default() };
        Needs {
            sizes: vec![self.frame_size],
            headers: self.spreads.iter().map(headers).collect(),
            ..Needs::default()
        }
    }

    /// Frames a second of all flows of a direction together.
    pub(super) fn load_rate(&self, spread: Spread) -> FrameRate {
        FrameRate(self.rate.0 * spread.conversations() as f64)
    }

    fn does_nothing(&self) -> bool {
        matches!(&self.deeds[..], [only] if only == Self::NOTHING)
    }

    pub(super) fn load(&self) -> Nanos {
        self.before + self.away + self.after
    }

    /// Deeds of a path's device, in the requested order.
    pub(super) fn deeds(&self, topology: &Topology, ways: &Ways, way: Way) -> Vec<KnownDeed> {
        let Some(subject) = ways.subject(way) else { return Vec::new() };
        let known = known_deeds(topology, &subject.device);
        if self.deeds.is_empty() {
            return known.to_vec();
        }
        let named = |name: &String| known.iter().find(|deed| deed.name == *name).cloned();
        self.deeds.iter().filter_map(named).collect()
    }

    /// Rate of the slowest link that takes part; `None` if unknown.
    pub fn link(&self, topology: &Topology) -> Option<Rate> {
        self.ways(topology).ok()?.slowest_link()
    }

    pub(super) fn ways(&self, topology: &Topology) -> Result<Ways, SpecProblem> {
        Ways::between(topology, &self.between, &self.subjects)
    }
}

/// Deeds that the testbed offers for a device.
fn known_deeds<'t>(topology: &'t Topology, device: &str) -> &'t [KnownDeed] {
    let device = topology.devices.iter().find(|known| known.name == device);
    device.map_or(&[], |device| &device.deeds)
}

varied::repeated!(FailoverSpec);
