//! Whether a waiting sender keeps its processor.
//!
//! Two senders that both spin on one processor are each put aside for a scheduler's slice of some
//! milliseconds; where each lets the other look at the clock, neither is. One that spins beside
//! others that do not has nearly all of it and never learns that they are there, so every sender
//! begins by giving, and keeps only what nobody else wanted. A sender that was given its processor
//! is in a lab, where others were given the same: it never takes it for its own, and all of them
//! begin anew at the same times. Owns the choice, and asks the kernel whether a thread was ready to
//! run and did not: a clock that jumps because a virtual machine stood still, or because an idle
//! processor woke late, says nothing of the kind.

use std::fs;

use measure::Nanos;

use crate::affinity;

/// A thread that was ready for so long without running was put aside: no interrupt takes as long.
const PUT_ASIDE: Nanos = Nanos::from_micros(500);

/// So often is the processor offered to a program that does not give it back: it has it for a whole
/// slice each time.
const MOST_OFFERS: u8 = 4;

/// Who gave the processor back so often since it was last kept gives it back: what was long then
/// was a sender that caught up, or a virtual machine that stood still while this one was in the
/// queue. A program that computes keeps it at every offer.
const RETURNS: u8 = 16;

/// Senders of a lab that keep their processors give them again when the clock has come so much
/// further, all at once: one alone would only be put aside by the others.
const ANEW: Nanos = Nanos::from_millis(250);

/// Who had the processor once wants it again within so long.
const CROWDED: Nanos = Nanos::from_millis(500);

/// So many processors' time is enough for a sender that waits awake, and a receiver.
const ENOUGH: f64 = 2.0;

/// One sender's manners; of the thread that it was begun on.
#[derive(Debug)]
pub(super) struct Turns {
    /// Whether others get the processor while this sender waits.
    given: bool,
    /// Whether the thread was told where to run.
    pinned: bool,
    /// When the clock comes to it, the processor is given again; of a pinned thread.
    anew: Nanos,
    kept_by_others: u8,
    given_back: u8,
    /// Until when the processor counts as one that others want.
    crowded: Nanos,
    /// For how long the thread had been ready without running when it last looked, and when it
    /// began; `None` where the kernel does not tell.
    ready: Option<Nanos>,
    begun: Option<Nanos>,
}

impl Turns {
    /// The processor is given at first, where it can be told who takes it.
    pub(super) fn begin(pinned: bool) -> Self {
        let own = Self::at(pinned, ready());
        // Who waits awake uses a quota up, and stands still until the next one.
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

    /// Whether others get the processor now.
    #[inline]
    pub(super) fn gives(&mut self, now: Nanos) -> bool {
        if self.pinned && !self.given && now >= self.anew {
            self.kept_by_others = 0;
            self.given_back = 0;
            self.given = self.begun.is_some();
        }
        self.given
    }

    /// Whether others had the processor of late. It is not idle then, and who sleeps until shortly
    /// before a frame is due is let in at once when he wakes; who waits awake has had his share by
    /// then, and is put aside for a slice.
    #[inline]
    pub(super) const fn is_crowded(&self, now: Nanos) -> bool {
        now.0 < self.crowded.0
    }

    /// To be called when the load begins: a processor that nobody else wanted meanwhile is kept.
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

    /// To be called when the clock jumped.
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

    /// Somebody had the processor meanwhile. A sender that once kept it because of one long turn
    /// would have the others find it kept, and none would give it any more.
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

    /// To be called when the processor was offered, and came back at once.
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
