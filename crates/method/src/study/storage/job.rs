//! A job under fio's own words, where a job file and the study's options mean the same by them.
//!
//! Owns the words for patterns and sizes, and fio's defaults. Never reads a file: whoever does puts
//! the job in its place.

use std::collections::BTreeMap;
use std::path::PathBuf;

use measure::{ByteCount, Refused};
use trial::{Jobs, Pattern, QueueDepth, ReadPercent, Storage, fio_octets};

/// A job as its file has it, and for how long it asks to run.
#[derive(Debug, Clone, PartialEq)]
pub struct FioJob {
    /// The job.
    pub job: Storage,
    /// `runtime`, in fio's own words: seconds where no unit is given.
    pub runtime: Option<String>,
}

/// A job file of fio's.
#[derive(Debug, Clone, PartialEq)]
pub enum JobFile {
    /// By its path, as it is stated.
    Named(PathBuf),
    /// Its job.
    Read(Box<FioJob>),
}

/// Share of reads of what only writes.
pub const WRITES: ReadPercent = ReadPercent::known(0);
/// Share of reads of what only reads.
pub const READS: ReadPercent = ReadPercent::known(100);
/// Share of reads in a mix of which nothing is said.
pub const HALF: ReadPercent = ReadPercent::known(50);

/// fio's own defaults.
pub fn plain() -> Storage {
    Storage {
        ioengine: "psync".into(),
        filename: String::new(),
        pattern: Pattern::Sequential,
        rwmixread: READS,
        bs: ByteCount(4096),
        numjobs: Jobs::known(1),
        iodepth: QueueDepth::known(1),
        replicas: Vec::new(),
        options: BTreeMap::new(),
        server: None,
        disk: None,
        allow_destroy: false,
    }
}

/// `randrw`: the order, and the share of reads.
pub fn pattern(text: &str, mix: ReadPercent) -> Result<(Pattern, ReadPercent), Refused> {
    let half = if mix == WRITES || mix == READS { HALF } else { mix };
    match text {
        "read" => Ok((Pattern::Sequential, READS)),
        "write" => Ok((Pattern::Sequential, WRITES)),
        "rw" | "readwrite" => Ok((Pattern::Sequential, half)),
        "randread" => Ok((Pattern::Random, READS)),
        "randwrite" => Ok((Pattern::Random, WRITES)),
        "randrw" => Ok((Pattern::Random, half)),
        other => Err(Refused::new(
            format!("`{other}` is not a pattern that can be measured"),
            "known are read, write, rw, randread, randwrite and randrw",
        )),
    }
}

/// The size of an operation, or of what a server holds.
pub fn octets(text: &str) -> Result<ByteCount, Refused> {
    fio_octets(text.trim())
        .ok_or_else(|| Refused::new(format!("`{text}` is no size"), "give one size, such as 4k"))
}
