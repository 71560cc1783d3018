//! Simulated testbeds and the verb `sim`, as their user runs them. Needs no root: nothing is sent.
//!
//! Truths are arithmetic: a Gbit/s carries 1,488,095 frames of 64 octets a second, and a software
//! device with a limit forwards that many. Only processes that a test started itself are ended.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use crate::program::{Scratch, json, switchmark, wait_for};
use journal::Store;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use trial::{Role, Trial, TrialRecord};

const SWITCH: &str = r#"
name = "sw"
ports = 4
rate = "1Gbit"
buffer = { total = "1MiB" }
"#;

const PLAN: &str = r#"
testbed = "lab:bridge"
seed = 7
[[study]]
[study.forwarding]
tests = ["flood"]
sizes = [64]
duration = "100ms"
blocks = 2
"#;

/// A folder with a profile and a plan, removed when dropped.
struct Folder(Scratch);

impl Folder {
    fn new(name: &str) -> Self {
        let this = Self(Scratch::new(name));
        std::fs::create_dir(this.0.path("profiles")).expect("a folder");
        this.write("profiles/sw.toml", SWITCH);
        this.write("plan.toml", PLAN);
        this
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path(name), text).expect("a file");
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(switchmark());
        command
            .args(args)
            .args(["--store", "j.db"])
            .current_dir(self.0.folder())
            .stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("switchmark starts")
    }

    /// Runs what has to succeed and reads its object.
    fn json(&self, args: &[&str]) -> Value {
        let output = self.run(&[args, &["--json", "--quiet"]].concat());
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {told}");
        json(&output)
    }

    fn start(&self, args: &[&str]) -> Child {
        let mut command = self.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("switchmark starts")
    }

    fn store(&self) -> Option<Store> {
        let path = self.0.path("j.db");
        path.exists().then(|| Store::open(&path).ok()).flatten()
    }

    fn records(&self) -> Vec<(Trial, TrialRecord)> {
        let Some(store) = self.store() else { return Vec::new() };
        let runs = store.runs().unwrap_or_default();
        runs.last().map_or_else(Vec::new, |run| store.records(&run.id).unwrap_or_default())
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn interrupt(child: Child) -> Output {
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("it is ours");
    child.wait_with_output().expect("it ends")
}

/// The value of the first figure of that metric through the device.
fn value(document: &Value, metric: &str) -> f64 {
    let figures = document["figures"].as_array().expect("figures");
    let figure = figures.iter().find(|f| f["metric"] == metric && f["where"]["path"] == "device");
    figure.expect(metric)["value"].as_f64().expect("a value")
}

fn close(found: f64, truth: f64) {
    assert!((found / truth - 1.0).abs() < 0.005, "{found} is not {truth}");
}

#[test]
fn a_model_of_the_programs_own_stands_in_any_folder() {
    let folder = Folder::new("sim-models");
    let flood = ["--flood", "--size", "64", "-t", "50ms", "--blocks", "1"];
    let named = ["forwarding", "--testbed", "sim:teg-s16g,hosts=2"];
    close(value(&folder.json(&[&named[..], &flood].concat()), "received"), 1e9 / (8.0 * 84.0));
    // As the beginning of one's own.
    let profiles = |args: &[&str]| {
        let mut command = Command::new(switchmark());
        command.arg("profiles").args(args).output().expect("switchmark starts")
    };
    let printed = profiles(&["teg-s16g"]);
    folder.write("mine.toml", &String::from_utf8(printed.stdout).expect("text"));
    let mine = ["forwarding", "--testbed", "sim:mine.toml,hosts=2,pps_limit=250000"];
    close(value(&folder.json(&[&mine[..], &flood].concat()), "received"), 250_000.0);
    let listed = json(&profiles(&["--json"]));
    assert_eq!(listed["profiles"].as_array().map(Vec::len), Some(13));
    let unknown = profiles(&["teg-s16"]);
    assert_eq!(unknown.status.code(), Some(2));
    let said = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(said.contains("did you mean `teg-s16g`?"), "{said}");
}

/// A model's file is looked for where it was named, whatever folder its run is taken up in.
#[test]
fn a_models_run_is_taken_up_again_from_any_folder() {
    let folder = Folder::new("sim-elsewhere");
    let flood = ["--flood", "--size", "64", "-t", "50ms", "--blocks", "2"];
    let asked = ["forwarding", "--testbed", "sim:profiles/sw.toml"];
    let first = folder.json(&[&asked[..], &flood].concat());
    let run = first["run"].as_str().expect("its id");
    std::fs::create_dir(folder.0.path("elsewhere")).expect("a folder");
    let again = Command::new(switchmark())
        .args(["run", "--resume", run, "--store", "../j.db", "--json", "-q"])
        .current_dir(folder.0.path("elsewhere"))
        .output()
        .expect("switchmark starts");
    assert_eq!(again.status.code(), Some(0), "{}", String::from_utf8_lossy(&again.stderr));
    assert_eq!(json(&again)["figures"], first["figures"]);
}

#[test]
fn the_journal_is_looked_through_and_cleared() {
    let folder = Folder::new("sim-journal");
    let flood = ["--flood", "--size", "64", "-t", "50ms", "--blocks", "1"];
    let asked = ["forwarding", "--testbed", "sim:teg-s16g,hosts=2", "--label", "one"];
    let first = folder.json(&[&asked[..], &flood].concat());
    let first = first["run"].as_str().expect("its id").to_owned();
    let other = ["forwarding", "--testbed", "sim:profiles/sw.toml,hosts=2"];
    for _ in 0..2 {
        folder.json(&[&other[..], &flood].concat());
    }
    let listed = |more: &[&str]| {
        let said = folder.json(&[&["runs"], more].concat());
        let runs = said["runs"].as_array().expect("runs").iter();
        runs.map(|run| run["id"].as_str().expect("an id").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed(&[]).len(), 3);
    assert_eq!(listed(&[]).last(), Some(&first), "newest first");
    assert_eq!(listed(&["--last", "2"]), listed(&["--testbed", "sw.toml"]));
    assert_eq!(listed(&["--label", "on"]), [first.as_str()]);
    assert!(folder.run(&["runs", "note", &first, "a loose cable"]).status.success());
    let shown = folder.run(&["runs"]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("one: a"), "{shown}");
    // A run whose process is gone has died; one on another machine may go on.
    let journal = Store::open(&folder.0.path("j.db")).expect("a store");
    journal.set_status(&first, &study::run::RunStatus::Running).expect("writable");
    assert_eq!(listed(&["--status", "died"]), [first.as_str()]);
    journal.held_by(&first, "elsewhere b r 1 1").expect("writable");
    assert_eq!(listed(&["--status", "running"]), [first.as_str()]);
    let refused = folder.run(&["runs", "rm", &first]);
    assert_eq!(refused.status.code(), Some(2), "{}", String::from_utf8_lossy(&refused.stderr));
    journal.set_status(&first, &study::run::RunStatus::Interrupted).expect("writable");
    let told = folder.json(&["runs", "prune", "--keep", "2", "--dry-run"]);
    assert_eq!(told["would_be_removed"][0]["id"].as_str(), Some(first.as_str()));
    assert_eq!(listed(&[]).len(), 3, "only told");
    let (kept, other) = (listed(&[]), folder.0.path("other.db"));
    Store::open(&other).expect("a store").merge(&journal).expect("a copy");
    assert!(folder.run(&["runs", "prune", "--status", "interrupted"]).status.success());
    assert_eq!(listed(&[]).len(), 2);
    let merged = folder.run(&["runs", "merge", &other.display().to_string()]);
    let told = String::from_utf8_lossy(&merged.stdout);
    assert!(told.ends_with("other.db: 1 run taken; 2 runs here already\n"), "{told}");
    assert_eq!(listed(&[]), kept);
    assert_eq!(folder.run(&["runs", "merge", "nowhere.db"]).status.code(), Some(2));
    assert!(folder.run(&["runs", "rm", &first]).status.success());
    let latest = listed(&[])[0].clone();
    assert!(folder.run(&["runs", "rm", &latest]).status.success());
    assert_eq!(listed(&[]).len(), 1);
    assert_eq!(folder.run(&["runs", "rm", &latest]).status.code(), Some(2));
    assert_eq!(folder.run(&["runs", "prune"]).status.code(), Some(2), "not all by a slip");
}

#[test]
fn a_simulated_testbed_stands_wherever_one_can() {
    let folder = Folder::new("sim-places");
    let line_rate = 1e9 / (8.0 * 84.0);
    let flood = ["--flood", "--size", "64", "-t", "50ms", "--blocks", "1"];
    let named = ["forwarding", "--testbed", "sim:profiles/sw.toml"];
    let document = folder.json(&[&named[..], &flood].concat());
    close(value(&document, "received"), line_rate);
    for figure in document["figures"].as_array().expect("figures") {
        let caveats = figure["caveats"].as_array().expect("caveats");
        assert!(caveats.contains(&"simulated".into()), "{figure}");
        assert!(!caveats.contains(&"shared-machine".into()), "{figure}");
    }

    // A table in a file, whose profile's path is relative to it.
    folder.write(
        "profiles/bed.toml",
        "[sim]\nprofile = \"sw.toml\"\npps_limit = 250000\nhosts = 2\n",
    );
    let file = ["forwarding", "--testbed", "profiles/bed.toml"];
    let document = folder.json(&[&file[..], &flood].concat());
    close(value(&document, "received"), 250_000.0);

    // A plan elsewhere than the working directory, whose profile's path is relative to it.
    let here = PLAN.replace("lab:bridge", "sim:sw.toml,pps_limit=250000");
    folder.write("profiles/plan.toml", &here);
    let document = folder.json(&["run", "profiles/plan.toml"]);
    close(value(&document, "received"), 250_000.0);

    // Two cables of 10 ms, there and back.
    let asked = ["latency", "--testbed", "sim:profiles/sw.toml,delay=10ms", "--protocol", "udp"];
    let document = folder.json(&[&asked[..], &["--size", "64", "-t", "200ms"]].concat());
    let rtt = value(&document, "rtt");
    // A histogram's buckets are three digits wide.
    assert!((39.9e6..40.1e6).contains(&rtt), "{rtt}");
}

#[test]
fn what_can_not_be_is_refused_where_it_stands() {
    let folder = Folder::new("sim-bad");
    folder.write("profiles/bad.toml", "name = \"bad\"\nports = 4\nrate = \"1Gb\"\n");
    folder.write("profiles/bed.toml", "[sim]\nprofile = \"sw.toml\"\nhosts = 5\n");
    let with = PLAN.replace("blocks = 2", "backend = \"packet\"");
    folder.write("backend.toml", &with);
    let check = |args: &[&str], words: &[&str]| {
        let output = folder.run(args);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {told}");
        for words in words {
            assert!(told.contains(words), "{args:?}: {words} in:\n{told}");
        }
    };
    let flood = |testbed| ["forwarding", "--flood", "--testbed", testbed];
    check(&flood("sim:profiles/bad.toml"), &["error: profiles/bad.toml:3:8: ", "^^^^^", "hint: "]);
    check(&flood("sim:none.toml"), &["read profile none.toml", "1 | sim:none.toml"]);
    check(&flood("sim:profiles/sw.toml,hosts=5"), &["room for 2…4", "^ hint: "]);
    check(&flood("sim:profiles/sw.toml,bufer=1MiB"), &["did you mean `buffer`?"]);
    check(&flood("profiles/bed.toml"), &["error: profiles/bed.toml:3:9: ", "room for 2…4"]);
    let packet = [&flood("sim:profiles/sw.toml")[..], &["--backend", "packet"]].concat();
    check(&packet, &["no choice of backend"]);
    check(
        &["sim", "profiles/sw.toml", "backend.toml"],
        &["error: backend.toml:", "choice of backend"],
    );
    let load = ["latency", "--testbed", "sim:profiles/sw.toml", "--load", "udp:2Mpps"];
    check(&load, &["1Gbit / (8 * (64 + 20)) = 1488095 frames/s"]);
    let sweep = |values| ["sim", "profiles/sw.toml", "plan.toml", "--sweep", values];
    check(&sweep("buffer=1MiB..8MiB"), &["error: --sweep: ", "no step"]);
    check(&sweep("buffer=1MiB,1KiB"), &["1KiB cannot hold", "sim:profiles/sw.toml,buffer=1KiB"]);
    check(&sweep("uplink=1Gbit"), &["no device of `sw` has a group with an uplink"]);
    assert!(folder.store().is_none_or(|store| store.runs().expect("runs").is_empty()));
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    let folder = Folder::new("sim-same");
    let mut once = folder.json(&["sim", "profiles/sw.toml", "plan.toml", "--seed", "3"]);
    let mut again = folder.json(&["sim", "sim:profiles/sw.toml", "plan.toml", "--seed", "3"]);
    assert_eq!(once["figures"].take(), again["figures"].take());
    assert_eq!(once["verb"], "sim");
}

#[test]
fn an_interrupted_run_goes_on_where_it_was() {
    let folder = Folder::new("sim-resume");
    let asked = ["--flood", "--size", "64", "-t", "50ms", "--blocks", "60", "--seed", "5"];
    let named = ["forwarding", "--testbed", "sim:profiles/sw.toml"];
    let asked = [&named[..], &asked].concat();
    let child = folder.start(&asked);
    wait_for("three trials", || folder.records().len() >= 3);
    let output = interrupt(child);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("switchmark run --resume"));
    let earlier = folder.records();

    // Another device by the same name is none to go on with.
    folder.write("profiles/sw.toml", &SWITCH.replace("1MiB", "2MiB"));
    let resume = ["run", "--resume", "latest"];
    let output = folder.run(&resume);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("differs"), "{}", text(&output.stderr));
    folder.write("profiles/sw.toml", SWITCH);

    let mut resumed = folder.json(&resume);
    assert_eq!(folder.records()[..earlier.len()], earlier[..]);
    let mut whole = folder.json(&asked);
    assert_eq!(resumed["figures"].take(), whole["figures"].take());
}

