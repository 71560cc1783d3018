//! One direction of an exchange over datagrams: messages cut into parts, with credits for the
//! parts.
//!
//! Owns the numbering (part n belongs to message n / parts), the parts in flight, and when a
//! message is given up. A part is credited once it or a later one has arrived. Nothing is sent
//! again, so losses stay visible. Real and simulated hosts run the same state machine, each with
//! its own time unit. Never reads a clock and never does I/O.

use std::ops::Add;

/// Divisor of the credits: the receiver sends a credit after every fourth of them.
const CREDITS_SHARE: u64 = 4;

/// Moment or time span: [`measure::Nanos`] of a clock or [`measure::Picos`] of virtual time.
pub trait Moment: Copy + Ord + Default + Add<Output = Self> {
    /// Time without progress after which an end gives a message up, or takes credits as lost.
    const PATIENCE: Self;
}

impl Moment for measure::Nanos {
    const PATIENCE: Self = Self::from_millis(200);
}

impl Moment for measure::Picos {
    const PATIENCE: Self = Self(200_000_000_000);
}

/// Sending half of an exchange.
#[derive(Debug)]
pub struct Outbound<T> {
    parts: u64,
    credits: u64,
    /// Next number to send, and the number at which the current message ends.
    next: u64,
    goal: u64,
    /// Parts below this number are no longer in flight, by the last credit received. Exceeds `next`
    /// if the receiver has given up parts that were never sent.
    credited: u64,
    heard: T,
}

impl<T: Moment> Outbound<T> {
    /// Creates a sender for messages of `parts` parts.
    pub fn new(parts: u64, credits: u64) -> Self {
        Self { parts, credits, next: 0, goal: 0, credited: 0, heard: T::default() }
    }

    /// Starts the next message.
    pub fn begin(&mut self, now: T) {
        self.goal += self.parts;
        self.heard = now;
    }

    /// Number of the part that may be sent now; `None` if none may.
    pub const fn due(&self) -> Option<u64> {
        let under_way = self.next.saturating_sub(self.credited);
        if self.next < self.goal && under_way < self.credits { Some(self.next) } else { None }
    }

    /// Records that the due part was sent.
    pub const fn mark_sent(&mut self) {
        self.next += 1;
    }

    /// Records that the peer credited all parts below `number`.
    pub fn credit(&mut self, number: u64, now: T) {
        self.heard = now;
        self.credited = self.credited.max(number);
    }

    /// Treats all parts in flight as lost if no credit has arrived for [`Moment::PATIENCE`].
    pub fn unstick(&mut self, now: T) {
        if self.next < self.goal && now >= self.heard + T::PATIENCE {
            self.credited = self.credited.max(self.next);
            self.heard = now;
        }
    }

    /// Parts sent.
    pub const fn sent(&self) -> u64 {
        self.next
    }
}

/// Effect of an arrival on the awaited message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The message is still incomplete.
    Nothing,
    /// The message is complete.
    Whole,
    /// The message can no longer become complete.
    Lost,
}

/// Receiving half of an exchange.
#[derive(Debug)]
pub struct Inbound<T> {
    parts: u64,
    credits: u64,
    /// Awaited message, the number of its parts that arrived, and the next expected part.
    wanted: u64,
    got: u64,
    expected: u64,
    last_credit: u64,
    heard: T,
    came: u64,
}

impl<T: Moment> Inbound<T> {
    /// Creates a receiver for messages of `parts` parts.
    pub fn new(parts: u64, credits: u64) -> Self {
        Self {
            parts,
            credits,
            wanted: 0,
            got: 0,
            expected: 0,
            last_credit: 0,
            heard: T::default(),
            came: 0,
        }
    }

    /// Starts to wait for the next message at `now`.
    pub fn await_from(&mut self, now: T) {
        self.heard = self.heard.max(now);
    }

    /// Moment at which the receiver stops waiting.
    pub fn patience_ends(&self) -> T {
        self.heard + T::PATIENCE
    }

    /// Gives up the awaited message.
    pub fn give_up(&mut self, now: T) {
        self.wanted += 1;
        self.got = 0;
        self.expected = self.expected.max(self.wanted * self.parts);
        self.heard = now;
    }

