//! What reads one tool's lines. Never reads one itself.

use crate::found::Found;

/// One tool's lines, in order.
pub(crate) trait Reader {
    /// Its name.
    fn tool(&self) -> &'static str;
    /// True of a line with which another result begins; the one before ends by it.
    fn begins(&self, line: &str) -> bool;
    /// True of a line of its own; what it tells may be put at once or at the end.
    fn line(&mut self, line: &str, found: &mut Found) -> bool;
    /// The result ends; what is left is put.
    fn end(&mut self, found: &mut Found);
}
