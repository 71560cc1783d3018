//! Receiving end: the octets in order, and the times of acknowledgements.
//!
//! Owns the ranges that arrived out of order, the delayed acknowledgement and its timer. The
//! application reads whatever is in order at once, so the window never closes. Never refuses a
//! segment.

use measure::Picos;

use super::ranges::Ranges;
use super::{Ack, Segment};

/// Longest delay of an acknowledgement that waits for a second segment: Linux's minimum.
const DELAY: Picos = Picos(40_000_000_000);

/// Number of quick acknowledgements at the start and after an idle time, as in Linux, so that the
/// sender's slow start is not delayed.
const QUICK: u8 = 16;

/// Idle time after which quick acknowledgements begin again: Linux's minimum RTO.
const REST: Picos = Picos(200_000_000_000);

/// Octets that Linux takes for a full segment before it has seen one.
const SMALLEST_FULL: u32 = 536;

/// Receiving end of one connection. Payload that is in order is read at once.
#[derive(Debug, Clone)]
pub struct Receiver {
    window: u64,
    upto: u64,
    apart: Ranges,
    /// Octets of the ranges that grew last, newest first.
    recent: [Option<u64>; 4],
    /// Octets in order, but not acknowledged yet.
    pending: u64,
    due: Option<Picos>,
    /// RFC 7323 §4.3: TS.Recent, the stamp to echo.
    stamp: Picos,
    full: u32,
    quick: u8,
    last: Option<Picos>,
}

impl Receiver {
    /// Creates a receiver with the given window.
    pub fn new(window: u64) -> Self {
        Self {
            window,
            upto: 0,
            apart: Ranges::default(),
            recent: [None; 4],
            pending: 0,
            due: None,
            stamp: Picos::ZERO,
            full: SMALLEST_FULL,
            quick: QUICK,
            last: None,
        }
    }

    /// Receives a segment; returns the acknowledgement to send at once, if any. RFC 5681 §4.2: for
    /// every second full segment, and whenever order is broken or repaired. As in Linux, also after
    /// a segment that is not full, because the application has then read all data.
    pub fn receive(&mut self, now: Picos, segment: &Segment) -> Option<Ack> {
        if self.last.is_some_and(|last| now.saturating_sub(last) > REST) {
            self.quick = QUICK;
        }
        self.last = Some(now);
        let (from, to) = (segment.from, segment.from + u64::from(segment.octets));
        if from > self.upto {
            return Some(self.out_of_order(from, to));
        }
        if to <= self.upto {
            // RFC 2883: the first block names the duplicate.
            return Some(self.answer(Some((from, to))));
        }
        // RFC 7323 §4.3 rule (2): the first of the segments that one acknowledgement answers
        // counts.
        if self.pending == 0 {
            self.stamp = segment.stamp;
        }
        let repaired = !self.apart.is_empty();
        self.pending += to - self.upto;
        self.upto = to;
        if repaired {
            self.close_gap();
        }
        let partial = segment.octets < self.full;
        self.full = self.full.max(segment.octets);
        let second = self.pending > u64::from(self.full);
        if repaired || second || partial || self.quick > 0 {
            self.quick = self.quick.saturating_sub(1);
            return Some(self.answer(None));
        }
        self.due.get_or_insert(now + DELAY);
        None
    }

    fn out_of_order(&mut self, from: u64, to: u64) -> Ack {
        let mut fresh = false;
        self.apart.insert(from, to, |_, _| fresh = true);
        if !fresh {
            return self.answer(Some((from, to)));
        }
        let range = self.apart.around(from);
        let same =
            |recent: &Option<u64>| recent.and_then(|octet| self.apart.around(octet)) == range;
        let place = self.recent.iter().position(same).unwrap_or(3);
        self.recent[..=place].rotate_right(1);
        self.recent[0] = Some(from);
        self.answer(None)
    }

    /// Merges the range that touches the octets in order.
    fn close_gap(&mut self) {
        if let Some((_, end)) = self.apart.around(self.upto) {
            self.pending += end - self.upto;
            self.upto = end;
        }
        self.apart.remove_below(self.upto);
    }

    /// Due time of a delayed acknowledgement.
    pub fn deadline(&self) -> Option<Picos> {
        self.due
    }

    /// Returns the delayed acknowledgement if it is due.
    pub fn expire(&mut self, now: Picos) -> Option<Ack> {
        self.due.is_some_and(|due| due <= now).then(|| self.answer(None))
    }

