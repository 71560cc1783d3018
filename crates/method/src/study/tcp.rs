//! The study `tcp`: how much TCP payload a path carries, each way alone and both ways at once.
//!
//! Owns its request and the order of its trials. What the records mean is in `figures`; never
//! changes what the hosts' kernels do with segments: TCP runs as any program's would.

mod cell;
mod figures;

use std::collections::BTreeMap;

use measure::Nanos;
use serde::{Deserialize, Serialize};

use super::session::{Ask, Session};
use super::ways::{Way, Ways};
use super::{BLOCKS, Between, Estimate, Profile, SpecProblem, problem};
use page::Figure;
use trial::{Gate, Offloads, Result, Subject, Testbed, Topology};

use cell::CellData;

/// What to measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TcpSpec {
    /// What is measured: devices, in their variants. Empty: the first device, as it is found.
    pub subjects: Vec<Subject>,
    /// Between which two ports; open: the first hosts'.
    #[serde(default, skip_serializing_if = "Between::is_open")]
    pub between: Between,
    /// Which way TCP goes, each a case of its own.
    pub directions: Vec<TcpDirection>,
    /// How many connections each way.
    pub streams: u16,
    /// Their congestion control.
    pub congestion_control: String,
    /// How long TCP runs before figures count, as iperf3's `-O`.
    pub omit: Nanos,
    /// How long figures count, after that.
    pub duration: Nanos,
    /// How often the senders are read.
    pub interval: Nanos,
    /// Repeats of everything, in random order; the sampling unit.
    pub blocks: u32,
    /// The phases around.
    pub profile: Profile,
    /// How often one trial is tried before it is given up; at least 1.
    pub tries: u32,
}

/// Which way TCP goes in a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TcpDirection {
    /// From the first end to the second.
    Forward,
    /// From the second end to the first.
    Reverse,
    /// Both at once.
    Bidirectional,
}

impl TcpDirection {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Forward, Self::Reverse, Self::Bidirectional];

    /// As in figures.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Reverse => "reverse",
            Self::Bidirectional => "bidirectional",
        }
    }
}

impl TcpSpec {
    /// How every trial of this study begins its label.
    pub const LABEL: &str = "goodput";
    /// TCP runs as any program's would.
    pub const OFFLOADS: Offloads = Offloads::AsFound;

    /// A look: one cubic stream for three seconds after one, in each of the three ways, ten blocks.
    pub fn quick() -> Self {
        Self {
            subjects: Vec::new(),
            between: Between::default(),
            directions: TcpDirection::ALL.to_vec(),
            streams: 1,
            congestion_control: "cubic".to_owned(),
            omit: Nanos::from_secs(1),
            duration: Nanos::from_secs(3),
            interval: Nanos::from_millis(100),
            blocks: BLOCKS,
            profile: Profile::Quick,
            tries: 3,
        }
    }

    /// Thirty seconds after five.
    pub fn strict() -> Self {
        Self {
            omit: Nanos::from_secs(5),
            duration: Nanos::from_secs(30),
            profile: Profile::Strict,
            ..Self::quick()
        }
    }

    /// See [`super::StudySpec::estimate`].
    pub fn estimate(&self, topology: &Topology) -> Estimate {
        let ways = self.ways(topology).map_or(0, |ways| ways.all().len());
        let trials = u64::from(self.blocks) * (ways * self.directions.len()) as u64;
        self.profile.trial(self.omit + self.duration) * trials
    }

    /// See [`super::StudySpec::check`].
    pub fn check(&self, topology: &Topology) -> Result<(), SpecProblem> {
        problem::some("direction", &self.directions)?;
        problem::counts(self.blocks, self.tries, self.duration)?;
        if self.streams == 0 {
            return Err(problem::out_of_range("the number of streams", "0", "1 or more"));
        }
        if self.interval == Nanos::ZERO || self.interval > self.duration {
            let range = "above 0 and at most the duration";
            return Err(problem::out_of_range("the interval", &self.interval, range));
        }
        self.ways(topology).map(drop)
    }

    /// See [`super::StudySpec::run`].
    pub fn run(&self, testbed: &mut dyn Testbed, seed: u64) -> Result<Vec<Figure>> {
        let topology = testbed.topology().clone();
        let how = (self.profile, self.tries);
        let mut session = Session::new(testbed, "tcp", |t| self.ways(t), seed, how)?;
        session.offloads = Self::OFFLOADS;
        let mut data: BTreeMap<(usize, Way), CellData> = BTreeMap::new();
        let ways = session.ways.all();
        let cells = (self.directions.len(), &ways[..]);
        session.in_blocks(self.blocks, cells, |session, block, (at, way)| {
            let direction = self.directions[at];
            let tried = session.run(Ask {
                label: cell::label(self, direction) + &session.ways.label(way),
                way,
                block,
                duration: self.omit + self.duration,
                gate: Gate::Uneven,
                flows: cell::flows(self, direction, session.ways.pair(way)),
                events: Vec::new(),
            })?;
            data.entry((at, way)).or_default().take(&tried, self);
            Ok(())
        })?;
        Ok(figures::all(self, &data, &session.ways, &topology))
    }

    fn ways(&self, topology: &Topology) -> Result<Ways, SpecProblem> {
        Ways::between(topology, &self.between, &self.subjects)
    }
}

super::varied::repeated!(TcpSpec);
