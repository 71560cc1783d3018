//! Why octets are not what they were read as.
//!
//! One error for the crate: a caller counts it or prints it, and never needs to know which file
//! refused. Never carries the octets themselves, so that it stays small on the receivers' hot path.

/// Octets can't be read, or a frame can't be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The buffer ends inside the header, or before the length that the header states.
    #[error("read {what}: {octets} octets where {needed} are needed")]
    Truncated {
        /// What was being read.
        what: &'static str,
        /// Octets there are.
        octets: usize,
        /// Octets needed.
        needed: usize,
    },
    /// A field holds a value that the standard rules out.
    #[error("read {what}: {field} is {value}")]
    Malformed {
        /// What was being read.
        what: &'static str,
        /// The field.
        field: &'static str,
        /// What it holds.
        value: u32,
    },
    /// Legal, but not something this crate reads: options, fragments, a second tag.
    #[error("read {what}: {feature} is not supported")]
    Unsupported {
        /// What was being read.
        what: &'static str,
        /// What it uses.
        feature: &'static str,
    },
    /// A checksum does not fit what it covers.
    #[error("read {what}: wrong checksum {found:#06x}")]
    Checksum {
        /// What was being read.
        what: &'static str,
        /// The field's value.
        found: u16,
    },
    /// A frame of another kind was looked for.
    #[error("read a udp probe: the frame carries {found}")]
    NotUdp {
        /// What it carries instead.
        found: &'static str,
    },
    /// A frame of this length can't hold the headers and the probe, or can't be told in an IP
    /// header.
    #[error("build a udp frame: {octets} octets without fcs is outside {least}…{most}")]
    FrameLength {
        /// What was asked for.
        octets: usize,
        /// The shortest that holds the headers and a probe.
        least: usize,
        /// The longest that the IP header can tell.
        most: usize,
    },
    /// Source and destination are not of one IP version.
    #[error("build a udp frame: source and destination are of different ip versions")]
    Versions,
    /// A text is not six octets in hexadecimal, separated by colons.
    #[error("read a mac address: expected six hexadecimal octets like 02:00:00:00:00:01")]
    MacText,
}
