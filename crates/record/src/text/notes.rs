//! Caveats under letters. Those that every figure shares are stated once, without a letter.
//!
//! Pure.

use std::collections::BTreeSet;

use page::{Caveat, Figure, Limit};

use super::{Screen, put_wrapped};

/// What an interval spans.
const INTERVALS: &str = "of the repetitions of this run; another run may differ by more";

/// Letters given so far, in order of appearance.
#[derive(Debug)]
pub struct Footnotes {
    shared: BTreeSet<Caveat>,
    lettered: Vec<Caveat>,
    /// Whether some figure has an interval over repetitions.
    intervals: bool,
    /// Whether another tool measured all of them.
    imported: bool,
}

impl Footnotes {
    /// For tables of these figures.
    pub fn of(figures: &[Figure]) -> Self {
        let mut sets = figures.iter().map(|f| f.caveats.iter().copied().collect::<BTreeSet<_>>());
        let first = sets.next().unwrap_or_default();
        let shared = sets.fold(first, |shared, set| &shared & &set);
        let intervals = figures.iter().any(|figure| figure.confidence.is_some());
        let imported = shared.contains(&Caveat::Imported);
        Self { shared, lettered: Vec::new(), intervals, imported }
    }

    /// Whose limit a row shows, and the letters of its caveats.
    pub fn limit(&mut self, limit: &Limit) -> String {
        let own = limit.caveats.iter().map(|(caveat, _)| *caveat);
        let own: Vec<Caveat> = own.filter(|caveat| !self.shared.contains(caveat)).collect();
        let mut letters: Vec<char> = own.into_iter().map(|caveat| self.letter(caveat)).collect();
        letters.sort_unstable();
        let letters: String = letters.into_iter().collect();
        let limit = limit.verdict.as_str();
        if letters.is_empty() { limit.to_owned() } else { format!("{limit}\u{a0}[{letters}]") }
    }

    fn letter(&mut self, caveat: Caveat) -> char {
        let at = self.lettered.iter().position(|c| *c == caveat).unwrap_or_else(|| {
            self.lettered.push(caveat);
            self.lettered.len() - 1
        });
        char::from(b'a' + at as u8)
    }

    fn text(&self, caveat: Caveat) -> &'static str {
        if self.imported { caveat.text_of_import() } else { caveat.text() }
    }

    /// What the letters mean, and what holds for all figures.
    pub fn render(&self, screen: Screen) -> String {
        let mut out = String::new();
        for (at, caveat) in self.lettered.iter().enumerate() {
            put_wrapped(
                &mut out,
                screen,
                &format!("[{}] ", char::from(b'a' + at as u8)),
                self.text(*caveat),
            );
        }
        for caveat in &self.shared {
            put_wrapped(&mut out, screen, "all: ", self.text(*caveat));
        }
        if self.intervals {
            put_wrapped(&mut out, screen, "intervals: ", INTERVALS);
        }
        out
    }
}
