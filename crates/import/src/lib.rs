//! Other tools' output as figures: [`formats`] lists the tools, and our own rows are read too.
//!
//! Owns the recognition of an output by its content, and one module a tool. Each figure carries
//! what its tool leaves in doubt. Never opens a file, never holds one whole, and never guesses: a
//! line that is not understood is named.

mod around;
mod checks;
mod contradiction;
mod ethr;
pub mod fio;
mod fio_terse;
mod fio_text;
mod flent;
mod formats;
mod found;
mod fping;
mod iperf3;
mod iperf_text;
mod irtt;
mod irtt_text;
mod json;
mod lines;
mod mtr;
mod nccl;
mod netperf;
mod numbers;
mod nuttcp;
mod objects;
mod osu;
mod perftest;
mod ping;
mod problem;
mod qperf;
mod reader;
mod rows;
mod series;
mod sockperf;
mod text;
mod trex;
mod uperf;

use std::io::{self, BufRead, BufReader, Read};

use page::{Figure, UnreadLine};

pub use formats::{Format, Made, formats};

/// What one file told.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The tools whose output it holds.
    pub tools: Vec<&'static str>,
    /// What they measured; the conditions `device`, `path` and `file` are the caller's.
    pub figures: Vec<Figure>,
    /// Lines that no tool's reader understood, the first [`MOST_NAMED`], and what of its JSON was
    /// left out; whose `file` is the caller's.
    pub unread: Vec<UnreadLine>,
    /// How many lines those are in all.
    pub unread_lines: usize,
    /// What was stepped over or left out, in words.
    pub notes: Vec<String>,
}

/// An output that tells nothing.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It is no text.
    #[error("the file is neither text nor gzip of it")]
    NotText,
    /// It could not be read to its end.
    #[error("reading it failed: {0}")]
    Unreadable(String),
    /// It tells too much.
    #[error("by line {number} the file tells more than {MOST_FIGURES} figures")]
    TooMuch {
        /// From 1.
        number: usize,
    },
    /// JSON of no tool that is known.
    #[error("line {number} begins JSON, but not that of a known tool")]
    UnknownJson {
        /// From 1.
        number: usize,
    },
    /// It begins as JSON and is none.
    #[error("line {number}: the JSON breaks off or breaks its rules: {why}")]
    BrokenJson {
        /// From 1.
        number: usize,
        /// In the words of JSON's reader.
        why: String,
    },
    /// The tool itself failed.
    #[error("line {number}: {tool} says that it failed: {reason}")]
    ToolFailed {
        /// Where its output begins, from 1.
        number: usize,
        /// Its name.
        tool: &'static str,
        /// In its own words.
        reason: String,
    },
    /// The tool's output lacks what it must have.
    #[error("line {number} begins an output that looks like {tool}'s, but has no {what}")]
    Missing {
        /// Where its output begins, from 1.
        number: usize,
        /// Its name.
        tool: &'static str,
        /// Which part.
        what: &'static str,
    },
    /// Nothing in it is a known tool's result.
    #[error("no tool's result is in it; line {number} is not understood: `{line}`")]
    Nothing {
        /// From 1.
        number: usize,
        /// Shortened.
        line: String,
    },
    /// A tool's lines, and no result among them.
    #[error("the {tool} output in it ends at line {number} without a result")]
    NoResult {
        /// The last line's, from 1.
        number: usize,
        /// Its name.
        tool: &'static str,
    },
}

impl ImportError {
    /// The line that it names.
    pub const fn line(&self) -> Option<usize> {
        match self {
            Self::NotText | Self::Unreadable(_) => None,
            Self::TooMuch { number }
            | Self::UnknownJson { number }
            | Self::BrokenJson { number, .. }
            | Self::ToolFailed { number, .. }
            | Self::Missing { number, .. }
            | Self::Nothing { number, .. }
            | Self::NoResult { number, .. } => Some(*number),
        }
    }
}

/// So many lines that were not understood are kept.
pub const MOST_NAMED: usize = 100;

/// A day of a tool's single results has fewer.
pub const MOST_FIGURES: usize = 200_000;

/// Reads an output's octets, gzipped or not.
pub fn read(octets: &[u8]) -> Result<Imported, ImportError> {
    read_from(octets)
}

/// Reads an output, gzipped or not, to its end, and holds none of it but what it tells.
pub fn read_from(from: impl Read) -> Result<Imported, ImportError> {
    let mut from = BufReader::with_capacity(64 << 10, from);
    let is_gzip = from.fill_buf().map_err(unreadable)?.starts_with(&[0x1f, 0x8b]);
    if is_gzip {
        text::read(BufReader::new(flate2::bufread::MultiGzDecoder::new(from)))
    } else {
        text::read(from)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` hands over")]
fn unreadable(error: io::Error) -> ImportError {
    match error.kind() {
        // What gzip's reader says of what is none.
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            ImportError::NotText
        }
        _ => ImportError::Unreadable(error.to_string()),
    }
}
