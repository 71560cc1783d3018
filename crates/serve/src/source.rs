//! Source of the pages: the interface to the journal.
//!
//! Owns what is asked of it. Every question is asked on a thread that may wait, and none changes
//! anything.

use journal::RunSummary;
use journal::progress::Progress;
use render::exposition::Family;

/// A journal, as it is looked at.
pub trait Source: Send + Sync + 'static {
    /// Returns the journal's name.
    fn name(&self) -> String;

    /// Returns all runs, newest first, their trials not counted.
    fn runs(&self) -> Result<Listing, Unavailable>;

    /// Counts the trials of these, and sets what is known to be found by them.
    fn sum_up(&self, runs: &mut [RunSummary]) -> Result<(), Unavailable>;

    /// A run's report, a page of its own.
    fn report(&self, run: &str) -> Result<String, Unavailable>;

    /// The testbed of a run.
    fn testbed(&self, run: &str) -> Result<Testbed, Unavailable>;

    /// Two runs compared, a page of its own: each `RUN`, `RUN/DEVICE`, `RUN/DEVICE:VARIANT` or
    /// `RUN/FACTOR=LEVEL`.
    fn comparison(&self, reference: &str, subject: &str) -> Result<String, Unavailable>;

    /// Returns the metrics for a monitoring system.
    fn metrics(&self) -> Result<Vec<Family>, Unavailable>;

    /// Returns a watch that follows runs, on one thread.
    fn watch(&self) -> Result<Box<dyn Watch>, Unavailable>;
}

/// Runs of a journal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Newest first.
    pub runs: Vec<RunSummary>,
    /// Warnings about what could not be read, a sentence each.
    pub warnings: Vec<String>,
}

impl From<Vec<RunSummary>> for Listing {
    fn from(runs: Vec<RunSummary>) -> Self {
        Self { runs, warnings: Vec::new() }
    }
}

/// The testbed, drawn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Testbed {
    /// One `<svg>` element, whose cables name their test ports in `data-ports`; empty where there
    /// is nothing to draw.
    pub svg: String,
    /// Caption of the drawing.
    pub caption: String,
}

/// Follows runs under way.
pub trait Watch {
    /// Checks if the journal has changed since the last call.
    fn changed(&mut self) -> Result<bool, Unavailable>;

    /// Returns the progress of a run.
    fn progress(&mut self, run: &str) -> Result<Progress, Unavailable>;
}

/// Something cannot be shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unavailable {
    /// Kind of failure, and so whose fault it is.
    pub kind: Kind,
    /// Message: what failed, and why.
    pub message: String,
    /// Advice on what to do about it; `None` if unknown.
    pub hint: Option<String>,
}

/// Kind of failure, by whose fault it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// There is no such thing.
    Missing,
    /// The question makes no sense of what there is.
    Question,
    /// The run's present state does not allow it.
    State,
    /// The journal cannot be read.
    Journal,
}

impl Unavailable {
    /// Creates it without advice.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }
}