#[test]
fn an_interrupted_data_sheet_is_written_when_it_goes_on() {
    let folder = Folder::new("sim-sheet");
    let named = ["xray", "--testbed", "sim:profiles/sw.toml,hosts=3", "--seed", "5"];
    let read = |name: &str| std::fs::read_to_string(folder.0.path(name)).expect("a profile");
    let child = folder.start(&[&named[..], &["--out", "broken.toml"]].concat());
    wait_for("three trials", || folder.records().len() >= 3);
    let output = interrupt(child);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("switchmark xray --resume"), "{}", text(&output.stderr));
    assert!(!folder.0.path("broken.toml").exists());
    folder.json(&["xray", "--resume", "latest", "--out", "resumed.toml", "--verify"]);
    folder.json(&[&named[..], &["--out", "whole.toml"]].concat());
    assert_eq!(read("resumed.toml"), read("whole.toml"));

    let flood = ["--flood", "--size", "64", "-t", "50ms", "--blocks", "1"];
    folder.json(&[&["forwarding", "--testbed", "sim:profiles/sw.toml"][..], &flood].concat());
    let output = folder.run(&["xray", "--resume", "latest", "--out", "other.toml"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("was made by `forwarding`"), "{}", text(&output.stderr));
}

#[test]
fn a_sweep_has_a_row_for_each_value() {
    let folder = Folder::new("sim-sweep");
    let asked = ["sim", "profiles/sw.toml", "plan.toml", "--sweep", "pps_limit=100000..400000*2"];
    let more = ["--report", "page.html", "-j", "2", "--full"];
    let output = folder.run(&[&asked[..], &more].concat());
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for words in ["3 of 3 points", "100,000 /s", "200,000 /s", "400,000 /s", "all: Simulated"] {
        assert!(told.contains(words), "{words} in:\n{told}");
    }
    assert!(told.lines().all(|line| line.chars().count() <= 100), "{told}");
    let page = std::fs::read_to_string(folder.0.path("page.html")).expect("a page");
    assert!(page.contains("received over pps_limit"), "no plot");

    // The same from the journal alone, by the sweep's name.
    let name = told.split_whitespace().nth(1).expect("the sweep's id").to_owned();
    let again = folder.run(&["report", &name, "--full"]);
    assert_eq!(text(&again.stdout), told.replace("report: page.html\n", ""));

    let document = folder.json(&["report", &name]);
    assert_eq!(document["run"], name.as_str());
    assert_eq!(document["complete"], true);
    let points = document["points"].as_array().expect("points");
    assert_eq!(points.len(), 3);
    assert_eq!(points[2]["where"]["pps_limit"], 400_000);
    assert_eq!(points[2]["run"], format!("{name}.3"));
    for figure in document["figures"].as_array().expect("figures") {
        let limit = figure["where"]["pps_limit"].as_f64().expect("the swept value");
        let flood = figure["metric"] == "received" && figure["unit"] == "frames/s";
        if flood && figure["where"]["path"] == "device" {
            close(figure["value"].as_f64().expect("a value"), limit);
        }
    }
}

