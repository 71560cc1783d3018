//! Received sequence numbers of a flow, in little memory: only the gaps are stored.
//!
//! Owns the counting of RFC 4737's reordering, as [`measure::sequence`] defines it, for trials of
//! any length. Exact unless a frame is overtaken across more than [`MOST_GAPS`] gaps; a frame later
//! than that counts as a first arrival.

use std::collections::VecDeque;

use measure::sequence::{Orders, SequenceCounts};

/// Maximum number of stored gaps.
const MOST_GAPS: usize = 256;

/// Arrivals of one flow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sequences {
    unique: u64,
    orders: Orders,
    /// Number after the highest one received.
    next: u64,
    /// Missing numbers so far, from…to (exclusive), ascending.
    gaps: VecDeque<(u64, u64)>,
    /// End of the last dropped gap; all gaps below it are dropped.
    forgotten: u64,
}

impl Sequences {
    /// Creates the counts of the given number of conversations in turn.
    pub(crate) fn of_conversations(count: u64) -> Self {
        Self { orders: Orders::new(count), ..Self::default() }
    }

    /// Counts one arrival; true if it is the number's first.
    #[inline]
    pub(crate) fn arrive(&mut self, number: u64) -> bool {
        let next = self.next;
        let is_first = number >= next || self.overtaken(number);
        if number > next {
            self.remember((next, number));
        }
        self.next = next.max(number + 1);
        self.unique += u64::from(is_first);
        self.orders.arrive(number, is_first);
        is_first
    }

    fn remember(&mut self, gap: (u64, u64)) {
        if self.gaps.len() == MOST_GAPS
            && let Some((_, to)) = self.gaps.pop_front()
        {
            self.forgotten = to;
        }
        self.gaps.push_back(gap);
    }

    /// True if a number below the highest one had not arrived yet.
    fn overtaken(&mut self, number: u64) -> bool {
        let found = self.gaps.iter().rposition(|(from, to)| (*from..*to).contains(&number));
        match found {
            Some(at) => self.fill(at, number),
            None => return number < self.forgotten,
        }
        true
    }

    /// Removes a number from a gap, which may leave two.
    fn fill(&mut self, at: usize, number: u64) {
        let (from, to) = self.gaps[at];
        let parts = [(from, number), (number + 1, to)];
        self.gaps.remove(at);
        for part in parts.into_iter().rev().filter(|(from, to)| from < to) {
            self.gaps.insert(at, part);
        }
    }

    /// Counts so far.
    pub(crate) fn counts(&self) -> SequenceCounts {
        let last_gap = self.gaps.back().map_or(self.forgotten, |(_, to)| *to);
        let last_missing = last_gap.checked_sub(1);
        SequenceCounts { unique: self.unique, last_missing, ..self.orders.counts() }
    }
}

#[cfg(test)]
mod tests {
    use measure::sequence::SequenceTracker;
    use proptest::prelude::*;

    use super::*;

    fn check(arrivals: impl IntoIterator<Item = u64>) {
        let arrivals: Vec<u64> = arrivals.into_iter().collect();
        for count in [1, 3] {
            let mut ours = Sequences::of_conversations(count);
            let mut exact = SequenceTracker::of_conversations(1 << 12, count);
            for number in arrivals.iter().copied() {
                assert_eq!(ours.arrive(number), exact.arrive(number), "{number}");
            }
            assert_eq!(ours.counts(), exact.counts(), "of {count} conversations");
        }
    }

    #[test]
    fn counts_are_those_of_a_bit_for_each_number() {
        check([]);
        check([0, 1, 2]);
        check([3, 1, 1, 0, 7, 5]);
        check([0, 4, 2, 2, 3, 1, 9]);
        // Every second number is lost: more gaps than are remembered.
        check((0..2000).map(|i| 2 * i));
    }

    proptest! {
        #[test]
        fn also_in_any_order(arrivals in prop::collection::vec(0u64..64, 0..100)) {
            check(arrivals);
        }
    }
}
