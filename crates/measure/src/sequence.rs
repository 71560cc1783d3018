//! Arrival of frames by sequence number: loss, duplicates and order.
//!
//! Reordering is RFC 4737's: a first arrival below its conversation's next expected number is
//! reordered. A duplicate never hides a loss: unique arrivals are counted apart, over the whole
//! trial and not a window. Never decides what a loss means.

mod conversation;
mod order;

use serde::{Deserialize, Serialize};

pub use conversation::{Conversation, Gap, MOST_GAPS, repeats_after};
pub use order::{MOST_CONVERSATIONS, Order, Orders};

/// Received frames of one flow. `lost` needs the sender's count and is therefore a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SequenceCounts {
    /// Distinct sequence numbers that arrived.
    pub unique: u64,
    /// Arrivals of a number that had arrived before.
    pub duplicated: u64,
    /// First arrivals below the next expected number of their conversation (RFC 4737 §3.3).
    pub reordered: u64,
    /// Arrivals with a number that the sender cannot have used (beyond the trial's limit).
    pub beyond_limit: u64,
    /// Highest number that arrived; `None` if nothing arrived.
    #[serde(default)]
    pub highest: Option<u64>,
    /// Highest number below `highest` that never arrived.
    #[serde(default)]
    pub last_missing: Option<u64>,
}

impl SequenceCounts {
    /// Number of the `sent` frames that never arrived, tail included.
    pub const fn lost(&self, sent: u64) -> u64 {
        sent.saturating_sub(self.unique)
    }

    /// Sequence number of the last of `sent` frames that never arrived, tail included.
    pub const fn last_lost(&self, sent: u64) -> Option<u64> {
        match (sent.checked_sub(1), self.highest) {
            (Some(last), Some(highest)) if highest >= last => self.last_missing,
            (last, _) => last,
        }
    }

    /// Adds the counts of another part of the same receiver (other numbers, other flow).
    pub fn merge(&mut self, other: &Self) {
        self.unique += other.unique;
        self.duplicated += other.duplicated;
        self.reordered += other.reordered;
        self.beyond_limit += other.beyond_limit;
        self.highest = self.highest.max(other.highest);
        self.last_missing = self.last_missing.max(other.last_missing);
    }
}

/// Exact tracker of one flow's sequence numbers, with one bit per number.
#[derive(Debug, Clone)]
pub struct SequenceTracker {
    seen: Vec<u64>,
    limit: u64,
    orders: Orders,
    unique: u64,
    beyond_limit: u64,
}

impl SequenceTracker {
    /// Creates a tracker for numbers 0…`limit`-1 of one conversation. Allocates all memory (limit /
    /// 8 bytes).
    pub fn new(limit: u64) -> Self {
        Self::of_conversations(limit, 1)
    }

    /// Creates a tracker for numbers 0…`limit`-1 of several conversations in turn.
    pub fn of_conversations(limit: u64, conversations: u64) -> Self {
        let words = usize::try_from(limit.div_ceil(64)).expect("a trial's frames fit in memory");
        let orders = Orders::new(conversations);
        Self { seen: vec![0; words], limit, orders, unique: 0, beyond_limit: 0 }
    }

    /// Counts one arrival; true if it is the number's first.
    #[inline]
    pub fn arrive(&mut self, sequence: u64) -> bool {
        if sequence >= self.limit {
            self.beyond_limit += 1;
            return false;
        }
        let (word, bit) = ((sequence / 64) as usize, 1u64 << (sequence % 64));
        let is_first = self.seen[word] & bit == 0;
        self.seen[word] |= bit;
        self.unique += u64::from(is_first);
        self.orders.arrive(sequence, is_first);
        is_first
    }

    /// Counts so far.
    pub fn counts(&self) -> SequenceCounts {
        SequenceCounts {
            unique: self.unique,
            beyond_limit: self.beyond_limit,
            last_missing: self.last_missing(),
            ..self.orders.counts()
        }
    }

    /// Counts so far, per conversation.
    pub fn conversations(&self) -> Vec<Conversation> {
        Conversation::each(&self.orders, |number| {
            self.seen[(number / 64) as usize] & (1 << (number % 64)) != 0
        })
    }

    /// Searches backwards from the highest number seen to the first clear bit.
    fn last_missing(&self) -> Option<u64> {
        let last = self.orders.end().checked_sub(1)?;
        let mut word = (last / 64) as usize;
        // Numbers above the highest are not missing.
        let above = if last % 64 == 63 { 0 } else { u64::MAX << (last % 64 + 1) };
        let mut missing = !(self.seen[word] | above);
        while missing == 0 {
            word = word.checked_sub(1)?;
            missing = !self.seen[word];
        }
        Some(word as u64 * 64 + 63 - u64::from(missing.leading_zeros()))
    }
}
