//! Which of a flow's numbers came, in little memory: the gaps are remembered and not the numbers.
//!
//! Owns the counting of RFC 4737's reordering, as [`measure::sequence`] defines it, for trials of
//! any length. Exact as long as a frame is not overtaken across more than [`MOST_GAPS`] gaps; a
//! frame later than that counts as one that came for the first time.

use std::collections::VecDeque;

use measure::sequence::SequenceCounts;

/// How many gaps are remembered.
const MOST_GAPS: usize = 256;

/// One flow's arrivals.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sequences {
    counts: SequenceCounts,
    next_expected: u64,
    /// Numbers that are missing so far, from…to (exclusive), ascending.
    gaps: VecDeque<(u64, u64)>,
    /// All gaps below this are forgotten; it is the last forgotten one's end.
    forgotten: u64,
}

impl Sequences {
    /// Counts one arrival; true when it is the number's first.
    #[inline]
    pub(crate) fn arrive(&mut self, number: u64) -> bool {
        if number < self.next_expected {
            return self.overtaken(number);
        }
        if number > self.next_expected {
            self.remember((self.next_expected, number));
        }
        self.counts.unique += 1;
        self.next_expected = number + 1;
        true
    }

    fn remember(&mut self, gap: (u64, u64)) {
        if self.gaps.len() == MOST_GAPS
            && let Some((_, to)) = self.gaps.pop_front()
        {
            self.forgotten = to;
        }
        self.gaps.push_back(gap);
    }

    fn overtaken(&mut self, number: u64) -> bool {
        let found = self.gaps.iter().rposition(|(from, to)| (*from..*to).contains(&number));
        match found {
            Some(at) => self.fill(at, number),
            None if number < self.forgotten => {}
            None => {
                self.counts.duplicated += 1;
                return false;
            }
        }
        self.counts.unique += 1;
        self.counts.reordered += 1;
        true
    }

    /// Takes a number out of a gap, which may leave two.
    fn fill(&mut self, at: usize, number: u64) {
        let (from, to) = self.gaps[at];
        let parts = [(from, number), (number + 1, to)];
        self.gaps.remove(at);
        for part in parts.into_iter().rev().filter(|(from, to)| from < to) {
            self.gaps.insert(at, part);
        }
    }

    /// What was seen so far.
    pub(crate) fn counts(&self) -> SequenceCounts {
        let highest = self.next_expected.checked_sub(1);
        let last_gap = self.gaps.back().map_or(self.forgotten, |(_, to)| *to);
        SequenceCounts { highest, last_missing: last_gap.checked_sub(1), ..self.counts }
    }
}

#[cfg(test)]
mod tests {
    use measure::sequence::SequenceTracker;
    use proptest::prelude::*;

    use super::*;

    fn check(arrivals: impl IntoIterator<Item = u64>) {
        let (mut ours, mut exact) = (Sequences::default(), SequenceTracker::new(1 << 12));
        for number in arrivals {
            assert_eq!(ours.arrive(number), exact.arrive(number), "{number}");
        }
        assert_eq!(ours.counts(), exact.counts());
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
