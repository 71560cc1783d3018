//! `accept` as its user runs it, on models whose profiles are the truth.

use std::path::Path;
use std::process::{Command, Output};

use crate::program::{Scratch, full, json, switchmark};

fn run(args: &[&str]) -> Output {
    Command::new(switchmark()).args(args).output().expect("switchmark starts")
}

/// `accept` with a journal of its own.
fn accept(scratch: &Scratch, args: &[&str]) -> Output {
    let journal = scratch.path("journal.db");
    let own = ["accept", "--store", journal.to_str().expect("a path"), "--seed", "1"];
    run(&[&own[..], args].concat())
}

/// Each claim's decision, in its order.
fn decisions(said: &serde_json::Value) -> Vec<String> {
    let claims = said["acceptance"]["claims"].as_array().expect("a list of claims");
    claims.iter().map(|claim| claim["decision"].as_str().expect("a word").to_owned()).collect()
}

fn written(scratch: &Scratch, name: &str, text: &str) -> String {
    let path = scratch.path(name);
    std::fs::write(&path, text).expect("a scratch file");
    path.to_str().expect("a path").to_owned()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

const SHEET: &str = r#"
device = "a switch"

[[accept]]
claim = "line rate at 64 octets"

[[accept]]
claim = "latency at most 700ns at 64 octets"
source = "nobody"

[[accept]]
claim = "latency at most 900ns at 64 octets"

[[accept]]
claim = "16384 MAC addresses"
"#;

/// What is true passes, what is not fails, and what needs more hosts stays open; each in the
/// terminal, JSON, JUnit, the page and the exit code.
#[test]
fn claims_are_kept_broken_or_open_and_everything_says_so() {
    let scratch = Scratch::new("accept");
    let sheet = written(&scratch, "sheet.toml", SHEET);
    let (junit, page) = (scratch.path("accept.xml"), scratch.path("accept.html"));
    let ended = accept(
        &scratch,
        &[
            "--testbed",
            "sim:trident2,hosts=2",
            "--claims",
            &sheet,
            "--json",
            "--junit",
            junit.to_str().expect("a path"),
            "--report",
            page.to_str().expect("a path"),
        ],
    );
    let said = json(&ended);
    assert_eq!(decisions(&said), ["pass", "fail", "pass", "inconclusive"], "{said:#}");
    assert_eq!(ended.status.code(), Some(4));
    assert_eq!(said["acceptance"]["decision"], "fail");
    let told = String::from_utf8_lossy(&ended.stderr);
    assert!(told.contains("FAIL: 1 of 4 claims not met, 2 met, 1 undecided."), "{told}");
    assert!(told.contains("3 of 4 claims by 2 studies (forwarding, latency)"), "{told}");
    let cases = read(&junit);
    assert!(cases.contains("tests=\"4\" failures=\"1\" skipped=\"1\""), "{cases}");
    let html = read(&page);
    let (answer, figures) = (html.find("FAIL: 1 of"), html.find("accept on "));
    assert!(answer.is_some() && answer < figures, "claims come before the run's figures");
    assert!(html.contains("nobody"), "its source is on the page");
}

#[test]
fn a_claim_beyond_the_budget_is_left_open_with_the_time_it_needs() {
    let scratch = Scratch::new("accept-budget");
    let sheet = written(&scratch, "sheet.toml", SHEET);
    let args = ["--testbed", "sim:trident2,hosts=4", "--claims", &sheet, "--json", "-q"];
    let ended = accept(&scratch, &[&args[..], &["--budget", "10ms"]].concat());
    let said = json(&ended);
    assert_eq!(decisions(&said), ["inconclusive"; 4], "{said:#}");
    assert_eq!(ended.status.code(), Some(3));
    let first = &said["acceptance"]["claims"][0];
    assert!(first["needs_ns"].as_u64().expect("a time") > 10_000_000, "{first:#}");
    assert!(first["reason"].as_str().expect("words").contains("would tell"), "{first:#}");
}

/// A plan's claims are decided by its own figures, again when it is rendered again.
#[test]
fn a_plan_has_claims_too() {
    let scratch = Scratch::new("accept-plan");
    let plan = format!("testbed = \"sim:trident2,hosts=2\"\n{SHEET}").replace("device", "# device");
    let plan = written(&scratch, "plan.toml", &plan);
    let journal = scratch.path("journal.db");
    let journal = ["--store", journal.to_str().expect("a path"), "--json", "-q"];
    let ended = run(&[&["run", &plan, "--seed", "1"], &journal[..]].concat());
    let said = json(&ended);
    assert_eq!(decisions(&said), ["pass", "fail", "pass", "inconclusive"], "{said:#}");
    assert_eq!(ended.status.code(), Some(4));
    let again = run(&[&["report", "latest"], &journal[..]].concat());
    assert_eq!(decisions(&json(&again)), decisions(&said));
    assert_eq!(again.status.code(), Some(4));
}

/// The claims that come with the program, each held against its own profile: none fails, and what
/// stays open does so for a reason that is known.
#[test]
fn no_shipped_claim_fails_on_its_own_model() {
    let scratch = Scratch::new("accept-shipped");
    let quick = [
        ("blocking-16", "16", "pass"),
        ("c2758-router", "2", "pass"),
        ("software-bridge", "2", "pass"),
        ("teg-s16g", "4", "pass pass inconclusive"),
        ("tengig-36mb", "3", "pass pass"),
        ("trident2", "8", "pass pass pass"),
        ("x450a-48t", "8", "pass pass"),
    ];
    let slow = [("s400-48t", "48", "pass pass"), ("tengig-64mb", "3", "pass pass")];
    let all = quick.iter().chain(slow.iter().filter(|_| full()));
    for (name, hosts, expected) in all {
        let testbed = format!("sim:{name},hosts={hosts}");
        let ended = accept(&scratch, &["--testbed", &testbed, "--claims", name, "--json", "-q"]);
        let said = json(&ended);
        assert_eq!(decisions(&said).join(" "), *expected, "{name}: {:#}", said["acceptance"]);
    }
}

/// A profile with a buffer that no test here fills.
fn profile(scratch: &Scratch, name: &str, own: &str) -> String {
    let text = format!("name = \"{name}\"\nbuffer = {{ total = \"4MB\", alpha = 1.0 }}\n{own}");
    format!("sim:{}", written(scratch, &format!("{name}.toml"), &text))
}

/// Each claim's decision and reason.
fn decided(scratch: &Scratch, testbed: &str, claims: &[&str]) -> Vec<(String, String)> {
    let table = |claim: &&str| format!("[[accept]]\nclaim = \"{claim}\"\n");
    let sheet = written(scratch, "claims.toml", &claims.iter().map(table).collect::<String>());
    let ended = accept(scratch, &["--testbed", testbed, "--claims", &sheet, "--json", "-q"]);
    let said = json(&ended);
    let of = |claim: &serde_json::Value| {
        let text = |key: &str| claim[key].as_str().expect("words").to_owned();
        (text("decision"), text("reason"))
    };
    said["acceptance"]["claims"].as_array().expect("a list").iter().map(of).collect()
}

/// Line rate is that of the ports that take part: a slower one elsewhere makes no device pass, and
/// one in the flow makes none fail.
#[test]
fn line_rate_is_that_of_the_ports_of_the_flow() {
    let scratch = Scratch::new("accept-line");
    let slower = "ports = 3\nrate = \"10Gbit\"\ncables = [{ ports = \"3\", rate = \"1Gbit\" }]\n";
    let limited = profile(&scratch, "limited", &format!("{slower}pps_limit = 100000\n"));
    let claims = ["line rate at 1518 octets", "line rate at 1518 octets on all ports"];
    let [of_two, of_all] = &decided(&scratch, &limited, &claims)[..] else { panic!("two claims") };
    // 12.3 % of 10 Gbit/s, and more than 1 Gbit/s carries.
    assert_eq!(of_two.0, "fail", "{of_two:?}");
    assert_eq!(of_all.0, "inconclusive", "{of_all:?}");
    assert!(of_all.1.contains("not the same at all ports"), "{of_all:?}");
    let plain = profile(&scratch, "plain", slower);
    let journal = scratch.path("mixed.db");
    let args = ["forwarding", "--testbed", &plain, "--from", "h1/eth1", "--to", "h3/eth1"];
    let size =
        ["--size", "1518", "--search", "rfc2544", "--seed", "1", "--json", "-q", "--journal"];
    let said = json(&run(&[&args[..], &size, &[journal.to_str().expect("a path")]].concat()));
    let figures = said["figures"].as_array().expect("a list");
    let found = figures.iter().find(|f| f["metric"] == "throughput" && f["unit"] == "frames/s");
    let found = found.unwrap_or_else(|| panic!("{said:#}"));
    assert_eq!(found["verdict"], "link", "{found:#}");
    assert!(found["where"]["of_line_rate"].as_f64().expect("a share") > 0.999, "{found:#}");
}

/// The convention of RFC 1242 is part of the claim, and named with the answer.
#[test]
fn latency_is_counted_from_the_first_bit_or_from_the_last() {
    let scratch = Scratch::new("accept-latency");
    let own = "ports = 2\nrate = \"100Mbit\"\n\
               forwarding = { mode = \"store-and-forward\", latency = \"4us\" }\n";
    let testbed = profile(&scratch, "hundred", own);
    let claims = [
        "latency at most 5 us at 64 octets",
        "latency at most 5 us at 64 octets, store-and-forward",
        "latency at most 5 us at 64 octets, cut-through",
        "latency at most 5 us at 1518 octets, cut-through",
        "latency at most 5 us at 1518 octets, store-and-forward",
        "latency at most 3 us at 1518 octets",
        "latency at most 12 us at 64 octets",
    ];
    let told = decided(&scratch, &testbed, &claims);
    let decisions: Vec<&str> = told.iter().map(|(decision, _)| &**decision).collect();
    let expected = ["inconclusive", "pass", "fail", "fail", "pass", "fail", "pass"];
    assert_eq!(decisions, expected, "{told:#?}");
    assert!(told[0].1.contains("store-and-forward"), "{:?}", told[0]);
    assert!(told[1].1.contains("last bit in"), "{:?}", told[1]);
    assert!(told[2].1.contains("first bit in"), "{:?}", told[2]);
}

/// What a data sheet says in its own words, of a switch all of whose ports have hosts.
#[test]
fn a_data_sheet_s_own_words_are_decided() {
    let scratch = Scratch::new("accept-sheet");
    let own = "ports = 4\nrate = \"1Gbit\"\nmac_table = { entries = 2048 }\n\
               forwarding = { mode = \"store-and-forward\", latency = \"2us\" }\n";
    let testbed = profile(&scratch, "four", own);
    let claims = [
        "Switching Capacity 8 Gbps",
        "Switching Capacity: 56 Gbps",
        "5.95 Mpps",
        "Packet Forwarding Rate 41.66 Mpps",
        "2K MAC addresses",
        "MAC Address Table: 4K",
    ];
    let told = decided(&scratch, &testbed, &claims);
    let decisions: Vec<&str> = told.iter().map(|(decision, _)| &**decision).collect();
    let expected = ["pass", "inconclusive", "pass", "inconclusive", "pass", "fail"];
    assert_eq!(decisions, expected, "{told:#?}");
    // A quarter of what the ports can offer: broken, where that much could be offered.
    let slow = profile(&scratch, "slow", &format!("{own}pps_limit = 1500000\n"));
    let told = decided(&scratch, &slow, &["5.95 Mpps", "Packet Forwarding Rate 41.66 Mpps"]);
    let decisions: Vec<&str> = told.iter().map(|(decision, _)| &**decision).collect();
    assert_eq!(decisions, ["fail", "inconclusive"], "{told:#?}");
    assert!(told[1].1.contains("connect more of them"), "{told:#?}");
}
