//! Other tools' output as figures: [`formats`] lists the tools, and our own rows are read too.
//!
//! Owns the recognition of an output by its content, and one module per tool. Each figure carries
//! the doubts that its tool leaves. Never opens a file, never holds one whole, and never guesses: a
//! line that is not understood is reported.

mod checks;
mod contradiction;
mod described;
mod ethr;
pub mod fio;
mod fio_parts;
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
mod moved;
mod mtr;
mod nccl;
mod netperf;
mod numbers;
mod nuttcp;
mod objects;
mod perftest;
mod ping;
mod qperf;
mod reader;
mod rows;
mod series;
mod shapes;
mod sockperf;
mod text;
mod trex;
mod uperf;

use std::io::{self, BufRead, BufReader, Read};

use page::{Figure, UnreadLine};

pub use formats::{Format, Made, formats};

/// Results of one file.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// Tools whose output it contains.
    pub tools: Vec<&'static str>,
    /// Figures measured by them; the caller sets the conditions `device`, `path` and `file`.
    pub figures: Vec<Figure>,
    /// Lines that no tool's reader understood, the first [`MOST_NAMED`], and omitted parts of its
    /// JSON. The caller sets their `file`.
    pub unread: Vec<UnreadLine>,
    /// Total number of those lines.
    pub unread_lines: usize,
    /// Skipped or omitted parts, in words.
    pub notes: Vec<String>,
}

/// Error: an output without results.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The input is not text.
    #[error("the file is neither text nor gzip of it")]
    NotText,
    /// The input could not be read to its end.
    #[error("reading it failed: {0}")]
    Unreadable(String),
    /// The input has too many results.
    #[error("by line {number} the file tells more than {MOST_FIGURES} figures")]
    TooMuch {
        /// Line number, from 1.
        number: usize,
    },
    /// The JSON is not of a known tool.
    #[error("line {number} begins JSON, but not that of a known tool")]
    UnknownJson {
        /// Line number, from 1.
        number: usize,
    },
    /// The input begins as JSON and is not valid.
    #[error("line {number}: the JSON breaks off or breaks its rules: {why}")]
    BrokenJson {
        /// Line number, from 1.
        number: usize,
        /// Message of the JSON reader.
        why: String,
    },
    /// The tool itself failed.
    #[error("line {number}: {tool} says that it failed: {reason}")]
    ToolFailed {
        /// Line at which its output begins, from 1.
        number: usize,
        /// Name of the tool.
        tool: &'static str,
        /// Reason given by the tool.
        reason: String,
    },
    /// The tool's output lacks a required part.
    #[error("line {number} begins an output that looks like {tool}'s, but has no {what}")]
    Missing {
        /// Line at which its output begins, from 1.
        number: usize,
        /// Name of the tool.
        tool: &'static str,
        /// Missing part.
        what: &'static str,
    },
    /// The input contains no known tool's result.
    #[error("no tool's result is in it; line {number} is not understood: `{line}`")]
    Nothing {
        /// Line number, from 1.
        number: usize,
        /// Text of the line, shortened.
        line: String,
    },
    /// The input has a tool's lines, and no result among them.
    #[error("the {tool} output in it ends at line {number} without a result")]
    NoResult {
        /// Number of the last line, from 1.
        number: usize,
        /// Name of the tool.
        tool: &'static str,
    },
}

impl ImportError {
    /// Creates the error of a value that lacks a part; [`Self::at`] sets its line.
    const fn missing(tool: &'static str, what: &'static str) -> Self {
        Self::Missing { number: 0, tool, what }
    }

    /// Sets the line of a value, which the reader of the value does not know.
    fn at(mut self, line: usize) -> Self {
        if let Some(number) = self.number() {
            *number = line;
        }
        self
    }

    /// Line that the error names.
    pub fn line(mut self) -> Option<usize> {
        self.number().copied()
    }

    const fn number(&mut self) -> Option<&mut usize> {
        match self {
            Self::NotText | Self::Unreadable(_) => None,
            Self::TooMuch { number }
            | Self::UnknownJson { number }
            | Self::BrokenJson { number, .. }
            | Self::ToolFailed { number, .. }
            | Self::Missing { number, .. }
            | Self::Nothing { number, .. }
            | Self::NoResult { number, .. } => Some(number),
        }
    }
}

/// Maximum number of kept lines that were not understood.
pub const MOST_NAMED: usize = 100;

/// Maximum number of figures, more than a day of a tool's single results.
pub const MOST_FIGURES: usize = 200_000;

/// Reads an output's octets, gzipped or not.
pub fn read(octets: &[u8]) -> Result<Imported, ImportError> {
    read_from(octets)
}

/// Reads an output to its end, gzipped or not, and keeps only its results.
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
        // Errors of the gzip reader for input that is not gzip.
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            ImportError::NotText
        }
        _ => ImportError::Unreadable(error.to_string()),
    }
}