#[test]
fn two_parameters_make_a_table_of_pairs() {
    let folder = Folder::new("sim-pairs");
    let asked = ["sim", "profiles/sw.toml,hosts=2", "plan.toml"];
    let sweeps = ["--sweep", "pps_limit=100000,200000", "--sweep", "delay=1ms,2ms"];
    let output = folder.run(&[&asked[..], &sweeps, &["--full"]].concat());
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(told.contains("4 of 4 points"), "{told}");
    assert!(told.contains("pps_limit and delay"), "{told}");
    let received: Vec<&str> = told.lines().filter(|line| line.contains(",000 /s")).collect();
    let pairs = [("100000 1ms", "100,"), ("100000 2ms", "100,"), ("200000 1ms", "200,")];
    for (pair, rate) in [&pairs[..], &[("200000 2ms", "200,")]].concat() {
        let row = received.iter().find(|line| line.contains(pair)).expect(pair);
        assert!(row.contains(rate), "{row}");
    }
    assert!(told.lines().all(|line| line.chars().count() <= 100), "{told}");
}

/// A path of 25 kB and one of 2.5 MB before 100 kB of buffer.
#[test]
fn round_trips_make_a_table_of_what_is_enough() {
    let folder = Folder::new("sim-rtt");
    let profile =
        "name = \"dev\"\nports = 4\nrate = \"100Mbit\"\nbuffer = { per_port = \"100kB\" }\n";
    std::fs::write(folder.0.path("dev.toml"), profile).expect("a profile is written");
    let asked = ["buffer", "--testbed", "sim:dev.toml,hosts=4", "--rtt", "2ms,200ms", "-P", "1"];
    let rest =
        ["-t", "40", "-O", "3", "--blocks", "1", "--most-retransmits", "100000", "--seed", "1"];
    let output = folder.run(&[&asked[..], &rest].concat());
    let told = text(&output.stdout);
    assert!(told.contains("2 of 2 points"), "{told} {}", text(&output.stderr));
    assert!(told.contains("beside its load: enough at 2ms; not at 200ms."), "{told}");
    let document = folder.json(&["report", told.split_whitespace().nth(1).expect("an id")]);
    assert_eq!(
        (&document["verb"], document["points"].as_array().map(Vec::len)),
        (&"buffer".into(), Some(2))
    );
    assert_eq!(document["points"][1]["where"]["path_rtt_ns"], 200_000_000);
}

