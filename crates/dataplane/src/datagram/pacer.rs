//! When frames are due. Frame i of a load is due at start + i * gap, and there are floor(load / gap).
//!
//! Pure arithmetic: the caller hands in the clock's readings and does the waiting. A late sender
//! catches up with at most `burst_limit` frames in one go; after a go that the limit cut short it
//! rests until the next frame's own time, so that a burst stays a burst.

use measure::Nanos;

use crate::Window;

/// Rounding of load / gap: 1 s at a gap of 1e9/30000 ns is 30,000 frames, not 29,999.
const ROUNDING: f64 = 1e-6;

/// A frame that leaves this long after its time is late: what a device loses then may be the sender's
/// doing, for all that should have left meanwhile comes at once. The least of what shallow-buffered
/// switches hold at a gigabit.
const LATE: Nanos = Nanos::from_micros(500);

/// The due times of one load, and how many turns were taken.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    start: Nanos,
    gap: f64,
    total: u64,
    burst_limit: u64,
    taken: u64,
    longest_burst: u64,
    late: u64,
}

impl Schedule {
    /// For frames every `gap` nanoseconds over the window's load, at most `limit` of them. A
    /// `burst_limit` of zero counts as one.
    pub(super) fn new(window: &Window, gap: f64, limit: u64, burst_limit: u32) -> Self {
        let load = window.stop.saturating_sub(window.start).0 as f64;
        Self {
            start: window.start,
            gap,
            total: ((load / gap + ROUNDING).floor() as u64).min(limit),
            burst_limit: u64::from(burst_limit.max(1)),
            taken: 0,
            longest_burst: 0,
            late: 0,
        }
    }

    /// How many frames are due by `now` over the whole load, taken or not.
    pub(super) fn come(&self, now: Nanos) -> u64 {
        self.slot(now).min(self.total)
    }

    /// The first slot after `now`, were the load endless.
    fn slot(&self, now: Nanos) -> u64 {
        if now < self.start {
            return 0;
        }
        let passed = (now.0 - self.start.0) as f64 / self.gap;
        (passed.floor() as u64).saturating_add(1)
    }

    /// How many frames may go out at `now`; at most the burst limit.
    pub(super) fn due(&self, now: Nanos) -> u64 {
        self.come(now).saturating_sub(self.taken).min(self.burst_limit)
    }

    /// Takes `frames` turns in one go begun at `now`, whether the kernel took the frames or not.
    pub(super) fn take(&mut self, frames: u64, now: Nanos) {
        let due = self.start + Nanos((self.taken as f64 * self.gap) as u64);
        if now.saturating_sub(due) > LATE {
            self.late += frames;
        }
        self.taken += frames;
        self.longest_burst = self.longest_burst.max(frames);
    }

    /// Gives up every turn that has come by `now`: the way out was closed.
    pub(super) fn skip(&mut self, now: Nanos) {
        self.taken = self.taken.max(self.come(now));
    }

    /// When to look again after a go at `now`.
    pub(super) fn next_look(&self, now: Nanos) -> Nanos {
        let next = self.slot(now);
        self.start + Nanos((next as f64 * self.gap).ceil() as u64)
    }

    /// Whether turns that had come by `now` were left behind by the burst limit.
    pub(super) fn is_behind(&self, now: Nanos) -> bool {
        self.come(now) > self.taken
    }

    /// Whether every turn was taken.
    pub(super) fn is_over(&self) -> bool {
        self.taken >= self.total
    }

    /// Frames of goes that began over 500 µs after their first frame's time.
    pub(super) fn late(&self) -> u64 {
        self.late
    }

