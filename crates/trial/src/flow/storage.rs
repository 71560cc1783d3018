//! A storage flow: a job under fio's names, and the server that a trial makes for it. Data only.

use std::collections::BTreeMap;

use measure::{ByteCount, Nanos};
use serde::{Deserialize, Serialize};

use super::Messages;
use crate::topology::PortRef;

/// Reads and writes of blocks by a host (the flow's `from`) at a storage server (its `to`), so many
/// under way all the time. The fields are fio's, under fio's names where it has one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Storage {
    /// fio's engine, which says how the storage is reached: `libaio` for a file or a device, `nbd`,
    /// `rbd`. A simulated testbed has one storage and reads neither this nor `filename`.
    pub ioengine: String,
    /// What is read and written: a path, or the engine's own name for it.
    pub filename: String,
    /// In which order blocks are taken.
    pub pattern: Pattern,
    /// The share of reads.
    pub rwmixread: ReadPercent,
    /// Octets of one read or write.
    pub bs: ByteCount,
    /// How many jobs at once, each with a connection of its own.
    pub numjobs: Jobs,
    /// Operations under way of each job.
    pub iodepth: QueueDepth,
    /// Where the server copies what is written before it says so, beside its own disk. Live servers
    /// do as they are set up; a simulated one does as is said here.
    #[serde(default)]
    pub replicas: Vec<PortRef>,
    /// The job's other options under fio's names; an option without a value is `1`. A simulated
    /// testbed reads none.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// The server that the flow's `to` is for as long as the trial lasts; none: the storage exists.
    #[serde(default)]
    pub server: Option<ServedMemory>,
    /// The block device of `to` whose own times are read: `nvme0n1`.
    #[serde(default)]
    pub disk: Option<String>,
    /// Whether data that is there already may be written over.
    #[serde(default)]
    pub allow_destroy: bool,
}

/// `4k`, `64KiB`, `4GB`, `4096`: fio's steps are of 1024 whichever way they are written.
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
    /// Jobs at once.
    Jobs(u16 as i64, 1..=1024, "numbers of jobs", "1 is one client");
    /// Operations under way of a job.
    QueueDepth(u16 as i64, 1..=4096, "operations under way", "1 does one after the other");
    /// Share of reads in percent: 100 only reads, 0 only writes.
    ReadPercent(u8 as i64, 0..=100, "shares of reads in percent", "100 only reads");
}

/// A storage server made for a trial: memory behind a delay that stands for its disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedMemory {
    /// How much it holds.
    pub size: ByteCount,
    /// How long its disk takes to read.
    pub read: Nanos,
    /// How long its disk takes to write.
    pub write: Nanos,
}

impl Storage {
    /// A request and the head of an answer, of the NBD protocol: others' are about as long.
    const HEADS: [u64; 2] = [28, 16];

    /// Operations under way of all jobs.
    pub fn under_way(&self) -> f64 {
        f64::from(self.numjobs.get()) * f64::from(self.iodepth.get())
    }

    /// What a read and its answer carry over the network.
    pub const fn read_messages(&self) -> Messages {
        let [request, answer] = Self::HEADS;
        Messages {
            request: ByteCount(request),
            answer: ByteCount(self.bs.0.saturating_add(answer)),
        }
    }

    /// What an operation without a block would carry: a round trip as ping's.
    pub const fn small_messages() -> Messages {
        let [request, answer] = Self::HEADS;
        Messages { request: ByteCount(request), answer: ByteCount(answer) }
    }

    /// What a write and its answer carry over the network.
    pub const fn write_messages(&self) -> Messages {
        let [request, answer] = Self::HEADS;
        Messages {
            request: ByteCount(self.bs.0.saturating_add(request)),
            answer: ByteCount(answer),
        }
    }
}

/// The order of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// One after the other.
    Sequential,
    /// Any.
    Random,
}
