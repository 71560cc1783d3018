//! What happens next among a fixed set of places that each wait for one moment.
//!
//! Owns a tournament: every place is a leaf, every knot holds the earlier of the two below it, so a
//! change costs as many comparisons as there are doublings of the number of places. Never allocates
//! once it is made.

use measure::Picos;

/// A moment for each of so many places, or none.
#[derive(Debug)]
pub(super) struct Schedule {
    /// Time, tie and leaf, most significant first; knot i is above 2i and 2i+1, knot 1 above all.
    knots: Vec<u128>,
    leaves: usize,
}

const NEVER: u128 = u128::MAX;

impl Schedule {
    pub(super) fn new(places: usize) -> Self {
        // The tree need not be even: whatever the number of leaves, halving a knot ends at knot 1.
        let leaves = places.max(2);
        Self { knots: vec![NEVER; 2 * leaves], leaves }
    }

    /// The place's moment, whatever it was before. Of several at one moment the lowest `tie` comes
    /// first, then the lowest place.
    #[inline]
    pub(super) fn set(&mut self, place: usize, at: Picos, tie: u32) {
        let key = u128::from(at.0) << 64 | u128::from(tie) << 32 | place as u128;
        self.replace(place, key);
    }

    /// The place waits for nothing.
    #[inline]
    pub(super) fn clear(&mut self, place: usize) {
        self.replace(place, NEVER);
    }

    /// When the next one is, and which.
    #[inline]
    pub(super) fn first(&self) -> Option<(Picos, usize)> {
        let key = self.knots[1];
        (key != NEVER).then_some((Picos((key >> 64) as u64), key as u32 as usize))
    }

    #[inline]
    fn replace(&mut self, place: usize, key: u128) {
        let mut knot = self.leaves + place;
        self.knots[knot] = key;
        while knot > 1 {
            let winner = self.knots[knot].min(self.knots[knot ^ 1]);
            knot /= 2;
            if self.knots[knot] == winner {
                return;
            }
            self.knots[knot] = winner;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ties_go_by_tie_and_then_by_place() {
        let mut schedule = Schedule::new(5);
        schedule.set(4, Picos(7), 0);
        schedule.set(1, Picos(7), 2);
        schedule.set(3, Picos(7), 1);
        let mut order = Vec::new();
        while let Some((at, place)) = schedule.first() {
            assert_eq!(at, Picos(7));
            order.push(place);
            schedule.clear(place);
        }
        assert_eq!(order, [4, 3, 1]);
    }

    proptest! {
        #[test]
        fn the_first_is_the_least(steps in prop::collection::vec((0_usize..37, prop::option::of(0_u64..50)), 1..200)) {
            let mut schedule = Schedule::new(37);
            let mut truth = [None; 37];
            for (place, at) in steps {
                truth[place] = at;
                match at {
                    Some(at) => schedule.set(place, Picos(at), 0),
                    None => schedule.clear(place),
                }
                let least = (0..37).filter_map(|p| truth[p].map(|at| (Picos(at), p))).min();
                prop_assert_eq!(schedule.first(), least);
            }
        }
    }
}
