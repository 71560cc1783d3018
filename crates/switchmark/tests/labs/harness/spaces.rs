//! Named network namespaces that stand for hosts, and the cables between them.
//!
//! Needs root and iproute2. Never leaves a namespace behind, nor a process in one: they go when
//! dropped.

use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::find;

/// Runs a program to its end; the test fails where it does.
pub fn call(program: &str, args: &[&str]) {
    let output = Command::new(find(program).expect("looked for before")).args(args).output();
    let output = output.expect("starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {}: {told}", args.join(" "));
}

pub fn ip(args: &[&str]) {
    call("ip", args);
}

/// What a namespace is called on this machine: `smt-PID-h1`.
pub fn space(name: &str) -> String {
    format!("smt-{}-{name}", std::process::id())
}

/// Namespaces of a test's own, removed when dropped.
pub struct Spaces(Vec<String>);

impl Spaces {
    pub fn new(names: &[&str]) -> Self {
        // Before anything may fail: whoever drops it removes those that are there.
        let this = Self(names.iter().map(|name| (*name).to_owned()).collect());
        for name in names {
            ip(&["netns", "add", &space(name)]);
            ip(&["-n", &space(name), "link", "set", "lo", "up"]);
        }
        this
    }
}

impl Drop for Spaces {
    fn drop(&mut self) {
        for name in &self.0 {
            // What a daemon started may outlive it.
            for pid in processes(name) {
                let _ = kill(Pid::from_raw(pid as i32), Signal::SIGKILL);
            }
            let ip = find("ip").expect("it was there before");
            let _ = Command::new(ip).args(["netns", "delete", &space(name)]).status();
        }
    }
}

/// Joins two of them: each end is a namespace, its port, and the port's address.
pub fn cable(from: (&str, &str, &str), to: (&str, &str, &str)) {
    let (left, right) = (space(from.0), space(to.0));
    let peer = ["type", "veth", "peer", "name", to.1, "netns", &right];
    ip(&[&["link", "add", from.1, "netns", &left][..], &peer].concat());
    for ((_, port, address), space) in [(from, &left), (to, &right)] {
        ip(&["-n", space, "address", "add", address, "dev", port]);
        ip(&["-n", space, "link", "set", port, "up"]);
    }
}

/// A testbed file's tables of a host in one of them, whose port `eth1` has this address and cable.
pub fn host_table(host: &str, address: &str, cable: &str) -> String {
    format!(
        "[[host]]\nname = \"{host}\"\nreach = \"netns:{}\"\n[[host.port]]\nname = \"eth1\"\n\
         address = \"{address}\"\ncable = \"{cable}\"\n",
        space(host)
    )
}

/// The processes in one of them.
pub fn processes(name: &str) -> Vec<u32> {
    let ip = find("ip").expect("looked for before");
    let output = Command::new(ip).args(["netns", "pids", &space(name)]).output().expect("starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter_map(|pid| pid.trim().parse().ok()).collect()
}

/// Those of them that this program's agent is.
pub fn agents(name: &str) -> Vec<u32> {
    let is_agent = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.ends_with(b"/switchmark\0agent\0")
    };
    processes(name).into_iter().filter(is_agent).collect()
}
