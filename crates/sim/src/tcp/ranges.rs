//! Ranges of octets that have arrived, disjoint and in order.
//!
//! Owns only the set. Both ends keep one: the receiver for octets out of order, the sender for
//! those reported so. Never reads a segment.

use std::collections::BTreeMap;

/// Disjoint, non-adjacent ranges, from the first octet's number to the one after the last.
#[derive(Debug, Clone, Default)]
pub(super) struct Ranges {
    ends: BTreeMap<u64, u64>,
}

impl Ranges {
    /// Adds `from..to`, and calls `fresh` with each piece that was not held before. Takes
    /// logarithmic time in the number of ranges, and linear time in those that merge.
    pub(super) fn insert(&mut self, from: u64, to: u64, mut fresh: impl FnMut(u64, u64)) {
        if from >= to {
            return;
        }
        let (mut start, mut cursor) = (from, from);
        if let Some((&before, &end)) = self.ends.range(..=from).next_back() {
            if end >= to {
                return;
            }
            if end >= from {
                (start, cursor) = (before, end);
            }
        }
        while let Some((&next, &end)) = self.ends.range(cursor..).next() {
            if next > to {
                break;
            }
            if next > cursor {
                fresh(cursor, next);
            }
            cursor = end;
            if next != start {
                self.ends.remove(&next);
            }
        }
        if cursor < to {
            fresh(cursor, to);
        }
        self.ends.insert(start, cursor.max(to));
    }

    /// Removes all octets below `upto`.
    pub(super) fn remove_below(&mut self, upto: u64) {
        while let Some(first) = self.ends.first_entry() {
            if *first.key() >= upto {
                return;
            }
            let end = first.remove();
            if end > upto {
                self.ends.insert(upto, end);
                return;
            }
        }
    }

    /// Range that holds `octet`.
    pub(super) fn around(&self, octet: u64) -> Option<(u64, u64)> {
        let (&from, &to) = self.ends.range(..=octet).next_back()?;
        (octet < to).then_some((from, to))
    }

    /// True if the set is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inserted(ranges: &mut Ranges, from: u64, to: u64) -> Vec<(u64, u64)> {
        let mut pieces = Vec::new();
        ranges.insert(from, to, |a, b| pieces.push((a, b)));
        pieces
    }

    #[test]
    fn only_what_is_new_is_told() {
        let mut ranges = Ranges::default();
        assert_eq!(inserted(&mut ranges, 10, 20), [(10, 20)]);
        assert_eq!(inserted(&mut ranges, 12, 18), []);
        assert_eq!(inserted(&mut ranges, 30, 40), [(30, 40)]);
        assert_eq!(inserted(&mut ranges, 50, 60), [(50, 60)]);
        assert_eq!(inserted(&mut ranges, 15, 55), [(20, 30), (40, 50)]);
        assert_eq!(ranges.around(59), Some((10, 60)));
        assert_eq!(inserted(&mut ranges, 60, 61), [(60, 61)]);
        assert_eq!(inserted(&mut ranges, 5, 10), [(5, 10)]);
        assert_eq!(ranges.around(5), Some((5, 61)));
        ranges.remove_below(20);
        assert_eq!(ranges.around(19), None);
        assert_eq!(ranges.around(20), Some((20, 61)));
        ranges.remove_below(61);
        assert!(ranges.is_empty());
    }
}
