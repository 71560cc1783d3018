//! The sizes of successive frames of one flow: a single size, or a pattern repeated (RFC 6985's
//! IMIX).
//!
//! Owns the pattern and what follows from its mean. The pattern is spread evenly, so that a trial
//! of any length keeps the proportions; nothing here is random.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{FrameRate, FrameSize, Rate, UnitError, WIRE_OVERHEAD_OCTETS};

/// Largest number of frames in a pattern.
const LONGEST: usize = 64;

/// Usual IMIX: 7 frames of 64 octets, 4 of 594, 1 of 1518.
const IMIX: [(u32, usize); 3] = [(64, 7), (594, 4), (1518, 1)];

/// Frame sizes of a flow: frame i has the size `pattern[i % length]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct FrameMix(Vec<FrameSize>);

impl FrameMix {
    /// Creates the mix of one size.
    pub fn from_size(size: FrameSize) -> Self {
        Self(vec![size])
    }

    /// Creates a pattern of 1…64 sizes, sent in this order.
    pub fn new(pattern: Vec<FrameSize>) -> Result<Self, UnitError> {
        if (1..=LONGEST).contains(&pattern.len()) {
            return Ok(Self(pattern));
        }
        Err(UnitError::OutOfRange {
            value: pattern.len().to_string(),
            quantity: "a mix's number of frames",
            low: 1,
            high: LONGEST as u64,
        })
    }

    /// Creates a pattern from a count per size, spread as evenly as whole frames allow.
    pub fn weighted(shares: &[(FrameSize, usize)]) -> Result<Self, UnitError> {
        let total: usize = shares.iter().map(|(_, count)| count).sum();
        let mut slots: Vec<(f64, usize, FrameSize)> = Vec::new();
        if total <= LONGEST {
            for (at, (size, count)) in shares.iter().enumerate() {
                let each = total as f64 / (*count).max(1) as f64;
                slots.extend((0..*count).map(|i| ((i as f64 + 0.5) * each, at, *size)));
            }
            slots.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        } else {
            // Rejected by its length below.
            slots = vec![(0.0, 0, FrameSize::MIN); total.min(LONGEST + 1)];
        }
        Self::new(slots.into_iter().map(|(_, _, size)| size).collect())
    }

    /// Mix of 7 frames of 64 octets, 4 of 594 and 1 of 1518: a mean of 361.8 octets.
    pub fn imix() -> Self {
        let shares =
            IMIX.map(|(octets, count)| (FrameSize::new(octets).unwrap_or(FrameSize::MIN), count));
        Self::weighted(&shares).unwrap_or_else(|_| Self::from_size(FrameSize::MIN))
    }

    /// All sizes in order.
    pub fn pattern(&self) -> &[FrameSize] {
        &self.0
    }

    /// Size of all frames; `None` if sizes differ.
    pub fn single(&self) -> Option<FrameSize> {
        let first = self.0[0];
        self.0.iter().all(|size| *size == first).then_some(first)
    }

    /// The largest size.
    pub fn largest(&self) -> FrameSize {
        self.0.iter().copied().max().unwrap_or(FrameSize::MIN)
    }

    /// The smallest size.
    pub fn smallest(&self) -> FrameSize {
        self.0.iter().copied().min().unwrap_or(FrameSize::MIN)
    }

    /// The size of frame `sequence`.
    #[inline]
    pub fn at(&self, sequence: u64) -> FrameSize {
        self.0[(sequence % self.0.len() as u64) as usize]
    }

    /// Mean size of a frame in octets, with FCS.
    pub fn mean_octets(&self) -> f64 {
        let sum: u64 = self.0.iter().map(|size| u64::from(size.octets())).sum();
        sum as f64 / self.0.len() as f64
    }

    /// Frames per second of this mix that a link of `rate` carries: C / (8 * (mean + 20)).
    pub fn line_rate(&self, rate: Rate) -> FrameRate {
        let octets = self.mean_octets() + f64::from(WIRE_OVERHEAD_OCTETS);
        FrameRate(rate.bits_per_second() / (8.0 * octets))
    }

    /// Count per size in the pattern, smallest size first.
    pub fn shares(&self) -> Vec<(FrameSize, usize)> {
        let mut sizes = self.0.clone();
        sizes.sort_unstable();
        sizes.dedup();
        let count = |size: &FrameSize| self.0.iter().filter(|s| *s == size).count();
        sizes.into_iter().map(|size| (size, count(&size))).collect()
    }
}

impl From<FrameSize> for FrameMix {
    fn from(size: FrameSize) -> Self {
        Self::from_size(size)
    }
}

/// Formats as `64`, `imix` or `64*7,1518`: each size with its count in the pattern.
impl fmt::Display for FrameMix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(size) = self.single() {
            return fmt::Display::fmt(&size, f);
        }
        if *self == Self::imix() {
            return f.pad("imix");
        }
        let part = |(size, count): (FrameSize, usize)| match count {
            1 => size.to_string(),
            _ => format!("{size}*{count}"),
        };
        f.pad(&self.shares().into_iter().map(part).collect::<Vec<_>>().join(","))
    }
}

impl FromStr for FrameMix {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        if text.trim() == "imix" {
            return Ok(Self::imix());
        }
        let number = |part: &str| {
            part.trim().parse::<u32>().map_err(|_| UnitError::NoNumber { text: part.to_owned() })
        };
        let shares = text.split(',').map(|part| {
            let (size, count) = part.split_once('*').unwrap_or((part, "1"));
            Ok((FrameSize::new(number(size)?)?, number(count)? as usize))
        });
        Self::weighted(&shares.collect::<Result<Vec<_>, UnitError>>()?)
    }
}

/// In files: a number for one size, a list for a pattern.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    One(FrameSize),
    Pattern(Vec<FrameSize>),
}

impl TryFrom<Written> for FrameMix {
    type Error = UnitError;
    fn try_from(written: Written) -> Result<Self, UnitError> {
        match written {
            Written::One(size) => Ok(Self::from_size(size)),
            Written::Pattern(pattern) => Self::new(pattern),
        }
    }
}

impl From<FrameMix> for Written {
    fn from(mix: FrameMix) -> Self {
        match mix.0.as_slice() {
            [size] => Self::One(*size),
            _ => Self::Pattern(mix.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_mix_is_spread_and_has_its_mean() {
        let imix = FrameMix::imix();
        let sizes: Vec<u32> = imix.pattern().iter().map(|s| s.octets()).collect();
        assert_eq!(sizes, [64, 594, 64, 64, 594, 64, 1518, 594, 64, 64, 594, 64]);
        // (7 * 64 + 4 * 594 + 1518) / 12, and a gigabit carries 10^9 / (8 * 381.83) of it.
        assert!((imix.mean_octets() - 361.833).abs() < 0.001);
        assert!((imix.line_rate(Rate(1_000_000_000)).0 - 327_368.0).abs() < 1.0);
    }

    #[test]
    fn texts_and_files() {
        for text in ["64", "imix", "64*7,1518", "64,128"] {
            let mix: FrameMix = text.parse().unwrap();
            assert_eq!(mix.to_string(), text);
            let written = serde_json::to_string(&mix).unwrap();
            assert_eq!(serde_json::from_str::<FrameMix>(&written).unwrap(), mix, "{written}");
        }
        for wrong in ["", "63", "64*0", "64*65", "x", "64*", "9019"] {
            assert!(wrong.parse::<FrameMix>().is_err(), "{wrong}");
        }
        assert_eq!(serde_json::to_string(&FrameMix::from_size(FrameSize::MIN)).unwrap(), "64");
    }
}
