//! Search goals in the sense of RFC 9971 §4.6, and the named ones.
//!
//! Owns the names, their parameters and the shorter durations of a quick look. Never decides a
//! load.

use std::fmt;
use std::str::FromStr;

use measure::Nanos;
use serde::{Deserialize, Serialize};

/// Quantity that a search finds. Two goals are two quantities, however near their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GoalName {
    /// RFC 2544 §26.1 throughput: no frame lost in the one full-length trial.
    Rfc2544,
    /// ETSI GS NFV-TST 009 §12.3.3: a trial with losses is repeated once, and may pass then.
    Tst009,
    /// Non-drop rate: nothing lost in at least half of many short trials.
    Ndr,
    /// Partial-drop rate: at most 0.5 % lost in at least half of many short trials.
    Pdr,
}

impl GoalName {
    /// All goals, in the order of their descriptions.
    pub const ALL: [Self; 4] = [Self::Rfc2544, Self::Tst009, Self::Ndr, Self::Pdr];

    /// Name as users write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rfc2544 => "rfc2544",
            Self::Tst009 => "tst009",
            Self::Ndr => "ndr",
            Self::Pdr => "pdr",
        }
    }
}

impl fmt::Display for GoalName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Error: there is no such goal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no search goal is called `{0}`: there are rfc2544, tst009, ndr and pdr")]
pub struct NoSuchGoal(String);

impl FromStr for GoalName {
    type Err = NoSuchGoal;

    fn from_str(text: &str) -> Result<Self, NoSuchGoal> {
        let named = |name: &Self| name.as_str().eq_ignore_ascii_case(text);
        Self::ALL.into_iter().find(named).ok_or_else(|| NoSuchGoal(text.to_owned()))
    }
}

/// Condition under which a load passes, and the precision and patience of the search (RFC 9971
/// §4.6).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// Name of the quantity found.
    pub name: GoalName,
    /// Largest loss ratio of a trial that passes; from 0 and below 1.
    pub loss_ratio: f64,
    /// Share of the seconds at one load that may lie in failed trials; from 0 and below 1.
    pub exceed_ratio: f64,
    /// Duration of a full-length trial, at least.
    pub final_duration: Nanos,
    /// Total duration of traffic that decides a load; at least the final duration.
    pub duration_sum: Nanos,
    /// Duration of the trials on the way; at most the final duration.
    pub initial_duration: Nanos,
    /// Allowed distance of the bounds, relative to the upper one; above 0 and below 1.
    pub width: f64,
    /// Allowed distance if the upper bound is a limit of the tester, which needs no closer search.
    /// At least the width; equal to it in runs of earlier versions.
    pub tester_width: f64,
    /// Number of coarser goals to reach first: each has twice the width and a shorter duration sum.
    pub preceding_targets: u32,
    /// Factor by which the search distance grows after a bound was not found; at least 2.
    pub expansion: u32,
}

impl Goal {
    /// Returns the goal of that name with the durations of its source.
    pub fn strict(name: GoalName) -> Self {
        match name {
            GoalName::Rfc2544 => Self::rfc2544(),
            GoalName::Tst009 => Self::tst009(),
            GoalName::Ndr => Self::ndr(),
            GoalName::Pdr => Self::pdr(),
        }
    }

    /// Returns the goal of that name with shorter trials, for a quick look: a thirtieth of the long
    /// durations, 0.3 s for the short ones, and a third of their number.
    pub fn quick(name: GoalName) -> Self {
        let strict = Self::strict(name);
        let initial_duration = Nanos::from_millis(300);
        let (final_duration, trials) = match name {
            GoalName::Rfc2544 => (Nanos::from_secs(2), 1),
            GoalName::Tst009 => (Nanos::from_secs(2), 2),
            GoalName::Ndr | GoalName::Pdr => (initial_duration, 7),
        };
        let duration_sum = final_duration * trials;
        Self { final_duration, duration_sum, initial_duration, ..strict }
    }

    /// RFC 2544 §26.1 throughput, with the 60 s of §24 and 10 s on the way.
    pub const fn rfc2544() -> Self {
        Self {
            name: GoalName::Rfc2544,
            loss_ratio: 0.0,
            exceed_ratio: 0.0,
            final_duration: Nanos::from_secs(60),
            duration_sum: Nanos::from_secs(60),
            initial_duration: Nanos::from_secs(10),
            width: 0.005,
            tester_width: 0.005,
            preceding_targets: 2,
            expansion: 2,
        }
    }

    /// TST 009's search with loss verification: of two trials of 60 s one must pass.
    pub const fn tst009() -> Self {
        Self {
            name: GoalName::Tst009,
            exceed_ratio: 0.5,
            duration_sum: Nanos::from_secs(120),
            ..Self::rfc2544()
        }
    }

    /// Non-drop rate with FD.io CSIT's parameters: of 21 trials of one second eleven must pass.
    pub const fn ndr() -> Self {
        Self {
            name: GoalName::Ndr,
            exceed_ratio: 0.5,
            final_duration: Nanos::from_secs(1),
            duration_sum: Nanos::from_secs(21),
            initial_duration: Nanos::from_secs(1),
            ..Self::rfc2544()
        }
    }

    /// Partial-drop rate with FD.io CSIT's parameters: like the non-drop rate, with 0.5 % loss.
    pub const fn pdr() -> Self {
        Self { name: GoalName::Pdr, loss_ratio: 0.005, ..Self::ndr() }
    }

    /// True if a single full-length trial that passes decides a load, whatever the others did.
    pub fn one_pass_decides(&self) -> bool {
        let needed = self.duration_sum.as_secs_f64() * (1.0 - self.exceed_ratio);
        needed <= self.final_duration.as_secs_f64()
    }

    /// True if a trial's loss ratio is within the goal.
    pub(super) fn passes(&self, loss_ratio: f64) -> bool {
        loss_ratio <= self.loss_ratio
    }

    /// Number of trials at one load that may fail before the load does, if one pass decides.
    pub(super) fn spare_trials(&self) -> u32 {
        let trials = self.duration_sum.as_secs_f64() / self.final_duration.as_secs_f64();
        if self.one_pass_decides() { (trials * self.exceed_ratio) as u32 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in GoalName::ALL {
            assert_eq!(name.to_string().parse(), Ok(name));
            assert_eq!(Goal::strict(name).name, name);
            assert_eq!(Goal::quick(name).name, name);
        }
        let problem = "throughput".parse::<GoalName>().expect_err("no goal's name");
        assert!(problem.to_string().contains("`throughput`"));
    }

    #[test]
    fn one_pass_decides_the_goals_of_long_trials() {
        let spare = |goal: Goal| (goal.one_pass_decides(), goal.spare_trials());
        assert_eq!(spare(Goal::rfc2544()), (true, 0));
        assert_eq!(spare(Goal::tst009()), (true, 1));
        assert_eq!(spare(Goal::ndr()), (false, 0));
        assert_eq!(spare(Goal::quick(GoalName::Tst009)), (true, 1));
        assert_eq!(spare(Goal::quick(GoalName::Pdr)), (false, 0));
    }

    #[test]
    fn durations_grow_towards_the_sum() {
        for goal in GoalName::ALL.into_iter().flat_map(|n| [Goal::strict(n), Goal::quick(n)]) {
            assert!(goal.initial_duration <= goal.final_duration, "{goal:?}");
            assert!(goal.final_duration <= goal.duration_sum, "{goal:?}");
        }
    }
}
