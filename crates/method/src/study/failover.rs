//! The study `failover`: for how long steady flows are interrupted when something is done to the
//! device or to one of its paths, and again when that is undone (RFC 6201, RFC 6412).
//!
//! Owns its request and the order of its trials: in each block one in which nothing is done, and
//! one for each deed. What a record says of its flows is in `cell`, what that means in `figures`.
//! Never does a deed itself, and never one that the testbed does not know.

mod cell;
mod figures;
mod sharing;

use std::collections::BTreeMap;

use measure::sequence::MOST_CONVERSATIONS;
use measure::{FrameRate, FrameSize, Nanos, Rate};
use serde::{Deserialize, Serialize};

use super::session::{Ask, Session};
use super::ways::{Way, Ways};
use super::{BLOCKS, Between, Estimate, Profile, SpecProblem, burst, problem};
use page::Figure;
use trial::topology::KnownDeed;
use trial::{
    Backend, Datagrams, Deed, Event, Flow, FlowKind, Gate, Headers, Result, Schedule, Spread,
    Subject, Testbed, Topology,
};

use cell::CellData;

/// Flows that are told apart, at most: each has its own books.
pub const MOST_FLOWS: u64 = MOST_CONVERSATIONS as u64;

/// What to measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailoverSpec {
    /// What is measured: devices, in their variants. Empty: the first device, as it is found.
    pub subjects: Vec<Subject>,
    /// Between which two ports; open: the first hosts'.
    #[serde(default, skip_serializing_if = "Between::is_open")]
    pub between: Between,
    /// What is done, by the names that the testbed gives it. Empty: each deed that it knows;
    /// [`Self::NOTHING`] alone: none.
    pub deeds: Vec<String>,
    /// The frames' size.
    pub frame_size: FrameSize,
    /// What tells the flows apart: as many as there are conversations. With several, how the
    /// device shares them out is seen with each; what is done is done with the first.
    pub spreads: Vec<Spread>,
    /// Frames a second of each flow.
    pub rate: FrameRate,
    /// Whether as many go the other way at once.
    pub bidirectional: bool,
    /// From the load's start to the deed.
    pub before: Nanos,
    /// From the deed until it is undone.
    pub away: Nanos,
    /// From then to the load's end.
    pub after: Nanos,
    /// Repeats of everything, in random order; the sampling unit.
    pub blocks: u32,
    /// The phases around.
    pub profile: Profile,
    /// How often one trial is tried before it is given up; at least 1.
    pub tries: u32,
}

impl FailoverSpec {
    /// How every trial of this study begins its label.
    pub const LABEL: &str = "failover";
    /// As a trial is called in which nothing is done.
    pub const NOTHING: &str = "nothing";

