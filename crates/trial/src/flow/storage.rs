//! Storage flows: a job in fio's terms, and the server that a trial creates for it. Data only.

use std::collections::BTreeMap;

use measure::{ByteCount, Nanos};
use serde::{Deserialize, Serialize};

use super::Messages;
use crate::topology::PortRef;

/// Block reads and writes by a host (the flow's `from`) at a storage server (its `to`), with a
/// constant number of operations in flight. Fields have fio's meanings, and its names where it has
/// one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Storage {
    /// fio engine, which defines how the storage is reached: `libaio` for a file or a device,
    /// `nbd`, `rbd`. A simulated testbed has one storage and ignores this and `filename`.
    pub ioengine: String,
    /// File or device to read and write: a path, or the engine's own name for it.
    pub filename: String,
    /// Order of the blocks.
    pub pattern: Pattern,
    /// Share of reads.
    pub rwmixread: ReadPercent,
    /// Octets of one read or write.
    pub bs: ByteCount,
    /// Number of parallel jobs, each with its own connection.
    pub numjobs: Jobs,
    /// Operations in flight per job.
    pub iodepth: QueueDepth,
    /// Hosts to which the server copies writes, beside its own disk, before it acknowledges them.
    /// A simulated server follows this list; a live one replicates as it is configured.
    #[serde(default)]
    pub replicas: Vec<PortRef>,
    /// Other options of the job by fio's names; an option without a value is `1`. Ignored by a
    /// simulated testbed.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// Server that runs on the flow's `to` for the trial; `None` if the storage exists already.
    #[serde(default)]
    pub server: Option<ServedMemory>,
    /// Block device of `to` whose own service times are read: `nvme0n1`.
    #[serde(default)]
    pub disk: Option<String>,
    /// True if existing data may be overwritten.
    #[serde(default)]
    pub allow_destroy: bool,
}

/// Parses a size as fio does: `4k`, `64KiB`, `4GB`, `4096`. Every unit is a power of 1024.
pub fn fio_octets(text: &str) -> Option<ByteCount> {
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(at);
    let step = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << step).map(ByteCount)
}

measure::ranged! {
    /// Number of parallel jobs.
    Jobs(u16 as i64, 1..=1024, "numbers of jobs", "1 is one client");
    /// Operations in flight per job.
    QueueDepth(u16 as i64, 1..=4096, "operations under way", "1 does one after the other");
    /// Share of reads in percent: 100 only reads, 0 only writes.
    ReadPercent(u8 as i64, 0..=100, "shares of reads in percent", "100 only reads");
}

/// Storage server created for a trial: memory with a delay in place of its disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedMemory {
    /// Capacity.
    pub size: ByteCount,
    /// Read time of the emulated disk.
    pub read: Nanos,
    /// Write time of the emulated disk.
    pub write: Nanos,
}

impl Storage {
    /// Header sizes of a request and an answer in the NBD protocol; other protocols are similar.
    const HEADS: [u64; 2] = [28, 16];

    /// Operations in flight over all jobs.
    pub fn under_way(&self) -> f64 {
        f64::from(self.numjobs.get()) * f64::from(self.iodepth.get())
    }

    /// Payload of a read and its answer on the network.
    pub const fn read_messages(&self) -> Messages {
        let [request, answer] = Self::HEADS;
        Messages {
            request: ByteCount(request),
            answer: ByteCount(self.bs.0.saturating_add(answer)),
        }
    }

    /// Payload of an operation without a block: a round trip the size of a ping.
    pub const fn small_messages() -> Messages {
        let [request, answer] = Self::HEADS;
        Messages { request: ByteCount(request), answer: ByteCount(answer) }
    }

    /// Payload of a write and its answer on the network.
    pub const fn write_messages(&self) -> Messages {
        let [request, answer] = Self::HEADS;
        Messages {
            request: ByteCount(self.bs.0.saturating_add(request)),
            answer: ByteCount(answer),
        }
    }
}

/// Order of the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// One after the other.
    Sequential,
    /// Random order.
    Random,
}
