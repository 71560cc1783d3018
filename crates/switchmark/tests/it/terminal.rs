//! What a terminal shows: tables of its width, colours, what a run will take; and how small its
//! journal is.
//!
//! All in virtual time: nothing is sent.

use std::collections::BTreeSet;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::program::{Scratch, json, switchmark};

fn run(scratch: &Scratch, args: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(switchmark());
    command.args(args).args(["--journal", "j.db"]).current_dir(scratch.folder());
    for name in ["COLUMNS", "NO_COLOR"] {
        command.env_remove(name);
    }
    command.envs(environment.iter().copied()).stdin(Stdio::null());
    command.output().expect("switchmark starts")
}

fn text(output: &Output) -> String {
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What people would read on as one word: numbers and names. Lines of a table's frame are none.
fn words(text: &str) -> BTreeSet<String> {
    let is_word = |word: &&str| word.contains(char::is_alphanumeric);
    let bare = |word: &str| word.trim_matches([',', '.', ';', ':']).to_owned();
    text.split_whitespace().filter(is_word).map(bare).collect()
}

#[test]
fn tables_are_as_wide_as_the_terminal_and_break_no_word() {
    let scratch = Scratch::new("widths");
    let runs: [&[&str]; 3] = [
        &[
            "latency",
            "--testbed",
            "sim:trident2",
            "--blocks",
            "6",
            "-t",
            "20ms",
            "--size",
            "64,1518",
        ],
        &["forwarding", "--testbed", "sim:teg-s16g", "--flood", "--blocks", "2", "-t", "10ms"],
        &["switching", "--testbed", "sim:blocking-16", "--test", "incast", "-t", "10ms"],
    ];
    for asked in runs {
        text(&run(&scratch, &[asked, &["--seed", "1", "--quiet"]].concat(), &[]));
        // At a glance, a table has as many rows as there is room for.
        let all: &[&str] = if asked[0] == "switching" { &["--full"] } else { &[] };
        let report = [&["report", "latest"], all].concat();
        let at = |columns: &str| text(&run(&scratch, &report, &[("COLUMNS", columns)]));
        let whole = words(&at("200"));
        for columns in [60, 80, 100, 120] {
            let shown = at(&columns.to_string());
            let body = shown.split_once("\n\n").map_or("", |(_, body)| body);
            for line in body.lines() {
                assert!(line.chars().count() <= columns, "{columns}: {line}\n{shown}");
            }
            let broken: Vec<String> =
                words(body).into_iter().filter(|word| !whole.contains(word)).collect();
            assert!(broken.is_empty(), "{columns}: {broken:?}\n{shown}");
        }
    }
}

#[test]
fn colours_are_for_terminals_unless_they_are_asked_for() {
    let scratch = Scratch::new("colours");
    let asked = ["latency", "--testbed", "sim:trident2", "--blocks", "6", "-t", "20ms", "--quiet"];
    assert!(!text(&run(&scratch, &asked, &[])).contains('\u{1b}'), "a pipe is no terminal");
    let always = text(&run(&scratch, &["report", "latest", "--color", "always"], &[]));
    assert!(always.contains("\u{1b}[1m") && always.contains("\u{1b}[0m"), "{always}");
    let never = text(&run(&scratch, &["report", "latest", "--color", "never"], &[]));
    assert!(!never.contains('\u{1b}'), "{never}");
}

#[test]
fn a_rehearsal_says_what_a_run_takes_and_makes_none() {
    let scratch = Scratch::new("rehearsal");
    let asked = ["latency", "--testbed", "sim:trident2", "--blocks", "6", "-t", "1", "--dry-run"];
    let said = text(&run(&scratch, &asked, &[]));
    for words in ["latency: ", " trials", "nothing was done", "sim:trident2"] {
        assert!(said.contains(words), "{words} in:\n{said}");
    }
    assert!(!scratch.path("j.db").exists(), "no journal was begun");
}

#[test]
fn a_fabric_of_many_ports_is_a_small_journal_that_says_the_same() {
    let scratch = Scratch::new("small-journal");
    let asked =
        ["fabric", "--testbed", "sim:blocking-16", "--arrangement", "neighbours", "--infer"];
    let given = ["--nodes", "2", "--messages", "64KiB", "--blocks", "2", "-t", "20ms"];
    let given = [&given[..], &["--seed", "1", "--json", "--quiet"]].concat();
    let first = json(&run(&scratch, &[&asked[..], &given].concat(), &[]));
    let again = json(&run(&scratch, &["report", "latest", "--json", "--quiet"], &[]));
    assert_eq!(first["figures"], again["figures"], "a replay gives the same figures");
    let Value::Array(figures) = &first["figures"] else { panic!("{first}") };
    assert!(!figures.is_empty());
    let groups = figures.iter().find(|row| row["metric"] == "port_groups").expect("an answer");
    let floods = groups["n"].as_u64().expect("a count");
    let octets = std::fs::metadata(scratch.path("j.db")).expect("a journal").len();
    // Each of the 16 flows of a flood takes 240 octets. The tables themselves, the topology and the
    // dictionary take some pages more.
    let most = 16 * 240 * floods + 160_000;
    assert!(floods > 30 && octets < most, "{octets} octets for {floods} floods");
}

/// `switchmark … | head -1`: nobody reads the rest, and nothing is said of that. What there is to
/// do is done: the page is written. The exit code is what a shell says of others that end so, 141;
/// one that says something already stays.
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let scratch = Scratch::new("unread");
    let flood = ["--flood", "--size", "64", "-t", "10ms", "--blocks", "6", "--seed", "1"];
    for testbed in ["sim:teg-s16g", "sim:software-bridge"] {
        let args = [&["forwarding", "--testbed", testbed, "--quiet"][..], &flood].concat();
        assert!(run(&scratch, &args, &[]).status.success(), "{testbed}");
    }
    let ids = text(&run(&scratch, &["runs"], &[]));
    let ids: Vec<&str> = ids.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let [bridge, switch] = [ids[3], ids[4]];
    let page = scratch.path("page.html");
    let (path, journal) = (page.display().to_string(), scratch.path("j.db").display().to_string());
    let table: [(&[&str], i32); 6] = [
        (&["report", "latest", "--out", &path], 141),
        (&["report", "latest", "--json", "--quiet"], 141),
        (&["export", "latest", "--format", "csv"], 141),
        (&["compare", "--baseline", switch, bridge], 4),
        (&["runs"], 141),
        (&["report", "nowhere"], 2),
    ];
    for (args, code) in table {
        let (reader, unread) = std::io::pipe().expect("a pipe");
        drop(reader);
        let ended = Command::new(switchmark())
            .args(args)
            .args(["--journal", &journal])
            .stdin(Stdio::null())
            .stdout(unread)
            .output()
            .expect("switchmark starts");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(code), "{args:?}: {said}");
        let explains = matches!(code, 2..=4);
        assert_eq!(!said.is_empty(), explains, "{args:?}: {said}");
    }
    assert!(page.is_file(), "the page is written though nobody reads the text");
}

