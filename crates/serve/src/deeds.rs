//! What may be done to a run from its page: the seam to whoever can do it.
//!
//! Owns what is asked of it. There is none unless the server was started so, and then who asks has
//! passed every check that a reader passes, and more. Never does anything itself.

use std::fmt::Debug;

use journal::RunSummary;

use crate::source::Unavailable;

/// Something that a page may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// End the run after the trial under way, as Ctrl-C does.
    Stop,
    /// Go on with a run that broke off.
    Resume,
}

impl Deed {
    /// The deed of an address' last part.
    pub(crate) fn from_address(last: &str) -> Option<Self> {
        [Self::Stop, Self::Resume].into_iter().find(|deed| deed.as_str() == last)
    }

    /// As in an address.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Resume => "resume",
        }
    }

    /// As on a button.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Stop => "Stop",
            Self::Resume => "Go on",
        }
    }
}

/// What can be done to a run now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Possible {
    /// One thing at most.
    pub deed: Option<Deed>,
    /// It was asked to go on, and is not under way yet.
    pub is_starting: bool,
    /// What came of the last deed, where that is worth a sentence.
    pub said: Option<String>,
}

/// Whoever does it.
pub trait Deeds: Debug + Send + Sync + 'static {
    /// What can be done to a run as it stands.
    fn possible(&self, run: &RunSummary) -> Possible;

    /// Does it, or says why not. Returns before it is finished.
    fn carry_out(&self, deed: Deed, run: &str) -> Result<(), Unavailable>;
}
