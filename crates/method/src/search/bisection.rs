//! Plain bisection (RFC 2544 §26.1 leaves the search open; halving is the plainest), with short trials
//! on the way and a long one at the end.
//!
//! A short trial flatters a device with a buffer: it is lossless at any rate up to the true one times
//! 1 + buffer / (rate * duration). So a load counts only after a trial of the final duration; when
//! that one loses, short trials have proved too weak here and every later trial is a long one.
//!
//! A lost frame is a hard upper end. What the tester could not offer is a soft one, which a lossless
//! load above it disproves; before the search ends under a soft end it looks above it.

use measure::{FrameRate, Nanos};

use super::{Attempt, FailedBy, Failure, Search, SearchResult, Seen, Step};

/// Below this share of the ceiling the search ends with nothing found.
const FLOOR_SHARE: f64 = 1.0 / 1024.0;

/// A hard end whose load is no further above the value than this share tells whose limit it is, even
/// where the tester fell short in between; the bracket then reaches up to it.
const NEAR: f64 = 0.95;

/// How often, in one search, the tester may fail again above a soft end.
const MOST_REBUFFS: u32 = 4;

/// How often a search looks above a soft end at all.
const MOST_CHALLENGES: u32 = 8;

/// Final trials that the tester fell short in, before the best of them is taken.
const MOST_SHORT_FINALS: u32 = 2;

/// Where and how finely to look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// The highest load to try, and the first.
    pub ceiling: FrameRate,
    /// The bracket's width, relative to its upper end, at which it is narrow enough; 0…1.
    pub precision: f64,
    /// Of the trials on the way.
    pub duration: Nanos,
    /// Of the trial that confirms.
    pub final_duration: Nanos,
}

/// A bisection under way. It ends after at most a few dozen trials, whatever it is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Bisection {
    bounds: Bounds,
    low: Option<Lossless>,
    /// The lowest load that lost frames.
    hard: Option<High>,
    /// Loads above `low` that the tester could not offer.
    soft: Vec<f64>,
    challenges: u32,
    rebuffs: u32,
    /// Final trials in which the tester fell short, and the most that passed in one.
    short_finals: u32,
    short_final: Option<FrameRate>,
    /// Long trials that lost since the first one did: each doubles the step down.
    long_failures: u32,
    trials: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Lossless {
    asked: f64,
    offered: FrameRate,
    confirmed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct High {
    asked: f64,
    failure: Failure,
}

impl Bisection {
    /// A search that has seen nothing yet.
    pub const fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            low: None,
            hard: None,
            soft: Vec::new(),
            challenges: 0,
            rebuffs: 0,
            short_finals: 0,
            short_final: None,
            long_failures: 0,
            trials: 0,
        }
    }

    /// How many trials a device that behaves needs: the ceiling, the halvings, the final one.
    pub fn usual_trials(precision: f64) -> u64 {
        2 + (1.0 / precision.clamp(1e-6, 1.0)).log2().ceil() as u64
    }

    fn attempt(&self, rate: f64, long: bool) -> Step {
        let bounds = &self.bounds;
        let duration = if long { bounds.final_duration } else { bounds.duration };
        Step::Try(Attempt { rate: FrameRate(rate), duration })
    }

    /// The bracket's upper end, hard or soft.
    fn high(&self) -> Option<High> {
        let soft = self.soft.iter().copied().min_by(f64::total_cmp).map(|asked| High {
            asked,
            failure: Failure { rate: FrameRate(asked), by: FailedBy::Tester },
        });
        match (self.hard, soft) {
            (Some(hard), Some(soft)) if soft.asked < hard.asked => Some(soft),
            (hard, soft) => hard.or(soft),
        }
    }

    fn done(&self, low: Option<FrameRate>) -> Step {
        let lossless = match (low, self.short_final) {
            (Some(low), Some(short)) => Some(FrameRate(low.0.max(short.0))),
            (low, short) => low.or(short),
        };
        // What passed at length disproves the soft ends below it here too.
        let mut above = self.clone();
        above.soft.retain(|end| lossless.is_none_or(|low| *end > low.0));
        // A loss not far above says more of the device than where the tester was disturbed.
        let near = |hard: &High| lossless.is_some_and(|low| low.0 >= NEAR * hard.asked);
        let failed = self.hard.filter(near).or_else(|| above.high()).map(|high| high.failure);
        Step::Done(SearchResult { lossless, failed, trials: self.trials })
    }

    /// The final trial; after one that the tester fell short in, again a precision lower, because
    /// the very same trial is never asked for twice.
    fn confirm(&self, low: Lossless) -> Step {
        if low.confirmed {
            return self.done(Some(low.offered));
        }
        if self.short_final.is_some() && self.short_finals >= MOST_SHORT_FINALS {
            return self.done(None);
        }
        let lower = (1.0 - self.bounds.precision).powi(self.short_finals as i32);
        self.attempt(low.asked * lower, true)
    }

    /// With nothing lossless known below `high`: step down, faster each time.
    fn descend(&self, high: f64) -> Step {
        if high <= self.bounds.ceiling.0 * FLOOR_SHARE {
            return self.done(None);
        }
        let step = self.bounds.precision * f64::from(self.long_failures).exp2();
        let long = self.long_failures > 0;
        let share = if long { (1.0 - step).max(0.5) } else { 0.5 };
        self.attempt(high * share, long)
    }

    /// A load above a soft end under which the bracket has closed, where there is room for one: the
    /// tester may have been disturbed there rather than unable.
    fn challenge(&self, high: High) -> Option<f64> {
        if self.rebuffs >= MOST_REBUFFS || self.challenges >= MOST_CHALLENGES {
            return None;
        }
        if high.failure.by != FailedBy::Tester || self.short_finals > 0 {
            return None;
        }
        let hard = self.hard.map(|hard| hard.asked);
        let below = |end: &f64| hard.is_none_or(|hard| *end < hard);
        let mut ends: Vec<f64> = self.soft.iter().copied().filter(below).chain(hard).collect();
        ends.sort_by(f64::total_cmp);
        // Several disturbances in a row leave soft ends side by side: the first gap counts.
        let room = |two: &&[f64]| two[1] - two[0] > 2.0 * self.bounds.precision * two[1];
        let gap = ends.windows(2).find(room)?;
        Some(f64::midpoint(gap[0], gap[1]))
    }

    /// A load passed: whatever the tester could not do below it was a disturbance.
    fn passed(&mut self, low: Lossless) {
        if self.low.is_none_or(|known| low.asked >= known.asked) {
            self.low = Some(low);
            self.soft.retain(|end| *end > low.asked);
        }
    }

    fn lost(&mut self, asked: f64, failure: Failure) {
        self.hard = Some(High { asked, failure });
        self.short_final = self.short_final.filter(|short| short.0 < asked);
        self.step_down(asked);
    }

    /// The tester fell short. Its own failure moves no end past what was seen: the lower end rises to
    /// what passed, the upper one comes down to what was asked.
    fn fell_short(&mut self, asked: f64, long: bool, lossless: Option<FrameRate>) {
        let is_final = self.low.is_some_and(|low| low.asked >= asked);
        if is_final {
            self.short_finals += 1;
            let most = self.short_final.map_or(0.0, |short| short.0);
            self.short_final =
                lossless.map(|rate| FrameRate(rate.0.max(most))).or(self.short_final);
            let near = asked * (1.0 - self.bounds.precision);
            if self.short_final.is_some_and(|rate| rate.0 >= near) {
                self.short_finals = MOST_SHORT_FINALS;
            }
            if self.short_finals < MOST_SHORT_FINALS {
                return;
            }
        }
        self.soft.push(asked);
        if let Some(rate) = lossless.filter(|_| !is_final) {
            let rate = FrameRate(rate.0.min(asked));
            self.passed(Lossless { asked: rate.0, offered: rate, confirmed: long });
        } else if self.short_final.is_none() || !is_final {
            self.step_down(asked);
        }
    }

    /// After a failure: nothing is lossless any more if it was at or below the lower end.
    fn step_down(&mut self, asked: f64) {
        if self.low.is_some_and(|low| low.asked >= asked) {
            self.low = None;
            self.short_finals = 0;
            self.long_failures = 1;
        } else if self.low.is_none() && self.long_failures > 0 {
            self.long_failures += 1;
        }
    }
}

