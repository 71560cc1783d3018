//! Decision whether a waiting sender keeps its processor or yields it.
//!
//! Two senders that both spin on one processor are each preempted for a scheduler's slice of some
//! milliseconds. If each yields between clock readings, neither is. One that spins beside others
//! that yield gets nearly all of it and never learns of them. So every sender begins by yielding,
//! and keeps the processor only if nobody else wanted it.
//!
//! A pinned sender is in a lab, where others are pinned to the same processor. It never keeps it
//! permanently, and all of them start yielding again at the same times. Owns the decision, and asks
//! the kernel whether a thread was ready to run and did not. A jump of the clock does not show
//! that: a virtual machine may have been stopped, or an idle processor woke late.

use std::fs;

use measure::Nanos;

use crate::affinity;

/// Time ready without running from which a thread counts as preempted: no interrupt takes as long.
const PUT_ASIDE: Nanos = Nanos::from_micros(500);

/// Maximum offers of the processor to a program that does not yield it back: each time it takes a
/// whole slice.
const MOST_OFFERS: u8 = 4;

/// Number of prompt returns after which earlier kept offers are disregarded. The long turn was then
/// a sender that caught up, or a virtual machine stopped while this thread was queued. A computing
/// program keeps the processor at every offer.
const RETURNS: u8 = 16;

/// Period after which pinned senders that keep their processors yield again, all at once: a single
/// one would only be preempted by the others.
const ANEW: Nanos = Nanos::from_millis(250);

/// Time for which a processor counts as wanted after another program had it.
const CROWDED: Nanos = Nanos::from_millis(500);

/// Processor quota sufficient for a spinning sender and a receiver, in processors.
const ENOUGH: f64 = 2.0;

/// Yielding state of one sender, for the thread that created it.
#[derive(Debug)]
pub(super) struct Turns {
    /// True if the sender yields the processor while it waits.
    given: bool,
    /// True if the thread is pinned to a processor.
    pinned: bool,
    /// Time at which a pinned thread yields the processor again.
    anew: Nanos,
    kept_by_others: u8,
    given_back: u8,
    /// End of the time for which other programs count as wanting the processor.
    crowded: Nanos,
    /// Time that the thread had been ready without running, at its last check and at its start;
    /// `None` if the kernel does not report it.
    ready: Option<Nanos>,
    begun: Option<Nanos>,
}

impl Turns {
    /// Starts by yielding, if the kernel reports who takes the processor.
    pub(super) fn begin(pinned: bool) -> Self {
        let own = Self::at(pinned, ready());
        // A spinning thread uses its quota up, and is stopped until the next period.
        if affinity::quota().is_some_and(|quota| quota < ENOUGH) {
            Self { crowded: Nanos(u64::MAX), ..own }
        } else {
            own
        }
    }

    const fn at(pinned: bool, begun: Option<Nanos>) -> Self {
        Self {
            given: begun.is_some(),
            pinned,
            anew: Nanos::ZERO,
            kept_by_others: 0,
            given_back: 0,
            crowded: Nanos::ZERO,
            ready: begun,
            begun,
        }
    }

    /// True if the sender yields the processor now.
    #[inline]
    pub(super) fn gives(&mut self, now: Nanos) -> bool {
        if self.pinned && !self.given && now >= self.anew {
            self.kept_by_others = 0;
            self.given_back = 0;
            self.given = self.begun.is_some();
        }
        self.given
    }

    /// True if other programs had the processor recently. It is not idle then, and a sleeper that
    /// wakes shortly before a frame is due runs at once. A spinning thread has used its share by
    /// then, and is preempted for a slice.
    #[inline]
    pub(super) const fn is_crowded(&self, now: Nanos) -> bool {
        now.0 < self.crowded.0
    }

    /// Ends the trial of yielding as the load begins: keeps a processor that nobody else wanted.
    pub(super) fn settle(&mut self, at: Nanos) {
        self.settle_at(at, ready());
    }

    fn settle_at(&mut self, at: Nanos, now: Option<Nanos>) {
        let waited = now.zip(self.begun).map(|(now, begun)| now.saturating_sub(begun));
        let shared = waited.is_some_and(|waited| waited > PUT_ASIDE);
        if shared {
            self.crowded = self.crowded.max(at + CROWDED);
        }
        if !self.pinned {
            self.given &= shared;
            self.ready = now;
        }
    }

