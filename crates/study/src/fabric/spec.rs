//! Request for a fabric study: the pairing of ports, the messages, and whether to infer groups of
//! ports.
//!
//! Owns the request, its checks and its estimate. Never runs a trial.

use measure::{ByteCount, Nanos};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};

use super::Arrangement;
use super::collective;
use super::scene::Scene;
use crate::problem::{self, out_of_range};
use crate::{
    BLOCKS, Between, Blocks, Estimate, Known, Needs, Profile, SpecProblem, TRIES, Tries, Varied,
    Ways,
};
use trial::{Carrier, Collective, Protocol, Subject, Topology};

/// Largest message; a receiver holds it until it is complete.
const LARGEST_MESSAGE: ByteCount = ByteCount(16 << 20);

/// Request for a fabric study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FabricSpec {
    /// Pairings of the ports.
    pub arrangements: Vec<Arrangement>,
    /// Numbers of ports that talk at once, in the table by nodes.
    pub nodes: Nodes,
    /// Message size of the table by nodes, and of arrangements with several rounds.
    pub message: ByteCount,
    /// Message sizes of the table by size, with the largest number of nodes of the other table.
    pub messages: Vec<ByteCount>,
    /// Carrier of the messages.
    pub carrier: Carrier,
    /// Collectives among the ports, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collectives: Vec<Collective>,
    /// Sizes of the collectives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collective_sizes: Vec<ByteCount>,
    /// True if groups of ports are inferred from floods.
    #[serde(default)]
    pub infer: bool,
    /// True if slow ports are probed, and a *no* has a control; false for runs of 0.3 and before.
    #[serde(default)]
    pub controls: bool,
    /// True for a run of 0.2 in which a person moved cables from port to port. Later versions
    /// neither carry out nor report such runs.
    #[serde(default, rename = "recabling", deserialize_with = "is_stated")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub moves_cables: bool,
    /// Devices under test, in their variants; if empty, the first device as found.
    pub subjects: Vec<Subject>,
    /// Ports that take part; if none are named, all of them in the devices' order.
    #[serde(default, skip_serializing_if = "Between::is_open")]
    pub between: Between,
    /// Share below the goodput of one pair alone, at which a pair counts as blocked.
    pub margin: f64,
    /// Interval over which receipts are summed.
    pub interval: Nanos,
    /// Load phase of each trial.
    pub duration: Nanos,
    /// Repetitions of everything, in random order; the sampling unit.
    pub blocks: Blocks,
    /// Profile of the phases around the load.
    pub profile: Profile,
    /// Attempts at one trial before it is given up; at least 1.
    pub tries: Tries,
}

/// Numbers of ports that talk at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Nodes {
    /// Powers of two from 2, and all ports.
    Doubling,
    /// Listed numbers, all even.
    These(Vec<u32>),
}

impl Nodes {
    /// Numbers of nodes among the given number of ports, ascending.
    pub(super) fn counts(&self, ports: usize) -> Vec<usize> {
        let all = ports - ports % 2;
        let mut counts: Vec<usize> = match self {
            Self::Doubling => {
                (1..16).map(|power| 1 << power).take_while(|n| *n < all).chain([all]).collect()
            }
            Self::These(counts) => counts.iter().map(|n| *n as usize).collect(),
        };
        counts.sort_unstable();
        counts.dedup();
        counts
    }
}

const fn kibibytes(count: u64) -> ByteCount {
    ByteCount(count << 10)
}

impl FabricSpec {
    /// First look: neighbours and every offset, five message sizes, ten blocks of a second.
    pub fn quick() -> Self {
        Self {
            arrangements: vec![Arrangement::Neighbours, Arrangement::Sweep],
            nodes: Nodes::Doubling,
            message: kibibytes(64),
            messages: [1, 8, 32, 64, 128].map(kibibytes).to_vec(),
            carrier: Carrier::Tcp,
            collectives: Vec::new(),
            collective_sizes: Vec::new(),
            infer: false,
            controls: true,
            moves_cables: false,
            subjects: Vec::new(),
            between: Between::default(),
            margin: 0.05,
            interval: Nanos::from_millis(100),
            duration: Nanos::from_secs(1),
            blocks: BLOCKS,
            profile: Profile::Quick,
            tries: TRIES,
        }
    }

    /// Messages of 1 to 128 KiB, ten seconds each, ten blocks.
    pub fn strict() -> Self {
        Self {
            messages: [1, 2, 4, 8, 16, 32, 64, 128].map(kibibytes).to_vec(),
            duration: Nanos::from_secs(10),
            profile: Profile::Strict,
            ..Self::quick()
        }
    }

    /// Few rounds that name a slow port, as few repetitions as have a 95 % interval.
    #[must_use]
    pub fn for_slow_ports(self) -> Self {
        let duration = Nanos(self.duration.0 * 3 / 10);
        Self {
            arrangements: vec![Arrangement::Halves],
            messages: Vec::new(),
            interval: duration / 10,
            duration,
            blocks: Blocks::known(6),
            ..self
        }
    }

    /// See [`crate::StudySpec::estimate`].
    pub fn estimate(&self, topology: &Topology) -> Estimate {
        let Ok(ways) = self.ways(topology) else { return Estimate::NONE };
        let scenes = Scene::all(self, topology, &ways, 0);
        let of = |scene: &Scene| {
            let trials = u64::from(self.blocks.get()) * scene.trials() as u64;
            let each = self.profile.trial(self.duration).with_flows(scene.most_pairs() as u64);
            each * trials
                + scene.estimate_collectives(self)
                + self.estimate_after(scene, &ways)
                + self.estimate_floods(scene)
        };
        scenes.iter().map(of).sum()
    }

