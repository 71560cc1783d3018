//! A host's transmit queue: frames that wait for the wire, and the time at which the next one
//! starts.
//!
//! Owns the transmit rate of a host. A kernel hands frames over at any speed; on the wire there is
//! one at a time, with preamble and gap (IEEE 802.3: 20 octets). Never looks at a clock.

use std::collections::VecDeque;

use device::Frame;
use measure::{Picos, Rate};

/// Maximum number of frames that wait for a host's wire; the next one is lost. Linux has the same
/// limit at an interface.
pub const HOST_QUEUE_FRAMES: usize = 1000;

/// Octets of preamble, delimiter and gap.
const BETWEEN: u64 = 20;

/// Frames that the host has sent, in their order.
#[derive(Debug)]
pub(super) struct HostQueue {
    waiting: VecDeque<(Picos, Frame)>,
    rate: Rate,
    free_at: Picos,
    paused: bool,
}

impl HostQueue {
    pub(super) fn new(rate: Rate) -> Self {
        let waiting = VecDeque::with_capacity(HOST_QUEUE_FRAMES);
        Self { waiting, rate, free_at: Picos::ZERO, paused: false }
    }

    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= HOST_QUEUE_FRAMES
    }

    /// Adds a frame that the host sent at `at`.
    #[inline]
    pub(super) fn push(&mut self, at: Picos, frame: Frame) {
        self.waiting.push_back((at, frame));
    }

    /// Start time of the first frame; [`Picos::MAX`] if the queue is empty or the host is paused.
    #[inline]
    pub(super) fn next_start(&self) -> Picos {
        match self.waiting.front() {
            Some((at, _)) if !self.paused => (*at).max(self.free_at),
            _ => Picos::MAX,
        }
    }

    /// Removes the first frame, whose transmission starts at `start`.
    #[inline]
    pub(super) fn pop(&mut self, start: Picos) -> Option<Frame> {
        let (_, frame) = self.waiting.pop_front()?;
        self.free_at = start + Picos::to_send(u64::from(frame.octets) + BETWEEN, self.rate);
        Some(frame)
    }

    /// Pauses or resumes: the current frame is finished, and no other is started (IEEE 802.3 annex
    /// 31B).
    pub(super) fn pause(&mut self, at: Picos, stop: bool) {
        self.paused = stop;
        self.free_at = self.free_at.max(at);
    }

    /// Removes all waiting frames, as when the cable is pulled.
    pub(super) fn clear(&mut self) -> impl Iterator<Item = Frame> {
        self.paused = false;
        self.waiting.drain(..).map(|(_, frame)| frame)
    }
}

#[cfg(test)]
mod tests {
    use device::Mac;

    use super::*;

    fn frame(octets: u32) -> Frame {
        Frame { octets, source: Mac(1), destination: Mac(2), target: None, tag: 0 }
    }

    #[test]
    fn frames_leave_at_the_rate_and_not_before_they_came() {
        let mut queue = HostQueue::new(Rate(1_000_000_000));
        assert_eq!(queue.next_start(), Picos::MAX);
        for at in [1_000, 1_000, 5_000_000] {
            queue.push(Picos(at), frame(64));
        }
        let mut starts = Vec::new();
        while queue.next_start() != Picos::MAX {
            let start = queue.next_start();
            starts.push(start.0);
            queue.pop(start);
        }
        // 84 octets at 1 Gbit/s are 672 ns.
        assert_eq!(starts, [1_000, 673_000, 5_000_000]);
    }

    #[test]
    fn a_paused_host_waits_and_goes_on() {
        let mut queue = HostQueue::new(Rate(1_000_000_000));
        queue.push(Picos(0), frame(64));
        queue.pause(Picos(10), true);
        assert_eq!(queue.next_start(), Picos::MAX);
        queue.pause(Picos(50), false);
        assert_eq!(queue.next_start(), Picos(50));
    }
}