/// The table of measured machines is made of rows as `doctor --generator --markdown` prints them.
#[test]
fn measured_machines_stand_in_rows_as_the_doctor_prints_them() {
    let page = crate::program::docs::read("docs/reference/what-a-host-can-test.md");
    let table = page.split("## Measured machines").nth(1).expect("a table");
    let table = table.split("\n## ").next().unwrap_or_default();
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| ")).collect();
    assert!(rows.len() >= 2, "a heading and a machine: {rows:?}");
    for row in &rows {
        let cells: Vec<&str> = row.trim_matches(['|', ' ']).split(" | ").collect();
        assert_eq!(cells.len(), 7, "{row}");
        if row == &rows[0] {
            continue;
        }
        for cell in &cells[4..] {
            let (replies, rate) = cell.split_once(": ").expect("answers and a rate");
            let replies: Vec<&str> = replies.split(", ").collect();
            let are_words = replies.iter().all(|word| ["yes", "no", "not shown"].contains(word));
            assert!(replies.len() == 3 && are_words, "{cell}");
            let rate = rate.strip_prefix("at least ").unwrap_or(rate);
            let (number, backend) = rate.split_once(" (").expect("a backend");
            assert!(number.replace(',', "").parse::<u64>().is_ok(), "{cell}");
            assert!(["xdp-live)", "af-xdp)", "packet)", "udp)"].contains(&backend), "{cell}");
        }
    }
}
