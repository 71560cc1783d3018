//! A table that never breaks a cell: it drops its least needed columns rather than go beyond 100.
//!
//! Owns widths and alignment. Never formats a number.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, presets};

/// As wide as a table may be.
pub const WIDTH: usize = 100;
/// Longer cells are cut; only names that users chose can be.
const CELL: usize = 22;
/// Sentences may be as long as this where there is room.
const SENTENCE: usize = 60;
/// And shorter still where no column is left to drop.
const TIGHT: usize = 11;

/// A header and rows of as many cells.
#[derive(Debug, Default)]
pub struct Grid {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

/// One column's name and place.
#[derive(Debug, Clone)]
struct Column {
    name: String,
    left: bool,
    /// The higher, the sooner it goes where there is no room; 0 stays to the last.
    spare: u8,
    /// Longer cells are cut.
    most: usize,
}

impl Grid {
    /// Without columns yet.
    pub const fn new() -> Self {
        Self { columns: Vec::new(), rows: Vec::new() }
    }

    /// A column of words.
    #[must_use]
    pub fn words(self, name: &str) -> Self {
        self.column(name, true, 0)
    }

    /// A column of sentences: the first to be cut.
    #[must_use]
    pub fn sentences(self, name: &str) -> Self {
        let mut grid = self.column(name, true, 0);
        if let Some(column) = grid.columns.last_mut() {
            column.most = SENTENCE;
        }
        grid
    }

    /// A column of numbers.
    #[must_use]
    pub fn numbers(self, name: &str) -> Self {
        self.column(name, false, 0)
    }

    /// A column of numbers that goes where there is no room; the highest `spare` first.
    #[must_use]
    pub fn spare(self, name: &str, spare: u8) -> Self {
        self.column(name, false, spare)
    }

    fn column(mut self, name: &str, left: bool, spare: u8) -> Self {
        self.columns.push(Column { name: name.to_owned(), left, spare, most: CELL });
        self
    }

    /// One more row.
    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        let most = self.columns.iter().map(|column| column.most);
        self.rows
            .push(cells.into_iter().zip(most).map(|(cell, most)| short(&cell, most)).collect());
    }

    /// The table as text; `None` without rows.
    pub fn render(mut self) -> Option<String> {
        if self.rows.is_empty() {
            return None;
        }
        // A column that says nothing takes no room.
        let empty = |at: usize, rows: &[Vec<String>]| rows.iter().all(|row| row[at].is_empty());
        for at in (0..self.columns.len()).rev() {
            if empty(at, &self.rows) {
                self.drop(at);
            }
        }
        let mut gap = 2;
        while self.width(gap) > WIDTH {
            if gap == 2 {
                gap = 1;
                self.cut_sentences(self.width(gap).saturating_sub(WIDTH));
            } else if let Some(at) = self.most_spare() {
                self.drop(at);
            } else {
                self.cut(TIGHT);
                break;
            }
        }
        Some(self.table(gap))
    }

    fn most_spare(&self) -> Option<usize> {
        let last = self.columns.len().checked_sub(1)?;
        // Numbers that can't be spared go from the right, but never all.
        let by_place = (1..last).rev().find(|at| !self.columns[*at].left && last > 3);
        let most = (0..=last).max_by_key(|at| self.columns[*at].spare);
        most.filter(|at| self.columns[*at].spare > 0).or(by_place)
    }

    /// Takes so many characters from the longest sentences, down to a cell's usual length.
    fn cut_sentences(&mut self, over: usize) {
        for at in 0..self.columns.len() {
            if self.columns[at].most == SENTENCE {
                let longest = self.rows.iter().map(|row| row[at].chars().count()).max();
                let most = longest.unwrap_or(0).saturating_sub(over).max(CELL);
                for row in &mut self.rows {
                    row[at] = short(&row[at], most);
                }
            }
        }
    }

    fn cut(&mut self, most: usize) {
        for cell in self.rows.iter_mut().flatten() {
            *cell = short(cell, most);
        }
    }

    fn drop(&mut self, at: usize) {
        self.columns.remove(at);
        for row in &mut self.rows {
            row.remove(at);
        }
    }

    fn width(&self, gap: usize) -> usize {
        let of = |at: usize, column: &Column| {
            let cells = self.rows.iter().map(|row| row[at].chars().count());
            cells.chain([column.name.chars().count()]).max().unwrap_or(0) + gap
        };
        self.columns.iter().enumerate().map(|(at, column)| of(at, column)).sum()
    }

    fn table(&self, gap: usize) -> String {
        let mut table = Table::new();
        table
            .load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()))
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(self.columns.iter().map(|column| column.name.as_str()));
        for row in &self.rows {
            table.add_row(row);
        }
        for (column, of) in table.column_iter_mut().zip(&self.columns) {
            // Between two columns the style itself puts one blank.
            column.set_padding((0, gap as u16 - 1));
            if !of.left {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.trim_fmt()
    }
}

fn short(cell: &str, most: usize) -> String {
    if cell.chars().count() <= most {
        return cell.to_owned();
    }
    let kept: String = cell.chars().take(most - 1).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_needed_goes_first_and_no_cell_breaks() {
        let mut grid = Grid::new().words("what").spare("one", 1).spare("two", 2);
        for at in 0..11 {
            grid = grid.numbers(&format!("column{at}"));
        }
        let mut row = vec!["x".repeat(200), "1".into(), "2222222".into()];
        row.extend((0..11).map(|_| "1234567".to_owned()));
        grid.row(row);
        let text = grid.render().expect("a row");
        assert_eq!(text.lines().count(), 5, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(!text.contains("two") && text.contains("column0"), "{text}");
    }
}