    /// The most frames of one go.
    pub(super) fn longest_burst(&self) -> u64 {
        self.longest_burst
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn window(load: u64) -> Window {
        let start = Nanos(1_000_000_007);
        Window { start, stop: start + Nanos(load), closed: start + Nanos(load + 1_000) }
    }

    #[track_caller]
    fn check_total(load: u64, rate: f64, expect: u64) {
        let schedule = Schedule::new(&window(load), 1e9 / rate, u64::MAX, 8);
        assert_eq!(schedule.total, expect, "load {load} ns, rate {rate}");
    }

    #[test]
    fn a_load_is_as_many_frames_as_gaps_fit_in() {
        check_total(1_000_000_000, 10_000.0, 10_000);
        check_total(1_000_000_000, 30_000.0, 30_000);
        check_total(1_000_000_000, 1_488_095.238, 1_488_095);
        check_total(1_050_000, 10_000.0, 10);
        check_total(60_000_000_000, 14_880_952.38, 892_857_142);
        check_total(50_000, 10_000.0, 0);
    }

    #[test]
    fn a_late_sender_bursts_no_more_than_allowed_and_rests_after() {
        let window = window(10_000_000);
        let mut schedule = Schedule::new(&window, 10_000.0, u64::MAX, 8);
        let late = window.start + Nanos(205_000);
        assert_eq!(schedule.due(late), 8);
        schedule.take(8, late);
        assert_eq!(schedule.late(), 0, "a fifth of a millisecond is not late");
        assert!(schedule.is_behind(late));
        assert_eq!(schedule.next_look(late), window.start + Nanos(210_000));
        schedule.skip(late);
        assert_eq!(schedule.due(late), 0);
        assert_eq!(schedule.longest_burst(), 8);
    }

    #[test]
    fn bursts_after_the_stop_still_rest_between() {
        let window = window(1_000_000);
        let mut schedule = Schedule::new(&window, 10_000.0, u64::MAX, 8);
        let late = window.stop + Nanos(1_001);
        schedule.take(schedule.due(late), late);
        assert_eq!(schedule.late(), 8, "a millisecond behind");
        assert!(schedule.is_behind(late) && !schedule.is_over());
        assert_eq!(schedule.next_look(late), window.stop + Nanos(10_000));
    }

    #[test]
    fn the_limit_caps_the_load() {
        let schedule = Schedule::new(&window(1_000_000), 1_000.0, 17, 8);
        assert_eq!(schedule.come(Nanos(u64::MAX)), 17);
    }

    proptest! {
        /// A sender that is never late sends each frame alone, all of them, and none early.
        #[test]
        fn on_time_every_frame_goes_alone(gap in 1.0_f64..1e6, frames in 1_u64..2_000) {
            let window = window((gap * frames as f64).ceil() as u64);
            let mut schedule = Schedule::new(&window, gap, u64::MAX, 8);
            let (mut now, mut sent) = (window.start, 0_u64);
            let mut looks = 0;
            while !schedule.is_over() {
                let due = schedule.due(now);
                prop_assert!(due <= 2, "two frames at most share a nanosecond's rounding");
                schedule.take(due, now);
                sent += due;
                let look = schedule.next_look(now);
                now = if look > now { look } else { now + Nanos(1) };
                looks += 1;
                prop_assert!(looks <= 2 * frames + 10);
            }
            prop_assert!(sent.abs_diff(frames) <= 1, "sent {sent} of {frames}");
            prop_assert!(now <= window.stop + Nanos(gap as u64 + 2));
        }

        /// However late the looks are, no frame is offered twice and no burst exceeds the limit.
        #[test]
        fn late_looks_lose_no_turn(
            gap in 100.0_f64..1e5,
            limit in 1_u32..64,
            delays in prop::collection::vec(0_u64..1_000_000, 1..200),
        ) {
            let window = window(100_000_000);
            let mut schedule = Schedule::new(&window, gap, u64::MAX, limit);
            let mut now = window.start;
            for delay in delays {
                let due = schedule.due(now);
                prop_assert!(due <= u64::from(limit));
                schedule.take(due, now);
                prop_assert!(schedule.taken <= schedule.come(now));
                now = now.max(schedule.next_look(now)) + Nanos(delay);
            }
        }
    }
}
