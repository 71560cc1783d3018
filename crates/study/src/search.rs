//! Interface of searches: the next load to try, given the results so far.
//!
//! A search knows rates, durations and losses, or whole numbers (`largest`); never a trial, a path
//! or a testbed. Any answers, noisy or contradictory, lead to an end, with one result per goal.

mod binary;
mod goal;
mod largest;
mod mlr;
mod series;

use measure::{FrameRate, Nanos};

use crate::verdict::TESTER_SHARE;

pub use binary::BinarySearch;
pub use goal::{Goal, GoalName, NoSuchGoal};
pub(crate) use largest::{Answer, Largest, Scale, Within, largest};
pub use mlr::MlrSearch;
pub use series::begin;

/// Search that chooses the next load.
pub trait Search {
    /// Next step; the same until a result is learnt.
    fn next(&self) -> Step;

    /// Takes the result of the last [`Step::Try`].
    fn learn(&mut self, seen: Seen);
}

/// Offers each requested load until the search ends; `None` if a load could not be offered at all.
pub fn carry_out<E>(
    search: &mut dyn Search,
    mut offer: impl FnMut(Attempt) -> Result<Option<Seen>, E>,
) -> Result<Option<Vec<GoalResult>>, E> {
    loop {
        match search.next() {
            Step::Try(attempt) => match offer(attempt)? {
                Some(seen) => search.learn(seen),
                None => return Ok(None),
            },
            Step::Done(results) => return Ok(Some(results)),
        }
    }
}

/// Next step of a search.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Offer this load.
    Try(Attempt),
    /// The search has ended, with one result per goal, in the order of the goals.
    Done(Vec<GoalResult>),
}

/// Load to offer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Attempt {
    /// Rate in frames per second.
    pub rate: FrameRate,
    /// Duration of the load.
    pub duration: Nanos,
}

/// Result of an attempt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Seen {
    /// Valid trial.
    Counted {
        /// Load as actually offered.
        offered: FrameRate,
        /// Frames sent.
        sent: u64,
        /// Frames not delivered during the load, at most `sent`: lost ones, and those that queued
        /// because the path delivers more slowly than the sender sends.
        lost: u64,
    },
    /// The tester could not offer the load: neither a success nor a loss of the device.
    BeyondTester {
        /// Actual load, averaged over the load phase, if none of its frames was lost: a lower load
        /// that passed.
        lossless: Option<FrameRate>,
    },
}

/// Result of a search for one goal. The bounds are those of RFC 9971 §4.8; for a binary search, its
/// bracket.
#[derive(Debug, Clone, PartialEq)]
pub struct GoalResult {
    /// Name of the goal.
    pub goal: GoalName,
    /// Highest load below the upper bound that meets the goal, as actually offered; `None` if none
    /// was found.
    pub relevant_lower: Option<FrameRate>,
    /// Lowest load that does not meet the goal; `None` if the highest of all did.
    pub relevant_upper: Option<Failure>,
    /// Conditional throughput at the lower bound: its load minus the loss ratio that all but the
    /// tolerated share of its full-length trials kept. For a goal without loss, the load itself.
    pub conditional_throughput: Option<FrameRate>,
    /// Number of trials of the search, over all of its goals.
    pub trials: u32,
    /// Total duration of the load phases of all those trials.
    pub traffic_time: Nanos,
    /// True if a bound is missing, the bounds are further apart than the goal's width, or the upper
    /// one is the tester's.
    pub irregular: bool,
}

/// Load that did not pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Failure {
    /// Load as actually offered; as requested if the tester could not offer it.
    pub rate: FrameRate,
    /// Reason for the failure.
    pub by: FailedBy,
}

/// Reason why a load did not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedBy {
    /// More frames were lost than the goal allows, in valid trials.
    Loss,
    /// The tester could not offer the load, or not receive it.
    Tester,
}

/// Range of loads to search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadRange {
    /// Lowest load to try; above zero.
    pub min: FrameRate,
    /// Highest load to try, and the first.
    pub max: FrameRate,
}

/// Least number of frames of a search trial: with fewer, its rate is too coarse to steer by.
pub(crate) const FEW_FRAMES: f64 = 20.0;

/// Least number of frames of a trial whose rate does not depend on chance in its first and last
/// frame.
const FEWEST_FRAMES: f64 = 4.0;

impl LoadRange {
    /// Searches down to what a trial of the longest duration resolves (RFC 9971 §4.6.2 asks no more
    /// of the lowest load). A fixed share of the highest load would look like a limit where the
    /// tester is that much faster.
    pub fn below(max: FrameRate, longest: Nanos) -> Self {
        let min = FEWEST_FRAMES / longest.as_secs_f64().max(1e-3);
        Self { min: FrameRate(min.min(max.0)), max }
    }
}

/// Allowed distance of the bounds, relative to the upper one, if that is the tester's and unstable:
/// it has offered as much at another time. The lower bound holds anyway, and a verdict needs no
/// more precision. A closer search would only follow the tester's own limit.
const RAGGED_WIDTH: f64 = 1.0 - TESTER_SHARE;

/// Share of the frames sent that were lost.
fn loss_ratio(sent: u64, lost: u64) -> f64 {
    if sent == 0 { 0.0 } else { lost as f64 / sent as f64 }
}
