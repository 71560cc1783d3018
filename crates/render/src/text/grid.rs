//! A table that never breaks a word or a number: where it is too wide it wraps words, then drops
//! its least needed columns, then sets its rows one below the other.
//!
//! Owns widths and alignment. Never formats a number.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, presets};

use super::wrap;

/// Columns of words are not made narrower than this, nor those of sentences, while there is another
/// column to drop.
const WORDS: usize = 14;
const SENTENCE: usize = 24;
/// Longest line for a column of sentences, if there is no need for more.
const WIDE: usize = 60;
/// A longer word is cut, but in a sentence, which may hold a command: only names that users chose
/// can be.
const LONGEST_WORD: usize = 22;

/// A header and rows of as many cells.
#[derive(Debug, Clone, Default)]
pub struct Grid {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    /// Number of columns from the left that tell rows apart.
    lead: usize,
}

/// One column's name and place.
#[derive(Debug, Clone)]
struct Column {
    name: String,
    /// Least width to which words wrap while there is a choice; `None` for a number.
    words: Option<usize>,
    /// Order in which columns are dropped for lack of room, highest first; 0 is never dropped.
    spare: u8,
}

impl Grid {
    /// Creates a grid without columns.
    pub const fn new() -> Self {
        Self { columns: Vec::new(), rows: Vec::new(), lead: 0 }
    }

    /// A column of words.
    #[must_use]
    pub fn words(self, name: &str) -> Self {
        self.column(name, Some(WORDS), 0)
    }

    /// A column of sentences.
    #[must_use]
    pub fn sentences(self, name: &str) -> Self {
        self.column(name, Some(SENTENCE), 0)
    }

    /// A column of numbers.
    #[must_use]
    pub fn numbers(self, name: &str) -> Self {
        self.column(name, None, 0)
    }

    /// Adds a column of numbers that is dropped for lack of room; the highest `spare` first.
    #[must_use]
    pub fn spare(self, name: &str, spare: u8) -> Self {
        self.column(name, None, spare)
    }

    /// Sets how many columns from the left tell rows apart; cells there that repeat the row above
    /// stay empty.
    #[must_use]
    pub const fn lead(mut self, columns: usize) -> Self {
        self.lead = columns;
        self
    }

