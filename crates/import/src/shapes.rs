//! Lines of the tools: a table of their shapes, in `shapes.tsv`, with the names of their values.
//!
//! A row has a tool or a part of its output, a shape, and a name for each `#` and `*` of the shape:
//! `-` is a value that is not imported, a name after `!` is told once, and `name=text` is a value
//! that the shape implies. A row without names is a line around the results.
//!
//! In a shape `#` is a number and `*` any text, a blank any number of blanks, `^` the same or none,
//! `~` any end (with a name, where one is left for it), and a backslash stands before a sign that
//! means itself.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::numbers::{Printed, number, number_end, printed};

/// Maximum number of kept values of one name.
const MOST_KEPT: usize = 256;

/// Element of a shape.
enum Piece {
    Text(&'static str),
    Blanks,
    MaybeBlanks,
    Number,
    Any,
    Rest,
}

/// Shape of a line, and the names of its values.
struct Shape {
    text: &'static str,
    pieces: Vec<Piece>,
    /// Longest text that a line of the shape has.
    longest: Finder<'static>,
    names: Vec<&'static str>,
    implied: Vec<(&'static str, &'static str)>,
}

static SHAPES: LazyLock<BTreeMap<&str, Shapes>> = LazyLock::new(|| {
    let mut parts: BTreeMap<&str, Vec<Shape>> = BTreeMap::new();
    for (part, row) in include_str!("shapes.tsv").lines().filter_map(|row| row.split_once('\t')) {
        parts.entry(part).or_default().push(Shape::parse(row));
    }
    parts.into_iter().map(|(part, rows)| (part, Shapes::new(rows))).collect()
});

fn pieces(mut shape: &'static str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    while let Some(sign) = shape.chars().next() {
        let special = match sign {
            ' ' => Some(Piece::Blanks),
            '^' => Some(Piece::MaybeBlanks),
            '#' => Some(Piece::Number),
            '*' => Some(Piece::Any),
            '~' => Some(Piece::Rest),
            _ => None,
        };
        let from = usize::from(sign == '\\');
        let mut signs = shape[from..].char_indices().skip(1);
        let end = signs.find(|(_, sign)| matches!(sign, ' ' | '^' | '#' | '*' | '~' | '\\'));
        let end = from + end.map_or(shape.len() - from, |(at, _)| at);
        let length = if special.is_some() { 1 } else { end };
        pieces.push(special.unwrap_or(Piece::Text(&shape[from..end])));
        shape = &shape[length..];
    }
    pieces
}

/// True if a line fits the pieces to its end; keeps its texts at each number and any text.
fn fits<'a>(pieces: &[Piece], line: &'a str, found: &mut Vec<&'a str>) -> bool {
    let Some((piece, behind)) = pieces.split_first() else { return line.is_empty() };
    match piece {
        Piece::Text(text) => line.strip_prefix(text).is_some_and(|rest| fits(behind, rest, found)),
        Piece::Blanks | Piece::MaybeBlanks => {
            let rest = line.trim_start();
            let may_lack = matches!(piece, Piece::MaybeBlanks);
            (may_lack || rest.len() < line.len()) && fits(behind, rest, found)
        }
        Piece::Number => {
            let (own, rest) = line.split_at(number_end(line));
            if number(own).is_none() {
                return false;
            }
            found.push(own);
            fits(behind, rest, found)
        }
        Piece::Any => fits_any(behind, line, found),
        Piece::Rest => {
            found.push(line);
            true
        }
    }
}

/// Fits any text: at least one character, and as short as the rest of the shape allows.
fn fits_any<'a>(behind: &[Piece], line: &'a str, found: &mut Vec<&'a str>) -> bool {
    let kept = found.len();
    let literal = if let Some(Piece::Text(text)) = behind.first() { text } else { "" };
    let mut end = 0;
    loop {
        let Some(next) = line[end..].chars().next() else { return false };
        end += next.len_utf8();
        // An empty literal is at the current position.
        let Some(ahead) = line[end..].find(literal) else { return false };
        end = if behind.is_empty() { line.len() } else { end + ahead };
        found.push(&line[..end]);
        if fits(behind, &line[end..], found) {
            return true;
        }
        found.truncate(kept);
    }
}

impl Shape {
    fn parse(row: &'static str) -> Self {
        let (text, names) = row.split_once('\t').unwrap_or((row, ""));
        let pieces = pieces(text);
        let texts =
            pieces.iter().map(|piece| if let Piece::Text(text) = piece { text } else { "" });
        let longest = texts.max_by_key(|text| text.len()).unwrap_or_default();
        let implied = names.split_whitespace().filter_map(|name| name.split_once('=')).collect();
        let names = names.split_whitespace().filter(|name| !name.contains('=')).collect();
        Self { text, pieces, longest: Finder::new(longest), names, implied }
    }

    /// True if a line of the shape may begin with the octet.
    fn may_begin_with(&self, octet: u8) -> bool {
        match self.pieces.first() {
            Some(Piece::Text(text)) => text.as_bytes().first() == Some(&octet),
            Some(Piece::Number) => octet.is_ascii_digit() || matches!(octet, b'-' | b'+'),
            _ => true,
        }
    }

    fn texts<'a>(&self, line: &'a str) -> Option<Vec<&'a str>> {
        // Most lines differ in the first octet, or lack the shape's longest text.
        let octets = line.as_bytes();
        let may_begin = octets.first().is_none_or(|octet| self.may_begin_with(*octet));
        if !may_begin || self.longest.find(octets).is_none() {
            return None;
        }
        let mut found = Vec::with_capacity(self.names.len());
        fits(&self.pieces, line, &mut found).then_some(found)
    }
}

