//! `--journal ssh://…` with an `ssh` of this test's own, which runs what it is given right here.
//! The real one stands in `tests/labs`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::program::{Scratch, switchmark, wait_for};

/// The last argument is what a host's shell is given; `refused` is a host that is not there.
const SSH: &str = r#"#!/bin/sh
for line; do :; done
case "$*" in *ssh://refused*)
    echo "ssh: connect to host refused port 22: Connection refused" >&2; exit 255;;
esac
case "$*" in *BatchMode=yes*) ;; *) echo "it would ask" >&2; exit 255;; esac
echo "Welcome to this host!"
PATH="$FAR" exec sh -c "$line"
"#;

/// As a version before `--send` says it.
const OLD: &str = r#"#!/bin/sh
echo "error: unexpected argument '--send' found" >&2
exit 2
"#;

/// A copy that breaks off.
const TORN: &str = r#"#!/bin/sh
echo "switchmark-journal 1 4096"
printf abc
"#;

/// A copy that never ends.
const SLOW: &str = r#"#!/bin/sh
echo "switchmark-journal 1 4096"
while printf abc; do sleep 0.05; done
"#;

struct Elsewhere(Scratch);

impl Elsewhere {
    fn new(name: &str) -> Self {
        let this = Self(Scratch::new(name));
        for (folder, program, text) in [
            ("near", "ssh", SSH),
            ("old", "switchmark", OLD),
            ("torn", "switchmark", TORN),
            ("slow", "switchmark", SLOW),
        ] {
            let folder = this.0.path(folder);
            fs::create_dir(&folder).expect("a folder");
            fs::write(folder.join(program), text).expect("written");
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(folder.join(program), mode).expect("may be run");
        }
        fs::create_dir(this.0.path("tmp")).expect("a folder");
        for label in ["one", "other"] {
            let asked = ["latency", "--testbed", "sim:teg-s16g", "--size", "64", "-t", "20ms"];
            let more = ["--blocks", "6", "--label", label, "--journal", "it's far.db", "-q"];
            let output = this.switchmark(&[&asked[..], &more].concat(), "").output();
            assert!(output.expect("it starts").status.success());
        }
        this
    }

    /// `far` is the folder where the far host's programs are; ours where none is named.
    fn switchmark(&self, args: &[&str], far: &str) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let own = switchmark().parent().expect("a folder").display().to_string();
        let far = if far.is_empty() { own } else { self.0.path(far).display().to_string() };
        let mut command = Command::new(switchmark());
        command.args(args).current_dir(self.0.folder()).stdin(Stdio::null());
        command.env("PATH", format!("{}:{path}", self.0.path("near").display()));
        command.env("FAR", format!("{far}:/usr/bin:/bin"));
        command.env("TMPDIR", self.0.path("tmp"));
        command
    }

    fn ask(&self, args: &[&str], far: &str) -> Output {
        let output = self.switchmark(args, far).output().expect("it starts");
        let left: Vec<_> = fs::read_dir(self.0.path("tmp")).expect("listed").collect();
        assert!(left.is_empty(), "{args:?}: {left:?}");
        output
    }

    fn address(&self) -> String {
        format!("ssh://me@there{}/it's far.db", self.0.folder().display())
    }
}

#[test]
fn verbs_that_read_say_the_same_of_it() {
    let there = Elsewhere::new("elsewhere");
    let address = there.address();
    let before = fs::read(there.0.path("it's far.db")).expect("a journal");
    for args in [
        &["runs", "--json"][..],
        &["report", "latest", "--json"],
        &["compare", "one", "other", "--markdown"],
        &["trend", "--json"],
        &["export", "one", "--format", "csv"],
    ] {
        let of = |journal: &str| there.ask(&[args, &["--journal", journal]].concat(), "");
        let (here, elsewhere) = (of("it's far.db"), of(&address));
        let said = String::from_utf8_lossy(&elsewhere.stderr);
        assert_eq!(elsewhere.status.code(), here.status.code(), "{args:?}: {said}");
        assert!(!here.stdout.is_empty() && elsewhere.stdout == here.stdout, "{args:?}: {said}");
    }
    let baseline = ["compare", "latest", "--baseline", "one", "--journal", "it's far.db"];
    let output = there.ask(&[&baseline[..], &["--baseline-journal", &address]].concat(), "");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3 | 4)), "{said}");
    let after = fs::read(there.0.path("it's far.db")).expect("a journal");
    assert!(before == after, "it is only read");
}

#[test]
fn what_can_not_be_read_is_said_with_its_remedy() {
    let there = Elsewhere::new("elsewhere-errors");
    fs::write(there.0.path("no.db"), "no database, but long enough to be looked at by SQLite")
        .expect("written");
    let address = there.address();
    let at = |name: &str| format!("ssh://there{}/{name}", there.0.folder().display());
    let (none, foreign) = (at("none.db"), at("no.db"));
    for (args, far, words) in [
        (&["runs", "--journal", &none][..], "", &["there is no journal", "none.db", "hint: "][..]),
        (&["report", "latest", "--journal", &foreign], "", &["on there: open store", "no.db"]),
        (
            &["runs", "--journal", "ssh://refused/x.db"],
            "",
            &[
                "read ssh://refused/x.db",
                "log in there",
                "Connection refused",
                "without a question",
            ],
        ),
        (
            &["runs", "--journal", &address],
            "tmp",
            &["run switchmark there", "not found", "install it"],
        ),
        (&["trend", "--journal", &address], "old", &["another version", "--version"]),
        (
            &["runs", "--journal", &address],
            "torn",
            &["broke off after 3 of 4096 octets", "ask again"],
        ),
        (&["runs", "--journal", "ssh:///x.db"], "", &["names no journal elsewhere", "[USER@]HOST"]),
        (
            &["runs", "label", "one", "x", "--journal", &address],
            "",
            &["can only be read", "`trend`"],
        ),
        (&["serve", "--journal", &address], "", &["can only be read"]),
        (
            &["latency", "--testbed", "sim:teg-s16g", "--journal", &address],
            "",
            &["can only be read"],
        ),
        (&["report", "nobody", "--journal", &address], "", &["`nobody` in store ssh://me@there"]),
    ] {
        let output = there.ask(args, far);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{args:?}: {said}");
        println!("{said}");
    }
}

#[test]
fn a_signal_leaves_no_copy() {
    let there = Elsewhere::new("elsewhere-signal");
    let left = || fs::read_dir(there.0.path("tmp")).expect("listed").count();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let mut reads = there.switchmark(&["runs", "--journal", &there.address()], "slow");
        let mut reads = reads.stdout(Stdio::null()).spawn().expect("it starts");
        wait_for("a copy", || left() == 1);
        kill(Pid::from_raw(reads.id().cast_signed()), signal).expect("it lives");
        assert_eq!(reads.wait().expect("it ends").code(), Some(1), "{signal}");
        assert_eq!(left(), 0, "{signal}");
    }
}