    /// See [`crate::StudySpec::check`].
    pub(crate) fn check(&self, known: Known<'_>) -> Result<(), SpecProblem> {
        // Checked first: for a run of 0.2 that moved cables, no other problem matters.
        let ways = known.topology.map(|topology| self.ways(topology)).transpose()?;
        problem::some("arrangement", &self.arrangements)?;
        problem::lasts(self.duration)?;
        for size in self.messages.iter().chain([&self.message]) {
            if !(1..=LARGEST_MESSAGE.0).contains(&size.0) {
                return Err(out_of_range("a message's size", size, "from 1B to 16MiB"));
            }
        }
        if !(self.margin > 0.0 && self.margin < 1.0) {
            return Err(out_of_range("the margin", &self.margin, "a share between 0 and 1"));
        }
        if self.interval == Nanos::ZERO || self.interval > self.duration {
            let range = "more than 0 and no more than a trial's duration";
            return Err(out_of_range("the interval", &self.interval, range));
        }
        if matches!(self.carrier, Carrier::Datagrams { credits: 0 }) {
            return Err(out_of_range("the number of credits", &0, "1 or more"));
        }
        collective::check(self)?;
        let Some((topology, ways)) = known.topology.zip(ways) else { return Ok(()) };
        for way in ways.subjects() {
            let device = ways.subject(way).map(|subject| subject.device.as_str());
            let patterns = self.arrangements.iter().map(|arrangement| arrangement.pattern());
            self.between.check(patterns, device, topology)?;
            let ports = self.between.among(&topology.ports_of(device));
            self.check_ports(device, ports.len(), topology)?;
            collective::check_ports(self, device, ports.len())?;
        }
        Ok(())
    }

    /// See [`crate::StudySpec::needs`].
    pub fn needs(&self) -> Needs {
        let protocols = vec![Protocol::Udp, Protocol::Tcp];
        Needs { connections: true, protocols, ..Needs::default() }
    }

    fn check_ports(
        &self,
        device: Option<&str>,
        ports: usize,
        topology: &Topology,
    ) -> Result<(), SpecProblem> {
        if ports < 2 {
            return Err(SpecProblem::NoPair { testbed: topology.name.clone() });
        }
        if let Nodes::These(counts) = &self.nodes {
            problem::some("number of nodes", counts)?;
            let legal = |n: &&u32| **n >= 2 && n.is_multiple_of(2) && **n as usize <= ports;
            if let Some(wrong) = counts.iter().find(|n| !legal(n)) {
                let range = "even, at least 2, and no more than there are ports";
                return Err(out_of_range("a number of nodes", wrong, range));
            }
        }
        for arrangement in &self.arrangements {
            let fits = match arrangement {
                Arrangement::Offset(by) => (*by as usize) < ports,
                Arrangement::Bisections(rounds) => *rounds <= 10_000,
                _ => true,
            };
            if !fits {
                let range = "an offset below the number of ports, and at most 10000 bisections";
                return Err(out_of_range("the arrangement", arrangement, range));
            }
            let (pairs, at_once) = arrangement.pairs(ports);
            if pairs > MOST_PAIRS || at_once > MOST_AT_ONCE {
                let range = "at most 524,800 pairs of ports, as a tournament of 1,024, and 32,768 at once, \
                             as a mesh of 256: `bisections=N` asks a sample of them";
                return Err(out_of_range("the arrangement", arrangement, range));
            }
            if arrangement.is_one_way() && self.carrier != Carrier::Tcp {
                let range =
                    "both ways over datagrams; one way over TCP, or as `switching` with frames";
                return Err(out_of_range("the arrangement", arrangement, range));
            }
            // A cable joins two ports only.
            if device.is_none() && *arrangement != Arrangement::Neighbours {
                let range = "neighbours where there is no device between the ports";
                return Err(out_of_range("the arrangement", arrangement, range));
            }
        }
        Ok(())
    }

    pub(super) fn ways(&self, topology: &Topology) -> Result<Ways, SpecProblem> {
        if self.moves_cables {
            return Err(SpecProblem::MovesCables);
        }
        Ways::between(topology, &self.between.first(), &self.subjects)
    }
}

fn is_stated<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Ok(Option::<IgnoredAny>::deserialize(from)?.is_some())
}

/// Maximum number of pairs in all rounds of an arrangement: their names are held at once.
const MOST_PAIRS: usize = 1025 * 512;
/// Maximum number of pairs at once: a flow's number has 16 bits.
const MOST_AT_ONCE: usize = 256 * 128;

impl Varied for FabricSpec {
    fn subjects(&self) -> Vec<Subject> {
        self.subjects.clone()
    }

    fn set_subject(&mut self, subject: Subject) {
        self.subjects = vec![subject];
    }

    fn blocks(&mut self) -> Option<&mut Blocks> {
        Some(&mut self.blocks)
    }

    /// Keeps the exchanges: groups of ports are inferred only once.
    fn keep_repeated(&mut self) -> bool {
        self.infer = false;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0.2 wrote hosts and ports, or null.
    #[test]
    fn journals_tell_whether_cables_were_moved() {
        let written = serde_json::to_value(FabricSpec::quick()).expect("JSON");
        assert_eq!(written.get("recabling"), None);
        let hosts = serde_json::json!({ "hosts": 8, "ports": 16 });
        for (recabling, moves) in [(serde_json::Value::Null, false), (hosts, true)] {
            let mut old = written.clone();
            old["recabling"] = recabling;
            let mut read: FabricSpec = serde_json::from_value(old).expect("a request");
            assert_eq!(read.moves_cables, moves);
            read = serde_json::from_value(serde_json::to_value(&read).expect("JSON")).expect("one");
            assert_eq!(read.moves_cables, moves, "written again");
        }
    }
}
