//! How far an agent's monotonic clock stands from ours.
//!
//! Owns the choice among several readings: the one with the shortest round trip, whose error is at
//! most half of it. Never sets a clock, and never claims to know better than that.

use measure::Nanos;

/// One reading of the agent's clock between two of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Ours, before.
    pub asked: Nanos,
    /// The agent's.
    pub theirs: Nanos,
    /// Ours, after.
    pub answered: Nanos,
}

/// What to add to our clock to get the agent's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    ahead_ns: i64,
    /// Largest possible error either way.
    pub uncertainty: Nanos,
}

impl Offset {
    /// From the reading with the shortest round trip; `None` without readings.
    pub fn from_readings(readings: &[Reading]) -> Option<Self> {
        let round_trip = |r: &Reading| r.answered.saturating_sub(r.asked);
        let best = readings.iter().min_by_key(|r| round_trip(r))?;
        let half = round_trip(best) / 2;
        let ours = best.asked + half;
        let ahead_ns = (best.theirs.0 as i64).wrapping_sub(ours.0 as i64);
        Some(Self { ahead_ns, uncertainty: half + Nanos(1) })
    }

    /// Our instant on the agent's clock.
    pub fn theirs(&self, ours: Nanos) -> Nanos {
        Nanos(ours.0.saturating_add_signed(self.ahead_ns))
    }

    /// The agent's instant on our clock.
    pub fn ours(&self, theirs: Nanos) -> Nanos {
        Nanos(theirs.0.saturating_add_signed(self.ahead_ns.saturating_neg()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reading(asked: u64, theirs: u64, answered: u64) -> Reading {
        Reading { asked: Nanos(asked), theirs: Nanos(theirs), answered: Nanos(answered) }
    }

    #[test]
    fn the_shortest_round_trip_is_believed() {
        let slow = reading(0, 9_000, 10_000);
        let quick = reading(20_000, 1_020_050, 20_100);
        let offset = Offset::from_readings(&[slow, quick]).unwrap();
        assert_eq!(offset.theirs(Nanos(5)), Nanos(1_000_005));
        assert_eq!(offset.ours(Nanos(1_000_005)), Nanos(5));
        assert_eq!(offset.uncertainty, Nanos(51));
    }

    #[test]
    fn no_reading_no_offset() {
        assert_eq!(Offset::from_readings(&[]), None);
    }

    proptest! {
        /// Whatever share of the round trip the request took, the truth lies within the uncertainty.
        #[test]
        fn the_truth_lies_within_the_uncertainty(
            base in 10_000_000u64..1 << 50,
            ahead in -9_000_000i64..9_000_000,
            there in 0u64..5_000_000,
            back in 0u64..5_000_000,
        ) {
            let theirs = (base + there).saturating_add_signed(ahead);
            let offset =
                Offset::from_readings(&[reading(base, theirs, base + there + back)]).unwrap();
            let truth = base.saturating_add_signed(ahead);
            prop_assert!(offset.theirs(Nanos(base)).0.abs_diff(truth) <= offset.uncertainty.0);
        }
    }
}