    /// Payload received in order so far, in octets.
    pub fn in_order(&self) -> u64 {
        self.upto
    }

    fn answer(&mut self, twice: Option<(u64, u64)>) -> Ack {
        self.pending = 0;
        self.due = None;
        let mut ack = Ack {
            upto: self.upto,
            blocks: [(0, 0); 3],
            block_count: 0,
            window: self.window,
            echo: self.stamp,
        };
        let mut add = |block: (u64, u64), among: usize| {
            let count = usize::from(ack.block_count);
            if count < 3 && !ack.blocks[among.min(count)..count].contains(&block) {
                ack.blocks[count] = block;
                ack.block_count += 1;
            }
        };
        let first = usize::from(twice.is_some());
        if let Some(block) = twice {
            add(block, 0);
        }
        if !self.apart.is_empty() {
            for block in self.recent.iter().flatten().filter_map(|&octet| self.apart.around(octet))
            {
                add(block, first);
            }
        }
        ack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    fn segment(number: u64) -> Segment {
        Segment { from: number * 1000, octets: MSS, stamp: Picos(number), again: false }
    }

    /// A receiver whose quick acknowledgements are used up, after 16 segments.
    fn settled() -> Receiver {
        let mut receiver = Receiver::new(1 << 20);
        for number in 0..16 {
            let ack = receiver.receive(Picos(number), &segment(number)).expect("a quick answer");
            assert_eq!((ack.upto, ack.echo), ((number + 1) * 1000, Picos(number)));
        }
        receiver
    }

    #[test]
    fn every_second_full_segment_is_answered_with_the_first_ones_stamp() {
        let mut receiver = settled();
        assert_eq!(receiver.receive(Picos(20), &segment(16)), None);
        assert_eq!(receiver.deadline(), Some(Picos(20) + DELAY));
        let ack = receiver.receive(Picos(21), &segment(17)).expect("the second");
        assert_eq!((ack.upto, ack.echo), (18_000, Picos(16)));
        assert_eq!(receiver.deadline(), None);
    }

    #[test]
    fn a_lonely_segment_is_answered_after_forty_milliseconds() {
        let mut receiver = settled();
        assert_eq!(receiver.receive(Picos(20), &segment(16)), None);
        assert_eq!(receiver.expire(Picos(21)), None);
        let ack = receiver.expire(Picos(20) + DELAY).expect("it is due");
        assert_eq!(ack.upto, 17_000);
    }

    #[test]
    fn blocks_are_told_newest_first_and_a_duplicate_before_them() {
        let mut receiver = settled();
        let blocks = |ack: &Ack| ack.blocks[..usize::from(ack.block_count)].to_vec();
        let ack = receiver.receive(Picos(20), &segment(18)).expect("order is broken");
        assert_eq!((ack.upto, blocks(&ack)), (16_000, vec![(18_000, 19_000)]));
        receiver.receive(Picos(21), &segment(20));
        receiver.receive(Picos(22), &segment(22));
        let ack = receiver.receive(Picos(23), &segment(24)).expect("order is broken");
        assert_eq!(blocks(&ack), [(24_000, 25_000), (22_000, 23_000), (20_000, 21_000)]);
        let ack = receiver.receive(Picos(24), &segment(19)).expect("order is broken");
        assert_eq!(blocks(&ack), [(18_000, 21_000), (24_000, 25_000), (22_000, 23_000)]);
        let ack = receiver.receive(Picos(25), &segment(24)).expect("it came twice");
        assert_eq!(blocks(&ack), [(24_000, 25_000), (18_000, 21_000), (24_000, 25_000)]);
        let ack = receiver.receive(Picos(26), &segment(0)).expect("it came twice");
        assert_eq!(blocks(&ack)[0], (0, 1000));
        receiver.receive(Picos(27), &segment(16));
        let ack = receiver.receive(Picos(28), &segment(17)).expect("a gap is closed");
        assert_eq!((ack.upto, ack.echo), (21_000, Picos(17)));
        assert_eq!(receiver.in_order(), 21_000);
    }

    #[test]
    fn the_end_of_a_message_is_answered_at_once() {
        let mut receiver = settled();
        let ack = receiver.receive(
            Picos(20),
            &Segment { from: 16_000, octets: 10, stamp: Picos(9), again: false },
        );
        assert_eq!(ack.map(|ack| ack.upto), Some(16_010));
    }
}
