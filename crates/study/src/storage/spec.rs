//! Request for the storage study: the job, its sizes and depths, and its needs.
//!
//! Owns its checks and its estimate, and the choice of paths. Never runs a trial.

use measure::{ByteCount, FrameRate, Nanos};
use serde::{Deserialize, Serialize};

use super::cell::Cell;
use super::fill;
use crate::problem::{self, SpecProblem, out_of_range};
use crate::{
    BLOCKS, Between, Blocks, Bypass, Estimate, Known, Needs, Profile, TRIES, Tries, Way, Ways,
    varied,
};
use trial::{Protocol, QueueDepth, Result, Storage, Subject, Topology};

/// Additional time in which fio starts, connects and ends; its server must wait for that.
pub(super) const AROUND_FIO: Nanos = Nanos::from_millis(1500);

/// Maximum time for measuring RTTs without a job.
pub(super) const LONGEST_REST: Nanos = Nanos::from_secs(2);

/// Request for a storage study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StorageSpec {
    /// Job, without its sizes and depths.
    pub job: Storage,
    /// Octets of one read or write.
    pub sizes: Vec<ByteCount>,
    /// Operations in flight per job.
    pub depths: Vec<QueueDepth>,
    /// Round trips a second during the job, of a read's sizes and of a write's.
    pub probes: FrameRate,
    /// Devices under test, in their variants; if empty, the first device as found.
    pub subjects: Vec<Subject>,
    /// Pair of ports; if not named, those of the first hosts.
    #[serde(default, skip_serializing_if = "Between::is_open")]
    pub between: Between,
    /// Load phase of each trial.
    pub duration: Nanos,
    /// Repetitions of everything, in random order; the sampling unit.
    pub blocks: Blocks,
    /// Profile of the phases around the load.
    pub profile: Profile,
    /// Attempts at one trial before it is given up; at least 1.
    pub tries: Tries,
    /// True if small round trips are measured before each job; runs of earlier versions have none.
    #[serde(default)]
    pub small_messages: bool,
}

impl StorageSpec {
    /// First look: ten blocks of two seconds.
    pub fn quick(job: Storage) -> Self {
        Self {
            sizes: vec![job.bs],
            depths: vec![job.iodepth],
            job,
            probes: FrameRate(200.0),
            subjects: Vec::new(),
            between: Between::default(),
            duration: Nanos::from_secs(2),
            blocks: BLOCKS,
            profile: Profile::Quick,
            tries: TRIES,
            small_messages: true,
        }
    }

    /// One minute each, ten blocks.
    pub fn strict(job: Storage) -> Self {
        Self { duration: Nanos::from_secs(60), profile: Profile::Strict, ..Self::quick(job) }
    }

    /// See [`crate::StudySpec::estimate`].
    pub fn estimate(&self, topology: &Topology) -> Estimate {
        let ways = self.ways(topology).map_or(0, |w| self.measured(&w).len());
        let trials = u64::from(self.blocks.get()) * (ways * self.cells().len()) as u64;
        let trial = |load| self.profile.trial(load);
        let around = Estimate { time: AROUND_FIO, ..Estimate::NONE };
        (trial(self.duration) + around + trial(self.duration.min(LONGEST_REST))) * trials
    }

    /// See [`crate::StudySpec::check`].
    pub(crate) fn check(&self, known: Known<'_>) -> Result<(), SpecProblem> {
        problem::some("size of operations", &self.sizes)?;
        problem::some("number of operations under way", &self.depths)?;
        problem::lasts(self.duration)?;
        if self.sizes.iter().any(|size| !(512..=64 << 20).contains(&size.0)) {
            let sizes: Vec<String> = self.sizes.iter().map(|size| size.0.to_string()).collect();
            let range = "512 octets to 64 MiB";
            return Err(out_of_range("the size of operations", &sizes.join(", "), range));
        }
        if !(self.probes.0 > 0.0 && self.probes.0 <= 10_000.0) {
            let what = "round trips a second beside the job";
            return Err(out_of_range(what, &self.probes.0, "1 to 10,000"));
        }
        let Some(topology) = known.topology else { return Ok(()) };
        self.ways(topology).map(drop)
    }

    /// See [`crate::StudySpec::needs`].
    pub fn needs(&self) -> Needs {
        // Messages are segmented by their carrier.
        let (bypass, protocols) = (Bypass::Recorded, vec![Protocol::Tcp]);
        Needs { connections: true, bypass, protocols, ..Needs::default() }
    }

    /// Paths on a testbed.
    pub(super) fn ways(&self, topology: &Topology) -> Result<Ways, SpecProblem> {
        Ways::between(topology, &self.between, &self.subjects)
    }

    /// Paths that the job can take: a direct cable leads to the storage host, and to no replica.
    pub(super) fn measured(&self, ways: &Ways) -> Vec<Way> {
        if self.job.replicas.is_empty() { ways.all() } else { ways.subjects() }
    }

    /// Messages a second next to a cell's operations; as many on every path.
    pub(super) fn probe_rate(&self, cell: Cell, topology: &Topology, ways: &Ways) -> FrameRate {
        let of = |way| fill::probe_rate(self, cell, topology, ways.pair(way)).0;
        FrameRate(self.measured(ways).into_iter().map(of).fold(self.probes.0, f64::min))
    }

    /// Number of successive network crossings of an operation. A copied write goes on to all
    /// replicas at once before the response.
    pub(super) const fn crossings(&self, write: bool) -> f64 {
        if write && !self.job.replicas.is_empty() { 2.0 } else { 1.0 }
    }

    /// Cells of all combinations of size and depth.
    pub(super) fn cells(&self) -> Vec<Cell> {
        let of = |size: &ByteCount| {
            let size = *size;
            self.depths.iter().map(move |depth| Cell { size, depth: depth.get() })
        };
        self.sizes.iter().flat_map(of).collect()
    }
}

varied::repeated!(StorageSpec);
