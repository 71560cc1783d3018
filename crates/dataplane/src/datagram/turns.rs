//! Whether a waiting sender keeps its processor.
//!
//! Two senders that both spin on one processor are each put aside for a scheduler's slice of some
//! milliseconds; where each lets the other look at the clock, neither is. Owns the choice, and asks the
//! kernel whether a thread was ready to run and did not: a clock that jumps because a virtual machine
//! stood still, or because an idle processor woke late, says nothing of the kind.

use std::fs;

use measure::Nanos;

/// A thread that was ready for so long without running was put aside: no interrupt takes as long.
const PUT_ASIDE: Nanos = Nanos::from_micros(500);

/// So often is the processor offered to a program that does not give it back: it has it for a whole
/// slice each time.
const MOST_OFFERS: u8 = 4;

/// One sender's manners; of the thread that it was begun on.
#[derive(Debug)]
pub(super) struct Turns {
    /// Whether others get the processor while this sender waits.
    pub(super) given: bool,
    kept_by_others: u8,
    /// For how long the thread has been ready without running; `None` where the kernel does not tell.
    ready: Option<Nanos>,
}

impl Turns {
    /// The processor is kept at first.
    pub(super) fn begin() -> Self {
        Self { given: false, kept_by_others: 0, ready: ready() }
    }

    /// To be called when the clock jumped.
    #[cold]
    pub(super) fn look(&mut self) {
        let (before, now) = (self.ready, ready());
        self.ready = now;
        if let (Some(before), Some(now)) = (before, now)
            && now.saturating_sub(before) > PUT_ASIDE
        {
            self.put_aside();
        }
    }

    /// Somebody had the processor meanwhile.
    const fn put_aside(&mut self) {
        if self.given {
            self.given = false;
            self.kept_by_others += 1;
        } else {
            self.given = self.kept_by_others < MOST_OFFERS;
        }
    }
}

/// The second number of `/proc/thread-self/schedstat` (the kernel's `Documentation/scheduler/
/// sched-stats.rst`): nanoseconds spent waiting on a run queue.
fn ready() -> Option<Nanos> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok().map(Nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_offered_to_others_who_give_it_back() {
        let mut turns = Turns { given: false, kept_by_others: 0, ready: None };
        let given: Vec<bool> = (0..10)
            .map(|_| {
                turns.put_aside();
                turns.given
            })
            .collect();
        let offered_four_times = [true, false, true, false, true, false, true, false, false, false];
        assert_eq!(given, offered_four_times);
    }

    #[test]
    fn a_thread_that_was_not_put_aside_keeps_its_processor() {
        let mut turns = Turns { given: false, kept_by_others: 0, ready: Some(Nanos(u64::MAX)) };
        turns.look();
        assert!(!turns.given, "it waited no longer than before");
    }
}
