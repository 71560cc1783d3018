//! Binary search (RFC 2544 §26.1 leaves the search open; halving is the plainest) for one goal,
//! with short trials on the way and a long one at the end. A goal that tolerates a share of bad
//! trials is searched with loss verification (ETSI GS NFV-TST 009 §12.3.3): what lost is tried
//! again.
//!
//! A short trial flatters a device with a buffer: it is lossless at any rate up to the true one
//! times 1 + buffer / (rate * duration). So a load counts only after a trial of the final duration;
//! when that one loses, short trials have proved too weak here and every later trial is a long one.
//!
//! What came through of a load that failed is the best guess at the next: one just below it, then
//! one just above, else the middle.
//!
//! A lost frame is a hard upper end. What the tester could not offer is a soft one, which a
//! lossless load above it disproves; before the search ends under a soft end it looks above it.

use measure::{FrameRate, Nanos};

use super::{
    Attempt, FEW_FRAMES, FailedBy, Failure, Goal, GoalResult, LoadRange, Search, Seen, Step,
    loss_ratio,
};

/// A hard end whose load is no further above the value than this share tells whose limit it is,
/// even where the tester fell short in between; the bracket then reaches up to it.
const NEAR: f64 = 0.95;

/// How often, in one search, the tester may fail again above a soft end.
const MOST_REBUFFS: u32 = 4;

/// How often a search looks above a soft end at all.
const MOST_CHALLENGES: u32 = 8;

/// A load so many times as high shows a tester's limit where it carried no more; a disturbance
/// takes a part of a load.
const FAR_HIGHER: f64 = 1.25;

/// Final trials that the tester fell short in, before the best of them is taken.
const MOST_SHORT_FINALS: u32 = 2;

/// Loads chosen by what came through of another, in one search: where that is no good guess, as of
/// losses that have nothing to do with the load, halving has to go on.
const MOST_GUESSES: u32 = 8;

/// A binary search under way. It ends after at most a few dozen loads, whatever it is told.
#[derive(Debug, Clone, PartialEq)]
pub struct BinarySearch {
    goal: Goal,
    range: LoadRange,
    low: Option<Passed>,
    /// The lowest load that lost too much.
    hard: Option<High>,
    /// Loads above `low` that the tester could not offer.
    soft: Vec<Soft>,
    /// What came through of the last load that lost too much.
    forwarded: Option<f64>,
    guesses: u32,
    /// Of these, those in a row that lost too much.
    bad_guesses: u32,
    challenges: u32,
    rebuffs: u32,
    /// Final trials in which the tester fell short, and the most that passed in one.
    short_finals: u32,
    short_final: Option<FrameRate>,
    /// Long trials that lost since the first one did: each doubles the step down.
    long_failures: u32,
    /// Trials of the present load that lost and are still to be verified.
    unverified: u32,
    trials: u32,
    traffic_time: Nanos,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Passed {
    asked: f64,
    offered: FrameRate,
    /// The share of its frames that it lost, within the goal.
    loss_ratio: f64,
    confirmed: bool,
}

/// What the tester could not offer, and what it carried without a loss instead.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Soft {
    asked: f64,
    carried: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct High {
    asked: f64,
    failure: Failure,
}

impl BinarySearch {
    /// A search that has seen nothing yet. Of the goal's duration sum and exceed ratio it keeps how
    /// many trials of a load may fail where one that passes decides; it has no use for preceding
    /// targets and expansion.
    pub const fn new(goal: Goal, range: LoadRange) -> Self {
        Self {
            goal,
            range,
            low: None,
            hard: None,
            soft: Vec::new(),
            forwarded: None,
            guesses: 0,
            bad_guesses: 0,
            challenges: 0,
            rebuffs: 0,
            short_finals: 0,
            short_final: None,
            long_failures: 0,
            unverified: 0,
            trials: 0,
            traffic_time: Nanos::ZERO,
        }
    }

