//! Binary search for one goal (RFC 2544 §26.1 leaves the search open; halving is the simplest),
//! with short trials first and a long one at the end. If a goal tolerates a share of bad trials,
//! loss verification applies (ETSI GS NFV-TST 009 §12.3.3): a trial with losses is repeated.
//!
//! Short trials flatter a device with a buffer: they are lossless at any rate up to the true one
//! times 1 + buffer / (rate * duration). So a load counts only after a trial of the final duration.
//! If that one loses frames, short trials have proved too weak, and every later trial is a long
//! one.
//!
//! The rate that came through a failed load is the best guess for the next: one just below it, then
//! one just above, otherwise the middle.
//!
//! A lost frame is a hard upper end. A load that the tester could not offer is a soft end, which a
//! lossless load above it disproves. Before the search ends under a soft end it tries above it.

use measure::{FrameRate, Nanos};

use super::{
    Attempt, FEW_FRAMES, FailedBy, Failure, Goal, GoalResult, LoadRange, Search, Seen, Step,
    loss_ratio,
};

/// Least ratio of value to hard end at which that end shows the limit, even if the tester fell
/// short in between; the bracket then reaches up to it.
const NEAR: f64 = 0.95;

/// Number of further failures of the tester above a soft end, per search.
const MOST_REBUFFS: u32 = 4;

/// Number of attempts above a soft end, per search.
const MOST_CHALLENGES: u32 = 8;

/// Ratio of loads that shows a tester's limit: no more was carried at a load this much higher. A
/// disturbance takes only a part of a load.
const FAR_HIGHER: f64 = 1.25;

/// Number of final trials in which the tester fell short, before the best of them is taken.
const MOST_SHORT_FINALS: u32 = 2;

/// Number of loads per search chosen by the rate that came through another. If that is no good
/// guess, as for losses unrelated to the load, halving must go on.
const MOST_GUESSES: u32 = 8;

/// Binary search in progress. It ends after at most a few dozen loads, whatever the answers.
#[derive(Debug, Clone, PartialEq)]
pub struct BinarySearch {
    goal: Goal,
    range: LoadRange,
    low: Option<Passed>,
    /// Lowest load that lost too much.
    hard: Option<High>,
    /// Loads above `low` that the tester could not offer.
    soft: Vec<Soft>,
    /// Rate that came through the last load that lost too much.
    forwarded: Option<f64>,
    guesses: u32,
    /// Guesses in a row that lost too much.
    bad_guesses: u32,
    challenges: u32,
    rebuffs: u32,
    /// Final trials in which the tester fell short, and the highest rate that passed in one.
    short_finals: u32,
    short_final: Option<FrameRate>,
    /// Long trials with losses since the first one: each doubles the step down.
    long_failures: u32,
    /// Trials of the current load with losses that are still to be verified.
    unverified: u32,
    trials: u32,
    traffic_time: Nanos,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Passed {
    asked: f64,
    offered: FrameRate,
    /// Loss ratio of the load, within the goal.
    loss_ratio: f64,
    confirmed: bool,
}

/// Load that the tester could not offer, and the rate that it carried without loss instead.
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
    /// Creates a search without results. Of the goal's duration sum and exceed ratio it uses how
    /// many trials of a load may fail if one that passes decides. Preceding targets and expansion
    /// are not used.
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

    /// Upper end of the bracket, hard or soft.
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
        // A long trial that passed disproves the soft ends below it here too.
        let mut above = self.clone();
        above.soft.retain(|end| lower.is_none_or(|low| end.asked > low));
        // A nearby loss says more about the device than a disturbance of the tester.
        let near = |hard: &High| lower.is_some_and(|low| low >= NEAR * hard.asked);
        let upper = self.hard.filter(near).or_else(|| above.high());
        let (goal, width) = (self.goal.name, self.goal.width);
        // A load is never offered exactly; the requested loads are within the width.
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

    /// Requests the final trial. After one in which the tester fell short, it is lower by one
    /// width, because a trial is never repeated exactly.
    fn confirm(&self, low: Passed) -> Step {
        if low.confirmed {
            return self.done(Some(low));
        }
        if self.short_final.is_some() && self.short_finals >= MOST_SHORT_FINALS {
            return self.done(None);
        }
        let lower = (1.0 - self.goal.width).powi(self.short_finals as i32);
        // At its limit the tester does not sustain a load for long.
        let eased = self.high().map_or(0.0, |high| self.eased(low.asked, high.asked));
        self.attempt(low.asked * lower * (1.0 - eased), true)
    }

    /// Steps down while nothing lossless is known below `high`, faster each time.
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

    /// Guesses a load just below the rate that came through the last failed load, further below
    /// after each failed guess; or just above it. `None` if neither lies well inside the bracket.
    fn guess(&self, low: f64, high: f64) -> Option<f64> {
        let forwarded = self.forwarded.filter(|_| self.guesses < MOST_GUESSES)?;
        let width = self.goal.width;
        let inside =
            |load: &f64| *load > low * (1.0 + width / 4.0) && *load < high * (1.0 - width / 4.0);
        let below = width / 2.0 * f64::from(self.bad_guesses).exp2();
        [1.0 - below, 1.0 + width / 2.0].map(|share| forwarded * share).into_iter().find(inside)
    }

    /// Next load between two ends. Above the rate that the tester carried instead of a far higher
    /// load little remains: from there the steps double.
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

    /// Allowed distance of the bracket's ends. It is wide under an end of the tester's own, where
    /// no more was carried of a far higher load. It is narrow if the device lost frames not far
    /// above, or let no more through an overload: its limit is then the target, despite any
    /// disturbance of the tester.
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

    /// Share below the tester's limit that suffices under an end of its own.
    fn eased(&self, low: f64, high: f64) -> f64 {
        (self.width(low, high) - self.goal.width).max(0.0)
    }

    /// Load above a soft end under which the bracket has closed, if there is room: the tester may
    /// have been disturbed there rather than unable. `None` otherwise.
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
        // Several disturbances in a row leave adjacent soft ends: the first gap counts.
        let room = |two: &&[f64]| two[1] - two[0] > 2.0 * self.goal.width * two[1];
        let gap = ends.windows(2).find(room)?;
        Some(f64::midpoint(gap[0], gap[1]))
    }

    /// Records a load that passed: any failure of the tester below it was a disturbance.
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

    /// Records that the tester fell short. Its own failure moves no end beyond the evidence: the
    /// lower end rises to the load that passed, the upper one falls to the requested load.
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

    /// Steps down after a failure: a failure at or below the lower end disproves that end.
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
