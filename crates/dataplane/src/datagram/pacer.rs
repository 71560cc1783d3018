//! Due times of frames. Frame i of a load is due at start + i * gap, and there are floor(load /
//! gap). A falling load is two such parts in sequence.
//!
//! Pure arithmetic: the caller passes the clock's readings and does the waiting. A late sender
//! catches up with at most `burst_limit` frames in one go. After a go that the limit cut short it
//! rests until the next frame's own time, so that a burst stays a burst.

use measure::Nanos;

use crate::Window;

/// Rounding of load / gap: 1 s at a gap of 1e9/30000 ns is 30,000 frames, not 29,999.
const ROUNDING: f64 = 1e-6;

/// Delay from which a frame counts as late: the time that the smallest buffers of shallow-buffered
/// switches hold at a gigabit. A device's losses may then be the sender's fault, because all frames
/// delayed meanwhile leave at once.
const LATE: Nanos = Nanos::from_micros(500);

/// Due times of one load, and the number of turns taken.
#[derive(Debug, Clone)]
pub(crate) struct Pacer {
    first: Part,
    /// Second part: from its start on its gap applies, and the first part's turns are over.
    second: Option<Part>,
    total: u64,
    burst_limit: u64,
    taken: u64,
    longest_burst: u64,
    late: u64,
}

/// Turns at a constant gap.
#[derive(Debug, Clone, Copy)]
struct Part {
    start: Nanos,
    gap: f64,
    turns: u64,
}

impl Part {
    fn new(start: Nanos, load: Nanos, gap: f64) -> Self {
        Self { start, gap, turns: (load.0 as f64 / gap + ROUNDING).floor() as u64 }
    }

    /// First turn after `now`, as if the part had no end.
    fn slot(&self, now: Nanos) -> u64 {
        if now < self.start {
            return 0;
        }
        let passed = (now.0 - self.start.0) as f64 / self.gap;
        (passed.floor() as u64).saturating_add(1)
    }

    fn offset(&self, slot: u64) -> f64 {
        slot as f64 * self.gap
    }
}

impl Pacer {
    /// Schedules frames every `gap` nanoseconds over the window's load, at most `limit` of them. A
    /// `burst_limit` of zero counts as one.
    pub(crate) fn new(window: &Window, gap: f64, limit: u64, burst_limit: u32) -> Self {
        let load = window.stop.saturating_sub(window.start);
        let first = Part::new(window.start, load, gap);
        Self::from_parts(first, None, limit, burst_limit)
    }

    /// Schedules frames every `from` nanoseconds until `after` from the window's start, and every
    /// `to` nanoseconds from then on.
    pub(crate) fn falling(
        window: &Window,
        from: f64,
        to: f64,
        after: Nanos,
        limit: u64,
        burst_limit: u32,
    ) -> Self {
        let load = window.stop.saturating_sub(window.start);
        let after = after.min(load);
        let first = Part::new(window.start, after, from);
        let second = Part::new(window.start + after, load.saturating_sub(after), to);
        Self::from_parts(first, Some(second), limit, burst_limit)
    }

    fn from_parts(first: Part, second: Option<Part>, limit: u64, burst_limit: u32) -> Self {
        Self {
            first,
            second,
            total: (first.turns + second.map_or(0, |part| part.turns)).min(limit),
            burst_limit: u64::from(burst_limit.max(1)),
            taken: 0,
            longest_burst: 0,
            late: 0,
        }
    }

    /// Number of frames due by `now` over the whole load, taken or not.
    pub(crate) fn come(&self, now: Nanos) -> u64 {
        self.slot(now).min(self.total)
    }

    /// First slot after `now`, as if the load had no end.
    fn slot(&self, now: Nanos) -> u64 {
        match self.second {
            None => self.first.slot(now),
            Some(second) => self.first.slot(now).min(self.first.turns) + second.slot(now),
        }
    }

    /// Due time of a slot, before and after rounding up to whole nanoseconds.
    fn due_at(&self, slot: u64) -> (Nanos, Nanos) {
        let (part, slot) = match self.second {
            Some(second) if slot >= self.first.turns => (second, slot - self.first.turns),
            _ => (self.first, slot),
        };
        let offset = part.offset(slot);
        (part.start + Nanos(offset as u64), part.start + Nanos(offset.ceil() as u64))
    }

