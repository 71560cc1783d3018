//! A verb's failure: its causes, its text, and its exit code.
//!
//! Owns the shape of at most three lines: `error: …`, its causes, `hint: …`; a fault in a text has
//! the text's line instead of causes. Never prints: the caller does.

use std::error::Error;
use std::fmt::Write as _;

use agents::failed::Failed;
use journal::StoreError;
use lab::LabError;
use study::SpecProblem;
use trial::TestbedError;

use super::Refused;
use super::exit::Status;
use crate::config::ConfigError;

/// A verb's failure. Not an `Error` itself, so that any error turns into one by `?`.
#[derive(Debug)]
pub struct Failure {
    error: anyhow::Error,
    status: Status,
    hint: Option<String>,
}

impl<E: Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = anyhow::Error::new(error);
        let is_bad = error.chain().any(is_bad_input);
        let status = if is_bad { Status::BadInput } else { Status::Failed };
        Self { error, status, hint: None }
    }
}

impl Failure {
    /// Marks something in the surroundings that the user must fix first.
    pub fn unusable(error: impl Error + Send + Sync + 'static) -> Self {
        Self { status: Status::BadInput, ..Self::from(error) }
    }

    /// Adds advice that the error itself does not know.
    #[must_use]
    pub fn hinted(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds advice, unless the error itself has some.
    #[must_use]
    pub fn or_hinted(self, hint: impl Into<String>) -> Self {
        if self.advice().is_some() { self } else { self.hinted(hint) }
    }

    /// Marks it as the result of the user's interrupt.
    #[must_use]
    pub fn interrupted(self) -> Self {
        Self { status: Status::Failed, ..self }
    }

    /// Returns the text to print and the exit code.
    pub fn refused(&self) -> Refused {
        Refused { text: self.render(), code: self.status.code() }
    }

    /// Returns it in one line with its causes, and the advice.
    pub fn message_and_advice(&self) -> (String, Option<String>) {
        (self.messages().join(": "), self.advice())
    }

    /// True if the requested run does not exist.
    pub fn is_missing(&self) -> bool {
        let store = self.error.downcast_ref::<StoreError>();
        matches!(store, Some(StoreError::NoRun { .. }))
    }

    /// True if it ends with the exit code for bad input.
    pub fn is_bad_input(&self) -> bool {
        matches!(self.status, Status::BadInput)
    }

    fn advice(&self) -> Option<String> {
        self.hint.clone().or_else(|| self.error.chain().find_map(hint_of))
    }

    /// Formats it as it is printed.
    pub fn render(&self) -> String {
        let advice = self.advice();
        if let Some(config) = self.error.downcast_ref::<ConfigError>() {
            return format!("error: {}", config.render(advice.as_deref().unwrap_or_default()));
        }
        let mut said = self.messages().into_iter();
        let mut out = format!("error: {}\n", said.next().unwrap_or_default());
        let causes: Vec<String> = said.collect();
        if !causes.is_empty() {
            let _ = writeln!(out, "  {}", causes.join(": "));
        }
        if let Some(hint) = advice {
            let _ = writeln!(out, "hint: {hint}");
        }
        out
    }

    /// The error's message and those of its causes; one that repeats the one before is left out.
    fn messages(&self) -> Vec<String> {
        let mut said: Vec<String> = self.error.chain().map(ToString::to_string).collect();
        said.dedup();
        said
    }
}

fn is_bad_input(error: &(dyn Error + 'static)) -> bool {
    error.is::<ConfigError>()
        || error.is::<SpecProblem>()
        || error.is::<lab::SpecError>()
        || matches!(error.downcast_ref::<TestbedError>(), Some(TestbedError::Unavailable { .. }))
        || matches!(
            error.downcast_ref::<StoreError>(),
            Some(
                StoreError::Directory { .. }
                    | StoreError::Open { .. }
                    | StoreError::Foreign { .. }
                    | StoreError::Newer { .. }
                    | StoreError::NoRun { .. }
                    | StoreError::Ambiguous { .. }
                    | StoreError::TestbedChanged { .. }
            )
        )
}

fn hint_of(error: &(dyn Error + 'static)) -> Option<String> {
    let config = error.downcast_ref::<ConfigError>().map(|e| e.hint.clone());
    config
        .or_else(|| error.downcast_ref::<SpecProblem>().map(SpecProblem::hint))
        .or_else(|| error.downcast_ref::<LabError>().and_then(LabError::hint))
        .or_else(|| error.downcast_ref::<Failed>().and_then(Failed::hint))
        .or_else(|| journal::hint_for(error).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_input_is_code_two_and_shows_its_hint() {
        let failure = Failure::from(ConfigError::bare("no such thing", "name another"));
        assert_eq!(failure.refused().code, 2);
        assert_eq!(failure.render(), "error: no such thing\nhint: name another\n");
    }
}
