//! Other tools' output as figures: iperf 2 and 3, fio, qperf, ping, sockperf, irtt, flent, and our
//! own rows.
//!
//! Owns the recognition of a file by its content, and one module a tool. Each figure carries what
//! its tool leaves in doubt. Never opens a file, and never guesses: a line that is not understood
//! is named.

pub mod fio;
mod fio_text;
mod flent;
mod found;
mod iperf3;
mod iperf_text;
mod irtt;
mod lines;
mod numbers;
mod ping;
mod qperf;
mod rows;
mod sockperf;
mod text;

use std::io::Read as _;

use page::Figure;
use serde_json::Value;

use found::Found;

/// What one file told.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The tools whose output it holds.
    pub tools: Vec<&'static str>,
    /// What they measured; the conditions `device`, `path` and `file` are the caller's.
    pub figures: Vec<Figure>,
    /// Lines that no tool's reader understood, with their numbers from 1.
    pub unknown: Vec<(usize, String)>,
}

/// A file that tells nothing.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It is no text.
    #[error("the file is neither text nor gzip of it")]
    NotText,
    /// More than [`LARGEST`] octets.
    #[error("the file holds more than 256 MiB")]
    TooLarge,
    /// JSON of no tool that is known.
    #[error("the file is JSON, but not of fio, iperf3, irtt, flent or switchmark")]
    UnknownJson,
    /// It begins as JSON and is none.
    #[error("the file begins as JSON and breaks off or breaks its rules: {0}")]
    BrokenJson(String),
    /// The tool itself failed.
    #[error("{tool} says that it failed: {reason}")]
    ToolFailed {
        /// Its name.
        tool: &'static str,
        /// In its own words.
        reason: String,
    },
    /// The tool's output lacks what it must have.
    #[error("the file looks like {tool}'s, but has no {what}")]
    Missing {
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
}

/// No tool's output of a day's run is larger.
pub const LARGEST: u64 = 256 << 20;

/// Reads a file's octets, gzipped or not.
pub fn read(octets: &[u8]) -> Result<Imported, ImportError> {
    let unpacked;
    let octets = if octets.starts_with(&[0x1f, 0x8b]) {
        unpacked = unpack(octets)?;
        &unpacked[..]
    } else {
        octets
    };
    if octets.len() as u64 > LARGEST {
        return Err(ImportError::TooLarge);
    }
    let text = std::str::from_utf8(octets).map_err(|_| ImportError::NotText)?;
    // fio may say something before its JSON, such as a note about the file that it lays out.
    let trimmed = text.trim_start_matches('\u{feff}').trim_start();
    if trimmed.starts_with('{') {
        return json(trimmed);
    }
    if let Some(at) = text.find("\n{").filter(|_| text.contains("\"fio version\"")) {
        return json(&text[at + 1..]);
    }
    text::read(text)
}

fn unpack(octets: &[u8]) -> Result<Vec<u8>, ImportError> {
    let mut out = Vec::new();
    let mut unpacked = flate2::read::MultiGzDecoder::new(octets).take(LARGEST + 1);
    unpacked.read_to_end(&mut out).map_err(|_| ImportError::NotText)?;
    Ok(out)
}

fn json(text: &str) -> Result<Imported, ImportError> {
    let parsed: Result<Value, _> = serde_json::from_str(text);
    let value = match parsed {
        Ok(value) => value,
        // One object a line is iperf3's stream.
        Err(_) if iperf3::is_stream(text) => iperf3::of_stream(text)?,
        Err(error) => return Err(ImportError::BrokenJson(error.to_string())),
    };
    let mut found = Found::default();
    if value.get("schema").is_some() {
        rows::read(&value, &mut found)?;
    } else if value.get("fio version").is_some() {
        fio::read(&value, &mut found)?;
    } else if value.get("round_trips").is_some() || value.get("irtt_version").is_some() {
        irtt::read(&value, &mut found)?;
    } else if value.get("raw_values").is_some() || value.get("x_values").is_some() {
        flent::read(&value, &mut found)?;
    } else if value.get("start").is_some() || value.get("event").is_some() {
        let value = if value.get("event").is_some() { iperf3::of_stream(text)? } else { value };
        iperf3::read(&value, &mut found)?;
    } else {
        return Err(ImportError::UnknownJson);
    }
    Ok(Imported { tools: found.tools, figures: found.figures, unknown: Vec::new() })
}
