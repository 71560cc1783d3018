//! The walks of docs/start: that each command on the pages is one that the program knows, and that
//! what can be measured in virtual time gives the answer that is true of the models.
//!
//! The commands are read from the pages. What needs hosts is run by `walks::` in `tests/labs`, from
//! the same pages. Nothing is sent here.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::program::browser::assert_answered;
use crate::program::docs::{self, Shown};
use crate::program::{Scratch, json, switchmark};

const RACK: &str = "docs/start/rack-of-four.md";
const STORAGE: &str = "docs/start/two-switches-for-storage.md";
const PCS: &str = "docs/start/two-pcs.md";
const NODES: &str = "docs/start/sixteen-nodes.md";

/// The job that a reader has, of a storage that is there.
const JOB: &str = "[global]\nrw=randread\nbs=4k\n[job]\nioengine=libaio\nfilename=/srv/volume\n\
                   size=64m\n";

/// In the scratch folder, with a journal there.
fn run(scratch: &Scratch, words: &[&str]) -> Output {
    Command::new(switchmark())
        .args(words)
        .current_dir(scratch.folder())
        .env("XDG_DATA_HOME", scratch.folder())
        .env_remove("COLUMNS")
        .stdin(Stdio::null())
        .output()
        .expect("switchmark starts")
}

