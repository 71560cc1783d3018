//! Bad plans and testbeds: the exact text a user sees. Only words are tested here; nothing is built.

use std::fmt::Write as _;
use std::path::Path;

use proptest::prelude::*;
use switchmark::config::{SourceText, lab_name, plan, study, testbed};

const TESTBED: &str = r#"
[[host]]
name = "h1"
reach = "local"
[[host.port]]
name = "eth1"
address = "198.18.0.1/24"
cable = "sw1/1"
rate = "1Gbit"

[[host]]
name = "h2"
reach = "netns:two"
[[host.port]]
name = "eth1"
address = "198.18.0.2/24"
cable = "sw1/2"

[[device]]
name = "sw1"
kind = "switch"
"#;

const PLAN: &str = r#"
testbed = "lab:bridge,mtu=1500"
[[study]]
[study.latency]
protocols = ["tcp"]
sizes = [64, 1518]
"#;

fn testbed_error(from: &str, to: &str) -> String {
    let text = TESTBED.replacen(from, to, 1);
    assert_ne!(text, TESTBED, "the case changes nothing");
    let source = SourceText::file("testbed.toml", text);
    let error = testbed::from_source("testbed.toml", &source).expect_err(to);
    format!("{}\n{}hint: {}", error.message, error.excerpt, error.hint)
}

fn plan_error(from: &str, to: &str) -> String {
    let text = PLAN.replacen(from, to, 1);
    assert_ne!(text, PLAN, "the case changes nothing");
    let source = SourceText::file("plan.toml", text);
    let error = plan::resolve(&source, Path::new("")).expect_err(to);
    format!("{}\n{}hint: {}", error.message, error.excerpt, error.hint)
}

#[test]
fn the_files_without_a_fault_are_accepted() {
    let source = SourceText::file("testbed.toml", TESTBED);
    testbed::from_source("testbed.toml", &source).expect("testbed");
    let source = SourceText::file("plan.toml", PLAN);
    plan::resolve(&source, Path::new("")).expect("plan");
}

/// Set `UPDATE_SNAPSHOTS=1` to write the file again, and read what changed.
#[test]
fn every_fault_reads_as_recorded() {
    let mut text = String::new();
    let testbed = [
        ("reach = \"local\"", "raech = \"local\""),
        ("\"1Gbit\"", "\"1Gb\""),
        ("sw1/2", "sw2/2"),
        ("sw1/2", "sw1/1"),
        ("sw1/2", "h1/eth7"),
        ("sw1/2", "h1/eth1"),
        ("198.18.0.2/24", "198.18.0.1/24"),
        ("name = \"h2\"", "name = \"h1\""),
        ("local", "ssh://h1"),
        ("rate = \"1Gbit\"", "rate = 1000"),
        ("kind = \"switch\"\n", "kind = \"switch\"\n[[device.variant]]\nname = \"rt\"\n"),
    ];
    for (from, to) in testbed {
        let _ = writeln!(text, "{}\n", testbed_error(from, to));
    }
    let plan = [
        ("[64, 1518]", "[63]"),
        ("[64, 1518]", "[9018]"),
        ("lab:bridge,mtu=1500", "nowhere.toml"),
        ("lab:bridge,mtu=1500", "lab:bridge,rate=1Gb"),
        ("study.latency", "study.latncy"),
        ("sizes", "sise"),
        ("lab:bridge,mtu=1500\"\n", "lab:bridge,rate=100Mbit\"\n[campaign]\nblocks = 10\n"),
        ("[study.latency]", "[study.fabric]"),
    ];
    for (from, to) in plan {
        let _ = writeln!(text, "{}\n", plan_error(from, to));
    }
    let loaded = PLAN
        .replace("mtu=1500", "rate=100Mbit")
        .replace("sizes = [64, 1518]", "loads = [\"udp:300kpps\"]");
    let error =
        plan::resolve(&SourceText::file("plan.toml", loaded), Path::new("")).expect_err("x");
    let _ = writeln!(text, "{}\n{}hint: {}", error.message, error.excerpt, error.hint);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots/config_errors.txt");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, &text).expect("write the snapshot");
    }
    let recorded = std::fs::read_to_string(&path).expect("read the snapshot");
    for (at, (now, then)) in text.lines().zip(recorded.lines()).enumerate() {
        assert_eq!(now, then, "line {} of config_errors.txt", at + 1);
    }
    assert_eq!(text.len(), recorded.len(), "config_errors.txt has another length");
}

fn file(relative: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(relative);
    std::fs::read_to_string(&path).unwrap_or_else(|cause| panic!("{}: {cause}", path.display()))
}