    /// Records a part that had not arrived before. Returns its effect, and the number below which
    /// the sender is to be credited now, if any.
    pub fn arrive(&mut self, number: u64, now: T) -> (Progress, Option<u64>) {
        self.heard = now;
        self.came += 1;
        let progress = self.count(number);
        let enough = self.last_credit + self.credits.div_ceil(CREDITS_SHARE);
        if progress == Progress::Nothing && self.expected < enough {
            return (progress, None);
        }
        self.last_credit = self.expected;
        (progress, Some(self.expected))
    }

    fn count(&mut self, number: u64) -> Progress {
        if number < self.expected {
            return Progress::Nothing;
        }
        self.expected = number + 1;
        let message = number / self.parts;
        let mut progress = Progress::Nothing;
        // A part of a later message means that no more of this one will arrive.
        if message > self.wanted {
            self.wanted = message;
            self.got = 0;
            progress = Progress::Lost;
        }
        self.got += 1;
        if !self.expected.is_multiple_of(self.parts) {
            return progress;
        }
        let whole = self.got == self.parts;
        self.wanted += 1;
        self.got = 0;
        if whole { Progress::Whole } else { Progress::Lost }
    }

    /// Parts received, in time for their message or not.
    pub const fn received(&self) -> u64 {
        self.came
    }
}

#[cfg(test)]
mod tests {
    use measure::Nanos;

    use super::*;

    const T: Nanos = Nanos::from_millis(1);

    #[test]
    fn no_more_leave_than_are_credited() {
        let mut out = Outbound::new(10, 4);
        out.begin(T);
        let burst = |out: &mut Outbound<Nanos>| {
            let mut count = 0;
            while out.due().is_some() {
                out.mark_sent();
                count += 1;
            }
            count
        };
        assert_eq!(burst(&mut out), 4);
        out.credit(3, T);
        assert_eq!(burst(&mut out), 3);
        // What is credited again, or later by a smaller number, changes nothing.
        out.credit(2, T);
        assert_eq!(out.due(), None);
        out.unstick(T + Nanos::PATIENCE);
        assert_eq!(burst(&mut out), 3, "the message's last");
        out.unstick(T + Nanos::PATIENCE + Nanos::PATIENCE);
        assert_eq!((out.due(), out.sent()), (None, 10));
    }

    #[test]
    fn messages_come_whole_or_are_lost() {
        // What comes of messages of three parts, and what each arrival came to.
        let table: [(&[u64], &[Progress]); 4] = {
            use Progress::{Lost, Nothing, Whole};
            [
                (&[0, 1, 2, 3], &[Nothing, Nothing, Whole, Nothing]),
                (&[0, 2], &[Nothing, Lost]),
                (&[0, 1, 3, 4, 5], &[Nothing, Nothing, Lost, Nothing, Whole]),
                (&[1, 0, 2], &[Nothing, Nothing, Lost]),
            ]
        };
        for (arrivals, expected) in table {
            let mut inbound = Inbound::new(3, 8);
            let came: Vec<Progress> = arrivals.iter().map(|n| inbound.arrive(*n, T).0).collect();
            assert_eq!(came, expected, "{arrivals:?}");
            assert_eq!(inbound.received(), arrivals.len() as u64);
        }
    }

    #[test]
    fn what_was_given_up_is_counted_when_it_comes_and_no_more() {
        let mut inbound = Inbound::new(2, 4);
        inbound.await_from(T);
        assert_eq!(inbound.patience_ends(), T + Nanos::PATIENCE);
        inbound.give_up(T + Nanos::PATIENCE);
        assert_eq!(inbound.arrive(0, T), (Progress::Nothing, Some(2)));
        assert_eq!(inbound.arrive(1, T).0, Progress::Nothing);
        assert_eq!(inbound.arrive(2, T).0, Progress::Nothing);
        assert_eq!(inbound.arrive(3, T), (Progress::Whole, Some(4)));
        assert_eq!(inbound.received(), 4);
    }
}