/// What it prints; `codes` are how it may end.
fn printed(scratch: &Scratch, words: &[&str], codes: &[i32]) -> String {
    let output = run(scratch, words);
    let said = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code().unwrap_or(-1);
    assert!(codes.contains(&code), "{words:?} ended with {code}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// As one line, without the runs' names, which differ from time to time.
fn unwrapped(text: &str) -> String {
    let words = text.split_whitespace().map(|word| {
        let is_run = word.len() > 15 && word.starts_with("20") && word.as_bytes()[8] == b'-';
        if is_run { "RUN" } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Every page of docs/, and README.md.
fn pages() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned()];
    let mut folders = vec!["docs".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(docs::root().join(&folder)).expect("a folder of pages") {
            let entry = entry.expect("an entry");
            let page = format!("{folder}/{}", entry.file_name().display());
            if entry.path().is_dir() {
                folders.push(page);
            } else if Path::new(&page).extension().is_some_and(|end| end == "md") {
                pages.push(page);
            }
        }
    }
    pages
}

/// A command that is not one any more, or an option that has another name, is refused before
/// `--help` is read.
#[test]
fn what_pages_tell_to_type_is_what_the_program_knows() {
    let scratch = Scratch::new("walk-words");
    let mut told = 0;
    for page in pages() {
        for shown in docs::commands(&docs::read(&page)).iter().filter(|c| !c.is_refused) {
            // A form with something to choose from, or left out, is no command.
            let is_form = |word: &String| word.contains(['[', '|', '…']) || word == "FILE…";
            if shown.words.iter().any(is_form) || shown.words.iter().any(|word| word == "--") {
                continue;
            }
            let output = run(&scratch, &[&shown.words()[..], &["--help"]].concat());
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{page}: {:?}: {said}", shown.words);
            told += 1;
        }
    }
    assert!(told > 100, "{told} commands");
    // The probe of the probe.
    assert!(!run(&scratch, &["storage", "--fioo", "job.fio", "--help"]).status.success());
    assert!(!run(&scratch, &["latencies", "--help"]).status.success());
}

/// What the page shows of a command's output, up to the first table.
fn shown_answer(page: &str, command: &str) -> String {
    let block = page.split(&format!("$ switchmark {command}\n")).nth(1).expect("it is shown");
    let block = block.split("```").next().unwrap_or_default();
    let answer = block.split("\n\n").nth(1).expect("an answer below the headline");
    unwrapped(answer)
}

/// How long one operation takes through a model, beyond the 100 µs of its storage, in nanoseconds:
/// one job, one operation at a time, so that IOPS are its inverse.
fn network(scratch: &Scratch, label: &str) -> f64 {
    let told = json(&run(scratch, &["report", label, "--json", "--quiet"]));
    let rows = told["figures"].as_array().expect("figures");
    let own = |row: &&serde_json::Value| {
        row["metric"] == "iops" && row["where"]["path"] != "bypass" && row["where"]["of"] != "all"
    };
    let row = rows.iter().find(own).unwrap_or_else(|| panic!("{rows:#?}"));
    1e9 / row["value"].as_f64().expect("a value") - 100_000.0
}

/// The ratio of IOPS, new to old: value, low, high.
fn ratio(scratch: &Scratch, [old, new]: [&str; 2]) -> (f64, f64, f64) {
    let told = json(&run(scratch, &["compare", old, new, "--json", "--quiet"]));
    let row = &told["figures"][0];
    assert_eq!((&row["metric"], &row["where"]["of"]), (&"ratio".into(), &"iops".into()), "{told}");
    assert_eq!((&told["primary"], &told["subject"]["name"]), (&0.into(), &new.into()), "{told}");
    let of = |name: &str| row[name].as_f64().expect("a number");
    (of("value"), of("low"), of("high"))
}

/// Two models whose delays are known, by the commands of the page: to disks the difference is as
/// small as arithmetic says, and is not called more than it is; to flash it is large, and the
/// faster switch wins by what it is faster.
#[test]
fn two_switches_are_told_apart_by_what_they_do_to_a_storage() {
    let scratch = Scratch::new("walk-storage");
    let page = docs::read(STORAGE);
    for shown in docs::commands(&page).iter().filter(|shown| shown.with_output) {
        let told = printed(&scratch, &shown.words(), &[0]);
        if shown.is("compare") {
            let answer = shown_answer(&page, &shown.words.join(" "));
            assert!(unwrapped(&told).contains(&answer), "the page says {answer}, not {told}");
        }
    }
    let (old, new) = (network(&scratch, "old-flash"), network(&scratch, "new-flash"));
    // Two frames' way of 37 µs each, and what a processor that forwards needs for them.
    assert!((old - new - 79_000.0).abs() < 1_000.0, "{old} and {new} ns");
    let (value, low, high) = ratio(&scratch, ["old-flash", "new-flash"]);
    let truth = (100_000.0 + old) / (100_000.0 + new);
    assert!((value / truth - 1.0).abs() < 0.001 && low > 1.5 && high < 1.52, "{value} {truth}");
    // A read of 2 ms and a write of 14.4 ms, as many of either.
    let truth = (16_400_000.0 + 2.0 * old) / (16_400_000.0 + 2.0 * new);
    let (value, low, high) = ratio(&scratch, ["old", "new"]);
    println!("disks: true {truth:.4}, found {value:.4} ({low:.4} to {high:.4})");
    assert!((low..=high).contains(&truth), "{truth} outside {low}…{high}");
}

/// The three commands as they stand above, with models in the place of switches; and which of the
/// two is on the first screen.
#[test]
fn the_page_of_two_switches_says_which_on_its_first_screen() {
    let scratch = Scratch::new("walk-which");
    std::fs::write(scratch.path("job.fio"), JOB).expect("writes");
    let commands: Vec<Shown> =
        docs::commands(&docs::read(STORAGE)).into_iter().filter(|c| !c.with_output).collect();
    let [old, new, compare] = &commands[..] else { panic!("three commands: {commands:?}") };
    for (shown, model) in [(old, "software-bridge"), (new, "teg-s16g")] {
        let model = format!("sim:{model},hosts=2");
        let shown = shown.clone().with(&[("rack.toml", &model)]);
        let quick = ["-t", "0.2", "--blocks", "6", "--seed", "1", "--quiet"];
        printed(&scratch, &[&shown.words()[..], &quick].concat(), &[0]);
    }
    let told = unwrapped(&printed(&scratch, &compare.words(), &[0]));
    let said = "new switch's IOPS is 2.42 times old switch's";
    assert!(told.contains(said), "{told}");
    assert_answered(&scratch, "which.html", &[said, " % CI "]);
}

/// `accept` with the sheet of the page, on a model of a switch that keeps it.
#[test]
fn a_rack_of_models_keeps_its_data_sheet() {
    let scratch = Scratch::new("walk-rack");
    let page = docs::read(RACK);
    std::fs::write(scratch.path("sheet.toml"), docs::toml(&page)).expect("writes");
    let commands = docs::commands(&page);
    for verb in ["testbed", "doctor", "accept"] {
        assert!(commands.iter().any(|shown| shown.is(verb)), "{verb} is on the page");
    }
    let accept = commands.into_iter().find(|shown| shown.is("accept")).expect("accept");
    let accept = accept.with(&[("rack.toml", "sim:teg-s16g,hosts=4")]);
    let told = printed(&scratch, &[&accept.words()[..], &["--seed", "1"]].concat(), &[0]);
    assert!(told.contains("PASS: 3 claims met."), "{told}");
    assert_answered(&scratch, "accept.html", &["Keeps its data sheet?", "PASS: 3 claims met"]);
}

/// The bad cable of the page is named; and after it went to another host, by its port, `compare`
/// says that the slowness went with it.
#[test]
fn a_bad_cable_among_sixteen_nodes_is_followed() {
    let scratch = Scratch::new("walk-nodes");
    let page = docs::read(NODES);
    let profile = docs::toml(&page);
    std::fs::write(scratch.path("bad-cable.toml"), profile).expect("writes");
    let moved = profile.replace("ports = \"4\"", "ports = \"5\"");
    assert_ne!(moved, profile);
    std::fs::write(scratch.path("moved.toml"), moved).expect("writes");
    let commands = docs::commands(&page);
    for verb in ["doctor", "runs", "compare"] {
        assert!(commands.iter().any(|shown| shown.is(verb)), "{verb} is on the page");
    }
    let is_simulated = |shown: &&Shown| shown.words.iter().any(|word| word == "sim:bad-cable.toml");
    let fabric = commands.iter().find(is_simulated).expect("fabric");
    let label = |name| ["--label", name, "--seed", "1", "--quiet"];
    let told = printed(&scratch, &[&fabric.words()[..], &label("before")].concat(), &[0]);
    assert!(unwrapped(&told).contains("h4/eth1"), "{told}");
    let other = fabric.clone().with(&[("sim:bad-cable.toml", "sim:moved.toml")]);
    printed(&scratch, &[&other.words()[..], &label("after")].concat(), &[0]);
    let told = unwrapped(&printed(&scratch, &["compare", "before", "after"], &[0]));
    assert!(told.contains("h4/eth1 was slow, and now"), "{told}");
}

/// The cable that comes another time, and the switch: what it adds is what the model adds, and it
/// is at full speed.
#[test]
fn two_pcs_learn_what_a_model_adds() {
    let scratch = Scratch::new("walk-pcs");
    let cable = ("--hosts", "--testbed");
    let model = |cabling| format!("sim:teg-s16g,hosts=2,cabling={cabling}");
    let (direct, device, both) = (model("direct"), model("device"), model("both"));
    let names = [
        cable,
        ("local:eth0,root@pc2:eth0,local:eth1=root@pc2:eth1", &both),
        ("local:eth0=root@pc2:eth0", &direct),
        ("local:eth0,root@pc2:eth0", &device),
    ];
    let commands = docs::commands(&docs::read(PCS));
    let own: Vec<&Shown> = commands.iter().filter(|shown| !shown.with_output).collect();
    let latency: Vec<&&Shown> = own.iter().filter(|shown| shown.is("latency")).collect();
    assert_eq!(latency.len(), 3, "joined directly, through the switch, and both");
    for (at, shown) in latency.iter().enumerate() {
        let shown = (**shown).clone().with(&names);
        let page = format!("latency-{at}.html");
        let quick =
            ["--protocol", "udp", "--size", "64", "-t", "0.05", "--seed", "1", "--report", &page];
        printed(&scratch, &[&shown.words()[..], &quick].concat(), &[0]);
    }
    let added = ["Added latency", "UDP 64, idle", "+7.16 µs", "limited by device"];
    assert_answered(&scratch, "latency-1.html", &added);
    assert_answered(&scratch, "latency-2.html", &added);
    let tcp = own.iter().find(|shown| shown.is("tcp")).expect("tcp");
    let tcp = (**tcp).clone().with(&names);
    let quick = ["-t", "0.3", "-O", "0.1", "--seed", "1", "--report", "tcp.html"];
    printed(&scratch, &[&tcp.words()[..], &quick].concat(), &[0]);
    let full = ["Line rate by TCP?", "941 Mbit/s", "of what the link carries", "limited by link"];
    assert_answered(&scratch, "tcp.html", &full);
}
