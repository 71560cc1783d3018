//! Plain bisection (RFC 2544 §26.1 leaves the search open; halving is the plainest), with short trials
//! on the way and a long one at the end.
//!
//! A short trial flatters a device with a buffer: it is lossless at any rate up to the true one times
//! 1 + buffer / (rate * duration). So a load counts only after a trial of the final duration; when
//! that one loses, short trials have proved too weak here and every later trial is a long one.

use measure::{FrameRate, Nanos};

use super::{Attempt, FailedBy, Failure, Search, SearchResult, Seen, Step};

/// Below this share of the ceiling the search ends with nothing found.
const FLOOR_SHARE: f64 = 1.0 / 1024.0;

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
    high: Option<High>,
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
        Self { bounds, low: None, high: None, long_failures: 0, trials: 0 }
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

    fn done(&self, lossless: Option<FrameRate>) -> Step {
        let failed = self.high.map(|high| high.failure);
        Step::Done(SearchResult { lossless, failed, trials: self.trials })
    }

    fn confirm(&self, low: Lossless) -> Step {
        if low.confirmed { self.done(Some(low.offered)) } else { self.attempt(low.asked, true) }
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
}

impl Search for Bisection {
    fn next(&self) -> Step {
        let Some(high) = self.high else {
            if let Some(low) = self.low {
                return self.confirm(low);
            }
            let bounds = &self.bounds;
            return self.attempt(bounds.ceiling.0, bounds.duration >= bounds.final_duration);
        };
        let Some(low) = self.low else { return self.descend(high.asked) };
        if high.asked - low.asked <= self.bounds.precision * high.asked {
            return self.confirm(low);
        }
        self.attempt(f64::midpoint(low.asked, high.asked), self.long_failures > 0)
    }

    fn learn(&mut self, seen: Seen) {
        let Step::Try(attempt) = self.next() else { return };
        self.trials += 1;
        let asked = attempt.rate.0;
        let long = attempt.duration >= self.bounds.final_duration;
        if let Seen::Counted { offered, lost: 0 } = seen {
            self.low = Some(Lossless { asked, offered, confirmed: long });
            return;
        }
        let failure = match seen {
            Seen::Counted { offered, .. } => Failure { rate: offered, by: FailedBy::Loss },
            Seen::BeyondTester => Failure { rate: attempt.rate, by: FailedBy::Tester },
        };
        self.high = Some(High { asked, failure });
        if self.low.is_some_and(|low| low.asked >= asked) {
            self.low = None;
            self.long_failures = 1;
        } else if self.low.is_none() && self.long_failures > 0 {
            self.long_failures += 1;
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
            if a.rate.0 > 700_000.0 { Seen::BeyondTester } else { counted(a, false) }
        });
        assert_eq!(result.failed.expect("it can't reach the ceiling").by, FailedBy::Tester);
    }

    proptest! {
        /// Any answers at all, in any order: it ends, soon, and its bracket is the right way round.
        #[test]
        fn always_ends(
            answers in proptest::collection::vec(0u8..3, 1..200),
            precision in 0.001f64..0.5,
        ) {
            let mut at = 0;
            let result = run(bounds(precision), |a| {
                at += 1;
                match answers[at % answers.len()] {
                    0 => counted(a, false),
                    1 => counted(a, true),
                    _ => Seen::BeyondTester,
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
