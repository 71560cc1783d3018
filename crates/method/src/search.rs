//! The search seam: which load to try next, given what the loads so far came to.
//!
//! A search knows rates, durations and losses; never a trial, a path or a testbed. It may be fed any
//! answers, noisy or contradictory, and ends all the same.

mod bisection;

use measure::{FrameRate, Nanos};

pub use bisection::{Bisection, Bounds};

/// Decides where to look.
pub trait Search {
    /// What to do next; the same until something is learnt.
    fn next(&self) -> Step;

    /// What came of the last [`Step::Try`].
    fn learn(&mut self, seen: Seen);
}

/// What a search wants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// Offer this load.
    Try(Attempt),
    /// It has its answer.
    Done(SearchResult),
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
        /// Frames that never came.
        lost: u64,
    },
    /// The tester could not do it: neither a success nor a loss of the device.
    BeyondTester {
        /// What it did come to, averaged over the whole load phase, where not one frame of that was
        /// lost: a load that passed, though a lower one than asked.
        lossless: Option<FrameRate>,
    },
}

/// A search's answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchResult {
    /// The highest load confirmed without loss, as it really was; `None` where none was found.
    pub lossless: Option<FrameRate>,
    /// The lowest load above it that failed; `None` where the highest of all did not.
    pub failed: Option<Failure>,
    /// How many trials it took.
    pub trials: u32,
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
    /// Frames were lost in a valid trial.
    Loss,
    /// The tester could not offer it, or not receive it.
    Tester,
}
