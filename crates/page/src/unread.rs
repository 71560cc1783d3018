//! What an import did not read.
//!
//! Never a figure's doubt: that is a caveat.

use serde::{Deserialize, Serialize};

/// A line of another tool's output that nobody understood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadLine {
    /// The file, as it was named.
    pub file: String,
    /// Its number, from 1.
    pub line: usize,
    /// The line, shortened; of JSON why it was left out.
    pub text: String,
    /// True between the lines of one result, false between results.
    pub inside: bool,
}
