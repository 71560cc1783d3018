//! Reasons why a tool's JSON has no results. Never knows the location: the caller adds it.

use crate::ImportError;

/// Error of a reader of one value; the caller adds the location.
#[derive(Debug)]
pub(crate) enum Problem {
    Unknown,
    Broken(String),
    Failed(&'static str, String),
    Missing(&'static str, &'static str),
}

impl Problem {
    pub(crate) fn at(self, number: usize) -> ImportError {
        match self {
            Self::Unknown => ImportError::UnknownJson { number },
            Self::Broken(why) => ImportError::BrokenJson { number, why },
            Self::Failed(tool, reason) => ImportError::ToolFailed { number, tool, reason },
            Self::Missing(tool, what) => ImportError::Missing { number, tool, what },
        }
    }
}
