//! Records of reads and writes: the client's operations, and the counts of the server's host.
//!
//! Owns the forms and the arithmetic within one record. Never judges them: the study does.

use measure::{ByteCount, Histogram, Nanos};
use serde::{Deserialize, Serialize};

use crate::Storage;

/// Reads and writes as carried out. The trial holds what was requested.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StorageRecord {
    /// Number of jobs.
    pub numjobs: u16,
    /// Operations in flight per job.
    pub iodepth: u16,
    /// Octets of one read or write.
    pub bs: ByteCount,
    /// Record of the reads.
    pub reads: OperationsRecord,
    /// Record of the writes.
    pub writes: OperationsRecord,
    /// Time during which operations were started.
    pub elapsed: Nanos,
    /// Output of fio (JSON), if fio ran the job.
    #[serde(default)]
    pub fio: Option<String>,
    /// Counts of the server's host.
    #[serde(default)]
    pub server: ServerRecord,
    /// Location of the storage as the client's host reports it; `None` in records of earlier
    /// versions. See [`Self::location`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<StorageLocation>,
}

/// Location of a storage, seen from its client's host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StorageLocation {
    /// On another host: every operation crosses the network.
    Remote,
    /// Attached to this host, or its memory: no operation leaves by a network port.
    Local,
    /// Unknown. No share of an operation's time may be attributed to the network.
    Unknown,
}

/// Server side of reads and writes, as its own host counted it over the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ServerRecord {
    /// Service times of a server created for the trial, its emulated disk included.
    #[serde(default)]
    pub served: Option<ServiceTimes>,
    /// Service times of the named disk by the kernel's diskstats, without flushes.
    #[serde(default)]
    pub disk: Option<ServiceTimes>,
}

/// Number of operations of each kind, and their total times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ServiceTimes {
    /// Completed reads.
    pub reads: u64,
    /// Total time of the reads.
    pub reading: Nanos,
    /// Completed writes.
    pub writes: u64,
    /// Total time of the writes.
    pub writing: Nanos,
}

impl ServiceTimes {
    /// Mean time of a read in nanoseconds; `None` without reads.
    pub fn read(&self) -> Option<f64> {
        (self.reads > 0).then(|| self.reading.0 as f64 / self.reads as f64)
    }

    /// Mean time of a write in nanoseconds; `None` without writes.
    pub fn write(&self) -> Option<f64> {
        (self.writes > 0).then(|| self.writing.0 as f64 / self.writes as f64)
    }
}

/// Operations of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationsRecord {
    /// Completed operations.
    pub count: u64,
    /// Octets of these operations.
    pub octets: ByteCount,
    /// Failed operations.
    pub errors: u64,
    /// Time from submission to completion, by the host's clock. fio's own bins are 0.8 % wide; each
    /// value is the middle of its bin.
    pub latency: Histogram,
    /// Exact mean latency in nanoseconds, if reported.
    #[serde(default)]
    pub mean: Option<f64>,
    /// Part of the mean that the client took to submit the operation, in nanoseconds, if reported.
    #[serde(default)]
    pub submitting: Option<f64>,
}

impl Default for OperationsRecord {
    fn default() -> Self {
        Self {
            count: 0,
            octets: ByteCount(0),
            errors: 0,
            latency: Histogram::growing(),
            mean: None,
            submitting: None,
        }
    }
}

impl OperationsRecord {
    /// Mean latency in nanoseconds; `None` if nothing was completed.
    pub fn mean_latency(&self) -> Option<f64> {
        (self.count > 0).then(|| self.mean.unwrap_or_else(|| self.latency.mean()))
    }
}

impl StorageRecord {
    /// Returns the location of this job's storage. A server created for the trial is remote. A
    /// record of an earlier version without fio's output comes from a simulation.
    pub const fn location(&self, job: &Storage) -> StorageLocation {
        match self.location {
            _ if job.server.is_some() => StorageLocation::Remote,
            Some(location) => location,
            None if self.fio.is_none() => StorageLocation::Remote,
            None => StorageLocation::Unknown,
        }
    }

    /// Reads and writes completed per second.
    pub fn iops(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 { (self.reads.count + self.writes.count) as f64 / seconds } else { 0.0 }
    }

    /// Mean latency over all operations in nanoseconds; `None` without operations.
    pub fn mean_latency(&self) -> Option<f64> {
        let all = self.reads.count + self.writes.count;
        let sum =
            |of: &OperationsRecord| of.mean_latency().map_or(0.0, |mean| mean * of.count as f64);
        (all > 0).then(|| (sum(&self.reads) + sum(&self.writes)) / all as f64)
    }

    /// Average number of operations in flight, by Little's law: operations per second times mean
    /// latency. A record that differs from `numjobs` x `iodepth` by over 2 % contradicts itself.
    pub fn under_way(&self) -> Option<f64> {
        self.mean_latency().map(|nanos| self.iops() * nanos / 1e9)
    }
}