    fn attempt(&self, rate: f64, long: bool) -> Step {
        let goal = &self.goal;
        let rate = FrameRate(rate.max(self.range.min.0));
        let enough = Nanos::from_secs_f64(FEW_FRAMES / rate.0).min(goal.final_duration);
        let duration = if long { goal.final_duration } else { goal.initial_duration.max(enough) };
        Step::Try(Attempt { rate, duration })
    }

    /// The bracket's upper end, hard or soft.
    fn high(&self) -> Option<High> {
        let lowest = self.soft.iter().map(|soft| soft.asked).min_by(f64::total_cmp);
        let soft = lowest.map(|asked| High {
            asked,
            failure: Failure { rate: FrameRate(asked), by: FailedBy::Tester },
        });
        match (self.hard, soft) {
            (Some(hard), Some(soft)) if soft.asked < hard.asked => Some(soft),
            (hard, soft) => hard.or(soft),
        }
    }

    fn done(&self, low: Option<Passed>) -> Step {
        let forwarded = low.map(|low| low.offered.0 * (1.0 - low.loss_ratio));
        let short = self.short_final.map(|short| short.0);
        let most = |one: Option<f64>| one.into_iter().chain(short).max_by(f64::total_cmp);
        let lower = most(low.map(|low| low.offered.0));
        // What passed at length disproves the soft ends below it here too.
        let mut above = self.clone();
        above.soft.retain(|end| lower.is_none_or(|low| end.asked > low));
        // A loss not far above says more of the device than where the tester was disturbed.
        let near = |hard: &High| lower.is_some_and(|low| low >= NEAR * hard.asked);
        let upper = self.hard.filter(near).or_else(|| above.high());
        let (goal, width) = (self.goal.name, self.goal.width);
        // A load is never offered quite exactly; the loads asked for are within the width.
        let narrow = |upper: f64| lower.is_some_and(|low| upper - low <= 1.5 * width * upper);
        let regular = upper.is_some_and(|upper| {
            upper.failure.by == FailedBy::Loss && narrow(upper.failure.rate.0)
        });
        Step::Done(vec![GoalResult {
            goal,
            relevant_lower: lower.map(FrameRate),
            relevant_upper: upper.map(|high| high.failure),
            conditional_throughput: most(forwarded).map(FrameRate),
            trials: self.trials,
            traffic_time: self.traffic_time,
            irregular: !regular,
        }])
    }

    /// The final trial; after one that the tester fell short in, again a width lower, because the
    /// very same trial is never asked for twice.
    fn confirm(&self, low: Passed) -> Step {
        if low.confirmed {
            return self.done(Some(low));
        }
        if self.short_final.is_some() && self.short_finals >= MOST_SHORT_FINALS {
            return self.done(None);
        }
        let lower = (1.0 - self.goal.width).powi(self.short_finals as i32);
        // At its very limit the tester does not keep a load up for long.
        let eased = self.high().map_or(0.0, |high| self.eased(low.asked, high.asked));
        self.attempt(low.asked * lower * (1.0 - eased), true)
    }

    /// With nothing lossless known below `high`: step down, faster each time.
    fn descend(&self, high: f64) -> Step {
        if high <= self.range.min.0 {
            return self.done(None);
        }
        let step = self.goal.width * f64::from(self.long_failures).exp2();
        let long = self.long_failures > 0;
        if let Some(guess) = self.guess(self.range.min.0, high) {
            return self.attempt(guess, long);
        }
        let share = if long { (1.0 - step).max(0.5) } else { 0.5 };
        self.attempt(high * share, long)
    }

