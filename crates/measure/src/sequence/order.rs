//! Order of a flow's frames, per conversation: conversations on different paths overtake each other
//! without reordering within any of them.
//!
//! Owns the next expected number. Never knows which numbers arrived before: the caller says whether
//! an arrival is its number's first.

use super::SequenceCounts;

/// Largest number of conversations that are tracked separately.
pub const MOST_CONVERSATIONS: u32 = 4096;

/// Order of one conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Order {
    /// Number after the highest that arrived; 0 if nothing arrived.
    pub next_expected: u64,
    /// First arrivals below the next expected number.
    pub reordered: u64,
    /// Arrivals of a number that had arrived before.
    pub duplicated: u64,
}

/// Order of all conversations of a flow: number n belongs to conversation n modulo their number.
#[derive(Debug, Clone)]
pub struct Orders {
    each: Vec<Order>,
}

/// Creates the order of a flow with one conversation.
impl Default for Orders {
    fn default() -> Self {
        Self::new(1)
    }
}

impl Orders {
    /// Creates the order of this many conversations, with nothing received.
    pub fn new(conversations: u64) -> Self {
        Self { each: vec![Order::default(); Self::kept(conversations) as usize] }
    }

    /// Number of orders tracked for this many conversations: one each, or a single one if there are
    /// too many.
    pub fn kept(conversations: u64) -> u32 {
        let each = u32::try_from(conversations).ok().filter(|count| *count <= MOST_CONVERSATIONS);
        each.unwrap_or(1).max(1)
    }

    /// Counts one arrival of a number.
    #[inline]
    pub fn arrive(&mut self, number: u64, is_first: bool) {
        // Most flows have one conversation, and a division takes as long as all the rest.
        let at = if self.each.len() == 1 { 0 } else { number % self.each.len() as u64 };
        let order = &mut self.each[at as usize];
        if !is_first {
            order.duplicated += 1;
        } else if number < order.next_expected {
            order.reordered += 1;
        } else {
            order.next_expected = number + 1;
        }
    }

    /// Orders by conversation.
    pub(super) fn each(&self) -> &[Order] {
        &self.each
    }

    /// Number after the highest that arrived in any conversation.
    #[inline]
    pub fn end(&self) -> u64 {
        self.each.iter().map(|order| order.next_expected).max().unwrap_or(0)
    }

    /// Totals of the whole flow: reordered, duplicates and highest number.
    pub fn counts(&self) -> SequenceCounts {
        let sum = |of: fn(&Order) -> u64| self.each.iter().map(of).sum();
        SequenceCounts {
            duplicated: sum(|order| order.duplicated),
            reordered: sum(|order| order.reordered),
            highest: self.end().checked_sub(1),
            ..SequenceCounts::default()
        }
    }
}

/// Collects orders counted elsewhere; expects at least one.
impl FromIterator<Order> for Orders {
    fn from_iter<T: IntoIterator<Item = Order>>(each: T) -> Self {
        Self { each: each.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::SequenceTracker;

    #[test]
    fn conversations_that_overtake_each_other_are_not_reordered() {
        // The odd conversation takes a longer path, and 7 is late within it; 4 comes twice.
        let arrivals = [0, 2, 1, 4, 6, 3, 4, 8, 5, 9, 7];
        let of = |conversations| {
            let mut tracker = SequenceTracker::of_conversations(10, conversations);
            for number in arrivals {
                tracker.arrive(number);
            }
            (tracker.counts(), tracker.conversations())
        };
        let (counts, each) = of(2);
        assert_eq!((counts.reordered, counts.duplicated, counts.highest), (1, 1, Some(9)));
        let told: Vec<_> = each.iter().map(|one| (one.reordered, one.duplicated)).collect();
        assert_eq!(told, [(0, 1), (1, 0)]);
        let (together, one) = of(1);
        assert_eq!((together.reordered, together.duplicated, one.len()), (4, 1, 1));
    }
}
