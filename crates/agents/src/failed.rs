//! A failure, described in words.
//!
//! Owns one form for all failures that are only reported: the attempted operation, its cause, and a
//! suggested fix. A failure that code acts on has a type of its own.

use std::error::Error;

type Cause = Box<dyn Error + Send + Sync>;

/// A failure.
#[derive(Debug, thiserror::Error)]
#[error("{deed}")]
pub struct Failed {
    deed: String,
    #[source]
    cause: Option<Cause>,
    hint: Option<String>,
    unavailable: bool,
    unanswered: bool,
}

impl Failed {
    /// Creates a failure from the attempted operation; without a cause, the text includes the
    /// reason.
    pub fn new(deed: impl Into<String>) -> Self {
        Self { deed: deed.into(), cause: None, hint: None, unavailable: false, unanswered: false }
    }

    /// Creates a failure from the attempted operation and its cause.
    pub fn because(deed: impl Into<String>, cause: impl Into<Cause>) -> Self {
        Self { cause: Some(cause.into()), ..Self::new(deed) }
    }

    /// Returns a function that wraps a cause, for `map_err`.
    pub fn to<E: Into<Cause>>(deed: impl Into<String>) -> impl FnOnce(E) -> Self {
        let deed = deed.into();
        move |cause| Self::because(deed, cause)
    }

    /// Adds a suggested fix.
    #[must_use]
    pub fn hinted(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Marks the failure as permanent: a named feature is not available here.
    #[must_use]
    pub fn unavailable(self) -> Self {
        Self { unavailable: true, ..self }
    }

    /// Marks the failure as another host's missing answer: the path is at fault, not this host.
    #[must_use]
    pub fn unanswered(self) -> Self {
        Self { unanswered: true, ..self }
    }

    /// True if another host did not answer.
    pub const fn is_unanswered(&self) -> bool {
        self.unanswered
    }

    /// True if a named feature is not available.
    pub const fn is_unavailable(&self) -> bool {
        self.unavailable
    }

    /// Suggested fix; `None` if unknown.
    pub fn hint(&self) -> Option<String> {
        self.hint.clone()
    }

    /// Cause, if it is of that type; otherwise `None`.
    pub fn cause<E: Error + 'static>(&self) -> Option<&E> {
        self.cause.as_ref()?.downcast_ref()
    }
}
