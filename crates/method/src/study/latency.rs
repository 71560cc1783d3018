//! The study `latency`: how slow is a path, by size and protocol, at rest and under a stated load.
//!
//! Owns its request and the order of its trials. What the records mean is in `figures`; never
//! reports an absolute switch latency, because software stamps contain the hosts' own stacks.

mod cell;
mod figures;

use std::collections::BTreeMap;

use measure::{FrameRate, FrameSize, Nanos, Rate};
use serde::{Deserialize, Serialize};

use super::session::{Ask, Session};
use super::ways::Way;
use super::{BLOCKS, Between, Estimate, Profile, SpecProblem, Varied, Ways, problem};
use page::Figure;
use trial::{Gate, Protocol, Schedule, Subject};
use trial::{Testbed, TestbedError, Topology};

use cell::{Cell, CellData};

/// What to measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencySpec {
    /// Over what.
    pub protocols: Vec<Protocol>,
    /// Sizes of request and response on the wire.
    pub sizes: Vec<FrameSize>,
    /// What else the path carries meanwhile.
    pub loads: Vec<Load>,
    /// What is measured: devices, in their variants. Empty: the first device, as it is found.
    pub subjects: Vec<Subject>,
    /// Between which two ports; open: the first hosts'.
    #[serde(default, skip_serializing_if = "Between::is_open")]
    pub between: Between,
    /// Closed loop (`Greedy`) or open loop (`Paced`).
    pub schedule: Schedule,
    /// The load phase of each trial.
    pub duration: Nanos,
    /// Repeats of everything, in random order; the sampling unit.
    pub blocks: u32,
    /// The phases around.
    pub profile: Profile,
    /// How often one trial is tried before it is given up; at least 1.
    pub tries: u32,
}

/// What the path carries beside the round trips.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// Nothing.
    Idle,
    /// Paced UDP frames in the requests' direction.
    Datagrams {
        /// Their size.
        frame_size: FrameSize,
        /// How many.
        rate: FrameRate,
    },
    /// TCP streams as fast as they go, in the requests' direction.
    Bulk {
        /// How many connections.
        streams: u16,
        /// Their congestion control: `cubic`.
        congestion_control: String,
    },
}

impl LatencySpec {
    /// A look: two sizes, three protocols, at rest, ten blocks of 300 ms.
    pub fn quick() -> Self {
        Self {
            protocols: vec![Protocol::Icmp, Protocol::Udp, Protocol::Tcp],
            sizes: vec![FrameSize::MIN, FrameSize::STANDARD_MAX],
            loads: vec![Load::Idle],
            subjects: Vec::new(),
            between: Between::default(),
            schedule: Schedule::Greedy,
            duration: Nanos::from_millis(300),
            blocks: BLOCKS,
            profile: Profile::Quick,
            tries: 3,
        }
    }

    /// RFC 2544's sizes, a minute each, ten blocks.
    pub fn strict() -> Self {
        Self {
            sizes: super::rate::suite::RFC2544.frames(),
            duration: Nanos::from_secs(60),
            profile: Profile::Strict,
            ..Self::quick()
        }
    }

    /// See [`super::StudySpec::estimate`].
    pub fn estimate(&self, topology: &Topology) -> Estimate {
        let ways = self.ways(topology).map_or(0, |ways| ways.all().len());
        let trials = u64::from(self.blocks) * (ways * self.cells().len()) as u64;
        self.profile.trial(self.duration) * trials
    }

    /// See [`super::StudySpec::check`].
    pub fn check(&self, topology: &Topology) -> Result<(), SpecProblem> {
        problem::some("protocol", &self.protocols)?;
        problem::some("frame size", &self.sizes)?;
        problem::some("load", &self.loads)?;
        problem::counts(self.blocks, self.tries, self.duration)?;
        let link = self.ways(topology)?.link(topology);
        if let Schedule::Paced(rate) = self.schedule {
            for &size in &self.sizes {
                problem::rate("the schedule's rate", rate, size, link)?;
            }
        }
        for load in &self.loads {
            match load {
                Load::Datagrams { frame_size, rate } => {
                    problem::rate("the load's rate", *rate, *frame_size, link)?;
                }
                Load::Bulk { streams: 0, .. } => {
                    let what = "the load's number of streams";
                    return Err(problem::out_of_range(what, "0", "1 or more"));
                }
                Load::Idle | Load::Bulk { .. } => {}
            }
        }
        Ok(())
    }

    /// See [`super::StudySpec::run`].
    pub fn run(&self, testbed: &mut dyn Testbed, seed: u64) -> Result<Vec<Figure>, TestbedError> {
        let mut session =
            Session::new(testbed, "latency", |t| self.ways(t), seed, (self.profile, self.tries))?;
        let cells = self.cells();
        let mut data: BTreeMap<(usize, Way), CellData> = BTreeMap::new();
        let ways = session.ways.all();
        session.in_blocks(self.blocks, (cells.len(), &ways), |session, block, (cell, way)| {
            let flows = cells[cell].flows(session.ways.pair(way), self);
            let tried = session.run(Ask {
                label: cells[cell].label() + &session.ways.label(way),
                way,
                block,
                duration: self.duration,
                gate: Gate::Strict,
                flows,
                events: Vec::new(),
            })?;
            data.entry((cell, way)).or_default().take(block, &tried);
            Ok(())
        })?;
        Ok(figures::all(self, &cells, &data, &session.ways, seed))
    }

    /// The rate of the slowest link that takes part, where it is known.
    pub fn link(&self, topology: &Topology) -> Option<Rate> {
        self.ways(topology).ok()?.slowest_link()
    }

    fn ways(&self, topology: &Topology) -> Result<Ways, SpecProblem> {
        Ways::between(topology, &self.between, &self.subjects)
    }

    /// Every combination of load, protocol and size.
    fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for load in &self.loads {
            for &protocol in &self.protocols {
                for &size in &self.sizes {
                    cells.push(Cell { load: load.clone(), protocol, size });
                }
            }
        }
        cells
    }
}

impl Varied for LatencySpec {
    fn subjects(&self) -> Vec<Subject> {
        self.subjects.clone()
    }

    fn set_subject(&mut self, subject: Subject) {
        self.subjects = vec![subject];
    }

    fn set_size(&mut self, size: FrameSize) -> bool {
        self.sizes = vec![size];
        true
    }

    fn blocks(&mut self) -> Option<&mut u32> {
        Some(&mut self.blocks)
    }

    fn keep_repeated(&mut self) -> bool {
        true
    }

    /// The median and p99 of the round trips.
    fn compared_figures(&self) -> Option<usize> {
        Some(2 * self.protocols.len() * self.sizes.len() * self.loads.len())
    }
}
