//! Why a tool's JSON tells nothing. Never knows where it stands: that is added.

use crate::ImportError;

/// What a reader of one value says; where it stands is added here.
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
