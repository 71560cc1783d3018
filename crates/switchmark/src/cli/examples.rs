//! What stands below a verb's options, in its long help and in its manual page: examples, exit
//! statuses, files.
//!
//! Owns these words. Never describes an option: that is the option's own.

use std::fmt::Write as _;

use clap::Command;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

use super::exit::{self, Status};

/// Three paragraphs, each a list of terms with a line about each: commands to begin with, commands
/// of every verb, files.
const WORDS: &str = include_str!("examples.txt");
const FIRST: usize = 0;
/// Examples in a verb's short help.
const SHORT: usize = 2;
const OF_VERBS: usize = 1;
const FILES: usize = 2;

/// Text for a command line without a verb.
pub const ORIENTATION: &str = "\
switchmark measures switches, routers, NICs and cables from the attached hosts.

Try first, on this machine alone:
  switchmark demo                                     two minutes, no device
Then with two hosts and the device between them (root by ssh):
  switchmark latency --hosts root@a:eth1,root@b:eth1  how much latency is added?
  switchmark tcp --hosts root@a:eth1,root@b:eth1      full speed, each way?

All verbs: switchmark --help     One verb: switchmark latency -h
";

/// A term, such as a command, and what is said of it.
type Described = (&'static str, &'static str);

fn paragraph(number: usize) -> Vec<Described> {
    let mut lines = WORDS.split("\n\n").nth(number).unwrap_or_default().lines();
    std::iter::from_fn(|| Some((lines.next()?, lines.next()?.trim_start()))).collect()
}

/// Every verb with its examples, in their order.
fn of_verbs() -> Vec<(&'static str, Vec<Described>)> {
    let mut all: Vec<(&str, Vec<Described>)> = Vec::new();
    for (example, what) in paragraph(OF_VERBS) {
        let verb = example.split(' ').nth(1).unwrap_or_default();
        match all.last_mut().filter(|(last, _)| *last == verb) {
            Some((_, examples)) => examples.push((example, what)),
            None => all.push((verb, vec![(example, what)])),
        }
    }
    all
}

/// The command with all of it, each verb's below its own options.
pub fn below(mut root: Command) -> Command {
    for (verb, examples) in of_verbs() {
        root = root.mut_subcommand(verb, |command| {
            let mut text = "Examples:\n".to_owned();
            for (example, what) in &examples {
                let _ = writeln!(text, "  {example}\n      {what}");
            }
            let mut short = "Examples:\n".to_owned();
            for (example, _) in examples.iter().take(SHORT) {
                let _ = writeln!(short, "  {example}");
            }
            let _ = write!(short, "All options: switchmark {verb} --help");
            text += "\nExit status:\n";
            for (status, what) in exit::codes_of(verb) {
                let _ = writeln!(text, "  {}  {}", status.code(), unmarked(what));
            }
            text.extend(exit::note(verb).map(unmarked));
            command.after_help(short).after_long_help(text)
        });
    }
    root
}

/// Removes the marks of the documentation.
fn unmarked(text: &str) -> String {
    text.replace(['`', '*'], "")
}

/// Sections of a manual page: of a verb, or of the program where there is none.
pub fn sections(verb: &str) -> Roff {
    let own = of_verbs().into_iter().find(|(name, _)| *name == verb);
    let mut page = Roff::new();
    page.control("SH", ["EXAMPLES"]);
    let is_verb = own.is_some();
    for (example, what) in own.map_or_else(|| paragraph(FIRST), |(_, examples)| examples) {
        describe(&mut page, bold(example), what);
    }
    page.control("SH", ["EXIT STATUS"]);
    let statuses = if is_verb {
        exit::codes_of(verb)
    } else {
        Status::ALL.iter().map(|status| (*status, status.meaning())).collect()
    };
    for (status, what) in statuses {
        describe(&mut page, bold(status.code().to_string()), &unmarked(what));
    }
    if let Some(note) = exit::note(verb) {
        page.control("PP", []).text([roman(unmarked(note))]);
    }
    page.control("SH", ["FILES"]);
    for (file, what) in paragraph(FILES) {
        describe(&mut page, italic(file), what);
    }
    page.control("SH", ["SEE ALSO"]).text([bold("switchmark"), roman("(1)")]);
    page
}

/// Adds a term with its description.
fn describe(page: &mut Roff, term: Inline, what: &str) {
    page.control("TP", []).text([term]).text([roman(what)]);
}

#[cfg(test)]
mod tests {
    use super::super::command;
    use super::*;

    #[test]
    fn every_example_is_a_command_that_is_understood() {
        for (example, _) in [paragraph(FIRST), paragraph(OF_VERBS)].concat() {
            let words: Vec<&str> = example.split(' ').collect();
            assert_eq!(words[0], "switchmark", "{example}");
            let parsed = command().try_get_matches_from(words);
            assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
        }
    }

    #[test]
    fn every_verb_that_people_type_has_examples() {
        let root = command();
        for verb in root.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            let name = verb.get_name();
            let has = of_verbs().iter().any(|(own, _)| *own == name);
            assert!(has || name == "agent", "{name}");
        }
    }

    #[test]
    fn help_and_manual_have_examples_and_exit_statuses() {
        for (verb, _) in of_verbs() {
            let mut root = command();
            let own = root.find_subcommand_mut(verb).expect("a verb");
            let help = own.render_long_help().to_string();
            assert!(help.contains("Examples:") && help.contains("Exit status:"), "{verb}: {help}");
            let page = sections(verb).to_roff();
            for section in [".SH EXAMPLES", ".SH \"EXIT STATUS\"", ".SH FILES"] {
                assert!(page.contains(section), "{verb}");
            }
        }
    }
}
