//! Multiple loss ratio search (RFC 9971): several goals at once, with each trial counting for all
//! of them.
//!
//! Many short trials decide a load instead of one long trial, so that an occasional stall has no
//! effect. Owns the initial trials and the order of the goals; `load` has the formulas, `selector`
//! the strategies. Never counts a failure of the tester as a loss.

mod ladder;
mod ledger;
mod load;
mod selector;

use measure::{FrameRate, Nanos};

use super::{
    Attempt, FailedBy, Failure, Goal, GoalResult, LoadRange, Search, Seen, Step, loss_ratio,
};
use ladder::{Ladder, Rung};
use ledger::Ledger;
use load::{Target, Trial};
use selector::Selector;

/// Search in progress.
#[derive(Debug, Clone, PartialEq)]
pub struct MlrSearch {
    goals: Vec<Goal>,
    ladder: Ladder,
    ledger: Ledger,
    stage: Stage,
    /// Next trial; `None` at the end.
    ask: Option<Ask>,
    trials: u32,
    traffic_time: Nanos,
}

#[derive(Debug, Clone, PartialEq)]
enum Stage {
    /// A trial that does not count, so that the first counted one is not the device's first.
    WarmUp,
    /// Trial at the highest load: how much comes through?
    Highest,
    /// Trial at the rate that came through.
    Forwarded,
    /// Trial next to that rate.
    Beside { first: Rung },
    /// Trials that the goals request, in turn.
    Goals(Vec<Selector>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Ask {
    rung: Rung,
    duration: Nanos,
    /// Index of the goal that requests the trial.
    selector: usize,
}

impl MlrSearch {
    /// Creates a search without results. Without goals it makes no trials.
    pub fn new(goals: Vec<Goal>, range: LoadRange) -> Self {
        let narrowest = goals.iter().map(|goal| goal.width).fold(0.5, f64::min);
        let ladder = Ladder::new(range, narrowest);
        let ledger = Ledger::default();
        let (stage, trials, traffic_time) = (Stage::WarmUp, 0, Nanos::ZERO);
        let mut search = Self { goals, ladder, ledger, stage, ask: None, trials, traffic_time };
        if !search.goals.is_empty() {
            search.ask = search.initially(ladder.top());
        }
        search
    }

    /// Number of trials after which the search ends with its current bounds. It is ten times what a
    /// well-behaved device takes at most, and only contradictory answers reach it.
    fn most_trials(&self) -> u32 {
        let targets = self.goals.iter().flat_map(|goal| selector::targets(goal, &self.ladder));
        let each = |target: Target| 2 + target.duration_sum.0.div_ceil(target.duration.0.max(1));
        let all: u64 = targets.map(each).sum();
        u32::try_from(100 + 10 * all).unwrap_or(u32::MAX)
    }

    /// Initial trial: as long as the longest of the goals' initial durations.
    fn initially(&self, rung: Rung) -> Option<Ask> {
        let duration = self.goals.iter().map(|goal| goal.initial_duration).max()?;
        Some(Ask { rung, duration, selector: 0 })
    }

    fn record(&mut self, ask: Ask, seen: Seen) {
        let duration = ask.duration;
        match seen {
            Seen::Counted { offered, sent, lost } => {
                let loss_ratio = loss_ratio(sent, lost);
                self.ledger.count(ask.rung, Trial { duration, offered, loss_ratio });
            }
            Seen::BeyondTester { lossless } => {
                self.ledger.refuse(ask.rung);
                let Some(offered) = lossless.filter(|rate| rate.0 >= self.ladder.load(0)) else {
                    return;
                };
                let rung = self.ladder.at_most(offered.0);
                if rung < ask.rung {
                    self.ledger.carry(rung, Trial { duration, offered, loss_ratio: 0.0 });
                }
            }
        }
    }

    /// Rung at which a trial's forwarded frames would be within the smallest loss ratio of the
    /// goals.
    fn forwarded(&self, ask: Ask, seen: Seen) -> Rung {
        let least = self.goals.iter().map(|goal| goal.loss_ratio).fold(1.0, f64::min);
        let rate = match seen {
            Seen::Counted { offered, sent, lost } => {
                offered.0 * (1.0 - loss_ratio(sent, lost)) / (1.0 - least)
            }
            Seen::BeyondTester { lossless: Some(rate) } => rate.0,
            Seen::BeyondTester { lossless: None } => self.ladder.load(ask.rung) / 2.0,
        };
        self.ladder.at_most(rate)
    }

    /// Decides on the next trial.
    fn plan(&mut self, ask: Ask, seen: Seen) -> Option<Ask> {
        let top = self.ladder.top();
        match &mut self.stage {
            Stage::WarmUp => {
                self.stage = Stage::Highest;
                self.initially(top)
            }
            Stage::Highest => {
                let refused = matches!(seen, Seen::BeyondTester { .. });
                if refused && !self.ledger.beyond_tester(top) {
                    return Some(ask);
                }
                let rung = self.forwarded(ask, seen);
                if rung >= top && !refused {
                    return self.start(top, top);
                }
                self.stage = Stage::Forwarded;
                self.initially(rung.min(top.saturating_sub(1)))
            }
            Stage::Forwarded => {
                let rung = self.forwarded(ask, seen);
                let beside = match seen {
                    Seen::Counted { .. } if rung < ask.rung => rung,
                    Seen::Counted { .. } => self.above(ask.rung),
                    Seen::BeyondTester { .. } => ask.rung,
                };
                if beside == ask.rung || beside >= top {
                    return self.start(ask.rung, ask.rung);
                }
                self.stage = Stage::Beside { first: ask.rung };
                self.initially(beside)
            }
            Stage::Beside { first } => {
                let first = *first;
                self.start(first.min(ask.rung), first.max(ask.rung))
            }
            Stage::Goals(selectors) => {
                selectors[ask.selector].tried(ask.rung, &self.ledger);
                self.choose()
            }
        }
    }

    /// Rung above by the smallest first width of the goals.
    fn above(&self, rung: Rung) -> Rung {
        let first = |goal| selector::targets(goal, &self.ladder).first().map(|one| one.width_rungs);
        rung.saturating_add(self.goals.iter().filter_map(first).min().unwrap_or(1))
    }

    /// Ends the initial trials.
    fn start(&mut self, lower: Rung, upper: Rung) -> Option<Ask> {
        let selector = |goal| Selector::new(selector::targets(goal, &self.ladder), lower, upper);
        self.stage = Stage::Goals(self.goals.iter().map(selector).collect());
        self.choose()
    }

    /// Chooses the lowest load that any goal requests, because an upper bound found there saves all
    /// loads above. Among equal loads it takes the longer trial, which serves both.
    fn choose(&mut self) -> Option<Ask> {
        if self.trials >= self.most_trials() {
            return None;
        }
        let Stage::Goals(selectors) = &mut self.stage else { return None };
        let mut wishes = Vec::new();
        for (selector, own) in selectors.iter_mut().enumerate() {
            if let Some((rung, duration)) = own.nominate(&self.ledger, &self.ladder) {
                wishes.push(Ask { rung, duration, selector });
            }
        }
        wishes.into_iter().min_by_key(|ask| (ask.rung, std::cmp::Reverse(ask.duration)))
    }

    fn result(&self, goal: &Goal) -> Option<GoalResult> {
        let target = selector::targets(goal, &self.ladder).pop()?;
        let bounds = self.ledger.bounds(&target);
        let at = |rung| self.ledger.load(rung);
        let lower = bounds.lower.and_then(at);
        let relevant_lower = lower.and_then(|load| load.offered_passing(&target));
        let loss_ratio = lower.map_or(1.0, |load| load.quantile_loss_ratio(&target));
        let narrow = match (bounds.lower, bounds.upper) {
            (Some(lower), Some((upper, FailedBy::Loss))) => upper - lower <= target.width_rungs,
            _ => false,
        };
        let failure = |(rung, by): (Rung, FailedBy)| {
            let asked = FrameRate(self.ladder.load(rung));
            let offered = at(rung).and_then(|load| load.offered_failing(&target));
            Failure { rate: offered.filter(|_| by == FailedBy::Loss).unwrap_or(asked), by }
        };
        Some(GoalResult {
            goal: goal.name,
            relevant_lower,
            relevant_upper: bounds.upper.map(failure),
            conditional_throughput: relevant_lower
                .map(|rate| FrameRate(rate.0 * (1.0 - loss_ratio))),
            trials: self.trials,
            traffic_time: self.traffic_time,
            irregular: !narrow,
        })
    }
}

impl Search for MlrSearch {
    fn next(&self) -> Step {
        let Some(ask) = self.ask else {
            return Step::Done(self.goals.iter().filter_map(|goal| self.result(goal)).collect());
        };
        let rate = FrameRate(self.ladder.load(ask.rung));
        Step::Try(Attempt { rate, duration: ask.duration })
    }

    fn learn(&mut self, seen: Seen) {
        let Some(ask) = self.ask else { return };
        self.trials += 1;
        self.traffic_time += ask.duration;
        if self.stage != Stage::WarmUp {
            self.record(ask, seen);
        }
        self.ask = self.plan(ask, seen);
    }
}
