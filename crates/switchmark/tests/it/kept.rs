//! What 0.1 had is still there: every verb, flag, metric, caveat and condition of a list that was
//! made from it.
//!
//! Never changes the list: what is renamed answers to its old name, and is found by it; what went
//! on purpose is named here.

use std::collections::BTreeSet;

use clap::{Arg, Command, CommandFactory as _};
use page::{Caveat, Key, Metric, phrase};
use switchmark::cli::Cli;

const LIST: &str = include_str!("../snapshots/what-0.1-had.txt");

/// Conditions of a fabric whose cables a person moved, which is measured no more.
const GONE: [&str; 4] = [
    "condition cablings",
    "condition cables_moved",
    "condition moves_to_each_port",
    "condition moves_to_every_two_ports",
];

/// `compare --baseline`: the command it is of, and the flag; the flags of all commands above it
/// are its own too.
fn has_flag(root: &Command, line: &str) -> bool {
    let (verbs, flag) = line.rsplit_once("--").expect("a flag");
    let mut command = root;
    let named = |arg: &&Arg| {
        let longs = arg.get_long().into_iter().chain(arg.get_all_aliases().unwrap_or_default());
        longs.collect::<Vec<_>>().contains(&flag)
    };
    let mut found = command.get_arguments().any(|arg| arg.is_global_set() && named(&arg));
    for verb in verbs.split_whitespace() {
        let Some(below) = command.find_subcommand(verb) else { return false };
        command = below;
        found |= command.get_arguments().any(|arg| arg.is_global_set() && named(&arg));
    }
    found || command.get_arguments().any(|arg| named(&arg))
}

fn has_verb(root: &Command, line: &str) -> bool {
    let below = |command, verb| Command::find_subcommand(command, verb);
    line.split_whitespace().try_fold(root, below).is_some()
}

fn is_read<T: serde::de::DeserializeOwned>(name: &str) -> bool {
    serde_json::from_value::<T>(name.into()).is_ok()
}

#[test]
fn all_that_was_there_is_there() {
    let root = Cli::command();
    let mut kinds = BTreeSet::new();
    let lost: Vec<&str> = LIST
        .lines()
        .filter(|line| !GONE.contains(line))
        .filter(|line| {
            let (kind, name) = line.split_once(' ').expect("a kind and a name");
            kinds.insert(kind);
            !match kind {
                "verb" => has_verb(&root, name),
                "flag" => has_flag(&root, name),
                "metric" => is_read::<Metric>(name),
                "caveat" => is_read::<Caveat>(name),
                "condition" => phrase::is_understood(&Key::named(name)),
                other => panic!("{other} is no kind"),
            }
        })
        .collect();
    assert_eq!(kinds.len(), 5);
    assert!(lost.is_empty(), "0.1 had {lost:#?}");
}

/// clap takes the first of two flags of one name, and the other cannot be used.
#[test]
fn no_verb_has_two_flags_of_one_name() {
    let root = Cli::command();
    for verb in root.get_subcommands() {
        for named in [
            |arg: &Arg| arg.get_long().map(str::to_owned),
            |arg: &Arg| Some(arg.get_id().to_string()),
        ] {
            let mut names = BTreeSet::new();
            for name in verb.get_arguments().filter_map(named) {
                assert!(names.insert(name.clone()), "{} {name}", verb.get_name());
            }
        }
    }
    for more in ["--dry-run", "--serve=127.0.0.1:0"] {
        let words = ["switchmark", "storage", "--testbed", "lab:bridge", "--ramdisk", "1ms", more];
        let parsed = Cli::command().try_get_matches_from(words);
        assert!(parsed.is_ok(), "{}", parsed.unwrap_err());
    }
}
