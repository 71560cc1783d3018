//! What a study will take: how many trials, how long, of how many flows at once, and whether that
//! can be known beforehand.
//!
//! Owns the sums of them. Never a limit: what people are told before the start, and a progress bar.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul};

use measure::Nanos;

/// What starting and collecting a trial of one flow costs beside its phases.
pub const TRIAL_OVERHEAD: Nanos = Nanos::from_millis(60);

/// What each further flow adds to that, where hosts are real: threads, sockets, learning frames and
/// a report.
const FLOW_OVERHEAD: Nanos = Nanos::from_millis(18);

/// What starting and collecting a trial of so many flows costs real hosts beside its phases.
pub fn trial_overhead(flows: u64) -> Nanos {
    TRIAL_OVERHEAD + FLOW_OVERHEAD * flows.saturating_sub(1)
}

/// So many trials, which take so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Estimate {
    /// Without the repeats of trials that are not valid.
    pub trials: u64,
    /// Of all of them, with what starting and collecting each costs.
    pub time: Nanos,
    /// Of all of them, what flows beyond the first cost real hosts beside `time`.
    pub starting: Nanos,
    /// The most flows that one of them has: what memory it takes goes by them.
    pub flows: u64,
    /// Whether results decide how many there are, as in a search: this is what is usual then.
    pub searching: bool,
}

impl Estimate {
    /// Nothing at all.
    pub const NONE: Self =
        Self { trials: 0, time: Nanos::ZERO, starting: Nanos::ZERO, flows: 0, searching: false };

    /// One trial.
    pub const fn trial(time: Nanos) -> Self {
        Self { trials: 1, time, flows: 1, ..Self::NONE }
    }

    /// The same with trials of so many flows.
    #[must_use]
    pub fn with_flows(self, flows: u64) -> Self {
        let starting = FLOW_OVERHEAD * flows.saturating_sub(1) * self.trials;
        Self { starting, flows, ..self }
    }

    /// The same where hosts are real: models start any number of flows at once.
    #[must_use]
    pub(crate) fn on_real_hosts(self) -> Self {
        Self { time: self.time + self.starting, starting: Nanos::ZERO, ..self }
    }

    /// The same where results decide how many trials there are.
    #[must_use]
    pub const fn searching(self) -> Self {
        Self { searching: self.trials > 0, ..self }
    }
}

impl Add for Estimate {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            trials: self.trials.saturating_add(other.trials),
            time: self.time + other.time,
            starting: self.starting + other.starting,
            flows: self.flows.max(other.flows),
            searching: self.searching || other.searching,
        }
    }
}

impl AddAssign for Estimate {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<u64> for Estimate {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self {
            trials: self.trials.saturating_mul(times),
            time: self.time * times,
            starting: self.starting * times,
            flows: self.flows,
            searching: self.searching && times > 0,
        }
    }
}

impl Div<u64> for Estimate {
    type Output = Self;
    fn div(self, by: u64) -> Self {
        Self {
            trials: self.trials / by,
            time: self.time / by,
            starting: self.starting / by,
            ..self
        }
    }
}

impl Sum for Estimate {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::NONE, |sum, one| sum + one)
    }
}