    /// Just below what came through of the last load that failed, further with each such guess that
    /// failed too; or just above it; where that is well inside the bracket.
    fn guess(&self, low: f64, high: f64) -> Option<f64> {
        let forwarded = self.forwarded.filter(|_| self.guesses < MOST_GUESSES)?;
        let width = self.goal.width;
        let inside =
            |load: &f64| *load > low * (1.0 + width / 4.0) && *load < high * (1.0 - width / 4.0);
        let below = width / 2.0 * f64::from(self.bad_guesses).exp2();
        [1.0 - below, 1.0 + width / 2.0].map(|share| forwarded * share).into_iter().find(inside)
    }

    /// The next load between two ends. Above what the tester carried in the place of a far higher
    /// load there is little left: from there in steps that double.
    fn between(&self, low: f64, high: f64) -> f64 {
        let middle = f64::midpoint(low, high);
        let carried = self.soft.iter().filter_map(|end| end.carried).max_by(f64::total_cmp);
        let above = carried.filter(|_| self.eased(low, high) > 0.0).map(|carried| {
            let step = (low - carried).max(0.0).max(0.4 * self.goal.tester_width * low);
            low + 2.0 * step
        });
        let near = above.filter(|above| *above < middle);
        self.guess(low, high).or(near).unwrap_or(middle)
    }

    /// How far apart the bracket's ends may be. Under an end of the tester's own little is to be
    /// learnt: where it carried no more of a far higher load. But where the device lost something
    /// not far above, or let no more than that through of an overload, its limit is what is looked
    /// for, through whatever disturbs the tester.
    fn width(&self, low: f64, high: f64) -> f64 {
        let Goal { width, tester_width, .. } = self.goal;
        let near = |rate: f64| rate <= high * (1.0 + 2.0 * tester_width);
        let is_near = self.hard.is_some_and(|hard| near(hard.asked));
        let is_near = is_near || self.forwarded.is_some_and(near);
        if !is_near && self.is_unable_above(low) { tester_width } else { width }
    }

    fn is_unable_above(&self, low: f64) -> bool {
        let most = low * (1.0 + self.goal.tester_width);
        let shows = |end: &Soft| {
            end.asked > FAR_HIGHER * most && end.carried.is_some_and(|rate| rate <= most)
        };
        self.soft.iter().any(shows)
    }

    /// By what share less than the tester's limit is enough, under an end that is its own.
    fn eased(&self, low: f64, high: f64) -> f64 {
        (self.width(low, high) - self.goal.width).max(0.0)
    }

    /// A load above a soft end under which the bracket has closed, where there is room for one: the
    /// tester may have been disturbed there rather than unable.
    fn challenge(&self, low: f64, high: High) -> Option<f64> {
        if self.rebuffs >= MOST_REBUFFS || self.challenges >= MOST_CHALLENGES {
            return None;
        }
        if high.failure.by != FailedBy::Tester || self.short_finals > 0 {
            return None;
        }
        if self.eased(low, high.asked) > 0.0 {
            return None; // no disturbance
        }
        let hard = self.hard.map(|hard| hard.asked);
        let soft = self.soft.iter().map(|end| end.asked);
        let below = |end: &f64| hard.is_none_or(|hard| *end < hard);
        let mut ends: Vec<f64> = soft.filter(below).chain(hard).collect();
        ends.sort_by(f64::total_cmp);
        // Several disturbances in a row leave soft ends side by side: the first gap counts.
        let room = |two: &&[f64]| two[1] - two[0] > 2.0 * self.goal.width * two[1];
        let gap = ends.windows(2).find(room)?;
        Some(f64::midpoint(gap[0], gap[1]))
    }

    /// A load passed: whatever the tester could not do below it was a disturbance.
    fn passed(&mut self, low: Passed) {
        if self.low.is_none_or(|known| low.asked >= known.asked) {
            self.low = Some(low);
            self.soft.retain(|end| end.asked > low.asked);
        }
    }

    fn lost(&mut self, asked: f64, failure: Failure) {
        self.hard = Some(High { asked, failure });
        self.short_final = self.short_final.filter(|short| short.0 < asked);
        self.step_down(asked);
    }

