//! Runs of every verb that gives an answer, at their defaults: at most 25 lines of 80 columns, and
//! the answer within the first eight.
//!
//! All in virtual time: nothing is sent. The demo, which builds labs, is held by `labs/demo.rs`.

use std::fs;
use std::process::{Command, Output, Stdio};

use crate::program::{Scratch, switchmark};

/// Most lines of a verb with at most ten answers.
const LINES: usize = 25;
/// Lines within which the answer begins.
const FIRST: usize = 8;
const COLUMNS: usize = 80;

/// Run whose output is looked at.
struct Run {
    /// Words after the program's name.
    words: &'static str,
    /// Words of the answer.
    answer: &'static str,
    /// Exit code.
    code: i32,
}

const fn run(words: &'static str, answer: &'static str) -> Run {
    Run { words, answer, code: 0 }
}

/// Each is measured in well under a second. Later ones read what the first ones left.
const RUNS: &[Run] = &[
    run("", "Try first"),
    run(
        "latency --testbed sim:software-bridge --protocol udp --size 64 --blocks 6 -t 10ms",
        "Added latency",
    ),
    run("run plan.toml", "Added latency"),
    Run { code: 3, ..run("trend", "Too few runs to tell") },
    run("compare first latest", "EQUIVALENT"),
    run("report latest", "Added latency"),
    run("runs --last 5", "latency"),
    run("sim software-bridge,hosts=2 plan.toml", "Added latency"),
    run("sim software-bridge,hosts=2 plan.toml --sweep rate=100Mbit,1Gbit", "RTT p50"),
    run("sim software-bridge,hosts=2 plan.toml --sweep rate=20Mbit..1Gbit*2", "RTT p50"),
    run(
        "forwarding --testbed sim:software-bridge,hosts=2 --flood --size 64 --blocks 2 -t 10ms",
        "Line rate?",
    ),
    run(
        "tcp --testbed sim:software-bridge,hosts=2,rate=100Mbit --blocks 2 -t 50ms --omit 0",
        "TCP",
    ),
    run(
        "sessions --testbed sim:software-bridge,hosts=2 --test handshake --blocks 2 -t 100ms",
        "handshake",
    ),
    run(
        "failover --testbed sim:software-bridge,hosts=2 --away 100ms --before 100ms --after 200ms \
         --flows 1",
        "Longest interruption",
    ),
    run(
        "fabric --testbed sim:leaf-spine,hosts=4,rate=100Mbit --arrangement neighbours \
         --nodes 4 --blocks 1 -t 10ms",
        "Non-blocking?",
    ),
    run(
        "switching --testbed sim:software-bridge,hosts=3,rate=100Mbit \
         --test mesh --size 1518 -t 10ms",
        "Line rate?",
    ),
    run(
        "switching --testbed sim:software-bridge,hosts=3,rate=100Mbit \
         --test incast --size 1518 -t 10ms",
        "incast",
    ),
    run(
        "switching --testbed sim:software-bridge,hosts=4,rate=100Mbit \
         --test broadcast --size 1518 -t 10ms",
        "throughput",
    ),
    run("storage --testbed sim:software-bridge,hosts=2 --blocks 2 -t 10ms", "IOPS"),
    run(
        "buffer --testbed sim:software-bridge,hosts=4,rate=100Mbit \
         --blocks 2 -t 20ms --omit 0 -P 1",
        "Enough buffer?",
    ),
    run("xray --testbed sim:software-bridge,hosts=2,rate=10Mbit", "Line rate?"),
    run(
        "accept --testbed sim:software-bridge,hosts=2,rate=100Mbit --claims sheet.toml",
        "Line rate at 1518",
    ),
    run("watch sim:software-bridge --for 20s", "Do all ways answer?"),
    run("prove --only sim --devices 1 --study latency", "No wrong results?"),
    run("import ping.txt", "Imported by ping"),
    run("latency --testbed sim:trident2 --dry-run", "latency: "),
    run("profiles", "blocking-16"),
];

