//! A run that is killed within a deed: whoever comes next says which deed of which run is left at
//! which device, and `doctor --restore` undoes it, once.
//!
//! Needs root and iproute2. Ends only processes that the test started itself, by their id.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use crate::books::{UNNAMED, Wires};
use crate::harness::spaces::space;
use crate::harness::{Scratch, alone, find, json, switchmark, wait_for};

/// Long enough for a look at a run that lives; the trial without the deed may come first.
const FAILOVER: [&str; 13] = [
    "failover", "--deed", "pull", "--flows", "1", "--blocks", "1", "--before", "100ms", "--away",
    "8s", "--after", "100ms",
];

/// Hosts at a switch whose port the testbed's commands take down and up, each noted in a log.
struct Rack {
    scratch: Scratch,
    wires: Wires,
}

impl Rack {
    fn new(name: &str) -> Self {
        let scratch = Scratch::new(name);
        let log = scratch.path("log");
        let set = |state: &str| {
            let (space, log) = (space("switch"), log.display().to_string());
            format!("echo {state} >> {log}; ip -n {space} link set swp2 {state}")
        };
        let deed = format!(
            "{UNNAMED}[[device.deed]]\nname = \"pull\"\nrun = \"{}\"\nundo = \"{}\"\n",
            set("down"),
            set("up")
        );
        let wires = Wires::new(&scratch, &deed, false);
        Self { scratch, wires }
    }

    fn switchmark(&self, args: &[&str]) -> Command {
        let mut command = Command::new(switchmark());
        command.args(args).current_dir(self.scratch.folder());
        command.env("XDG_STATE_HOME", self.scratch.path("state"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn call(&self, args: &[&str]) -> Output {
        self.switchmark(args).output().expect("it starts")
    }

    fn file(&self) -> &str {
        self.wires.file.to_str().expect("text")
    }

    /// A run with its link down.
    fn pulled(&self) -> Child {
        let rest = ["--journal", "j.db", "--quiet", "--json", "--testbed", self.file()];
        let run = self.switchmark(&[&FAILOVER[..], &rest].concat()).spawn().expect("it starts");
        wait_for("the deed", || self.log().ends_with("down\n") && is_down());
        run
    }

    fn killed(&self) {
        let mut run = self.pulled();
        run.kill().expect("it is ours");
        run.wait().expect("it ends");
    }

    fn log(&self) -> String {
        fs::read_to_string(self.scratch.path("log")).unwrap_or_default()
    }

    fn restored(&self, args: &[&str]) -> (Option<i32>, serde_json::Value) {
        let asked = [&["doctor", "--restore", "--json", "--quiet"][..], args].concat();
        let output = self.call(&asked);
        (output.status.code(), json(&output))
    }
}

fn is_down() -> bool {
    let ip = find("ip").expect("looked for before");
    let args = ["-n", &space("switch"), "link", "show", "swp2"];
    let output = Command::new(ip).args(args).output().expect("it starts");
    !String::from_utf8_lossy(&output.stdout).contains(",UP")
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stderr[..], &output.stdout].concat()).into_owned()
}

#[test]
fn a_dead_runs_deed_is_told_to_whoever_comes_next_and_undone_once() {
    const TEST: &str = "a dead run's deed is told and undone";
    let Some(_alone) = alone(TEST, &["ip"]) else { return };
    let rack = Rack::new("left-deeds");
    // Of a run that lives nothing is undone.
    let mut living = rack.pulled();
    let none = serde_json::json!({ "this host": [] });
    let nothing = serde_json::json!({ "restored": none, "kept": none, "left": [] });
    assert_eq!(rack.restored(&[]), (Some(0), nothing.clone()));
    assert!(is_down());
    living.kill().expect("it is ours");
    living.wait().expect("it ends");

    let udp = ["--protocol", "udp", "--size", "64", "-t", "50ms", "--blocks", "2", "--json"];
    let other_journal = ["--journal", "k.db", "--testbed", rack.file()];
    let refused = rack.call(&[&["latency"][..], &udp, &other_journal].concat());
    let words = told(&refused);
    assert_eq!(refused.status.code(), Some(2), "{words}");
    assert!(words.contains("device `sw1` of ") && words.contains("`pull` done to it"), "{words}");
    assert!(words.contains("hint: `switchmark doctor --restore --testbed"), "{words}");
    for verb in ["watch", "doctor"] {
        let file = rack.file();
        let args = if verb == "watch" { vec![verb, file] } else { vec![verb, "--testbed", file] };
        let words = told(&rack.call(&args));
        assert!(words.contains("`pull` done to it: run "), "{verb}: {words}");
    }
    let runs = json(&rack.call(&["runs", "--json", "--journal", "j.db"]));
    assert_eq!(runs["left_deeds"][0]["deed"], "pull", "{runs}");
    let listed = told(&rack.call(&["runs", "--journal", "j.db"]));
    assert!(listed.contains("`switchmark doctor --restore` undoes it"), "{listed}");

    let (code, object) = rack.restored(&[]);
    assert_eq!(code, Some(0), "{object}");
    let undone = object["restored"]["devices"][0].as_str().expect("a device").to_owned();
    assert!(undone.starts_with("device `sw1` as it was before `pull` of run "), "{undone}");
    assert!(!is_down());
    assert_eq!(rack.restored(&[]), (Some(0), nothing), "once");
    assert_eq!(rack.log(), "down\nup\n");
    let runs = json(&rack.call(&["runs", "--json", "--journal", "j.db"]));
    assert_eq!(runs["left_deeds"], serde_json::json!([]), "and going on does not undo it again");
    let works = rack.call(&[&["latency", "-q"][..], &udp, &other_journal].concat());
    assert!(matches!(works.status.code(), Some(0 | 3)), "{}", told(&works));
}

#[test]
fn no_way_back_is_run_from_a_file_that_others_can_write_to() {
    let Some(_alone) = alone("a file that others can write to", &["ip"]) else { return };
    let rack = Rack::new("left-deeds-others");
    rack.killed();
    let mode = |mode: u32| {
        let file = Path::new(rack.file());
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).expect("it is ours");
    };
    mode(0o666);
    let (code, object) = rack.restored(&[]);
    assert_eq!(code, Some(3), "{object}");
    let left = object["left"][0].as_str().expect("it is named").to_owned();
    let why = format!("others than this user can write to {}", rack.file());
    assert!(left.contains(&why), "{left}");
    assert!(left.contains("what leads back is `echo up"), "{left}");
    assert_eq!(rack.log(), "down\n", "nothing ran");
    mode(0o644);
    assert_eq!(rack.restored(&["--testbed", rack.file()]).0, Some(0));
    assert!(!is_down());
    assert_eq!(rack.log(), "down\nup\n");
}