impl Search for Bisection {
    fn next(&self) -> Step {
        let Some(high) = self.high() else {
            if let Some(low) = self.low {
                return self.confirm(low);
            }
            let bounds = &self.bounds;
            return self.attempt(bounds.ceiling.0, bounds.duration >= bounds.final_duration);
        };
        let Some(low) = self.low else { return self.descend(high.asked) };
        let closed = high.asked - low.asked <= self.bounds.precision * high.asked;
        if closed || self.short_finals > 0 {
            return match self.challenge(high) {
                Some(above) => self.attempt(above, self.long_failures > 0),
                None => self.confirm(low),
            };
        }
        self.attempt(f64::midpoint(low.asked, high.asked), self.long_failures > 0)
    }

    fn learn(&mut self, seen: Seen) {
        let Step::Try(attempt) = self.next() else { return };
        self.trials += 1;
        let asked = attempt.rate.0;
        let long = attempt.duration >= self.bounds.final_duration;
        let challenge = self.high().is_some_and(|high| high.asked < asked);
        self.challenges += u32::from(challenge);
        match seen {
            Seen::Counted { offered, lost: 0 } => {
                let low = Lossless { asked, offered, confirmed: long };
                if self.short_finals > 0 {
                    self.low = Some(low); // the final trial, repeated a little lower
                } else {
                    self.passed(low);
                }
            }
            Seen::Counted { offered, .. } => {
                self.lost(asked, Failure { rate: offered, by: FailedBy::Loss });
            }
            Seen::BeyondTester { lossless } => {
                self.rebuffs += u32::from(challenge);
                self.fell_short(asked, long, lossless);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bounds(precision: f64) -> Bounds {
        Bounds {
            ceiling: FrameRate(1_000_000.0),
            precision,
            duration: Nanos::from_millis(100),
            final_duration: Nanos::from_secs(1),
        }
    }

    /// Runs a search against `answer` and returns its result.
    fn run(bounds: Bounds, mut answer: impl FnMut(Attempt) -> Seen) -> SearchResult {
        let mut search = Bisection::new(bounds);
        for _ in 0..1_000 {
            match search.next() {
                Step::Done(result) => return result,
                Step::Try(attempt) => search.learn(answer(attempt)),
            }
        }
        panic!("no end in sight: {search:?}");
    }

    fn counted(attempt: Attempt, lossy: bool) -> Seen {
        Seen::Counted { offered: attempt.rate, lost: u64::from(lossy) }
    }

    #[test]
    fn finds_a_capacity_within_its_precision() {
        for capacity in [1_500.0, 10_000.0, 333_333.0, 999_000.0] {
            let result = run(bounds(0.005), |a| counted(a, a.rate.0 > capacity));
            let found = result.lossless.expect("something passes").0;
            let failed = result.failed.expect("something fails");
            assert!(found <= capacity && capacity <= failed.rate.0, "{capacity}: {result:?}");
            assert!((failed.rate.0 - found) / failed.rate.0 <= 0.005, "{capacity}: {result:?}");
            assert_eq!(failed.by, FailedBy::Loss);
        }
    }

    #[test]
    fn a_device_that_never_fails_is_found_in_two_trials() {
        let result = run(bounds(0.005), |a| counted(a, false));
        let expected =
            SearchResult { lossless: Some(FrameRate(1_000_000.0)), failed: None, trials: 2 };
        assert_eq!(result, expected);
    }

    #[test]
    fn a_dead_device_ends_at_the_floor() {
        let result = run(bounds(0.005), |a| counted(a, true));
        assert_eq!(result.lossless, None);
        assert!(result.failed.expect("all fail").rate.0 <= 1_000.0);
    }

    #[test]
    fn a_buffer_that_flatters_short_trials_is_seen_through() {
        let capacity = 400_000.0;
        let buffer = 8_000.0;
        let result = run(bounds(0.005), |a| {
            let excess = (a.rate.0 - capacity) * a.duration.as_secs_f64();
            counted(a, excess > buffer)
        });
        let found = result.lossless.expect("something passes").0;
        let flattered = capacity + buffer; // what one second hides; a tenth would hide ten times that
        assert!(found <= flattered && found > flattered * 0.99, "{result:?}");
    }

    #[test]
    fn what_the_tester_cannot_do_is_never_a_loss() {
        let result = run(bounds(0.01), |a| {
            if a.rate.0 > 700_000.0 {
                Seen::BeyondTester { lossless: None }
            } else {
                counted(a, false)
            }
        });
        assert_eq!(result.failed.expect("it can't reach the ceiling").by, FailedBy::Tester);
    }

    #[test]
    fn one_disturbance_moves_nothing_for_good() {
        // At each trial in turn the tester falls short, by a little or by far, losing nothing or
        // losing some of it.
        let capacity = 400_000.0;
        for at in 0..14 {
            for share in [None, Some(0.999), Some(0.9), Some(0.3)] {
                let mut trial = 0;
                let result = run(bounds(0.005), |a| {
                    trial += 1;
                    if trial == at + 1 {
                        let came = share.map(|share| FrameRate(a.rate.0 * share));
                        let lossless = came.filter(|rate| rate.0 <= capacity);
                        return Seen::BeyondTester { lossless };
                    }
                    counted(a, a.rate.0 > capacity)
                });
                let found = result.lossless.expect("something passes").0;
                assert!(
                    found <= capacity && found > capacity * 0.985,
                    "at {at} by {share:?}: {result:?}"
                );
            }
        }
    }

    #[test]
    fn what_passed_counts_though_less_than_asked() {
        // A tester that never sends quite what is asked still has a lower bound to show.
        let result = run(bounds(0.005), |a| Seen::BeyondTester {
            lossless: Some(FrameRate(a.rate.0.min(900_000.0) * 0.99)),
        });
        let found = result.lossless.expect("something passed").0;
        assert!((880_000.0..900_000.0).contains(&found), "{result:?}");
        assert_eq!(result.failed.expect("asked for more").by, FailedBy::Tester);
    }

    proptest! {
        /// Any answers at all, in any order: it ends, soon, and its bracket is the right way round.
        #[test]
        fn always_ends(
            answers in proptest::collection::vec(0u8..4, 1..200),
            precision in 0.001f64..0.5,
        ) {
            let mut at = 0;
            let result = run(bounds(precision), |a| {
                at += 1;
                match answers[at % answers.len()] {
                    0 => counted(a, false),
                    1 => counted(a, true),
                    2 => Seen::BeyondTester { lossless: None },
                    _ => Seen::BeyondTester { lossless: Some(FrameRate(a.rate.0 * 0.9)) },
                }
            });
            let halvings = (1.0 / precision).log2().ceil() as u32;
            prop_assert!(result.trials <= 2 * (12 + 2 * halvings), "{result:?}");
            if let (Some(low), Some(failed)) = (result.lossless, result.failed) {
                prop_assert!(low.0 < failed.rate.0, "{result:?}");
            }
        }
    }
}
