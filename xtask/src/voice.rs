//! How the code speaks: doc comments that a newcomer reads twice, functions with private names, and
//! parameters that are tuples without names.
//!
//! Owns the budgets. Reads source as text, tests left out; never changes it.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::tidy;

/// Openings that lean on a subject which is elsewhere.
const LEANING: &[&str] = &[
    "Of",
    "The same",
    "As",
    "By",
    "So many",
    "So much",
    "So long",
    "None",
    "Those",
    "That",
    "Such",
    "Its",
    "It",
    "Itself",
    "Both",
    "Each",
    "Beside",
    "Otherwise",
];
const QUESTIONS: &[&str] =
    &["What", "Whether", "How", "Who", "Whose", "Which", "When", "Why", "Where"];
/// Names of functions that say nothing to somebody who did not write them.
const PRIVATE: &[&str] = &[
    "of", "told", "asked", "seen", "said", "gone", "put", "beside", "known", "came", "meant",
    "held", "spoken", "left", "heard", "owned", "taken", "lent", "tell", "hear", "reckon", "say",
    "let_go", "take_one", "as_told", "by_whom", "in_words", "spoilt", "listed", "delayed",
];

/// Most of each, in thousandths of the doc comments or of the functions.
const MOST_LEANING: usize = 20;
const MOST_QUESTIONS: usize = 60;
/// Remaining places; lower these with each change that removes some.
const MOST_PRIVATE: usize = 1;
const MOST_TUPLES: usize = 0;

#[derive(Debug, Default)]
struct Counts {
    comments: usize,
    leaning: usize,
    questions: usize,
    private: usize,
    tuples: usize,
}

/// Fails where a budget is exceeded.
pub fn check(root: &Path) -> Result<()> {
    let mut counts = Counts::default();
    for folder in ["crates", "xtask"] {
        tidy::visit(&root.join(folder), &mut |path| {
            let inside = path.strip_prefix(root).unwrap_or(path);
            if tidy::is_product(inside) {
                let text = fs::read_to_string(path);
                counts.add(&text.with_context(|| format!("read {}", inside.display()))?);
            }
            Ok(())
        })?;
    }
    let wrong = counts.over_budget();
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    Ok(())
}

impl Counts {
    fn add(&mut self, source: &str) {
        let source = source.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let mut is_first = true;
        for line in source.lines() {
            let opening = line.trim().strip_prefix("///").map(str::trim);
            if let Some(opening) = opening.filter(|_| is_first) {
                self.comments += 1;
                self.leaning += usize::from(opens_with(opening, LEANING));
                self.questions += usize::from(opens_with(opening, QUESTIONS));
            }
            is_first = opening.is_none();
        }
        let functions = source.split("fn ").skip(1).map(identifier);
        self.private += functions.filter(|name| PRIVATE.contains(name)).count();
        self.tuples += source.split("): (").filter(|before| ends_in_pattern(before)).count();
    }

    fn over_budget(&self) -> Vec<String> {
        let share = |count: usize| count * 1000 / self.comments.max(1);
        let budgets = [
            (share(self.leaning), MOST_LEANING, "thousandths of doc comments lean on a subject"),
            (
                share(self.questions),
                MOST_QUESTIONS,
                "thousandths of doc comments open as a question",
            ),
            (self.private, MOST_PRIVATE, "functions have a private name"),
            (self.tuples, MOST_TUPLES, "parameters are tuples without a name"),
        ];
        let over = budgets.into_iter().filter(|(count, most, _)| count > most);
        over.map(|(count, most, what)| format!("{count} {what}; at most {most}")).collect()
    }
}

fn opens_with(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| {
        let rest = text.strip_prefix(word);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
    })
}

fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// True for `f((first, second`, which `): (` follows where a parameter is a tuple.
fn ends_in_pattern(before: &str) -> bool {
    let Some((head, names)) = before.rsplit_once('(') else { return false };
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let opens_parameter = head.trim_end().ends_with(['(', ',']);
    opens_parameter && names.contains(',') && names.split(',').all(|name| is_name(name.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(source: &str) -> [usize; 5] {
        let mut counts = Counts::default();
        counts.add(source);
        let Counts { comments, leaning, questions, private, tuples } = counts;
        [comments, leaning, questions, private, tuples]
    }

    #[test]
    fn each_fault_is_counted_once() {
        let source = "/// Of the program.\n/// What is left.\nfn of(a: u8) {}\n\n\
                      /// Whether it runs.\nfn is_up((host, port): (u8, u8)) {}\n\n\
                      /// Items in order.\nfn items(&self, (a, b): (u8, u8)) {}\n";
        assert_eq!(counted(source), [3, 1, 1, 1, 2]);
    }

    #[test]
    fn plain_words_and_tests_are_no_fault() {
        let source = "/// Offers per second.\nfn offers() -> u8 { f((1, 2)) }\n\
                      #[cfg(test)]\nmod tests {\n/// Of a test.\nfn told() {}\n}\n";
        assert_eq!(counted(source), [1, 0, 0, 0, 0]);
    }
}
