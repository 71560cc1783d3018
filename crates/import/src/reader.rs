//! What reads one tool's lines. Never reads one itself.

use crate::found::Found;

/// One tool's lines, in order.
pub(crate) trait Reader {
    /// Its name.
    fn tool(&self) -> &'static str;
    /// Whether the line is its own; what it tells may be put at once or at the end.
    fn line(&mut self, line: &str, found: &mut Found) -> bool;
    /// Nothing more comes.
    fn end(&mut self, found: &mut Found);
}
