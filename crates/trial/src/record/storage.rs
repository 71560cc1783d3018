//! What came of reads and writes: those of the client, and what the other end's host counted.
//!
//! Owns the shapes and the arithmetic within one record. Never judges them: the study does.

use measure::{ByteCount, Histogram, Nanos};
use serde::{Deserialize, Serialize};

use crate::Storage;

/// Reads and writes. What the trial asked for stands in the trial; here is what was done.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StorageRecord {
    /// How many jobs there were, and operations under way of each.
    pub numjobs: u16,
    /// Operations under way of each job.
    pub iodepth: u16,
    /// Octets of one read or write.
    pub bs: ByteCount,
    /// The reads.
    pub reads: OperationsRecord,
    /// The writes.
    pub writes: OperationsRecord,
    /// For how long operations were begun.
    pub elapsed: Nanos,
    /// All that fio printed (JSON), where fio did it.
    #[serde(default)]
    pub fio: Option<String>,
    /// What the server's host told.
    #[serde(default)]
    pub server: ServerRecord,
    /// Where the storage is, as the client's host tells; `None` in records of earlier versions. See
    /// [`Self::location`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<StorageLocation>,
}

/// Where a storage is, seen from the host whose operations it carries out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StorageLocation {
    /// On another host: every operation crosses the network.
    Remote,
    /// Attached to this host, or its memory: no operation leaves by a network port of it.
    Local,
    /// Nothing tells. No share of an operation's time may be called the network's.
    Unknown,
}

/// The other end of reads and writes, as its own host counted it over the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ServerRecord {
    /// What a server made for the trial spent on operations, its disk's time in it.
    #[serde(default)]
    pub served: Option<ServiceTimes>,
    /// What the kernel's diskstats say of the disk that was named; flushes are not in it.
    #[serde(default)]
    pub disk: Option<ServiceTimes>,
}

/// Operations of each kind, and all their times together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ServiceTimes {
    /// Reads that were completed.
    pub reads: u64,
    /// The sum of their times.
    pub reading: Nanos,
    /// Writes that were completed.
    pub writes: u64,
    /// The sum of their times.
    pub writing: Nanos,
}

impl ServiceTimes {
    /// The mean of a read's times in nanoseconds; none without reads.
    pub fn read(&self) -> Option<f64> {
        (self.reads > 0).then(|| self.reading.0 as f64 / self.reads as f64)
    }

    /// The mean of a write's times in nanoseconds; none without writes.
    pub fn write(&self) -> Option<f64> {
        (self.writes > 0).then(|| self.writing.0 as f64 / self.writes as f64)
    }
}

/// Operations of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationsRecord {
    /// Those that were completed.
    pub count: u64,
    /// Their octets.
    pub octets: ByteCount,
    /// Those that failed.
    pub errors: u64,
    /// From submission to completion, by the host's clock. fio's own bins are 0.8 % wide, and of a
    /// value's bin it is the middle.
    pub latency: Histogram,
    /// The exact mean of what `latency` holds in nanoseconds, where who measured it has told.
    #[serde(default)]
    pub mean: Option<f64>,
    /// Of it, what the client took until the operation was on its way, in nanoseconds.
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
    /// The mean latency in nanoseconds; none where nothing was completed.
    pub fn mean_latency(&self) -> Option<f64> {
        (self.count > 0).then(|| self.mean.unwrap_or_else(|| self.latency.mean()))
    }
}

impl StorageRecord {
    /// Where the storage of this job is. A server made for the trial is the other host's; an
    /// earlier version's record without fio's output is a simulation's.
    pub const fn location(&self, job: &Storage) -> StorageLocation {
        match self.location {
            _ if job.server.is_some() => StorageLocation::Remote,
            Some(location) => location,
            None if self.fio.is_none() => StorageLocation::Remote,
            None => StorageLocation::Unknown,
        }
    }

    /// Reads and writes completed a second.
    pub fn iops(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 { (self.reads.count + self.writes.count) as f64 / seconds } else { 0.0 }
    }

    /// The mean latency of all operations in nanoseconds, each counted once; none without any.
    pub fn mean_latency(&self) -> Option<f64> {
        let all = self.reads.count + self.writes.count;
        let sum =
            |of: &OperationsRecord| of.mean_latency().map_or(0.0, |mean| mean * of.count as f64);
        (all > 0).then(|| (sum(&self.reads) + sum(&self.writes)) / all as f64)
    }

    /// Operations under way on average, by Little's law: operations a second x mean latency. A
    /// record in which that is not `numjobs` x `iodepth` (within 2 %) contradicts itself.
    pub fn under_way(&self) -> Option<f64> {
        self.mean_latency().map(|nanos| self.iops() * nanos / 1e9)
    }
}
