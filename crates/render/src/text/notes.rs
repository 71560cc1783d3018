//! Caveats under letters. Those that every figure shares are stated once, without a letter.
//!
//! Pure.

use page::{Caveat, Limit, Shared};

use super::{Screen, put_wrapped};

/// Sources of variation that an interval covers.
const INTERVALS: &str = "variation within this run only; another run may differ by more";

/// Letters given so far, in order of appearance.
#[derive(Debug)]
pub(super) struct Footnotes<'a> {
    shared: &'a Shared,
    lettered: Vec<Caveat>,
}

impl<'a> Footnotes<'a> {
    /// Creates the footnotes of tables whose figures share this.
    pub(super) const fn new(shared: &'a Shared) -> Self {
        Self { shared, lettered: Vec::new() }
    }

    /// Returns a row's verdict on its limit, with the letters of its caveats.
    pub(super) fn limit(&mut self, limit: &Limit) -> String {
        let own = limit.caveats.iter().map(|(caveat, _)| *caveat);
        let own: Vec<Caveat> = own.filter(|caveat| !self.shared.caveats.contains(caveat)).collect();
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
        let imported = self.shared.caveats.contains(&Caveat::Imported);
        if imported { caveat.text_of_import() } else { caveat.text() }
    }

    /// Explains the letters, and lists the notes that hold for all figures.
    pub(super) fn render(&self, screen: Screen) -> String {
        let mut out = String::new();
        for (at, caveat) in self.lettered.iter().enumerate() {
            put_wrapped(
                &mut out,
                screen,
                &format!("[{}] ", char::from(b'a' + at as u8)),
                self.text(*caveat),
            );
        }
        for caveat in &self.shared.caveats {
            put_wrapped(&mut out, screen, "all: ", self.text(*caveat));
        }
        if self.shared.has_intervals {
            put_wrapped(&mut out, screen, "intervals: ", INTERVALS);
        }
        out
    }
}