#[test]
fn an_interrupted_sweep_keeps_its_points() {
    let folder = Folder::new("sim-kept");
    let asked = ["sim", "profiles/sw.toml", "plan.toml", "--sweep", "delay=0ms..500ms+1ms", "-j1"];
    let child = folder.start(&[&asked[..], &["--json", "--quiet"]].concat());
    let done = |path: &Path| {
        let runs = path.exists().then(|| Store::open(path).ok()?.runs().ok()).flatten();
        runs.unwrap_or_default().iter().filter(|run| run.status.as_str() == "done").count()
    };
    let path = folder.0.path("j.db");
    wait_for("two points", || done(&path) >= 2);
    let output = interrupt(child);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    let kept = done(&path);
    assert!((2..501).contains(&kept), "{kept}");
    assert!(told.contains("error: interrupted"), "{told}");
    assert!(
        told.contains(&format!("{kept} of 501 points are kept: `switchmark report ")),
        "{told}"
    );
    let document = json(&output);
    assert_eq!(document["complete"], false);
    let figures = document["figures"].as_array().expect("figures");
    let mut delays: Vec<u64> =
        figures.iter().filter_map(|figure| figure["where"]["delay_ns"].as_u64()).collect();
    delays.dedup();
    assert_eq!(delays.len(), kept, "figures of every point that is kept, and of no other");
}

