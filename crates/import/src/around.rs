//! Lines around tools' results without imported values: a table of their shapes, by tool, in
//! `around.tsv`.
//!
//! Never reads a number.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::numbers::fits_any;

static SHAPES: LazyLock<BTreeMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let mut shapes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (tool, shape) in include_str!("around.tsv").lines().filter_map(|row| row.split_once('\t')) {
        shapes.entry(tool).or_default().push(shape);
    }
    shapes
});

/// True if the tool prints such a line around its results.
pub(crate) fn is_around(tool: &str, line: &str) -> bool {
    SHAPES.get(tool).is_some_and(|shapes| fits_any(shapes, line))
}
