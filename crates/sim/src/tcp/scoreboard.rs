//! Outstanding data: every segment sent and not yet acknowledged (RFC 6675's scoreboard).
//!
//! Owns the segments' states, their sums, and the order in which they were sent. Every operation
//! takes constant or logarithmic time, however many segments are in flight. Never decides that one
//! is lost.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use measure::Picos;

use super::Segment;
use super::ranges::Ranges;

/// Sent segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub(super) from: u64,
    pub(super) octets: u32,
    sacked: bool,
    /// True if its first copy, or all copies before the one in flight, count as lost.
    lost: bool,
    /// True if a further copy is in flight.
    copied: bool,
    /// True if it was sent more than once.
    pub(super) again: bool,
    /// Time at which its last copy was sent.
    pub(super) at: Picos,
    /// Serial of its last copy: counts all sends, copies included; of equal times, the larger is
    /// later.
    pub(super) serial: u64,
}

impl Sent {
    pub(super) fn end(&self) -> u64 {
        self.from + u64::from(self.octets)
    }

    /// Octets that it adds to the pipe (RFC 6675 §4, `SetPipe`).
    fn in_pipe(&self) -> u64 {
        if self.sacked {
            return 0;
        }
        u64::from(self.octets) * (u64::from(!self.lost) + u64::from(self.copied))
    }
}

/// All outstanding segments, in the order of their octets. Segments are never cut.
#[derive(Debug, Clone, Default)]
pub(super) struct Scoreboard {
    segments: VecDeque<Sent>,
    /// Number of segments removed from the front: segment `i` of `segments` has the number `gone +
    /// i`.
    gone: u64,
    /// Number and serial of sent segments, oldest first; stale if the serial is not the segment's.
    order: VecDeque<(u64, u64)>,
    /// Numbers of segments that are, or were, lost and not yet sent again.
    missing: BinaryHeap<Reverse<u64>>,
    sacked: Ranges,
    /// Lowest unacknowledged octet; at and above `next` nothing was sent.
    pub(super) una: u64,
    pub(super) next: u64,
    serial: u64,
    /// Octets estimated to be in flight.
    pub(super) pipe: u64,
    pub(super) sacked_octets: u64,
    pub(super) sacked_segments: u64,
    /// Segments declared lost and neither sent again nor reported since.
    pub(super) lost_segments: u64,
}

impl Scoreboard {
    /// Octets sent and not acknowledged: RFC 5681's FlightSize.
    pub(super) fn flight(&self) -> u64 {
        self.next - self.una
    }

    /// Number of outstanding segments.
    pub(super) fn len(&self) -> usize {
        self.segments.len()
    }

    /// Sends the next `octets`.
    pub(super) fn send(&mut self, now: Picos, octets: u32) -> Segment {
        self.serial += 1;
        let sent = Sent {
            from: self.next,
            octets,
            sacked: false,
            lost: false,
            copied: false,
            again: false,
            at: now,
            serial: self.serial,
        };
        self.order.push_back((self.gone + self.segments.len() as u64, self.serial));
        self.segments.push_back(sent);
        self.next += u64::from(octets);
        self.pipe += u64::from(octets);
        Segment { from: sent.from, octets, stamp: now, again: false }
    }

    /// Retransmits the outstanding segment `number`.
    pub(super) fn resend(&mut self, now: Picos, number: u64) -> Segment {
        self.serial += 1;
        self.order.push_back((number, self.serial));
        let serial = self.serial;
        let sent = self.change(number, |sent| {
            sent.copied = true;
            sent.again = true;
            sent.at = now;
            sent.serial = serial;
        });
        Segment { from: sent.from, octets: sent.octets, stamp: now, again: true }
    }

    /// Lowest segment that is lost and not yet sent again (RFC 6675 §4, `NextSeg` rule 1): its
    /// number and octets.
    pub(super) fn missing(&mut self) -> Option<(u64, u32)> {
        while let Some(&Reverse(number)) = self.missing.peek() {
            if let Some(sent) = self.get(number)
                && sent.lost
                && !sent.copied
                && !sent.sacked
            {
                return Some((number, sent.octets));
            }
            self.missing.pop();
        }
        None
    }

    /// Number of the last segment.
    pub(super) fn last(&self) -> Option<u64> {
        (self.gone + self.segments.len() as u64).checked_sub(1).filter(|&last| last >= self.gone)
    }

    /// Acknowledges all octets below `upto`; calls `delivered` with each segment that was not
    /// reported before.
    pub(super) fn acknowledge(&mut self, upto: u64, mut delivered: impl FnMut(&Sent)) {
        while let Some(first) = self.segments.front().copied() {
            if first.end() > upto {
                break;
            }
            self.leave(&first);
            if first.sacked {
                self.sacked_octets -= u64::from(first.octets);
                self.sacked_segments -= 1;
            } else {
                delivered(&first);
            }
            self.segments.pop_front();
            self.gone += 1;
        }
        self.una = self.segments.front().map_or(self.next, |first| first.from);
        if !self.sacked.is_empty() {
            self.sacked.remove_below(self.una);
        }
    }

    /// Records that `from..to` arrived out of order; calls `delivered` with each segment of it that
    /// is new.
    pub(super) fn report(&mut self, from: u64, to: u64, mut delivered: impl FnMut(&Sent)) {
        let mut sacked = std::mem::take(&mut self.sacked);
        sacked.insert(from.max(self.una), to, |from, to| {
            let mut at = self.segments.partition_point(|sent| sent.from < from);
            while let Some(sent) = self.segments.get(at).filter(|sent| sent.end() <= to) {
                if !sent.sacked {
                    delivered(sent);
                    self.sacked_octets += u64::from(sent.octets);
                    self.sacked_segments += 1;
                    self.change(self.gone + at as u64, |sent| sent.sacked = true);
                }
                at += 1;
            }
        });
        self.sacked = sacked;
    }

