//! Reasons why octets cannot be parsed.
//!
//! One error for the crate: a caller counts it or prints it, and never needs to know which file
//! refused. Never carries the octets themselves, so that it stays small on the receivers' hot path.

/// Octets cannot be read, or a frame cannot be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The buffer ends inside the header, or before the length that the header states.
    #[error("read {what}: {octets} octets where {needed} are needed")]
    Truncated {
        /// Item being read.
        what: &'static str,
        /// Octets available.
        octets: usize,
        /// Octets needed.
        needed: usize,
    },
    /// A field holds a value that the standard rules out.
    #[error("read {what}: {field} is {value}")]
    Malformed {
        /// Item being read.
        what: &'static str,
        /// Name of the field.
        field: &'static str,
        /// Value of the field.
        value: u32,
    },
    /// Legal, but not supported by this crate: options, fragments, a second tag.
    #[error("read {what}: {feature} is not supported")]
    Unsupported {
        /// Item being read.
        what: &'static str,
        /// Unsupported feature that it uses.
        feature: &'static str,
    },
    /// A checksum does not fit what it covers.
    #[error("read {what}: wrong checksum {found:#06x}")]
    Checksum {
        /// Item being read.
        what: &'static str,
        /// The field's value.
        found: u16,
    },
    /// The frame carries no UDP probe.
    #[error("read a udp probe: the frame carries {found}")]
    NotUdp {
        /// Content found instead.
        found: &'static str,
    },
    /// A frame of this length cannot hold the headers and the probe, or exceeds the IP length
    /// field.
    #[error("build a udp frame: {octets} octets without fcs is outside {least}…{most}")]
    FrameLength {
        /// Requested frame length.
        octets: usize,
        /// Length of the shortest frame that holds the headers and a probe.
        least: usize,
        /// Length of the longest frame that the IP length field can express.
        most: usize,
    },
    /// Source and destination are not of one IP version.
    #[error("build a udp frame: source and destination are of different ip versions")]
    Versions,
    /// A text is not six octets in hexadecimal, separated by colons.
    #[error("read a mac address: expected six hexadecimal octets like 02:00:00:00:00:01")]
    MacText,
}
