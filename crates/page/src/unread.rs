//! Lines that an import did not read.
//!
//! Never a figure's doubt: that is a caveat.

use serde::{Deserialize, Serialize};

/// Line of another tool's output that was not understood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadLine {
    /// Name of the file, as given.
    pub file: String,
    /// Number of the line, from 1.
    pub line: usize,
    /// The line, shortened; for JSON, the reason why it was left out.
    pub text: String,
    /// True between the lines of one result, false between results.
    pub inside: bool,
}
