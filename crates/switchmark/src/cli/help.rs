//! Help in two lengths: with `-h` the options that people use first and two examples, with
//! `--help` all options in groups.
//!
//! Owns which options come first and the group of each. Never describes an option: that is the
//! option's own.

use clap::{Arg, Command};
use study::buffer::Buffer;
use study::request::StudyRequest as _;

use super::studies;

/// Options of other verbs than studies that their short help shows; a verb that is not listed shows
/// all.
const FIRST: &[(&str, &[&str])] = &[
    ("run", &["report", "resume", "dry-run", "label", "json"]),
    ("xray", &["testbed", "out", "verify", "report"]),
    ("accept", &["testbed", "hosts", "claims", "budget", "junit", "report"]),
    ("sim", &["sweep", "jobs", "report", "json"]),
    ("watch", &["hosts", "device", "time", "alert", "webhook", "serve"]),
    ("compare", &["baseline", "margin", "figure", "report", "junit", "json"]),
    ("trend", &["by", "testbed", "figure", "report", "junit", "json"]),
    ("prove", &["budget", "devices", "only", "study", "report", "json"]),
];

/// Options that people use first of every study.
const OF_STUDIES: &[&str] = &["testbed", "hosts", "report"];

/// A group of the long help, and the options in it.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Where",
        &[
            "testbed",
            "hosts",
            "hostfile",
            "slurm",
            "device",
            "variant",
            "from",
            "to",
            "background-from",
            "background-to",
            "bypass",
        ],
    ),
    (
        "How long",
        &[
            "time",
            "final-time",
            "blocks",
            "profile",
            "precision",
            "omit",
            "interval",
            "before",
            "away",
            "after",
            "budget",
            "for",
        ],
    ),
    (
        "The run",
        &[
            "seed",
            "label",
            "resume",
            "dry-run",
            "yes",
            "serve",
            "token-file",
            "tls-certificate",
            "tls-key",
        ],
    ),
    ("Output", &["report", "json", "full", "quiet", "journal", "junit", "markdown", "color"]),
];

/// Group of a study's other options.
const WHAT: &str = "What to measure";

/// The command with its verbs' options in groups, and in the short help only the first ones.
pub fn arranged(root: Command) -> Command {
    let studies = studies();
    root.mut_subcommands(|verb| {
        let name = verb.get_name().to_owned();
        let study = studies.iter().find(|(own, _)| *own == name);
        let first = match study {
            Some((_, first)) => Some([OF_STUDIES, first].concat()),
            None => FIRST.iter().find(|(own, _)| *own == name).map(|(_, first)| first.to_vec()),
        };
        let other = study.map(|_| WHAT);
        verb.mut_args(|arg| placed(arg, first.as_deref(), other))
            .mut_subcommands(|nested| nested.mut_args(|arg| placed(arg, None, None)))
    })
}

/// Verbs that measure, with the options that people use first.
fn studies() -> Vec<(String, &'static [&'static str])> {
    let mut all = studies::first_options();
    all.push(("buffer".to_owned(), Buffer::FIRST));
    all
}

/// An option under its group's heading; positional arguments keep theirs.
fn placed(arg: Arg, first: Option<&[&str]>, other: Option<&'static str>) -> Arg {
    let Some(long) = arg.get_long().map(str::to_owned) else { return arg };
    let group = GROUPS.iter().find(|(_, options)| options.contains(&long.as_str()));
    let heading = group.map(|(heading, _)| *heading).or(other);
    let is_first = first.is_none_or(|first| first.contains(&long.as_str()));
    let arg = if is_first { arg } else { arg.hide_short_help(true) };
    match heading {
        Some(heading) => arg.help_heading(heading),
        None => arg.help_heading(None::<&str>),
    }
}

#[cfg(test)]
mod tests {
    use super::super::command;
    use super::*;

    /// Lines of a short help.
    const MOST: usize = 40;

    /// Each verb, and each verb below it.
    fn verbs() -> Vec<Command> {
        let mut root = command();
        root.build();
        let mut all: Vec<Command> = Vec::new();
        for verb in root.get_subcommands().filter(|verb| verb.get_name() != "help") {
            all.push(verb.clone());
            let nested = verb.get_subcommands().filter(|nested| nested.get_name() != "help");
            all.extend(nested.cloned());
        }
        all
    }

    #[test]
    fn a_short_help_is_short_and_has_examples() {
        for mut verb in verbs() {
            let help = verb.render_help().to_string();
            let lines = help.lines().count();
            assert!(lines <= MOST, "{}: {lines} lines\n{help}", verb.get_name());
        }
    }

    #[test]
    fn every_first_option_is_one_that_the_verb_has() {
        let all = verbs();
        let other = FIRST.iter().map(|(name, first)| ((*name).to_owned(), *first));
        for (name, first) in other.chain(studies()) {
            let verb = all.iter().find(|verb| verb.get_name() == name).expect("a verb");
            for long in first {
                let known = verb.get_arguments().any(|arg| arg.get_long() == Some(long));
                assert!(known, "{name} has no --{long}");
            }
        }
        for (heading, options) in GROUPS {
            for long in *options {
                let is_known =
                    |verb: &Command| verb.get_arguments().any(|arg| arg.get_long() == Some(long));
                assert!(all.iter().any(is_known), "{heading}: no verb has --{long}");
            }
        }
    }
}
