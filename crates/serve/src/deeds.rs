//! Actions on a run from its page: the interface to the code that carries them out.
//!
//! Owns the requests. There are none unless the server was started with them, and they pass every
//! check that a reader passes, and more. Never acts itself.

use std::fmt::Debug;

use journal::RunSummary;

use crate::source::Unavailable;

/// Action that a page may request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// End the run after the trial under way, as Ctrl-C does.
    Stop,
    /// Continue a run that was interrupted.
    Resume,
}

impl Deed {
    /// Parses the last part of an address.
    pub(crate) fn from_address(last: &str) -> Option<Self> {
        [Self::Stop, Self::Resume].into_iter().find(|deed| deed.as_str() == last)
    }

    /// Name in an address.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Resume => "resume",
        }
    }

    /// Label on a button.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Stop => "Stop",
            Self::Resume => "Go on",
        }
    }
}

/// Actions that are possible on a run now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Possible {
    /// Action that is offered, one at most.
    pub deed: Option<Deed>,
    /// True if the run was asked to continue and is not under way yet.
    pub is_starting: bool,
    /// Result of the last action; `None` if not worth a sentence.
    pub said: Option<String>,
}

/// Carries out actions on runs.
pub trait Deeds: Debug + Send + Sync + 'static {
    /// Returns what can be done to a run in its present state.
    fn possible(&self, run: &RunSummary) -> Possible;

    /// Starts the action, or says why not. Returns before it is finished.
    fn carry_out(&self, deed: Deed, run: &str) -> Result<(), Unavailable>;
}