/// Ends of all flows that were measured through the device, as `h3>h2`.
fn flows(folder: &Folder) -> Vec<String> {
    let ends = folder.records().into_iter().flat_map(|(trial, _)| trial.flows);
    let of_device = ends.filter(|flow| flow.from.port == "eth1" && flow.role == Role::Measured);
    let all = of_device.map(|flow| format!("{}>{}", flow.from.host, flow.to.host));
    all.collect::<BTreeSet<_>>().into_iter().collect()
}

#[test]
fn every_study_measures_between_the_ports_that_are_named() {
    let cases: [(&str, &str, &str); 12] = [
        ("latency --blocks 6 -t 50ms", "--from h3/eth1 --to h2/eth1", "h3>h2"),
        ("latency --blocks 6 -t 50ms", "--to h3/eth1", "h1>h3"),
        ("forwarding --flood --blocks 6 -t 20ms --size 1518", "--from h4/eth1", "h4>h1"),
        ("tcp --blocks 6 -t 50ms -O 0", "--from h3/eth1 --to h2/eth1 -R", "h2>h3"),
        ("buffer --blocks 6 -t 200ms -O 0 -i 50ms -b none", "--from h3/eth1 --to h2/eth1", "h3>h2"),
        (
            "fabric --blocks 6 -t 20ms -l 8KiB --messages 8KiB --arrangement neighbours",
            "--from h4/eth1,h3/eth1 --to h1/eth1,h2/eth1",
            "h3>h2 h4>h1",
        ),
        (
            "fabric --blocks 6 -t 20ms --arrangement one-way --nodes 4",
            "--from h4/eth1,h3/eth1 --to h1/eth1,h2/eth1",
            "h3>h1 h3>h2 h4>h1 h4>h2",
        ),
        (
            "fabric --blocks 6 -t 20ms --arrangement one-way --nodes 2",
            "--from h4/eth1,h3/eth1 --to h1/eth1,h2/eth1",
            "h4>h1",
        ),
        (
            "fabric --blocks 6 -t 20ms --arrangement many-to-one --nodes 4",
            "--to h3/eth1",
            "h1>h3 h2>h3 h4>h3",
        ),
        (
            "switching --test one-way -t 20ms --size 1518",
            "--from h4/eth1,h3/eth1 --to h1/eth1,h2/eth1",
            "h3>h1 h3>h2 h4>h1 h4>h2",
        ),
        ("switching --test one-to-many -t 20ms --size 1518", "--from h2/eth1", "h2>h1 h2>h3 h2>h4"),
        (
            "switching --test many-to-one -t 20ms --size 1518",
            "--from h4/eth1,h2/eth1 --to h3/eth1",
            "h2>h3 h4>h3",
        ),
    ];
    for (at, (verb, ends, expected)) in cases.into_iter().enumerate() {
        let folder = Folder::new(&format!("between-{at}"));
        let args = format!("{verb} --testbed sim:profiles/sw.toml --seed 7 {ends}");
        folder.json(&args.split(' ').collect::<Vec<_>>());
        assert_eq!(flows(&folder).join(" "), expected, "{args}");
    }
}