    /// Number of frames that may leave at `now`; at most the burst limit.
    pub(crate) fn due(&self, now: Nanos) -> u64 {
        self.come(now).saturating_sub(self.taken).min(self.burst_limit)
    }

    /// Takes `frames` turns in one go begun at `now`, even if the kernel refused the frames.
    pub(crate) fn take(&mut self, frames: u64, now: Nanos) {
        let (due, _) = self.due_at(self.taken);
        if now.saturating_sub(due) > LATE {
            self.late += frames;
        }
        self.taken += frames;
        self.longest_burst = self.longest_burst.max(frames);
    }

    /// Skips every turn due by `now`: the output was closed.
    pub(crate) fn skip(&mut self, now: Nanos) {
        self.taken = self.taken.max(self.come(now));
    }

    /// Time of the next check after a go at `now`.
    pub(crate) fn next_look(&self, now: Nanos) -> Nanos {
        self.due_at(self.slot(now)).1
    }

    /// True if the burst limit left turns due by `now` untaken.
    pub(crate) fn is_behind(&self, now: Nanos) -> bool {
        self.come(now) > self.taken
    }

    /// True if every turn was taken.
    pub(crate) fn is_over(&self) -> bool {
        self.taken >= self.total
    }

    /// Number of frames in goes that began over 500 µs after their first frame's due time.
    pub(crate) fn late(&self) -> u64 {
        self.late
    }

    /// Most frames sent in one go.
    pub(crate) fn longest_burst(&self) -> u64 {
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
        let schedule = Pacer::new(&window(load), 1e9 / rate, u64::MAX, 8);
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
        let mut schedule = Pacer::new(&window, 10_000.0, u64::MAX, 8);
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
        let mut schedule = Pacer::new(&window, 10_000.0, u64::MAX, 8);
        let late = window.stop + Nanos(1_001);
        schedule.take(schedule.due(late), late);
        assert_eq!(schedule.late(), 8, "a millisecond behind");
        assert!(schedule.is_behind(late) && !schedule.is_over());
        assert_eq!(schedule.next_look(late), window.stop + Nanos(10_000));
    }

    #[test]
    fn a_falling_load_is_two_loads_in_turn() {
        // 1 ms at a frame every 10 us, then 1 ms at one every 40 us.
        let window = window(2_000_000);
        let after = Nanos(1_000_000);
        let of = |limit| Pacer::falling(&window, 10_000.0, 40_000.0, after, limit, 8);
        let mut schedule = of(u64::MAX);
        let at = |offset: u64| window.start + Nanos(offset);
        for (now, come, next) in [
            (0, 1, 10_000),
            (995_000, 100, 1_000_000),
            (1_000_000, 101, 1_040_000),
            (1_039_999, 101, 1_040_000),
            (1_960_000, 125, 2_000_000),
            (9_000_000, 125, 9_040_000),
        ] {
            assert_eq!(schedule.come(at(now)), come, "{now}");
            assert_eq!(schedule.next_look(at(now)), at(next), "{now}");
        }
        schedule.take(100, at(990_000));
        assert_eq!(schedule.late(), 100, "nearly a millisecond after the first of them");
        schedule.take(1, at(1_400_000));
        assert_eq!(schedule.late(), 100, "400 us after the second part's first");
        assert_eq!(of(110).come(Nanos(u64::MAX)), 110);
        // One that falls after its end, and one that fell before its start.
        let late = Pacer::falling(&window, 10_000.0, 1.0, Nanos(9_000_000), u64::MAX, 8);
        assert_eq!((late.total, late.next_look(at(0))), (200, at(10_000)));
        let at_once = Pacer::falling(&window, 1.0, 10_000.0, Nanos::ZERO, u64::MAX, 8);
        assert_eq!((at_once.total, at_once.come(at(0))), (200, 1));
    }

    #[test]
    fn the_limit_caps_the_load() {
        let schedule = Pacer::new(&window(1_000_000), 1_000.0, 17, 8);
        assert_eq!(schedule.come(Nanos(u64::MAX)), 17);
    }

    proptest! {
        /// A sender that is never late sends each frame alone, all of them, and none early.
        #[test]
        fn on_time_every_frame_goes_alone(gap in 1.0_f64..1e6, frames in 1_u64..2_000) {
            let window = window((gap * frames as f64).ceil() as u64);
            let mut schedule = Pacer::new(&window, gap, u64::MAX, 8);
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
            let mut schedule = Pacer::new(&window, gap, u64::MAX, limit);
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
