//! What stands below a verb's options, in its long help and in its manual page: examples, exit
//! statuses, files.
//!
//! Owns these words. Never describes an option: that is the option's own.

use std::fmt::Write as _;

use clap::Command;

/// A verb with its examples, each a command and what it does.
type Of = (&'static str, &'static [(&'static str, &'static str)]);

const EXAMPLES: &[Of] = &[
    (
        "demo",
        &[(
            "switchmark demo --out demo",
            "a lab is built, measured and taken down; the report is left",
        )],
    ),
    (
        "run",
        &[
            ("switchmark run plan.toml --report plan.html", "a plan's studies, and their page"),
            ("switchmark run plan.toml --dry-run", "what it would take, and nothing else"),
            ("switchmark run --resume latest", "go on with an interrupted run"),
        ],
    ),
    (
        "latency",
        &[
            ("switchmark latency --hosts root@a:eth1,root@b:eth1", "two hosts without any file"),
            (
                "switchmark latency --testbed rack.toml --size 64,1518 --load idle,tcp:4",
                "idle, and under load",
            ),
            ("switchmark latency --testbed lab:bridge --blocks 6 -t 1", "in a lab of this machine"),
        ],
    ),
    (
        "forwarding",
        &[
            ("switchmark forwarding --testbed rack.toml --size 64,1518,imix", "throughput by size"),
            (
                "switchmark forwarding --testbed sim:trident2 --search rfc2544",
                "of a model, in virtual time",
            ),
        ],
    ),
    (
        "fabric",
        &[
            ("switchmark fabric --testbed rack.toml", "is it non-blocking, whichever ports talk?"),
            (
                "switchmark fabric --testbed rack.toml --hosts 8 --ports 48",
                "8 hosts go round 48 ports",
            ),
        ],
    ),
    (
        "switching",
        &[("switchmark switching --testbed rack.toml --size 64", "RFC 2889 and RFC 8239")],
    ),
    ("buffer", &[("switchmark buffer --testbed rack.toml -t 10", "TCP beside a constant load")]),
    (
        "storage",
        &[(
            "switchmark storage --testbed rack.toml --fio job.fio",
            "a job of fio's, and where its time is spent",
        )],
    ),
    (
        "xray",
        &[("switchmark xray --testbed rack.toml --out twin.toml", "a data sheet, and its profile")],
    ),
    (
        "doctor",
        &[
            (
                "switchmark doctor --testbed rack.toml",
                "what would spoil a measurement, and the remedy",
            ),
            ("switchmark doctor --generator", "at which link speeds this host fills the line"),
        ],
    ),
    ("report", &[("switchmark report latest --out run.html", "the page of the latest run")]),
    (
        "compare",
        &[
            ("switchmark compare 20261121-1403 latest --report both.html", "which of the two?"),
            (
                "switchmark compare --baseline latest --baseline-journal main.db latest --margin 5%",
                "in continuous integration: is it no worse?",
            ),
        ],
    ),
    (
        "import",
        &[("switchmark import iperf3.json --bypass cable.json", "what other tools measured")],
    ),
    ("export", &[("switchmark export latest --format csv", "a run's figures for a spreadsheet")]),
];

/// Of every verb that measures or judges.
const EXITS: &[(u8, &str)] = &[
    (0, "done"),
    (1, "the run could not go on; --resume takes it up"),
    (2, "wrong arguments or files, a testbed that can't work, or no privilege"),
    (
        3,
        "figures without a value, because their trials were not valid; a claim that is not so; \
         compare --baseline: not shown to be no worse",
    ),
    (4, "compare --baseline: something is worse; accept: a claim is broken"),
    (141, "all is done, but who read the output went away, as of `| head`"),
];

const FILES: &[(&str, &str)] = &[
    (
        "$XDG_DATA_HOME/switchmark/journal.db",
        "the journal, or the same in ~/.local/share; --journal names another",
    ),
    ("/run/switchmark", "on hosts: what an agent changed, until it is put back"),
];

/// The command with all of it, each verb's below its own options.
pub fn below(mut root: Command) -> Command {
    for (verb, examples) in EXAMPLES {
        root = root.mut_subcommand(verb, |command| {
            let mut text = "Examples:\n".to_owned();
            for (example, what) in *examples {
                let _ = writeln!(text, "  {example}\n      {what}");
            }
            text += "\nExit status:\n";
            for (code, what) in EXITS {
                let _ = writeln!(text, "  {code}  {what}");
            }
            command.after_help("See '--help' for more, and for examples.").after_long_help(text)
        });
    }
    root
}

/// The same as sections of a verb's manual page, in roff.
pub fn sections(verb: &str) -> String {
    let Some((_, examples)) = EXAMPLES.iter().find(|(name, _)| *name == verb) else {
        return String::new();
    };
    let plain = |text: &str| text.replace('\\', "\\e").replace('-', "\\-");
    let mut out = ".SH EXAMPLES\n".to_owned();
    for (example, what) in *examples {
        let _ = writeln!(out, ".TP\n.B {}\n{}", plain(example), plain(what));
    }
    out += ".SH \"EXIT STATUS\"\n";
    for (code, what) in EXITS {
        let _ = writeln!(out, ".TP\n.B {code}\n{}", plain(what));
    }
    out += ".SH FILES\n";
    for (file, what) in FILES {
        let _ = writeln!(out, ".TP\n.I {}\n{}", plain(file), plain(what));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::command;
    use super::*;

    #[test]
    fn every_example_is_a_command_that_is_understood() {
        let all = EXAMPLES
            .iter()
            .flat_map(|(verb, examples)| examples.iter().map(move |one| (verb, one.0)));
        for (verb, example) in all {
            let words: Vec<&str> = example.split(' ').collect();
            assert_eq!(words[..2], ["switchmark", *verb], "{example}");
            let parsed = command().try_get_matches_from(words);
            assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
        }
    }

    #[test]
    fn help_and_manual_have_examples_and_exit_statuses() {
        for (verb, _) in EXAMPLES {
            let mut root = command();
            let own = root.find_subcommand_mut(verb).expect("a verb");
            let help = own.render_long_help().to_string();
            assert!(help.contains("Examples:") && help.contains("Exit status:"), "{verb}: {help}");
            for section in [".SH EXAMPLES", ".SH \"EXIT STATUS\"", ".SH FILES"] {
                assert!(sections(verb).contains(section), "{verb}");
            }
        }
    }
}
