//! A count of bytes, as a buffer's size is written.

use std::fmt;
use std::str::FromStr;

use super::UnitError;
use super::text::{Suffix, parse_scaled, serde_as_text};

/// Bytes. Written by people as `"64KiB"`, `"2MiB"`, `"36MB"` or a bare number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ByteCount(pub u64);

const SUFFIXES: &[Suffix] = &[
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("KB", 1_000),
    ("B", 1),
    ("", 1),
];

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binary = SUFFIXES[..3]
            .iter()
            .find(|(_, scale)| self.0 >= *scale && self.0.is_multiple_of(*scale));
        match binary {
            Some((suffix, scale)) => f.pad(&format!("{}{suffix}", self.0 / scale)),
            None => f.pad(&format!("{}B", self.0)),
        }
    }
}

impl FromStr for ByteCount {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse_scaled(text, "bytes", "B, kB, KiB, MB, MiB, GB, GiB", SUFFIXES).map(Self)
    }
}

serde_as_text!(ByteCount);
