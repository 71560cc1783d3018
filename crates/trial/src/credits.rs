//! One way of an exchange over datagrams: messages cut into parts, and credits for them.
//!
//! Owns the numbering (part n belongs to message n / parts), what is under way, and what is given
//! up. A part is credited once it, or a later one, has come; nothing is sent again, so a loss stays
//! visible. Real and simulated hosts run the same machine, each by its own unit of time. Never
//! reads a clock and never does I/O.

use std::ops::Add;

/// A credit comes after every fourth part of the credits.
const CREDITS_SHARE: u64 = 4;

/// A moment, or a span between two: [`measure::Nanos`] of a clock, [`measure::Picos`] of virtual
/// time.
pub trait Moment: Copy + Ord + Default + Add<Output = Self> {
    /// How long an end waits for anything before it gives a message up, and takes credits for lost.
    const PATIENCE: Self;
}

impl Moment for measure::Nanos {
    const PATIENCE: Self = Self::from_millis(200);
}

impl Moment for measure::Picos {
    const PATIENCE: Self = Self(200_000_000_000);
}

/// What an end sends.
#[derive(Debug)]
pub struct Outbound<T> {
    parts: u64,
    credits: u64,
    /// The next number to send, and where the message under way ends.
    next: u64,
    goal: u64,
    /// All below this are under way no more, as was heard last; beyond `next` where the receiver
    /// has given up what was never sent.
    credited: u64,
    heard: T,
}

impl<T: Moment> Outbound<T> {
    /// For messages of so many parts.
    pub fn new(parts: u64, credits: u64) -> Self {
        Self { parts, credits, next: 0, goal: 0, credited: 0, heard: T::default() }
    }

    /// Starts the next message.
    pub fn begin(&mut self, now: T) {
        self.goal += self.parts;
        self.heard = now;
    }

    /// The number that may leave now.
    pub const fn due(&self) -> Option<u64> {
        let under_way = self.next.saturating_sub(self.credited);
        if self.next < self.goal && under_way < self.credits { Some(self.next) } else { None }
    }

    /// The number that was due has left.
    pub const fn left(&mut self) {
        self.next += 1;
    }

    /// The peer has credited all below `number`.
    pub fn credit(&mut self, number: u64, now: T) {
        self.heard = now;
        self.credited = self.credited.max(number);
    }

    /// Nothing was credited for long: nothing is under way any more.
    pub fn unstick(&mut self, now: T) {
        if self.next < self.goal && now >= self.heard + T::PATIENCE {
            self.credited = self.credited.max(self.next);
            self.heard = now;
        }
    }

    /// Parts that left.
    pub const fn sent(&self) -> u64 {
        self.next
    }
}

/// What an arrival came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The message is not whole yet.
    Nothing,
    /// It is whole.
    Whole,
    /// It can't become whole any more.
    Lost,
}

/// What an end receives.
#[derive(Debug)]
pub struct Inbound<T> {
    parts: u64,
    credits: u64,
    /// The message waited for, how many of its parts came, and the next number to come.
    wanted: u64,
    got: u64,
    expected: u64,
    last_credit: u64,
    heard: T,
    came: u64,
}

impl<T: Moment> Inbound<T> {
    /// For messages of so many parts.
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

    /// It waits for the next message from now on.
    pub fn await_from(&mut self, now: T) {
        self.heard = self.heard.max(now);
    }

    /// When it stops waiting.
    pub fn patience_ends(&self) -> T {
        self.heard + T::PATIENCE
    }

    /// The message waited for will not come whole.
    pub fn give_up(&mut self, now: T) {
        self.wanted += 1;
        self.got = 0;
        self.expected = self.expected.max(self.wanted * self.parts);
        self.heard = now;
    }

    /// A part came that had not come before: what it came to, and the number up to which the sender
    /// is to be credited now.
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
        // A part of a later message shows that no more of this one will come.
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

    /// Parts that came, in time for their message or not.
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
                out.left();
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
