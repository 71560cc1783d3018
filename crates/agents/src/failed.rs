//! What could not be done, in words.
//!
//! Owns one shape for all failures of which nobody asks more than what to tell: what was attempted,
//! why it failed, what to do about it. Where somebody acts on which failure it was, that has a type
//! of its own.

use std::error::Error;

type Cause = Box<dyn Error + Send + Sync>;

/// Something failed.
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
    /// What was attempted and, where nothing is underneath, why that is refused.
    pub fn new(deed: impl Into<String>) -> Self {
        Self { deed: deed.into(), cause: None, hint: None, unavailable: false, unanswered: false }
    }

    /// What was attempted, and what failed underneath.
    pub fn because(deed: impl Into<String>, cause: impl Into<Cause>) -> Self {
        Self { cause: Some(cause.into()), ..Self::new(deed) }
    }

    /// The same, for `map_err`.
    pub fn to<E: Into<Cause>>(deed: impl Into<String>) -> impl FnOnce(E) -> Self {
        let deed = deed.into();
        move |cause| Self::because(deed, cause)
    }

    /// With advice.
    #[must_use]
    pub fn hinted(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Something that was asked for by name can't be had here: no use asking again.
    #[must_use]
    pub fn unavailable(self) -> Self {
        Self { unavailable: true, ..self }
    }

    /// Another host did not answer: the way there, and nothing that is wrong here.
    #[must_use]
    pub fn unanswered(self) -> Self {
        Self { unanswered: true, ..self }
    }

    /// Whether it is that.
    pub const fn is_unanswered(&self) -> bool {
        self.unanswered
    }

    /// Whether something asked for by name can't be had.
    pub const fn is_unavailable(&self) -> bool {
        self.unavailable
    }

    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        self.hint.clone()
    }

    /// What failed underneath, where it is of that type.
    pub fn cause<E: Error + 'static>(&self) -> Option<&E> {
        self.cause.as_ref()?.downcast_ref()
    }
}