    /// Declares segments lost that were sent at or before `latest`, oldest first, except those sent
    /// after the copy with `serial`. True if something older than `serial` is left.
    pub(super) fn lose_older(&mut self, serial: u64, latest: Option<Picos>) -> bool {
        while let Some(&(number, counted)) = self.order.front() {
            let live = self
                .get(number)
                .filter(|sent| sent.serial == counted && !sent.sacked)
                .map(|sent| sent.at);
            if let Some(at) = live {
                if counted > serial {
                    return false;
                }
                if latest.is_none_or(|latest| at > latest) {
                    return true;
                }
                self.lose(number);
            }
            self.order.pop_front();
        }
        false
    }

    /// Declares the first segment lost, whenever it was sent.
    pub(super) fn lose_first(&mut self) {
        if !self.segments.is_empty() {
            self.lose(self.gone);
        }
    }

    /// Reverts all losses: segments waiting for retransmission count as in flight again.
    pub(super) fn forgive(&mut self) {
        let mut found: Vec<(u64, u64)> = Vec::new();
        for Reverse(number) in std::mem::take(&mut self.missing) {
            if self.get(number).is_some_and(is_missing) {
                let sent = self.change(number, |sent| sent.lost = false);
                found.push((sent.serial, number));
            }
        }
        // They left the front of the order, so they are older than all entries in it.
        found.sort_unstable();
        for (serial, number) in found.into_iter().rev() {
            self.order.push_front((number, serial));
        }
    }

    fn lose(&mut self, number: u64) {
        self.change(number, |sent| {
            sent.lost = true;
            sent.copied = false;
        });
        self.missing.push(Reverse(number));
    }

    fn get(&self, number: u64) -> Option<&Sent> {
        self.segments.get(usize::try_from(number.checked_sub(self.gone)?).ok()?)
    }

    /// Changes one segment and updates the sums.
    fn change(&mut self, number: u64, how: impl FnOnce(&mut Sent)) -> Sent {
        let index = (number - self.gone) as usize;
        let before = self.segments[index];
        how(&mut self.segments[index]);
        let after = self.segments[index];
        self.leave(&before);
        self.pipe += after.in_pipe();
        self.lost_segments += u64::from(is_missing(&after));
        after
    }

    fn leave(&mut self, sent: &Sent) {
        self.pipe -= sent.in_pipe();
        self.lost_segments -= u64::from(is_missing(sent));
    }
}

fn is_missing(sent: &Sent) -> bool {
    sent.lost && !sent.copied && !sent.sacked
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl Scoreboard {
        /// The sums, counted anew: pipe, reported octets and segments, lost segments.
        fn counted(&self) -> [u64; 4] {
            let sum = |of: &dyn Fn(&Sent) -> u64| self.segments.iter().map(of).sum();
            [
                sum(&Sent::in_pipe),
                sum(&|sent| u64::from(sent.sacked) * u64::from(sent.octets)),
                sum(&|sent| u64::from(sent.sacked)),
                sum(&|sent| u64::from(is_missing(sent))),
            ]
        }
    }

    proptest! {
        #[test]
        fn sums_and_states_agree(deeds in proptest::collection::vec((0_u8..8, 0_u64..64), 1..300)) {
            let mut board = Scoreboard::default();
            let mut delivered = 0;
            for (now, (deed, number)) in deeds.into_iter().enumerate() {
                let now = Picos(now as u64);
                let octet = board.una + number * 10;
                match deed {
                    0..3 => drop(board.send(now, 10)),
                    3 => board.report(octet, (octet + 30).min(board.next), |_| delivered += 10),
                    4 => board.acknowledge((board.una + number % 4 * 10).min(board.next), |_| {
                        delivered += 10;
                    }),
                    5 => drop(board.lose_older(number * 3, Some(now))),
                    6 => board.lose_first(),
                    _ if number < 4 => board.forgive(),
                    _ => {
                        if let Some((missing, _)) = board.missing() {
                            prop_assert!(board.resend(now, missing).again);
                        }
                    }
                }
                let sums =
                    [board.pipe, board.sacked_octets, board.sacked_segments, board.lost_segments];
                prop_assert_eq!(sums, board.counted());
                prop_assert_eq!(board.missing().is_some(), board.lost_segments > 0);
                // Every octet is told to be delivered once.
                prop_assert_eq!(delivered, board.una + board.sacked_octets);
            }
        }
    }

    #[test]
    fn what_was_sent_before_a_delivery_is_lost_and_later_copies_are_not() {
        let mut board = Scoreboard::default();
        for now in 0..5 {
            board.send(Picos(now), 10);
        }
        board.report(20, 30, |_| ());
        // The third was delivered; patience has passed for all that was sent by time 3.
        assert!(!board.lose_older(3, Some(Picos(3))));
        assert_eq!((board.lost_segments, board.pipe), (2, 20));
        assert_eq!(board.missing(), Some((0, 10)));
        assert_eq!(board.resend(Picos(9), 0).from, 0);
        // The fifth was delivered, sent before the copy: the copy is still on its way.
        board.report(40, 50, |_| ());
        assert!(!board.lose_older(5, Some(Picos(9))));
        assert_eq!((board.lost_segments, board.missing()), (2, Some((1, 10))));
        assert_eq!(board.pipe, 10);
    }
}
