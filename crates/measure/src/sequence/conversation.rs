//! Frames received per conversation of a flow: runs of lost frames, reordered frames and
//! duplicates.
//!
//! Owns the numbering: number n belongs to conversation n modulo the number of conversations. Never
//! decides what a run means, and knows no clock: at a constant rate a number is a moment.

use serde::{Deserialize, Serialize};

use super::{Order, Orders};

/// Largest number of lost runs kept per conversation: the longest ones.
pub const MOST_GAPS: usize = 16;

/// Received frames of one conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Conversation {
    /// Distinct frames of the conversation that arrived.
    pub received: u64,
    /// Highest number of the conversation that arrived; `None` if nothing arrived.
    pub last: Option<u64>,
    /// Runs of lost frames before its last arrival, in order.
    pub gaps: Vec<Gap>,
    /// First arrivals below its own next expected number (RFC 4737 §3.3).
    #[serde(default)]
    pub reordered: u64,
    /// Arrivals of its numbers that had arrived before.
    #[serde(default)]
    pub duplicated: u64,
}

/// Run of lost frames of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Gap {
    /// First number of the run, in the whole flow's numbering.
    pub first: u64,
    /// Number of the conversation's own frames.
    pub frames: u64,
}

/// Period after which value i modulo each of these counts repeats: their least common multiple.
pub fn repeats_after(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().map(|count| count.max(1)).fold(1, |all, count| {
        let (mut divisor, mut rest) = (all, count);
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        (all / divisor).saturating_mul(count)
    })
}

impl Conversation {
    /// Builds the records of all conversations from the numbers that arrived.
    pub fn each(orders: &Orders, came: impl Fn(u64) -> bool) -> Vec<Self> {
        let own = orders.each();
        let of = |order: &Order| Self {
            reordered: order.reordered,
            duplicated: order.duplicated,
            ..Self::default()
        };
        let mut all: Vec<(Self, u64)> = own.iter().map(|order| (of(order), 0)).collect();
        let stride = all.len() as u64;
        for number in 0..orders.end() {
            let (conversation, missing) = &mut all[(number % stride) as usize];
            if !came(number) {
                *missing += 1;
                continue;
            }
            if *missing > 0 {
                let gap = Gap { first: number - *missing * stride, frames: *missing };
                conversation.remember(gap);
                *missing = 0;
            }
            conversation.received += 1;
            conversation.last = Some(number);
        }
        all.into_iter().map(|(conversation, _)| conversation).collect()
    }

    /// Stores a run; if the list is full, replaces the shortest, the latest of equals.
    fn remember(&mut self, gap: Gap) {
        if self.gaps.len() == MOST_GAPS {
            let shortest = (0..MOST_GAPS).rev().min_by_key(|at| self.gaps[*at].frames);
            match shortest {
                Some(at) if self.gaps[at].frames < gap.frames => drop(self.gaps.remove(at)),
                _ => return,
            }
        }
        self.gaps.push(gap);
    }

    /// Number of `sent` frames that belong to conversation `at` of `count`.
    pub const fn sent(at: u32, count: u32, sent: u64) -> u64 {
        sent.saturating_sub(at as u64).div_ceil(count as u64)
    }

    /// Lost frames of the conversation after its last arrival, out of `sent`; `None` if there are
    /// none.
    pub fn tail(&self, at: u32, count: u32, sent: u64) -> Option<Gap> {
        let first = self.last.map_or(u64::from(at), |last| last + u64::from(count));
        let frames = sent.saturating_sub(first).div_ceil(u64::from(count));
        (frames > 0).then_some(Gap { first, frames })
    }
}

#[cfg(test)]
mod tests {
    use super::super::SequenceTracker;
    use super::*;

    #[test]
    fn headers_repeat_when_all_of_them_do() {
        for (counts, expected) in
            [([1, 1, 0], 1), ([16, 1, 1], 16), ([4, 6, 1], 12), ([2, 3, 5], 30)]
        {
            assert_eq!(repeats_after(counts), expected, "{counts:?}");
        }
        assert_eq!(repeats_after([u64::MAX, u64::MAX - 1]), u64::MAX);
    }

    fn each(count: u32, end: u64, came: impl Fn(u64) -> bool) -> Vec<Conversation> {
        let mut tracker = SequenceTracker::of_conversations(end, count.into());
        for number in (0..end).filter(|number| came(*number)) {
            tracker.arrive(number);
        }
        tracker.conversations()
    }

    #[test]
    fn each_conversation_has_its_own_runs() {
        // Of three, the second loses 4 and 7, the third its first and all from 8 on.
        let lost = [2, 4, 7, 8, 11];
        let all = each(3, 13, |number| !lost.contains(&number));
        let gap = |first, frames| vec![Gap { first, frames }];
        let told = |one: &Conversation| (one.received, one.last, one.gaps.clone());
        assert_eq!(told(&all[0]), (5, Some(12), Vec::new()));
        assert_eq!(told(&all[1]), (2, Some(10), gap(4, 2)));
        assert_eq!(told(&all[2]), (1, Some(5), gap(2, 1)));
        let own = |at| Conversation::sent(at, 3, 13);
        assert_eq!([own(0), own(1), own(2)], [5, 4, 4]);
        assert_eq!(all[2].tail(2, 3, 13), Some(Gap { first: 8, frames: 2 }));
        assert_eq!(all[0].tail(0, 3, 13), None);
        assert_eq!(Conversation::default().tail(1, 3, 5), Some(Gap { first: 1, frames: 2 }));
    }

    #[test]
    fn the_longest_runs_are_remembered() {
        // Every second frame is missing, and once a hundred.
        let came = |number: u64| number % 2 == 1 && !(500..600).contains(&number);
        let all = each(1, 2_000, came);
        assert_eq!(all[0].gaps.len(), MOST_GAPS);
        assert!(all[0].gaps.contains(&Gap { first: 500, frames: 101 }), "{:?}", all[0].gaps);
        assert!(all[0].gaps.is_sorted());
    }
}
