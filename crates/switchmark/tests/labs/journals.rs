//! A journal on the far side of a real sshd, read from a console that has none.
//!
//! Needs root, iproute2 and Debian's openssh-server.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Output};

use crate::harness::{self, alone, switchmark};
use crate::ssh::Rack;

#[test]
fn a_journal_elsewhere_is_read_by_ssh() {
    let needed = ["ip", "ssh", "sshd", "ssh-keygen"];
    let Some(_alone) = alone("a_journal_elsewhere_is_read_by_ssh", &needed) else { return };
    let rack = Rack::of("ssh-journal", &["h1", "h2"], None);
    let journal = rack.path("far.db");
    let asked = ["latency", "--testbed", "sim:teg-s16g", "--size", "64", "-t", "20ms", "--quiet"];
    let made = Command::new(switchmark()).args(asked).args(["--journal", &journal]).output();
    assert!(made.expect("it starts").status.success());
    let at_console = |args: &[&str]| -> Output {
        rack.at_console().args(args).output().expect("switchmark starts")
    };
    // There is no switchmark on that host's path yet.
    let address = format!("ssh://root@h1{journal}");
    let output = at_console(&["runs", "--journal", &address]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && told.contains("run switchmark there"), "{told}");
    fs::create_dir(rack.path("far-bin")).expect("a folder");
    symlink(switchmark(), rack.path("far-bin/switchmark")).expect("linked");
    let far = harness::json(&at_console(&["report", "latest", "--json", "--journal", &address]));
    let near = harness::json(&at_console(&["report", "latest", "--json", "--journal", &journal]));
    assert_eq!(far, near);
    let output = at_console(&["runs", "--journal", "ssh://root@h1/nowhere.db"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("there is no journal /nowhere.db"), "{told}");
    let output = at_console(&["runs", "--journal", "ssh://root@h3/nowhere.db"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("log in there"), "{told}");
}
