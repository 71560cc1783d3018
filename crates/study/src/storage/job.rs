//! Job under fio's own keywords, where a job file and the study's options agree on their meaning.
//!
//! Owns the keywords for patterns and sizes, and fio's defaults. Never reads a file: the caller
//! does.

use std::collections::BTreeMap;
use std::path::PathBuf;

use measure::{ByteCount, Refused};
use trial::{Jobs, Pattern, QueueDepth, ReadPercent, Storage, fio_octets};

/// Job as in its file, with its run time.
#[derive(Debug, Clone, PartialEq)]
pub struct FioJob {
    /// Job in the file.
    pub job: Storage,
    /// Value of fio's `runtime`; in seconds without a unit.
    pub runtime: Option<String>,
}

/// Job file for fio.
#[derive(Debug, Clone, PartialEq)]
pub enum JobFile {
    /// Path of the file, as stated.
    Named(PathBuf),
    /// Job that was read.
    Read(Box<FioJob>),
}

/// Share of reads for writes only.
pub const WRITES: ReadPercent = ReadPercent::known(0);
/// Share of reads for reads only.
pub const READS: ReadPercent = ReadPercent::known(100);
/// Default share of reads in a mix.
pub const HALF: ReadPercent = ReadPercent::known(50);

/// Defaults of fio.
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

/// Parses a pattern such as `randrw` into the order and the share of reads.
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

/// Parses the size of an operation, or of a server's storage.
pub fn octets(text: &str) -> Result<ByteCount, Refused> {
    fio_octets(text.trim())
        .ok_or_else(|| Refused::new(format!("`{text}` is no size"), "give one size, such as 4k"))
}
