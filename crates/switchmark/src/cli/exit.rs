//! How the program ends: each exit code with what it says, in one table, and what it says of a verb
//! where that is more.
//!
//! Owns these words: help, manual pages and docs/reference/exit-codes.md have them from here. Never
//! decides which it is: a verb does.

/// One row a code, with its meaning for any verb.
macro_rules! statuses {
    ($($variant:ident $code:literal $meaning:literal;)+) => {
        /// Exit status of the program.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Status {
            $(#[doc = $meaning] $variant,)+
        }

        impl Status {
            /// All statuses.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Exit code, as a shell has it in `$?`.
            pub const fn code(self) -> u8 {
                match self { $(Self::$variant => $code,)+ }
            }

            /// Meaning of the code, for any verb.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)+ }
            }
        }
    };
}

// 141 is what a shell says of a program that SIGPIPE ended.
statuses! {
    Done 0 "done";
    Failed 1 "failed while it ran, or interrupted; `run --resume latest` goes on with a run";
    BadInput 2 "nothing was measured: wrong arguments or files, an unusable testbed or journal, or no privilege";
    Open 3 "done, but something is open: figures without a valid trial, or no value at all";
    Worse 4 "done, and the answer is *fail* or *worse*";
    Unread 141 "done, but the reader closed the pipe early, as `| head` does";
}

/// A row each: a verb, a code, and what that says of the verb where it is more than of any.
const OWN: &str = include_str!("exit.txt");

fn own() -> impl Iterator<Item = (&'static str, Status, &'static str)> {
    OWN.lines().filter_map(|row| {
        let mut words = row.splitn(3, ' ');
        let (verb, code) = (words.next()?, words.next()?.parse::<u8>().ok()?);
        let status = Status::ALL.iter().find(|status| status.code() == code)?;
        Some((verb, *status, words.next()?))
    })
}

/// Verbs that end with codes of a program that is not ours.
const PASSED_ON: &str = "`lab exec` passes on its program's exit code; 127: there is no such program, 126: it cannot be run.";

/// Verbs that leave nothing open: they show or write what is there.
const PLAIN: &[&str] = &[
    "runs",
    "export",
    "import",
    "profiles",
    "schema",
    "testbed",
    "lab",
    "completions",
    "agent",
    "serve",
    "watch",
];

/// Verbs besides [`PLAIN`] that make no run of the journal which could go on.
const WITHOUT_RUN: &[&str] = &["doctor", "prove", "report", "compare", "trend"];

/// Meaning of the code of a verb that makes no run.
const fn without_run(status: Status) -> &'static str {
    match status {
        Status::Failed => "failed, or interrupted",
        Status::BadInput => "wrong arguments or files, or no privilege",
        other => other.meaning(),
    }
}

/// Returns the codes of a verb, each with its meaning.
pub fn codes_of(verb: &str) -> Vec<(Status, &'static str)> {
    let of_verb = |status: Status| {
        let mut rows = own().filter(|(of, code, _)| (*of, *code) == (verb, status));
        rows.next().map(|(_, _, meaning)| meaning)
    };
    let every = Status::ALL.iter().filter_map(|status| {
        let general = match status {
            Status::Worse => None,
            Status::Open if PLAIN.contains(&verb) => None,
            other if PLAIN.contains(&verb) || WITHOUT_RUN.contains(&verb) => {
                Some(without_run(*other))
            }
            other => Some(other.meaning()),
        };
        of_verb(*status).or(general).map(|meaning| (*status, meaning))
    });
    every.collect()
}

/// Returns a note on a verb's exit codes; `None` without one.
pub fn note(verb: &str) -> Option<&'static str> {
    (verb == "lab").then_some(PASSED_ON)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::super::command;
    use super::*;

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/exit-codes.md");

    fn page() -> String {
        let mut out = "# Exit codes\n\n| code | of any verb |\n|---|---|\n".to_owned();
        for status in Status::ALL {
            let _ = writeln!(out, "| {} | {} |", status.code(), status.meaning());
        }
        out +=
            "\n## By verb\n\nMore specific meanings:\n\n| verb | code | meaning |\n|---|---|---|\n";
        for (verb, status, meaning) in own() {
            let _ =
                writeln!(out, "| [`{verb}`](../verbs/{verb}.md) | {} | {meaning} |", status.code());
        }
        let [failed, bad] = [Status::Failed, Status::BadInput].map(without_run);
        let _ = writeln!(out, "\nOf verbs that make no run: 1 {failed}; 2 {bad}.");
        let _ = writeln!(out, "\n{PASSED_ON}");
        let _ = writeln!(
            out,
            "\nAn error is one line on stderr, its causes below it, and often a `hint:`."
        );
        out
    }

    /// Set `UPDATE_SNAPSHOTS=1` to write the page again, and read what changed.
    #[test]
    fn the_reference_is_this_table() {
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            std::fs::write(PAGE, page()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(PAGE).unwrap(), page());
    }

    #[test]
    fn every_row_is_of_a_verb_that_there_is() {
        let root = command();
        assert_eq!(own().count(), OWN.lines().count(), "every row is read");
        for verb in own().map(|(verb, ..)| verb).chain(PLAIN.iter().copied()) {
            assert!(root.find_subcommand(verb).is_some(), "{verb}");
        }
        let codes: Vec<u8> = codes_of("accept").iter().map(|(status, _)| status.code()).collect();
        assert_eq!(codes, [0, 1, 2, 3, 4, 141]);
        assert_eq!(codes_of("runs").len(), 4);
    }
}