    /// The tester fell short. Its own failure moves no end past what was seen: the lower end rises
    /// to what passed, the upper one comes down to what was asked.
    fn fell_short(&mut self, asked: f64, long: bool, lossless: Option<FrameRate>) {
        let lossless = lossless.filter(|rate| rate.0 >= self.range.min.0);
        let is_final = self.low.is_some_and(|low| low.asked >= asked);
        if is_final {
            self.short_finals += 1;
            let most = self.short_final.map_or(0.0, |short| short.0);
            self.short_final =
                lossless.map(|rate| FrameRate(rate.0.max(most))).or(self.short_final);
            let width = self.high().map_or(self.goal.width, |high| self.width(asked, high.asked));
            let near = asked * (1.0 - width);
            if self.short_final.is_some_and(|rate| rate.0 >= near) {
                self.short_finals = MOST_SHORT_FINALS;
            }
            if self.short_finals < MOST_SHORT_FINALS {
                return;
            }
        }
        self.soft.push(Soft { asked, carried: lossless.map(|rate| rate.0) });
        if let Some(rate) = lossless.filter(|_| !is_final) {
            let rate = FrameRate(rate.0.min(asked));
            let asked = rate.0;
            self.passed(Passed { asked, offered: rate, loss_ratio: 0.0, confirmed: long });
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

impl Search for BinarySearch {
    fn next(&self) -> Step {
        let Some(high) = self.high() else {
            if let Some(low) = self.low {
                return self.confirm(low);
            }
            let goal = &self.goal;
            return self.attempt(self.range.max.0, goal.initial_duration >= goal.final_duration);
        };
        let Some(low) = self.low else { return self.descend(high.asked) };
        // A final trial was that much below the end that had closed the bracket.
        let eased = if low.confirmed { self.eased(low.asked, high.asked) } else { 0.0 };
        let width = self.width(low.asked, high.asked) + eased;
        let closed = high.asked - low.asked <= width * high.asked;
        if closed || self.short_finals > 0 {
            return match self.challenge(low.asked, high) {
                Some(above) => self.attempt(above, self.long_failures > 0),
                None => self.confirm(low),
            };
        }
        self.attempt(self.between(low.asked, high.asked), self.long_failures > 0)
    }

    fn learn(&mut self, seen: Seen) {
        let Step::Try(attempt) = self.next() else { return };
        self.trials += 1;
        self.traffic_time += attempt.duration;
        if let Seen::Counted { sent, lost, .. } = seen
            && !self.goal.passes(loss_ratio(sent, lost))
            && self.unverified < self.goal.spare_trials()
        {
            self.unverified += 1; // nothing else is learnt, so the same load is asked for again
            return;
        }
        self.unverified = 0;
        let asked = attempt.rate.0;
        let long = attempt.duration >= self.goal.final_duration;
        let challenge = self.high().is_some_and(|high| high.asked < asked);
        self.challenges += u32::from(challenge);
        let low = self.low.map_or(self.range.min.0, |low| low.asked);
        let guessed = self.high().is_some_and(|high| self.guess(low, high.asked).is_some());
        self.guesses += u32::from(guessed);
        match seen {
            Seen::Counted { offered, sent, lost } if self.goal.passes(loss_ratio(sent, lost)) => {
                self.bad_guesses = 0;
                let loss_ratio = loss_ratio(sent, lost);
                let low = Passed { asked, offered, loss_ratio, confirmed: long };
                let is_final = long && self.low.is_some_and(|known| known.asked > asked);
                if self.short_finals > 0 || is_final {
                    self.low = Some(low); // the final trial, a little lower
                } else {
                    self.passed(low);
                }
            }
            Seen::Counted { offered, sent, lost } => {
                let through = 1.0 - loss_ratio(sent, lost);
                self.bad_guesses += u32::from(guessed && self.low.is_none());
                self.forwarded = Some(offered.0 * through / (1.0 - self.goal.loss_ratio));
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
mod tests;