    fn column(mut self, name: &str, words: Option<usize>, spare: u8) -> Self {
        self.columns.push(Column { name: name.to_owned(), words, spare });
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// Formats the table as text of at most so many columns; `None` without rows.
    pub fn render(mut self, columns: usize) -> Option<String> {
        if self.rows.is_empty() {
            return None;
        }
        self.cut_words(LONGEST_WORD.max(columns / 3));
        // An empty column takes no room.
        for at in (0..self.columns.len()).rev() {
            if self.rows.iter().all(|row| row[at].is_empty()) {
                self.drop(at);
            }
        }
        let mut less = self.clone();
        loop {
            if let Some(widths) = less.fit(columns, true) {
                return Some(less.table(&widths));
            }
            let Some(at) = less.most_spare() else { break };
            less.drop(at);
        }
        match less.fit(columns, false) {
            Some(widths) => Some(less.table(&widths)),
            None => Some(self.stacked(columns)),
        }
    }

    fn most_spare(&self) -> Option<usize> {
        let most = (0..self.columns.len()).max_by_key(|at| self.columns[*at].spare)?;
        (self.columns[most].spare > 0).then_some(most)
    }

    fn cut_words(&mut self, most: usize) {
        let are_cut: Vec<bool> = self.columns.iter().map(|one| one.words == Some(WORDS)).collect();
        let cells = self.rows.iter_mut().flat_map(|row| row.iter_mut().zip(&are_cut));
        for (cell, _) in cells.filter(|(_, is_cut)| **is_cut) {
            if cell.split(' ').any(|word| word.chars().count() > most) {
                let words: Vec<String> = cell.split(' ').map(|word| short(word, most)).collect();
                *cell = words.join(" ");
            }
        }
    }

    fn drop(&mut self, at: usize) {
        self.columns.remove(at);
        self.lead -= usize::from(at < self.lead);
        for row in &mut self.rows {
            row.remove(at);
        }
    }

    /// Returns each column's width, its gap to the next included; `None` if they do not fit.
    fn fit(&self, room: usize, comfortable: bool) -> Option<Vec<usize>> {
        let full: Vec<usize> = (0..self.columns.len()).map(|at| self.full(at)).collect();
        if full.iter().map(|width| width + 2).sum::<usize>() <= room {
            return Some(full.iter().map(|width| width + 2).collect());
        }
        let cells: Vec<usize> =
            (0..self.columns.len()).map(|at| self.cells(at, text_width)).collect();
        let least: Vec<usize> =
            (0..self.columns.len()).map(|at| self.least(at, comfortable)).collect();
        let mut widths = full;
        let over =
            |widths: &[usize]| (widths.iter().sum::<usize>() + widths.len()).saturating_sub(room);
        // A name over two lines costs one line, a cell over two lines one for each row.
        for lower in [cells.iter().zip(&least).map(|(a, b)| *a.max(b)).collect(), least] {
            while over(&widths) > 0 {
                let widest = (0..widths.len())
                    .filter(|at| widths[*at] > lower[*at])
                    .max_by_key(|at| widths[*at]);
                let Some(widest) = widest else { break };
                widths[widest] -= 1;
            }
        }
        (over(&widths) == 0).then(|| widths.iter().map(|width| width + 1).collect())
    }

    /// Returns the width with everything on one line, except for long sentences.
    fn full(&self, at: usize) -> usize {
        let widest = self.cells(at, text_width).max(text_width(&self.columns[at].name));
        let longest = || WIDE.max(self.cells(at, longest_word));
        if self.columns[at].words.is_some() { widest.min(longest()) } else { widest }
    }

    /// Words stay whole, and numbers with their units.
    fn least(&self, at: usize, comfortable: bool) -> usize {
        let column = &self.columns[at];
        let name = longest_word(&column.name);
        match column.words {
            None => self.cells(at, text_width).max(name),
            Some(usual) => {
                let usual = if comfortable { usual.min(self.full(at)) } else { 0 };
                self.cells(at, longest_word).max(name).max(usual)
            }
        }
    }

    fn cells(&self, at: usize, width: impl Fn(&str) -> usize) -> usize {
        self.rows.iter().map(|row| width(&row[at])).max().unwrap_or(0)
    }

    fn table(&self, widths: &[usize]) -> String {
        let gap = if widths.iter().enumerate().all(|(at, width)| *width >= self.full(at) + 2) {
            2
        } else {
            1
        };
        let wrapped =
            |at: usize, text: &str| wrap(text, widths[at] - gap).join("\n").replace('\u{a0}', " ");
        let mut table = Table::new();
        table
            .load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()))
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(self.columns.iter().enumerate().map(|(at, one)| wrapped(at, &one.name)));
        let mut before: Option<&Vec<String>> = None;
        for row in &self.rows {
            let new = self.lead - self.repeated(row, before);
            let cell = |(at, cell): (usize, &String)| {
                let repeats = at + new < self.lead;
                if repeats { String::new() } else { wrapped(at, cell) }
            };
            table.add_row(row.iter().enumerate().map(cell));
            before = Some(row);
        }
        for (column, of) in table.column_iter_mut().zip(&self.columns) {
            // Between two columns the style itself puts one blank.
            column.set_padding((0, gap as u16 - 1));
            if of.words.is_none() {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.trim_fmt()
    }

    /// Counts the leading cells that repeat those above them.
    fn repeated(&self, row: &[String], before: Option<&Vec<String>>) -> usize {
        let Some(before) = before else { return 0 };
        row.iter().zip(before).take(self.lead).take_while(|(own, above)| own == above).count()
    }

    /// Formats every row by itself: its leading cells, and beneath them a line for each of its
    /// values.
    fn stacked(&self, columns: usize) -> String {
        let lead = self.lead.max(1);
        let values = &self.columns[lead.min(self.columns.len())..];
        let names = values.iter().map(|column| text_width(&column.name)).max().unwrap_or(0);
        let names = names.min(columns / 3);
        let mut out = String::new();
        for row in &self.rows {
            let (of, values_of) = row.split_at(lead.min(row.len()));
            let of: Vec<&str> =
                of.iter().map(String::as_str).filter(|one| !one.is_empty()).collect();
            for line in wrap(&of.join(", "), columns) {
                let _ = writeln!(out, "{line}");
            }
            for (column, value) in
                values.iter().zip(values_of).filter(|(_, value)| !value.is_empty())
            {
                let (name, value) = (wrap(&column.name, names), wrap(value, columns - names - 4));
                for at in 0..name.len().max(value.len()) {
                    let part = |lines: &[String]| lines.get(at).cloned().unwrap_or_default();
                    let line = format!("  {:<names$}  {}", part(&name), part(&value));
                    let _ = writeln!(out, "{}", line.trim_end());
                }
            }
        }
        out.trim_end().replace('\u{a0}', " ")
    }
}

fn text_width(text: &str) -> usize {
    text.split('\n').map(|line| line.chars().count()).max().unwrap_or(0)
}

fn longest_word(text: &str) -> usize {
    text.split(' ').map(text_width).max().unwrap_or(0)
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

    fn grid() -> Grid {
        let mut grid =
            Grid::new().words("what is measured").spare("one", 1).spare("two", 2).lead(1);
        for at in 0..6 {
            grid = grid.numbers(&format!("column number {at}"));
        }
        grid = grid.sentences("limited by");
        for row in ["first of them", "first of them", "second"] {
            let mut cells = vec![row.to_owned(), "1".into(), "2222222".into()];
            cells.extend((0..6).map(|_| "1,234,567".to_owned()));
            cells.push("the device, and nothing else at all".to_owned());
            grid.row(cells);
        }
        grid
    }

    #[test]
    fn the_least_needed_goes_first_and_no_word_breaks() {
        for (columns, kept, lost) in [
            (200, "two", "zzz"),
            (120, "one", "zzz"),
            (100, "column", "two"),
            (80, "column", "one"),
        ] {
            let text = grid().render(columns).expect("rows");
            assert!(text.lines().all(|line| line.chars().count() <= columns), "{columns}\n{text}");
            assert!(text.contains(kept) && !text.contains(lost), "{columns}\n{text}");
            for whole in ["1,234,567", "limited", "device,", "nothing", "second"] {
                assert!(text.contains(whole), "{columns}: {whole}\n{text}");
            }
        }
    }

    #[test]
    fn where_not_even_words_fit_rows_are_set_one_below_the_other() {
        let text = grid().render(60).expect("rows");
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        assert_eq!(text.matches("first of them").count(), 2, "{text}");
        assert!(text.contains("\n  two              2222222\n"), "nothing is lost:\n{text}");
        assert!(text.contains("\n  column number 5  1,234,567\n"), "{text}");
    }

    #[test]
    fn a_name_that_is_too_long_is_cut() {
        let mut grid = Grid::new().words("what").numbers("n");
        grid.row(vec!["x".repeat(200), "1".to_owned()]);
        let text = grid.render(100).expect("a row");
        assert!(text.contains(&("x".repeat(32) + "…")), "{text}");
    }
}
