//! Wrong arguments in two lines: the verb or the option with what is wrong, and a hint with the
//! nearest name.
//!
//! Owns these words, made from what the parser found. Never parses an argument.

use std::error::Error as _;
use std::net::IpAddr;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use study::request::suggest;

use super::Refused;
use super::exit::Status;

/// Verb of a command line, and its parser.
pub struct Asked {
    /// Name with those above it: `runs label`; empty if there is none.
    name: String,
    command: Command,
}

/// What is wrong, and what to do.
struct Advice {
    message: String,
    hint: String,
}

impl Asked {
    /// Finds the verb of a command line, without the program's name.
    pub fn find<'a>(mut command: Command, words: impl IntoIterator<Item = &'a str>) -> Self {
        // Options of every verb become each verb's own.
        command.build();
        let mut names: Vec<String> = Vec::new();
        for word in words {
            if let Some(sub) = command.find_subcommand(word).cloned() {
                names.push(sub.get_name().to_owned());
                command = sub;
            }
        }
        Self { name: names.join(" "), command }
    }

    /// Words a refusal by the parser.
    pub fn refused(&self, error: &clap::Error) -> Refused {
        let code = Status::BadInput.code();
        // A verb of verbs alone: its help says which.
        if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            return Refused { text: error.render().to_string(), code };
        }
        let Advice { message, hint } = match error.kind() {
            ErrorKind::InvalidSubcommand => self.unknown_verb(error),
            ErrorKind::UnknownArgument => self.unknown_argument(error),
            ErrorKind::InvalidValue => invalid_value(error),
            ErrorKind::ValueValidation => self.unfit_value(error),
            ErrorKind::MissingRequiredArgument => self.missing(error),
            ErrorKind::ArgumentConflict => conflict(error),
            _ => Advice { message: first_paragraph(error), hint: self.help() },
        };
        Refused { text: format!("error: {message}\nhint: {hint}\n"), code }
    }

    fn unknown_verb(&self, error: &clap::Error) -> Advice {
        let word = context(error, ContextKind::InvalidSubcommand);
        let known: Vec<&str> = self
            .command
            .get_subcommands()
            .filter(|verb| !verb.is_hide_set())
            .map(Command::get_name)
            .collect();
        let message = self.with_name(&format!("there is no verb `{word}`"));
        let nearest = suggest::nearest(&word, &known);
        let hint = nearest.map_or_else(|| self.help(), |near| format!("did you mean `{near}`?"));
        Advice { message, hint }
    }

    fn unknown_argument(&self, error: &clap::Error) -> Advice {
        let word = context(error, ContextKind::InvalidArg);
        if !word.starts_with('-') {
            let message = self.with_name(&format!("`{word}` is one word too many"));
            return Advice { message, hint: self.hint_for_more(&word) };
        }
        let options = self.command.get_arguments().filter(|arg| !arg.is_hide_set());
        let known: Vec<String> =
            options.filter_map(|arg| Some(format!("--{}", arg.get_long()?))).collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let name = word.split('=').next().unwrap_or(&word);
        let message = self.with_name(&format!("there is no option `{name}`"));
        let nearest = suggest::nearest(name, &known);
        let hint = nearest.map_or_else(|| self.help(), |near| format!("did you mean `{near}`?"));
        Advice { message, hint }
    }

    /// A word that no option takes is meant for something that takes it elsewhere.
    fn hint_for_more(&self, word: &str) -> String {
        let takes_testbed = self.command.get_arguments().any(|arg| arg.get_id() == "testbed");
        if self.name == "lab exec" {
            "write the program behind `--`: lab exec h1 -- ping 198.18.0.2".to_owned()
        } else if word.parse::<IpAddr>().is_ok() || takes_testbed {
            "hosts with their ports are named by --hosts root@a:eth1,root@b:eth1, or in a file by \
             --testbed"
                .to_owned()
        } else {
            self.help()
        }
    }

    /// Passes on what a value's own reader says of it.
    fn unfit_value(&self, error: &clap::Error) -> Advice {
        let cause = error.source();
        let refused = cause.and_then(|cause| cause.downcast_ref::<measure::Refused>());
        let why = cause.map_or_else(|| first_paragraph(error), ToString::to_string);
        let [option, value] =
            [ContextKind::InvalidArg, ContextKind::InvalidValue].map(|kind| context(error, kind));
        let message = format!("{} {value}: {why}", bare(&option));
        Advice { message, hint: refused.map_or_else(|| self.help(), |own| own.hint.clone()) }
    }

    fn missing(&self, error: &clap::Error) -> Advice {
        let message =
            self.with_name(&format!("{} is missing", context(error, ContextKind::InvalidArg)));
        let usage = context(error, ContextKind::Usage);
        let usage = usage.trim_start_matches("Usage: ").lines().next().unwrap_or_default();
        Advice { message, hint: format!("write `{usage}`; {}", self.help()) }
    }

    fn with_name(&self, message: &str) -> String {
        if self.name.is_empty() { message.to_owned() } else { format!("{}: {message}", self.name) }
    }

    fn help(&self) -> String {
        let name = if self.name.is_empty() { String::new() } else { format!("{} ", self.name) };
        format!("`switchmark {name}--help` lists what there is")
    }
}

fn invalid_value(error: &clap::Error) -> Advice {
    let [option, value] =
        [ContextKind::InvalidArg, ContextKind::InvalidValue].map(|kind| context(error, kind));
    let known = match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(known)) => known.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    };
    let option = bare(&option);
    if value.is_empty() {
        let hint = if known.is_empty() {
            format!("write {}", context(error, ContextKind::InvalidArg))
        } else {
            format!("known are {}", suggest::list(&known))
        };
        return Advice { message: format!("{option}: a value is missing"), hint };
    }
    let message = format!("{option} {value}: `{value}` is unknown");
    Advice { message, hint: suggest::hint(&value, &known) }
}

fn conflict(error: &clap::Error) -> Advice {
    let [one, other] =
        [ContextKind::InvalidArg, ContextKind::PriorArg].map(|kind| context(error, kind));
    let message = if one == other || other.is_empty() {
        format!("{} is given twice", bare(&one))
    } else {
        format!("{} and {other} exclude each other", bare(&one))
    };
    Advice { message, hint: "leave one of them out".to_owned() }
}

/// Returns the option's name without the name of its value.
fn bare(option: &str) -> &str {
    option.split(' ').next().unwrap_or(option)
}

fn context(error: &clap::Error, kind: ContextKind) -> String {
    error.get(kind).map(ToString::to_string).unwrap_or_default()
}

/// Returns the parser's own words for a fault that has none here.
fn first_paragraph(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim).take_while(|line| !line.is_empty());
    let line = lines.collect::<Vec<_>>().join(" ");
    line.trim_start_matches("error: ").to_owned()
}
