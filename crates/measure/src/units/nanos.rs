//! Time span, or reading of a stated clock, in whole nanoseconds.
//!
//! Sums, products and units saturate: sizes and counts that people give are factors here, and a
//! time beyond 584 years is as good as one without end. Never says which clock: the field's name
//! does.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::str::FromStr;
use std::time::Duration;

use super::UnitError;
use super::text::{Suffix, parse_scaled, serde_as_text};

/// Nanoseconds. Written by people as `"3us"`, `"50ms"`, `"2s"`, `"5m"`, `"4h"`, `"30d"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub u64);

const SUFFIXES: &[Suffix] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
    ("nsec", 1),
    ("usec", 1_000),
    ("msec", 1_000_000),
    ("sec", 1_000_000_000),
    ("min", 60_000_000_000),
    ("hour", 3_600_000_000_000),
    ("day", 86_400_000_000_000),
];

impl Nanos {
    /// Zero time.
    pub const ZERO: Self = Self(0);

    /// Creates a span of whole seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// Creates a span of whole milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Creates a span of whole microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// Creates a span from fractional seconds; negative and non-finite values become zero.
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * 1e9).round() as u64)
    }

    /// Span in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns `self - earlier`, or zero if `earlier` is later.
    #[must_use]
    pub const fn saturating_sub(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// Converts to the standard library's duration, for waiting.
    pub const fn as_duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}

impl From<Duration> for Nanos {
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Nanos {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<u64> for Nanos {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

impl Div<u64> for Nanos {
    type Output = Self;
    fn div(self, by: u64) -> Self {
        Self(self.0 / by)
    }
}

impl fmt::Display for Nanos {
    /// The largest suffix that keeps the value exact, so that parsing it gives the value back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = ["s", "ms", "us", "ns"].into_iter().zip([1_000_000_000, 1_000_000, 1_000, 1]);
        let (suffix, scale) =
            exact.into_iter().find(|(_, scale)| self.0.is_multiple_of(*scale)).unwrap_or(("ns", 1));
        f.pad(&format!("{}{suffix}", self.0 / scale))
    }
}

impl FromStr for Nanos {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse_scaled(text, "time", "ns, us, ms, s, m, h, d", SUFFIXES).map(Self)
    }
}

serde_as_text!(Nanos);
