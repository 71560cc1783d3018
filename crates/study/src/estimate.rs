//! Estimate of a study: number of trials, duration, flows at once, and whether results decide the
//! number.
//!
//! Owns the sums of them. Never a limit: only for people before the start and for a progress bar.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul};

use measure::Nanos;

/// Time to start and collect a trial of one flow, in addition to its phases.
pub const TRIAL_OVERHEAD: Nanos = Nanos::from_millis(60);

/// Additional time per further flow on real hosts: threads, sockets, learning frames and a report.
const FLOW_OVERHEAD: Nanos = Nanos::from_millis(18);

/// Time to start and collect a trial of `flows` flows on real hosts, in addition to its phases.
pub fn trial_overhead(flows: u64) -> Nanos {
    TRIAL_OVERHEAD + FLOW_OVERHEAD * flows.saturating_sub(1)
}

/// Number of trials and their duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Estimate {
    /// Number of trials, without repeats of invalid ones.
    pub trials: u64,
    /// Time of all trials, including their start and collection.
    pub time: Nanos,
    /// Additional time on real hosts for flows beyond the first, over all trials.
    pub starting: Nanos,
    /// Maximum number of flows in one trial, which determines the memory needed.
    pub flows: u64,
    /// True if results decide the number of trials, as in a search; the estimate is then a usual
    /// one.
    pub searching: bool,
}

impl Estimate {
    /// Estimate of no trials.
    pub const NONE: Self =
        Self { trials: 0, time: Nanos::ZERO, starting: Nanos::ZERO, flows: 0, searching: false };

    /// Creates an estimate of one trial.
    pub const fn trial(time: Nanos) -> Self {
        Self { trials: 1, time, flows: 1, ..Self::NONE }
    }

    /// Sets the number of flows in each trial.
    #[must_use]
    pub fn with_flows(self, flows: u64) -> Self {
        let starting = FLOW_OVERHEAD * flows.saturating_sub(1) * self.trials;
        Self { starting, flows, ..self }
    }

    /// Adds the time that real hosts need to start flows; models start any number at once.
    #[must_use]
    pub(crate) fn on_real_hosts(self) -> Self {
        Self { time: self.time + self.starting, starting: Nanos::ZERO, ..self }
    }

    /// Marks the number of trials as decided by results.
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