#[test]
fn ports_that_can_not_be_measured_between_are_told() {
    for (args, says) in [
        ("latency --from h9/eth1", "find port `h9/eth1` on the testbed"),
        ("storage --from h1/eth1 --to h1/eth1", "`h1/eth1` is a port of the sender"),
        ("fabric --from h1/eth1 --to h2/eth1,h3/eth1", "the number of receiving ports is 2"),
        ("fabric --from h1/eth1,h2/eth1 --to h2/eth1,h3/eth1", "use port `h2/eth1` twice"),
        (
            "switching --test many-to-one --from h3/eth1 --to h1/eth1,h2/eth1",
            "receiving ports is 2",
        ),
    ] {
        let folder = Folder::new("not-between");
        let line = format!("{args} --testbed sim:profiles/sw.toml");
        let output = folder.run(&line.split(' ').collect::<Vec<_>>());
        let told = text(&output.stderr);
        assert!(output.status.code() == Some(2) && told.contains(says), "{line}: {told}");
    }
}

/// A damaged cable makes one port slow with every partner: it is named, and the switch is not
/// blamed for its sharing; without it nobody is named.
#[test]
fn a_slow_port_is_named_and_the_switch_not_blamed() {
    let scratch = Scratch::new("slow-port");
    for (cables, slow) in
        [("cables = [{ ports = \"4\", damaged = { in = 0.05 } }]", true), ("", false)]
    {
        let profile = scratch.path("eight.toml");
        let text = format!(
            "name = \"eight\"\nports = 8\nrate = \"1Gbit\"\nlink_delay = \"500ns\"\n\
             forwarding = {{ mode = \"store-and-forward\", latency = \"2us\" }}\n\
             buffer = {{ per_port = \"512KiB\" }}\n{cables}\n"
        );
        std::fs::write(&profile, text).expect("writes");
        let testbed = format!("sim:{}", profile.display());
        let ran = Command::new(switchmark())
            .args(["fabric", "--testbed", &testbed, "--seed", "1", "--json", "-q", "--journal"])
            .arg(scratch.path("journal.db"))
            .output()
            .expect("switchmark starts");
        let rows = json(&ran);
        let of = |metric: &str| -> Vec<Value> {
            let all = rows["figures"].as_array().expect("figures").iter();
            all.filter(|figure| figure["metric"] == metric).cloned().collect()
        };
        let named: Vec<_> =
            of("port_damaged").iter().map(|figure| figure["where"]["slow_port"].clone()).collect();
        let expected: &[&str] = if slow { &["h4/eth1"] } else { &[] };
        assert_eq!(named, expected, "{rows}");
        let answer = of("nonblocking")[0]["value"].clone();
        let expected = if slow { Value::Null } else { 1.0.into() };
        assert_eq!(answer, expected, "{rows}");
    }
}
