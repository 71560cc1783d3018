//! The search seam: which load to try next, given what the loads so far came to.
//!
//! A search knows rates, durations and losses, or whole numbers (`largest`); never a trial, a path
//! or a testbed. It may be fed any answers, noisy or contradictory, and ends all the same, with one
//! result for each of its goals.

mod binary;
mod goal;
mod largest;
mod mlr;
mod series;

use measure::{FrameRate, Nanos};

use crate::verdict::TESTER_SHARE;

pub use binary::BinarySearch;
pub use goal::{Goal, GoalName, NoSuchGoal};
pub(crate) use largest::{Answer, Largest, Within, largest};
pub use mlr::MlrSearch;
pub use series::begin;

/// Decides where to look.
pub trait Search {
    /// What to do next; the same until something is learnt.
    fn next(&self) -> Step;

    /// What came of the last [`Step::Try`].
    fn learn(&mut self, seen: Seen);
}

/// Offers whatever a search asks for, until it has its answers; none where a load could not be
/// offered at all.
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

/// What a search wants.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Offer this load.
    Try(Attempt),
    /// It has its answers: one for each goal, in the order in which the goals were given.
    Done(Vec<GoalResult>),
}

/// A load to offer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Attempt {
    /// Frames a second.
    pub rate: FrameRate,
    /// For how long.
    pub duration: Nanos,
}

/// What came of an attempt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Seen {
    /// A valid trial.
    Counted {
        /// The load as it really was.
        offered: FrameRate,
        /// Frames sent.
        sent: u64,
        /// Frames that the path did not bring through in the time of the load, at most `sent`:
        /// those that never came, and those that queued because less came out than went in.
        lost: u64,
    },
    /// The tester could not do it: neither a success nor a loss of the device.
    BeyondTester {
        /// What it did come to, averaged over the whole load phase, where not one frame of that was
        /// lost: a load that passed, though a lower one than asked.
        lossless: Option<FrameRate>,
    },
}

/// A search's answer for one goal. The bounds are those of RFC 9971 §4.8; for a binary search its
/// bracket.
#[derive(Debug, Clone, PartialEq)]
pub struct GoalResult {
    /// Which.
    pub goal: GoalName,
    /// The highest load below the upper bound that meets the goal, as it was really offered; `None`
    /// where none was found.
    pub relevant_lower: Option<FrameRate>,
    /// The lowest load that does not; `None` where the highest of all did.
    pub relevant_upper: Option<Failure>,
    /// What came out at the lower bound: its load less the loss ratio that all but the tolerated
    /// share of its full-length trials kept to. At a goal without loss the load itself.
    pub conditional_throughput: Option<FrameRate>,
    /// How many trials the search took that found it, for all the goals that it found.
    pub trials: u32,
    /// The load phases of all those trials together.
    pub traffic_time: Nanos,
    /// Not both bounds were found, or not within the goal's width, or the upper one is the
    /// tester's.
    pub irregular: bool,
}

/// A load that did not pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Failure {
    /// As it really was; where the tester could not offer it, as asked for.
    pub rate: FrameRate,
    /// Why.
    pub by: FailedBy,
}

/// Why a load did not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedBy {
    /// More frames were lost than the goal allows, in valid trials.
    Loss,
    /// The tester could not offer it, or not receive it.
    Tester,
}

/// Between which loads to look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadRange {
    /// The lowest load to try; above zero.
    pub min: FrameRate,
    /// The highest load to try, and the first.
    pub max: FrameRate,
}

/// Frames that a trial on the way should have: fewer tell a rate too coarsely to steer by.
pub(crate) const FEW_FRAMES: f64 = 20.0;

/// Frames that a trial needs at least to have a rate that is no accident of its first and last
/// frame.
const FEWEST_FRAMES: f64 = 4.0;

impl LoadRange {
    /// Down to what a trial of the longest duration resolves (RFC 9971 §4.6.2 asks no more of the
    /// lowest load): a share of the highest would pass for a limit wherever the tester is that much
    /// faster.
    pub fn below(max: FrameRate, longest: Nanos) -> Self {
        let min = FEWEST_FRAMES / longest.as_secs_f64().max(1e-3);
        Self { min: FrameRate(min.min(max.0)), max }
    }
}

/// How far apart bounds may be, relative to the upper, where that is the tester's and ragged: the
/// tester has offered as much at another time. What passed is a lower bound either way, of which a
/// verdict asks for no more than this share, and a closer look would only trace how the tester's
/// limit moves.
const RAGGED_WIDTH: f64 = 1.0 - TESTER_SHARE;

/// The share of the frames sent that never came.
fn loss_ratio(sent: u64, lost: u64) -> f64 {
    if sent == 0 { 0.0 } else { lost as f64 / sent as f64 }
}
