//! What stands below a verb's options, in its long help and in its manual page: examples, exit
//! statuses, files.
//!
//! Owns these words. Never describes an option: that is the option's own.

use std::fmt::Write as _;

use clap::Command;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

use super::exit::{self, Status};

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
        "tcp",
        &[
            ("switchmark tcp --hosts root@a:eth1,root@b:eth1", "is it at full speed, each way?"),
            ("switchmark tcp --testbed lab:bridge -P 4 --bidir", "four streams, both ways at once"),
        ],
    ),
    (
        "failover",
        &[
            (
                "switchmark failover --testbed rack.toml --deed uplink-1-down --flows 64",
                "64 flows, and how long each is interrupted",
            ),
            (
                "switchmark failover --testbed lab:bridge --away 200ms",
                "in a lab of this machine, where the outage is known",
            ),
        ],
    ),
    (
        "fabric",
        &[
            ("switchmark fabric --testbed rack.toml", "is it non-blocking, whichever ports talk?"),
            (
                "switchmark fabric --testbed rack.toml --arrangement tournament",
                "each port with every other, in rounds",
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
        "accept",
        &[
            (
                "switchmark accept --testbed rack.toml --claims sheet.toml --report accept.html",
                "does it keep its data sheet?",
            ),
            (
                "switchmark accept --testbed rack.toml --claims sheet.toml --junit accept.xml",
                "the same for a CI server",
            ),
        ],
    ),
    (
        "testbed",
        &[(
            "switchmark testbed new root@a root@b root@c root@d",
            "a testbed file of four hosts, on stdout",
        )],
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
    (
        "prove",
        &[("switchmark prove --only sim --devices 100", "a hundred models, and a certificate")],
    ),
    (
        "sim",
        &[
            ("switchmark sim trident2 plan.toml", "a plan on a modelled device"),
            (
                "switchmark sim esnet-64mb,mtu=9000 path.toml --sweep buffer=1MB..16MB*4",
                "over a range of values",
            ),
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
        "trend",
        &[
            ("switchmark trend", "what moved over all runs on the testbed of the latest"),
            (
                "switchmark trend --by release --junit trend.xml",
                "by the runs' labels, for a CI server",
            ),
        ],
    ),
    (
        "import",
        &[("switchmark import iperf3.json --bypass cable.json", "what other tools measured")],
    ),
    ("export", &[("switchmark export latest --format csv", "a run's figures for a spreadsheet")]),
    (
        "watch",
        &[
            ("switchmark watch rack4.toml --alert ./tell.sh", "a script is told what changes"),
            (
                "switchmark watch lab:bridge --link-share 100 --cpu-share 1000 -t 100ms --for 5m",
                "as fast as it goes, for a look",
            ),
        ],
    ),
    (
        "serve",
        &[
            ("switchmark serve", "the journal's pages at http://127.0.0.1:8377/"),
            (
                "switchmark serve --listen unix:/run/user/1000/switchmark.sock",
                "for a proxy, or for ssh -L 8377:/run/user/1000/switchmark.sock",
            ),
            (
                "switchmark serve --listen 192.0.2.7:8377 --token-file token",
                "for others too, who have to know the token",
            ),
            (
                "switchmark serve --listen 0.0.0.0 --token-file token --tls-certificate lab.pem --tls-key lab.key",
                "the same by TLS, with a certificate of one's own",
            ),
        ],
    ),
    (
        "runs",
        &[
            ("switchmark runs", "the journal's runs, the latest first"),
            ("switchmark runs label latest before-upgrade", "a name for the latest"),
        ],
    ),
    (
        "profiles",
        &[("switchmark profiles trident2", "a model's data sheet, as a file to begin with")],
    ),
    (
        "lab",
        &[
            ("switchmark lab up lab:routers,hosts=4", "until Ctrl-C"),
            ("switchmark lab exec h1 -- ping 198.18.0.2", "beside it, in one of its hosts"),
        ],
    ),
    ("completions", &[("switchmark completions bash", "for the folder that bash reads them from")]),
];

/// Where one begins, for the program's own page.
const FIRST: &[(&str, &str)] = &[
    ("switchmark demo", "what it does, in under two minutes, without any device"),
    ("switchmark tcp --hosts root@a:eth1,root@b:eth1", "two hosts and what is between them"),
    (
        "switchmark latency --testbed lab:bridge",
        "the kernel's own bridge, in a lab of this machine",
    ),
    ("switchmark forwarding --testbed sim:trident2 --flood --size 64", "a model, in virtual time"),
];

const FILES: &[(&str, &str)] = &[
    (
        "$XDG_DATA_HOME/switchmark/journal.db",
        "the journal, or the same in ~/.local/share; --journal names another",
    ),
    ("/run/switchmark", "on hosts: what an agent changed, until it is put back"),
    ("~/.cache/switchmark", "on hosts reached by ssh: the program, as it was sent there"),
    ("/usr/share/switchmark/profiles", "of a package: the built-in models"),
    ("/usr/share/switchmark/examples", "of a package: plans and testbeds"),
    ("/usr/share/doc/switchmark/docs", "of a package: the documentation"),
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
            for (status, what) in exit::of(verb) {
                let _ = writeln!(text, "  {}  {}", status.code(), unmarked(what));
            }
            text.extend(exit::note(verb).map(unmarked));
            command.after_help("See '--help' for more, and for examples.").after_long_help(text)
        });
    }
    root
}

/// Without the marks of the documentation.
fn unmarked(text: &str) -> String {
    text.replace(['`', '*'], "")
}

/// Sections of a manual page: of a verb, or of the program where there is none.
pub fn sections(verb: &str) -> Roff {
    let own = EXAMPLES.iter().find(|(name, _)| *name == verb);
    let mut page = Roff::new();
    page.control("SH", ["EXAMPLES"]);
    for (example, what) in own.map_or(FIRST, |(_, examples)| examples) {
        describe(&mut page, bold(*example), what);
    }
    page.control("SH", ["EXIT STATUS"]);
    let statuses = match own {
        Some(_) => exit::of(verb),
        None => Status::ALL.iter().map(|status| (*status, status.meaning())).collect(),
    };
    for (status, what) in statuses {
        describe(&mut page, bold(status.code().to_string()), &unmarked(what));
    }
    if let Some(note) = exit::note(verb) {
        page.control("PP", []).text([roman(unmarked(note))]);
    }
    page.control("SH", ["FILES"]);
    for (file, what) in FILES {
        describe(&mut page, italic(*file), what);
    }
    page.control("SH", ["SEE ALSO"]).text([bold("switchmark"), roman("(1)")]);
    page
}

/// Adds a term with what is said of it.
fn describe(page: &mut Roff, term: Inline, what: &str) {
    page.control("TP", []).text([term]).text([roman(what)]);
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
    fn every_verb_that_people_type_has_examples() {
        let root = command();
        for verb in root.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            let name = verb.get_name();
            let has = EXAMPLES.iter().any(|(own, _)| *own == name);
            assert!(has || name == "agent", "{name}");
        }
    }

    #[test]
    fn help_and_manual_have_examples_and_exit_statuses() {
        for (verb, _) in EXAMPLES {
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
