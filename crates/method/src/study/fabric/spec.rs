//! What a fabric study is asked for: who talks to whom, in which messages, and whether groups of
//! ports are told.
//!
//! Owns the request, its checks and its estimate. Never runs a trial.

use measure::{ByteCount, Nanos};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};

use super::Arrangement;
use super::scene::Scene;
use crate::study::problem::{self, out_of_range};
use crate::study::{
    BLOCKS, Between, Blocks, Estimate, Known, Needs, Profile, SpecProblem, TRIES, Tries, Varied,
    Ways,
};
use trial::{Carrier, Subject, Topology};

/// The largest message: what a receiver has to hold until it is whole.
const LARGEST_MESSAGE: ByteCount = ByteCount(16 << 20);

/// A fabric study's request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FabricSpec {
    /// Who talks to whom.
    pub arrangements: Vec<Arrangement>,
    /// Numbers of ports that talk at once, in the table by nodes.
    pub nodes: Nodes,
    /// The message of the table by nodes, and of arrangements of several rounds.
    pub message: ByteCount,
    /// The messages of the table by size, with as many ports as there are in the other at most.
    pub messages: Vec<ByteCount>,
    /// Carrier of the messages.
    pub carrier: Carrier,
    /// True if groups of ports are told from floods.
    #[serde(default)]
    pub infer: bool,
    /// True of a run of 0.2 in which a person moved cables from port to port: later versions
    /// neither carry out nor report such runs.
    #[serde(default, rename = "recabling", deserialize_with = "is_stated")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub moves_cables: bool,
    /// Devices under test, in their variants. Empty: the first device, as it is found.
    pub subjects: Vec<Subject>,
    /// Between which of the devices' ports; open: all of them, in their order.
    #[serde(default, skip_serializing_if = "Between::is_open")]
    pub between: Between,
    /// A pair that gets less than this share below what it gets alone is blocked.
    pub margin: f64,
    /// In what intervals receipts are summed up.
    pub interval: Nanos,
    /// The load phase of each trial.
    pub duration: Nanos,
    /// Repeats of everything, in random order; the sampling unit.
    pub blocks: Blocks,
    /// The phases around.
    pub profile: Profile,
    /// Attempts at one trial before it is given up; at least 1.
    pub tries: Tries,
}

/// Numbers of ports that talk at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Nodes {
    /// 2, 4, 8… and all there are.
    Doubling,
    /// These, each even.
    These(Vec<u32>),
}

impl Nodes {
    /// Numbers among so many ports, ascending.
    pub(super) fn of(&self, ports: usize) -> Vec<usize> {
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
    /// A look: neighbours and every offset, five message sizes, ten blocks of a second.
    pub fn quick() -> Self {
        Self {
            arrangements: vec![Arrangement::Neighbours, Arrangement::Sweep],
            nodes: Nodes::Doubling,
            message: kibibytes(64),
            messages: [1, 8, 32, 64, 128].map(kibibytes).to_vec(),
            carrier: Carrier::Tcp,
            infer: false,
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

    /// See [`crate::study::StudySpec::estimate`].
    pub fn estimate(&self, topology: &Topology) -> Estimate {
        let Ok(ways) = self.ways(topology) else { return Estimate::NONE };
        let scenes = Scene::all(self, topology, &ways, 0);
        let of = |scene: &Scene| {
            let trials = u64::from(self.blocks.get()) * scene.trials() as u64;
            let each = self.profile.trial(self.duration).with_flows(scene.most_pairs() as u64);
            each * trials + self.estimate_floods(scene)
        };
        scenes.iter().map(of).sum()
    }

    /// See [`crate::study::StudySpec::check`].
    pub(crate) fn check(&self, known: Known<'_>) -> Result<(), SpecProblem> {
        // First: what else is wrong with a run of 0.2 that moved cables does not matter.
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
        let Some((topology, ways)) = known.topology.zip(ways) else { return Ok(()) };
        for way in ways.subjects() {
            let device = ways.subject(way).map(|subject| subject.device.as_str());
            let patterns = self.arrangements.iter().map(|arrangement| arrangement.pattern());
            self.between.check(patterns, device, topology)?;
            let ports = self.between.among(&topology.ports_of(device));
            self.check_ports(device, ports.len(), topology)?;
        }
        Ok(())
    }

    /// See [`crate::StudySpec::needs`].
    pub fn needs(&self) -> Needs {
        Needs { connections: true, ..Needs::default() }
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
            // Cables join two ports each, and nobody else.
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

/// Most pairs of an arrangement's rounds together: their names are held all at once.
const MOST_PAIRS: usize = 1025 * 512;
/// Most pairs at once: a flow's number has 16 bits.
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

    /// Its exchanges: which ports share an uplink is asked once.
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
