//! The tables of a page that has no answers at a glance: as many rows as a screen has room for.
//!
//! Owns how the room is shared out. Never drops a row in silence: what has no room is counted.

use std::fmt::Write as _;

use page::{Block, Caveat, Page, Shared, Table};

use super::notes::Footnotes;
use super::{Screen, put_table};

/// Formats the first tables in at most `room` lines; letters for caveats are left out.
pub(super) fn tables(page: &Page, screen: Screen, room: usize) -> String {
    // The line that counts the others.
    let room = room.saturating_sub(1);
    let (mut out, mut hidden) = (String::new(), 0);
    for block in page.sections.iter().flat_map(|section| &section.blocks) {
        let Block::Table(table) = block else { continue };
        let left = room.saturating_sub(out.lines().count());
        let drawn = |rows: usize| {
            draw(&Table { rows: table.rows[..rows].to_vec(), ..table.clone() }, screen)
        };
        let fits = |rows: &usize| drawn(*rows).lines().count() <= left;
        // A row takes a line at least, so that of a long table only its beginning is drawn.
        let rows = most(table.rows.len().min(left) + 1, fits);
        hidden += table.rows.len() - rows;
        if rows > 0 {
            out.push_str(&drawn(rows));
        }
    }
    if hidden > 0 {
        let _ = writeln!(out, "and {hidden} more rows: --full has all");
    }
    out
}

/// Returns the largest number below `all` that fits, or 0, given that fewer rows take less room.
fn most(all: usize, fits: impl Fn(&usize) -> bool) -> usize {
    let (mut low, mut high) = (0, all);
    while low + 1 < high {
        let middle = usize::midpoint(low, high);
        if fits(&middle) { low = middle } else { high = middle }
    }
    low
}

fn draw(table: &Table, screen: Screen) -> String {
    // The caveats of all rows, so that none has a letter of its own.
    let all = Shared { caveats: Caveat::ALL.iter().copied().collect(), has_intervals: false };
    let mut out = String::new();
    put_table(&mut out, screen, table, &mut Footnotes::new(&all));
    out
}
