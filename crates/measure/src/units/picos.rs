//! Model time in whole picoseconds: an octet at 400 Gbit/s takes twenty of them.
//!
//! Never a reading of a clock, and never written in a file: people say [`Nanos`].

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use super::{Nanos, Rate};

/// Picoseconds, since a model began or as a span; at most 213 days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Picos(pub u64);

const PER_SECOND: u128 = 1_000_000_000_000;

impl Picos {
    /// Zero time.
    pub const ZERO: Self = Self(0);
    /// Latest possible time.
    pub const MAX: Self = Self(u64::MAX);

    /// Time that `octets` take at `rate`, rounded up; [`Self::MAX`] at a rate of 0.
    pub fn to_send(octets: u64, rate: Rate) -> Self {
        if rate.0 == 0 {
            return Self::MAX;
        }
        let bits = u128::from(octets) * 8;
        Self(u64::try_from((bits * PER_SECOND).div_ceil(u128::from(rate.0))).unwrap_or(u64::MAX))
    }

    /// Converts to nanoseconds, rounded down.
    pub const fn to_nanos(self) -> Nanos {
        Nanos(self.0 / 1000)
    }

    /// Seconds with a fraction.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// Returns `self - earlier`, or zero if `earlier` is later.
    #[must_use]
    pub const fn saturating_sub(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl From<Nanos> for Picos {
    /// Converts; beyond 213 days the result is the largest value.
    fn from(nanos: Nanos) -> Self {
        Self(nanos.0.saturating_mul(1000))
    }
}

impl Add for Picos {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Picos {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Picos {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl fmt::Display for Picos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}ps", self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_takes_its_octets_on_the_wire() {
        // 84 octets of a 64-octet frame at 1 Gbit/s: 672 ns.
        assert_eq!(Picos::to_send(84, Rate(1_000_000_000)), Picos(672_000));
        assert_eq!(Picos::to_send(1, Rate(3)), Picos(2_666_666_666_667));
        assert_eq!(Picos::to_send(1, Rate(0)), Picos::MAX);
        assert_eq!(Picos::from(Nanos(3)).to_nanos(), Nanos(3));
    }
}