/// Shapes of a part of an output, and the octets with which their lines begin.
struct Shapes {
    rows: Vec<Shape>,
    beginnings: [bool; 256],
}

impl Shapes {
    fn new(rows: Vec<Shape>) -> Self {
        let mut beginnings = [false; 256];
        for (octet, may) in beginnings.iter_mut().enumerate() {
            *may = rows.iter().any(|row| row.may_begin_with(octet as u8));
        }
        Self { rows, beginnings }
    }

    /// Rows of which the line may be one.
    fn possible(&self, line: &str) -> &[Shape] {
        let may_begin =
            line.as_bytes().first().is_none_or(|octet| self.beginnings[*octet as usize]);
        if may_begin { &self.rows } else { &[] }
    }
}

/// Part of an output with its shapes; `None` if it has none.
#[derive(Clone, Copy)]
pub(crate) struct Part(Option<&'static Shapes>);

impl Part {
    pub(crate) fn named(name: &str) -> Self {
        Self(SHAPES.get(name))
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0.is_none()
    }

    fn possible(self, line: &str) -> &'static [Shape] {
        self.0.map_or(&[], |shapes| shapes.possible(line))
    }

    /// Name of the row whose shape is the text itself.
    pub(crate) fn name(self, text: &str) -> Option<&'static str> {
        self.0?.rows.iter().find(|row| row.text == text)?.names.first().copied()
    }

    /// True if a line has one of the shapes.
    pub(crate) fn fits(self, line: &str) -> bool {
        self.possible(line).iter().any(|row| row.texts(line).is_some())
    }
}

/// Values of one line, by name.
pub(crate) struct Values<'a>(Vec<(&'static str, &'a str)>);

impl<'a> Values<'a> {
    /// Values of a line that has a shape of this part of an output; the first shape counts.
    pub(crate) fn read(part: &str, line: &'a str) -> Option<Self> {
        Part::named(part).possible(line).iter().find_map(|row| {
            let texts = row.texts(line)?;
            let named = row.names.iter().copied().zip(texts).filter(|(name, _)| *name != "-");
            Some(Self(named.chain(row.implied.iter().copied()).collect()))
        })
    }

    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(own, _)| *own == name).map(|(_, text)| *text)
    }

    pub(crate) fn printed(&self, name: &str) -> Option<Printed> {
        printed(self.text(name)?)
    }

    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        number(self.text(name)?)
    }
}

/// True if the tool prints such a line around its results.
pub(crate) fn is_around(tool: &str, line: &str) -> bool {
    Part::named(tool).fits(line)
}

/// Values of an output's lines, by name.
#[derive(Debug, Default)]
pub(crate) struct Sheet(BTreeMap<&'static str, Vec<String>>);

impl Sheet {
    /// Keeps the values of a line; true if the line has a shape of this part of an output.
    pub(crate) fn take(&mut self, part: &str, line: &str) -> bool {
        let Some(Values(values)) = Values::read(part, line) else { return false };
        // A second one is another's.
        let is_again = |name: &str| name.strip_prefix('!').is_some_and(|name| self.has(name));
        if values.iter().any(|(name, _)| is_again(name)) {
            return false;
        }
        for (name, text) in values {
            let all = self.0.entry(name.trim_start_matches('!')).or_default();
            all.truncate(MOST_KEPT - 1);
            all.push(text.to_owned());
        }
        true
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Last value of a name.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.last().map(String::as_str)
    }

    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        number(self.text(name)?)
    }

    /// Last value of a name, if it is a number of things.
    pub(crate) fn count(&self, name: &str) -> Option<u64> {
        self.number(name).filter(|count| *count >= 0.0).map(|count| count as u64)
    }

    /// Every number of a name, in order.
    pub(crate) fn numbers(&self, name: &str) -> impl Iterator<Item = f64> {
        self.0.get(name).into_iter().flatten().filter_map(|text| number(text))
    }
}

/// Columns of a table, by the names of its heading's titles.
#[derive(Debug, Default)]
pub(crate) struct Columns(Vec<&'static str>);

impl Columns {
    /// Columns of a heading; `None` if a title in it is unknown.
    pub(crate) fn read(part: &str, heading: &str) -> Option<Self> {
        let mut columns = Vec::new();
        let mut rest = heading;
        while !rest.is_empty() {
            let mut known = SHAPES.get(part)?.rows.iter();
            let (behind, row) = known.find_map(|row| Some((rest.strip_prefix(row.text)?, row)))?;
            columns.push(*row.names.first()?);
            rest = behind.trim_start();
        }
        Some(Self(columns))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains(&name)
    }

    /// Numbers of a row by their columns' names; `None` if it is not one of the table.
    pub(crate) fn row(&self, line: &str) -> Option<BTreeMap<&'static str, f64>> {
        let values: Option<Vec<f64>> = line.split_whitespace().map(number).collect();
        let values = values.filter(|all| !all.is_empty() && all.len() == self.0.len())?;
        Some(self.0.iter().copied().zip(values).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_fitted_to_a_lines_end() {
        let texts = |shape, line| {
            let mut found = Vec::new();
            fits(&pieces(shape), line, &mut found).then_some(found)
        };
        let line = "0.165 ms  606993/612585 (99%)  receiver";
        let wanted = vec!["0.165", "606993", "612585", "99"];
        assert_eq!(texts("# ms #/# (#%) receiver", line), Some(wanted));
        assert_eq!(texts("# ms #/# (#%)", line), None);
        assert_eq!(texts("*: avg=^# ~", "fx: avg= 3 us"), Some(vec!["fx", "3", "us"]));
        assert_eq!(texts("a * c", "a b b c"), Some(vec!["b b"]));
        assert_eq!(texts("\\# a\\*b~", "# a*bc"), Some(vec!["c"]));
    }
}