    /// Checks for a preemption after the clock jumped.
    #[cold]
    pub(super) fn look(&mut self, at: Nanos) {
        let (before, now) = (self.ready, ready());
        self.ready = now;
        if let (Some(before), Some(now)) = (before, now)
            && now.saturating_sub(before) > PUT_ASIDE
        {
            self.crowded = self.crowded.max(at + CROWDED);
            self.put_aside(at);
        }
    }

    /// Records that another thread had the processor. A sender that kept it because of one long
    /// turn would lead the others to keep theirs, and none would yield any more.
    const fn put_aside(&mut self, at: Nanos) {
        if self.given {
            self.kept_by_others += 1;
            self.given_back = 0;
        }
        self.given = self.kept_by_others < MOST_OFFERS;
        if !self.given && self.anew.0 <= at.0 {
            self.anew = Nanos((at.0 / ANEW.0 + 1) * ANEW.0);
        }
    }

    /// Records that the processor was offered and returned at once.
    #[inline]
    pub(super) const fn came_back(&mut self) {
        if self.kept_by_others > 0 {
            self.given_back += 1;
            if self.given_back == RETURNS {
                self.kept_by_others = 0;
                self.given_back = 0;
            }
        }
    }
}

/// Reads the nanoseconds spent waiting on a run queue: second number of
/// `/proc/thread-self/schedstat` (the kernel's `Documentation/scheduler/sched-stats.rst`).
fn ready() -> Option<Nanos> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok().map(Nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_offered_to_others_who_give_it_back() {
        let mut turns = Turns::at(false, Some(Nanos::ZERO));
        let given: Vec<bool> = (0..6)
            .map(|_| {
                turns.put_aside(Nanos(5));
                // One return among many offers is chance.
                turns.came_back();
                turns.given
            })
            .collect();
        assert_eq!(given, [true, true, true, false, false, false]);
    }

    #[test]
    fn who_gives_back_as_a_rule_may_be_late_at_times() {
        let mut turns = Turns::at(false, Some(Nanos::ZERO));
        for _ in 0..100 {
            turns.put_aside(Nanos(5));
            assert!(turns.given);
            (0..RETURNS).for_each(|_| turns.came_back());
        }
    }

    #[test]
    fn who_was_alone_before_the_load_keeps_its_processor() {
        let settled = |begun: Option<u64>, now: Option<u64>| {
            let mut turns = Turns::at(false, begun.map(Nanos));
            turns.settle_at(Nanos(1), now.map(Nanos));
            turns.given
        };
        assert!(!settled(Some(7_000), Some(27_000)));
        assert!(settled(Some(7_000), Some(5_007_000)), "others had half of ten milliseconds");
        assert!(!settled(None, None), "where the kernel does not tell");
    }

    #[test]
    fn senders_of_a_lab_give_again_at_the_same_times() {
        let mut turns = Turns::at(true, Some(Nanos::ZERO));
        turns.settle(Nanos(1));
        assert!(turns.gives(Nanos(1)), "who came late does not take it for its own");
        for _ in 0..MOST_OFFERS {
            turns.put_aside(Nanos::from_millis(300));
        }
        assert!(!turns.gives(Nanos::from_millis(499)));
        assert!(turns.gives(Nanos::from_millis(500)));
    }

    #[test]
    fn a_processor_that_others_had_counts_as_theirs_for_a_while() {
        for pinned in [false, true] {
            let mut turns = Turns::at(pinned, Some(Nanos(7_000)));
            turns.settle_at(Nanos(50), Some(Nanos(27_000)));
            assert!(!turns.is_crowded(Nanos(51)), "nobody had it");
            turns.settle_at(Nanos(50), Some(Nanos(5_007_000)));
            assert!(turns.is_crowded(Nanos(50)) && !turns.is_crowded(Nanos(50) + CROWDED));
        }
    }

    #[test]
    fn a_thread_that_was_not_put_aside_keeps_its_processor() {
        let mut turns = Turns { given: false, ..Turns::at(false, Some(Nanos(u64::MAX))) };
        turns.look(Nanos(5));
        assert!(!turns.given, "it waited no longer than before");
    }
}
