//! Where the pages come from: the seam to whoever has the journal.
//!
//! Owns what is asked of it. Every question is asked on a thread that may wait, and none changes
//! anything.

use journal::RunSummary;
use journal::progress::Progress;
use render::exposition::Family;

/// A journal, as it is looked at.
pub trait Source: Send + Sync + 'static {
    /// What it is called.
    fn name(&self) -> String;

    /// All runs, newest first, their trials not counted.
    fn runs(&self) -> Result<Listing, Unavailable>;

    /// Counts the trials of these.
    fn count(&self, runs: &mut [RunSummary]) -> Result<(), Unavailable>;

    /// A run's report, a page of its own.
    fn report(&self, run: &str) -> Result<String, Unavailable>;

    /// The testbed of a run.
    fn testbed(&self, run: &str) -> Result<Testbed, Unavailable>;

    /// Two runs compared, a page of its own: each `RUN`, `RUN/DEVICE`, `RUN/DEVICE:VARIANT` or
    /// `RUN/FACTOR=LEVEL`.
    fn comparison(&self, reference: &str, subject: &str) -> Result<String, Unavailable>;

    /// What a monitoring system is told.
    fn metrics(&self) -> Result<Vec<Family>, Unavailable>;

    /// Somebody who follows runs, on one thread.
    fn watch(&self) -> Result<Box<dyn Watch>, Unavailable>;
}

/// What there is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Newest first.
    pub runs: Vec<RunSummary>,
    /// What could not be read, a sentence each.
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
    /// What is seen of it.
    pub caption: String,
}

/// Follows runs under way.
pub trait Watch {
    /// Whether the journal has changed since it was last asked.
    fn changed(&mut self) -> Result<bool, Unavailable>;

    /// How a run stands.
    fn progress(&mut self, run: &str) -> Result<Progress, Unavailable>;
}

/// Something can't be shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unavailable {
    /// Whether it is the question's fault.
    pub kind: Kind,
    /// What, and why.
    pub message: String,
    /// What to do about it, where that is known.
    pub hint: Option<String>,
}

/// Whose fault it is that something can't be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// There is no such thing.
    Missing,
    /// The question makes no sense of what there is.
    Question,
    /// It can't be done to the run as it stands.
    State,
    /// The journal can't be read.
    Journal,
}

impl Unavailable {
    /// Without advice.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }
}