/// Verbs that print data, help or a page, serve, or ask real hosts; `demo` has its own test.
const WITHOUT: &[&str] = &[
    "agent",
    "completions",
    "demo",
    "doctor",
    "export",
    "lab",
    "manual",
    "schema",
    "serve",
    "testbed",
];

const PLAN: &str = "testbed = \"sim:software-bridge\"\n[[study]]\n[study.latency]\nsizes = [64]\n\
                    protocols = [\"udp\"]\nduration = \"10ms\"\nblocks = 6\n";
const SHEET: &str = "[[accept]]\nclaim = \"line rate at 1518 octets\"\n";
const PING: &str = "PING 198.18.0.2 (198.18.0.2) 56(84) bytes of data.\n\n\
                    --- 198.18.0.2 ping statistics ---\n\
                    100 packets transmitted, 100 received, 0% packet loss, time 99ms\n\
                    rtt min/avg/max/mdev = 0.045/0.062/0.110/0.010 ms\n";

fn carried_out(scratch: &Scratch, words: &str) -> Output {
    let mut command = Command::new(switchmark());
    let mut words: Vec<&str> = words.split(' ').filter(|word| !word.is_empty()).collect();
    if words.iter().any(|word| *word == "--testbed" || word.starts_with("sim")) {
        words.extend(["--seed", "1"]);
    }
    let keeps = !matches!(words.first(), None | Some(&"profiles"));
    let journal: &[&str] = if keeps { &["--journal", "j.db", "--quiet"] } else { &[] };
    command.args(words).args(journal).current_dir(scratch.folder()).stdin(Stdio::null());
    command.env("COLUMNS", COLUMNS.to_string()).env("NO_COLOR", "1").env("LC_ALL", "C.UTF-8");
    command.output().expect("switchmark starts")
}

#[test]
fn an_answer_is_in_eight_lines_and_all_of_it_in_twenty_five() {
    let scratch = Scratch::new("glance");
    for (name, text) in [("plan.toml", PLAN), ("sheet.toml", SHEET), ("ping.txt", PING)] {
        fs::write(scratch.path(name), text).expect("write a file");
    }
    for Run { words, answer, code } in RUNS {
        let words = match words.split_once("first") {
            Some((before, after)) => format!("{before}{}{after}", first_run(&scratch)),
            None => (*words).to_owned(),
        };
        let output = carried_out(&scratch, &words);
        let shown = String::from_utf8(output.stdout).expect("text");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(*code), "{words}: {told}\n{shown}");
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines.len() <= LINES, "{words}: {} lines\n{shown}", lines.len());
        for line in &lines {
            assert!(line.chars().count() <= COLUMNS, "{words}: {line}\n{shown}");
        }
        let first = lines.iter().take(FIRST).any(|line| line.contains(answer));
        assert!(first, "{words}: `{answer}` in the first {FIRST} lines of\n{shown}");
    }
}

/// Id of the oldest run.
fn first_run(scratch: &Scratch) -> String {
    let output = carried_out(scratch, "runs --json");
    let listed = crate::program::json(&output);
    let runs = listed["runs"].as_array().expect("runs");
    runs.last().expect("one")["id"].as_str().expect("an id").to_owned()
}

#[test]
fn every_verb_with_an_answer_is_among_them() {
    assert!(RUNS.len() >= 20, "{} runs", RUNS.len());
    let shown = |verb: &str| RUNS.iter().any(|run| run.words.split(' ').next() == Some(verb));
    let command = switchmark::cli::command();
    let left: Vec<&str> = command
        .get_subcommands()
        .map(clap::Command::get_name)
        .filter(|verb| !shown(verb) && !WITHOUT.contains(verb))
        .collect();
    assert_eq!(left, [""; 0], "verbs without a run");
}
