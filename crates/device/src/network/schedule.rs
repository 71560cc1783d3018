//! Schedule: the next event among a fixed set of places that each wait for one time.
//!
//! Owns a tournament tree: every place is a leaf, every node holds the earlier of the two below it.
//! A change therefore costs a logarithmic number of comparisons. Never allocates after its
//! creation.

use measure::Picos;

/// Time of each place, or none.
#[derive(Debug)]
pub(super) struct Schedule {
    /// Time, tie and leaf, most significant first; node i is above 2i and 2i+1, node 1 above all.
    knots: Vec<u128>,
    leaves: usize,
}

const NEVER: u128 = u128::MAX;

impl Schedule {
    pub(super) fn new(places: usize) -> Self {
        // The tree need not be balanced: for any number of leaves, halving an index ends at node 1.
        let leaves = places.max(2);
        Self { knots: vec![NEVER; 2 * leaves], leaves }
    }

    /// Sets a place's time, replacing any earlier one. At equal times the lowest `tie` comes first,
    /// then the lowest place.
    #[inline]
    pub(super) fn set(&mut self, place: usize, at: Picos, tie: u32) {
        let key = u128::from(at.0) << 64 | u128::from(tie) << 32 | place as u128;
        self.replace(place, key);
    }

    /// Clears the time of a place.
    #[inline]
    pub(super) fn clear(&mut self, place: usize) {
        self.replace(place, NEVER);
    }

    /// Time and place of the next event.
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