#[test]
fn every_example_is_accepted() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut kinds = [0, 0];
    for entry in std::fs::read_dir(&folder).expect("the examples") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let is_plan = file(&format!("examples/{}", path.file_name().unwrap().display()))
            .contains("[[study]]");
        kinds[usize::from(is_plan)] += 1;
        if is_plan {
            let plan = plan::read(&path).unwrap_or_else(|e| panic!("{e:?}"));
            assert!(!plan.studies.is_empty());
        } else {
            let name = path.display().to_string();
            testbed::from_argument("TESTBED", &name).unwrap_or_else(|e| panic!("{e:?}"));
        }
    }
    assert!(kinds[0] >= 2 && kinds[1] >= 1, "testbeds and plans: {kinds:?}");
}

/// The words in backticks in the first cells of a document's tables, and between `(` and `)` the
/// quoted ones.
fn documented_keys(text: &str) -> Vec<String> {
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

/// A key that the reference names is one that the reader knows, and what it says of values holds.
#[test]
fn the_reference_tells_of_the_formats_there_are() {
    let text = file("docs/reference/plan-and-testbed-files.md");
    let keys = documented_keys(&text);
    for key in ["reach", "address", "cable", "device", "queue", "bypass", "seed", "testbed"] {
        assert!(keys.iter().any(|k| k == key), "{key} is not in the reference: {keys:?}");
    }
    let lab = "[lab]\ndevice = \"routers\"\nhosts = 2\nrate = \"100Mbit\"\nqueue = \"64KiB\"\n\
               mtu = 576\nbypass = true\n";
    testbed::from_source("t.toml", &SourceText::file("t.toml", lab)).expect("[lab]'s keys");
    for key in keys.iter().filter(|k| k.as_str() != "[lab]" && !k.starts_with("[[")) {
        // Each is a key of one of the tables: misspelt, it would be refused as unknown.
        let tables = [
            "[lab]\ndevice = \"cable\"\n",
            "[[device]]\n",
            "[[host]]\n",
            "[[host]]\n[[host.port]]\n",
        ];
        let plan = format!("{key} = 0\n[[study]]\n[study.latency]\n");
        let as_plan = plan::resolve(&SourceText::file("p.toml", plan), Path::new(""));
        let unknown = |message: &str| message.contains("unknown");
        let known = as_plan.is_err_and(|e| !unknown(&e.message))
            || tables.iter().any(|table| {
                let source = SourceText::file("t.toml", format!("{table}{key} = 0\n"));
                testbed::from_source("t.toml", &source).err().is_none_or(|e| !unknown(&e.message))
            });
        assert!(known, "the reference names a key `{key}` that nothing knows");
    }
    let plan = "testbed = \"lab:bridge\"\nseed = 1\n[[study]]\n[study.latency]\nprofile = \"strict\"\n\
                sizes = [64]\nip_lengths = [64]\npayloads = [36]\nduration = \"10ms\"\nblocks = 2\n\
                protocols = [\"icmp\", \"udp\", \"tcp\"]\n\
                loads = [\"idle\", \"udp:50kpps\", \"udp:50kpps@512\", \"tcp\", \"tcp:4\"]\n\
                open_loop = \"1kpps\"\n[[study]]\n[study.forwarding]\nprofile = \"quick\"\n\
                tests = [\"flood\", \"throughput\", \"loss-curve\"]\nbackend = \"packet\"\n\
                final_duration = \"2s\"\nprecision = 0.0001\n";
    let plan =
        plan::resolve(&SourceText::file("plan.toml", plan), Path::new("")).expect("all keys");
    assert_eq!(plan.studies.len(), 2);
}

proptest! {
    #[test]
    fn any_text_is_refused_or_accepted_but_never_a_panic(text in ".{0,200}") {
        let source = SourceText::file("any.toml", text.clone());
        let _ = testbed::from_source("any.toml", &source);
        let _ = plan::resolve(&source, Path::new(""));
        let _ = lab_name::parse(&text);
        let _ = lab_name::parse(&format!("lab:{text}"));
        let _ = study::load(&text);
    }

    #[test]
    fn a_damaged_file_is_never_a_panic(
        at in 0_usize..600,
        length in 0_usize..12,
        put in "[\\[\\]\"=a-z0-9\u{e9}\n,{}./-]{0,12}",
        which in any::<bool>(),
    ) {
        let mut text = if which { TESTBED } else { PLAN }.to_owned();
        let at = at % text.len();
        let end = (at + length).min(text.len());
        text.replace_range(at..end, &put);
        let source = SourceText::file("damaged.toml", text);
        let _ = testbed::from_source("damaged.toml", &source);
        let _ = plan::resolve(&source, Path::new(""));
    }
}