    /// A look: sixteen flows of a thousand frames a second, one way; the deed after half a second,
    /// undone two seconds later, and two more; ten blocks.
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
            tries: 3,
        }
    }

    /// Ten seconds of each: also for a path that comes back slowly.
    pub fn strict() -> Self {
        Self {
            before: Nanos::from_secs(2),
            away: Nanos::from_secs(10),
            after: Nanos::from_secs(10),
            profile: Profile::Strict,
            ..Self::quick()
        }
    }

    /// See [`super::StudySpec::estimate`].
    pub fn estimate(&self, topology: &Topology) -> Estimate {
        let Ok(ways) = self.ways(topology) else { return Estimate::NONE };
        let trial = self.profile.trial(self.load());
        let of = |way| -> Estimate {
            let deeds = self.deeds(topology, &ways, way).into_iter();
            let deeds: Estimate =
                deeds.map(|deed| Estimate { time: trial.time + deed.settle, ..trial }).sum();
            trial * self.spreads.len() as u64 + deeds
        };
        ways.subjects().into_iter().map(of).sum::<Estimate>() * u64::from(self.blocks)
    }

    /// See [`super::StudySpec::check`].
    pub fn check(&self, topology: &Topology) -> std::result::Result<(), SpecProblem> {
        problem::counts(self.blocks, self.tries, self.load())?;
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
            let known = known(topology, &device);
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

    /// See [`super::StudySpec::run`].
    pub fn run(&self, testbed: &mut dyn Testbed, seed: u64) -> Result<Vec<Figure>> {
        let topology = testbed.topology().clone();
        let how = (self.profile, self.tries);
        let mut session = Session::new(testbed, "failover", |t| self.ways(t), seed, how)?;
        let ways = session.ways.subjects();
        let deeds = |way| self.deeds(&topology, &session.ways, way);
        let deeds: BTreeMap<Way, Vec<KnownDeed>> =
            ways.iter().map(|way| (*way, deeds(*way))).collect();
        let most = deeds.values().map(Vec::len).max().unwrap_or(0);
        let mut data = figures::Data::new();
        let controls = self.spreads.len();
        session.in_blocks(self.blocks, (controls + most, &ways), |session, block, (at, way)| {
            let (spread, deed) = match at.checked_sub(controls) {
                None => (at, None),
                Some(at) => match deeds[&way].get(at) {
                    Some(deed) => (0, Some(deed)),
                    None => return Ok(()),
                },
            };
            let name = deed.map_or(Self::NOTHING, |deed| deed.name.as_str());
            let by = self.spreads[spread];
            let told =
                if controls > 1 { format!(", by {}", told_apart(by)) } else { String::new() };
            let tried = session.run(Ask {
                label: format!("{} {name}{told}", Self::LABEL) + &session.ways.label(way),
                way,
                block,
                duration: self.load(),
                // A device to which something is done may take the tester's links down, and what
                // its own queues lose is told apart by the trials in which nothing is done.
                gate: Gate::Flood,
                flows: self.trial_flows(by, &session.ways, way),
                events: deed.map(|deed| self.events(deed)).unwrap_or_default(),
            })?;
            let cell: &mut CellData =
                data.entry((way, spread, deed.map(|deed| deed.name.clone()))).or_default();
            cell.take(&tried, (self, by));
            Ok(())
        })?;
        Ok(figures::all(self, &data, &deeds, &session.ways))
    }

    /// Of all flows of a direction together.
    fn load_rate(&self, spread: Spread) -> FrameRate {
        FrameRate(self.rate.0 * spread.conversations() as f64)
    }

    fn does_nothing(&self) -> bool {
        matches!(&self.deeds[..], [only] if only == Self::NOTHING)
    }

    fn load(&self) -> Nanos {
        self.before + self.away + self.after
    }

    /// Frames of all flows in turn, so that each has its own conversation's.
    fn trial_flows(&self, spread: Spread, ways: &Ways, way: Way) -> Vec<Flow> {
        let schedule = Schedule::Paced(self.load_rate(spread));
        let limit = burst::limit(schedule);
        let kind = FlowKind::Datagrams(Datagrams {
            headers: Headers { spread, ..Headers::default() },
            conversations: true,
            ..Datagrams::plain(self.frame_size, schedule, Backend::Auto, limit)
        });
        let pair = ways.pair(way);
        let back = self.bidirectional.then(|| pair.back());
        Flow::each_measured(std::iter::once(pair).chain(&back), &kind)
    }

    /// One that can't be undone has all the time to come back by itself.
    fn events(&self, deed: &KnownDeed) -> Vec<Event> {
        let name = deed.name.clone();
        let undone = self.before + self.away;
        let back = Event { at: undone, deed: Deed::Undo { name: name.clone() } };
        let begun = Event { at: self.before, deed: Deed::Do { name } };
        std::iter::once(begun).chain(deed.undo.then_some(back)).collect()
    }

    /// Those of them that a way's device knows, in the order asked for.
    fn deeds(&self, topology: &Topology, ways: &Ways, way: Way) -> Vec<KnownDeed> {
        let Some(subject) = ways.subject(way) else { return Vec::new() };
        let known = known(topology, &subject.device);
        if self.deeds.is_empty() {
            return known.to_vec();
        }
        let named = |name: &String| known.iter().find(|deed| deed.name == *name).cloned();
        self.deeds.iter().filter_map(named).collect()
    }

    /// The rate of the slowest link that takes part, where it is known.
    pub fn link(&self, topology: &Topology) -> Option<Rate> {
        self.ways(topology).ok()?.slowest_link()
    }

    fn ways(&self, topology: &Topology) -> std::result::Result<Ways, SpecProblem> {
        Ways::between(topology, &self.between, &self.subjects)
    }
}

/// What tells flows apart, as figures and labels call it.
fn told_apart(spread: Spread) -> &'static str {
    match spread {
        Spread { destination_ports: 2.., source_ports: ..=1, addresses: ..=1 } => {
            "destination-ports"
        }
        Spread { addresses: 2.., source_ports: ..=1, destination_ports: ..=1 } => "addresses",
        Spread { source_ports: 2.., destination_ports: 2.., .. }
        | Spread { source_ports: 2.., addresses: 2.., .. }
        | Spread { destination_ports: 2.., addresses: 2.., .. } => "several",
        _ => "source-ports",
    }
}

/// What can be done to a device.
fn known<'t>(topology: &'t Topology, device: &str) -> &'t [KnownDeed] {
    let device = topology.devices.iter().find(|known| known.name == device);
    device.map_or(&[], |device| &device.deeds)
}

super::varied::repeated!(FailoverSpec);
