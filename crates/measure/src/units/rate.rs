//! Rates in bits per second and frames per second, and the octets that a bit rate counts.
//!
//! The conventions follow RFC 1242 and RFC 2544: a rate without its convention is not a figure.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::text::{Suffix, parse_scaled, serde_as_text};
use super::{FrameSize, UnitError};

/// Bits per second. Written by people as `"1Gbit"`, `"100Mbit"`, `"2.5Gbit"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(pub u64);

const SUFFIXES: &[Suffix] = &[
    ("Tbit", 1_000_000_000_000),
    ("Gbit", 1_000_000_000),
    ("Mbit", 1_000_000),
    ("kbit", 1_000),
    ("bit", 1),
    // Spellings of tc, iperf3 and data sheets. `mbps` is missing on purpose: tc means bytes by it.
    ("Tbps", 1_000_000_000_000),
    ("Gbps", 1_000_000_000),
    ("Mbps", 1_000_000),
    ("kbps", 1_000),
    ("gbit", 1_000_000_000),
    ("mbit", 1_000_000),
    ("Tbit/s", 1_000_000_000_000),
    ("Gbit/s", 1_000_000_000),
    ("Mbit/s", 1_000_000),
    ("kbit/s", 1_000),
    ("bit/s", 1),
    ("T", 1_000_000_000_000),
    ("G", 1_000_000_000),
    ("g", 1_000_000_000),
    ("M", 1_000_000),
    ("m", 1_000_000),
    ("K", 1_000),
    ("k", 1_000),
];

impl Rate {
    /// Rate in bits per second.
    pub fn bits_per_second(self) -> f64 {
        self.0 as f64
    }

    /// Most frames of `size` per second on a link of this rate, preamble and gap included: C / (8 *
    /// (L + 20)).
    pub fn line_rate(self, size: FrameSize) -> FrameRate {
        FrameRate(self.bits_per_second() / (8.0 * f64::from(size.wire_octets())))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (suffix, scale) = SUFFIXES
            .iter()
            .find(|(_, scale)| self.0 >= *scale && self.0.is_multiple_of(*scale))
            .unwrap_or(&("bit", 1));
        f.pad(&format!("{}{suffix}", self.0 / scale))
    }
}

impl FromStr for Rate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse_scaled(text, "rate", "bit, kbit, Mbit, Gbit, Tbit", SUFFIXES).map(Self)
    }
}

serde_as_text!(Rate);

/// Frames per second.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FrameRate(pub f64);

impl FrameRate {
    /// Bits per second of frames of `size`, counted by `convention` (UDP over IPv4 without a VLAN
    /// tag for the payload).
    pub fn bits_per_second(self, size: FrameSize, convention: RateConvention) -> f64 {
        let octets = match convention {
            RateConvention::L1 => size.wire_octets(),
            RateConvention::L2 => size.octets(),
            RateConvention::L3 => size.ip_length(),
            RateConvention::Payload => size.udp_payload_v4(),
        };
        self.0 * 8.0 * f64::from(octets)
    }
}

const FRAME_SUFFIXES: [(&str, f64); 4] =
    [("Mpps", 1e6), ("kpps", 1e3), ("Kpps", 1e3), ("pps", 1.0)];

/// Parses `50kpps`, `1.2Mpps`, `1000pps`. A bare number is rejected, because it could also mean
/// bits.
impl FromStr for FrameRate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let text = text.trim();
        let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, suffix) = (&text[..split], text[split..].trim());
        let no_number = |_| UnitError::NoNumber { text: text.to_owned() };
        let value: f64 = number.parse().map_err(no_number)?;
        let known = FRAME_SUFFIXES.iter().find(|(known, _)| *known == suffix);
        let (_, scale) = known.ok_or_else(|| UnitError::UnknownSuffix {
            suffix: suffix.to_owned(),
            quantity: "frame rate",
            known: "pps, kpps, Mpps",
        })?;
        let rate = value * scale;
        if (1.0..=1e9).contains(&rate) {
            return Ok(Self(rate));
        }
        Err(UnitError::OutOfRange {
            value: text.to_owned(),
            quantity: "frame rate",
            low: 1,
            high: 1_000_000_000,
        })
    }
}

/// Octets of a frame that a bit rate counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RateConvention {
    /// Frame, preamble and inter-frame gap: everything that occupies the wire.
    L1,
    /// Frame with its FCS.
    L2,
    /// IP packet.
    L3,
    /// UDP payload, as iperf3 counts.
    #[serde(rename = "payload")]
    Payload,
}

impl RateConvention {
    /// All conventions, outermost first.
    pub const ALL: [Self; 4] = [Self::L1, Self::L2, Self::L3, Self::Payload];

    /// Name of the convention: `L1`, `L2`, `L3`, `payload`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
            Self::Payload => "payload",
        }
    }
}
