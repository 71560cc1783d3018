//! The commands and files that the pages of docs/ show, read from the pages: what a page tells its
//! reader to type is what tests run.
//!
//! Owns which lines of a page are commands, and how a shell splits them. Never runs one.

use std::path::{Path, PathBuf};

const PROGRAM: &str = "switchmark ";

/// One command of a page: the words after `switchmark`, as a shell hands them over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub words: Vec<String>,
    /// Where its standard output is sent: `> rack.toml`.
    pub into: Option<String>,
    /// Whether the page shows what it prints.
    pub with_output: bool,
    /// Whether that is an error.
    pub is_refused: bool,
}

impl Shown {
    pub fn words(&self) -> Vec<&str> {
        self.words.iter().map(String::as_str).collect()
    }

    pub fn is(&self, verb: &str) -> bool {
        self.words[0] == verb
    }

    /// With other names in it: those of the test's hosts, for instance.
    pub fn with(mut self, names: &[(&str, &str)]) -> Self {
        for word in &mut self.words {
            for (shown, own) in names {
                *word = word.replace(shown, own);
            }
        }
        self
    }
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn read(page: &str) -> String {
    let path = root().join(page);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The commands of a page in their order: indented by four, or after a prompt.
pub fn commands(text: &str) -> Vec<Shown> {
    let mut all = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let prompt = format!("$ {PROGRAM}");
        let (rest, with_output) = match (line.strip_prefix(&prompt), indented(line)) {
            (Some(rest), _) => (rest, true),
            (None, Some(rest)) => (rest, false),
            (None, None) => continue,
        };
        let mut command = rest.to_owned();
        while let Some(begun) = command.strip_suffix('\\') {
            command = format!("{begun} {}", lines.next().expect("a command that goes on ends"));
        }
        let is_refused = lines.peek().is_some_and(|next| next.starts_with("error: "));
        all.push(Shown { with_output, is_refused, ..shown(&command) });
    }
    all
}

fn indented(line: &str) -> Option<&str> {
    line.strip_prefix("    ")?.strip_prefix(PROGRAM)
}

/// The first block of TOML on a page: a file that it tells its reader to write.
pub fn toml(text: &str) -> &str {
    let begun = text.split("```toml\n").nth(1).expect("a block of TOML");
    begun.split("```").next().unwrap_or_default()
}

fn shown(command: &str) -> Shown {
    let mut words = split(command);
    let into = words.iter().position(|word| word == ">").map(|at| {
        let file = words.get(at + 1).expect("a file after `>`").clone();
        words.truncate(at);
        file
    });
    Shown { words, into, with_output: false, is_refused: false }
}

/// At spaces that no quotes hold together, up to a comment.
fn split(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quote) = (String::new(), None);
    for letter in command.chars() {
        match (quote, letter) {
            (None, '#') if word.is_empty() => break,
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), _) if letter == open => quote = None,
            (None, ' ') => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            _ => word.push(letter),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[test]
fn commands_are_read_as_a_shell_would() {
    let page = "text\n\n    switchmark runs label x \"a b\"  # so\n\n```\n$ switchmark testbed new \\\n    \
                root@a > r.toml\n# out\n```\n    other\n";
    let [label, new] = &commands(page)[..] else { panic!("{:?}", commands(page)) };
    assert_eq!(label.words(), ["runs", "label", "x", "a b"]);
    assert_eq!((label.with_output, &label.into), (false, &None));
    assert_eq!(new.words(), ["testbed", "new", "root@a"]);
    assert_eq!((new.with_output, new.into.as_deref()), (true, Some("r.toml")));
}
