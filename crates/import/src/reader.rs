//! Interface of the readers, one per tool. Never reads a line itself.

use crate::found::Found;

/// Reader of the lines of one tool's result, in order.
pub(crate) trait Reader {
    /// True if another result begins with the line, apart from the shapes of its first lines.
    fn begins(&self, _line: &str) -> bool {
        false
    }
    /// Reads a line; true if it is the tool's. Results may be added at once or at the end.
    fn line(&mut self, line: &str, found: &mut Found) -> bool;
    /// Ends the result, and adds the remaining figures.
    fn end(&mut self, _found: &mut Found) {}
}
