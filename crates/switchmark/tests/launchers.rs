//! The same study through the launchers for hosts that exist already: named namespaces and this host.
//!
//! Needs root and iproute2, by which the namespaces are made here and removed again.

#![allow(missing_docs, reason = "a test")]

mod harness;

use std::path::Path;
use std::process::{Command, Output};

use harness::{Scratch, alone, find, switchmark};

/// Two named namespaces joined by a cable; removed when dropped.
struct Named {
    left: String,
    right: String,
}

impl Named {
    fn new() -> Self {
        let id = std::process::id();
        let this = Self { left: format!("smt-{id}-left"), right: format!("smt-{id}-right") };
        let (left, right) = (this.left.as_str(), this.right.as_str());
        ip(&["netns", "add", left]);
        ip(&["netns", "add", right]);
        let cable = ["link", "add", "eth1", "netns", left, "type", "veth"];
        ip(&[&cable[..], &["peer", "name", "eth1", "netns", right]].concat());
        for (name, address) in [(left, "198.18.7.1/24"), (right, "198.18.7.2/24")] {
            ip(&["-n", name, "address", "add", address, "dev", "eth1"]);
            ip(&["-n", name, "link", "set", "eth1", "up"]);
        }
        this
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        for name in [&self.left, &self.right] {
            let _ = Command::new(find("ip").expect("it was there before"))
                .args(["netns", "delete", name])
                .status();
        }
    }
}

fn ip(args: &[&str]) {
    let status = Command::new(find("ip").expect("looked for before")).args(args).status();
    assert!(status.expect("ip starts").success(), "ip {}", args.join(" "));
}

fn host(name: &str, reach: &str, port: &str, address: &str, cable: &str) -> String {
    format!(
        "[[host]]\nname = \"{name}\"\nreach = \"{reach}\"\n[[host.port]]\nname = \"{port}\"\n\
         address = \"{address}\"\ncable = \"{cable}\"\n"
    )
}

fn latency(testbed: &Path, store: &Path) -> Output {
    Command::new(switchmark())
        .args(["latency", "--protocol", "udp", "--size", "128", "-t", "0.1", "--blocks", "2"])
        .args(["--json", "--quiet", "--testbed"])
        .arg(testbed)
        .arg("--store")
        .arg(store)
        .output()
        .expect("switchmark starts")
}

fn check(testbed: &str, name: &str) {
    let scratch = Scratch::new(name);
    let file = scratch.path("testbed.toml");
    std::fs::write(&file, testbed).expect("writes");
    let output = latency(&file, &scratch.path("journal.db"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one object");
    let figures = document["figures"].as_array().expect("figures");
    let median = figures.iter().find(|f| f["metric"] == "rtt" && f["quantile"] == 0.5);
    let median = median.expect("a median");
    assert!(median["value"].as_f64().is_some_and(|v| v > 0.0), "{median}");
    assert!(median["n"].as_u64().is_some_and(|n| n > 100), "{median}");
}

#[test]
fn named_namespaces() {
    let Some(_alone) = alone("named_namespaces", &["ip"]) else { return };
    let named = Named::new();
    let left = host("h1", &format!("netns:{}", named.left), "eth1", "198.18.7.1/24", "h2/eth1");
    let right = host("h2", &format!("netns:{}", named.right), "eth1", "198.18.7.2/24", "h1/eth1");
    check(&format!("{left}{right}"), "netns");
}

/// Two agents on this host, over its loopback.
#[test]
fn this_host() {
    let Some(_alone) = alone("this_host", &[]) else { return };
    let one = host("h1", "local", "lo", "127.0.0.1/8", "h2/lo");
    let two = host("h2", "local", "lo", "127.0.0.2/8", "h1/lo");
    check(&format!("{one}{two}"), "local");
}

#[test]
fn a_namespace_that_does_not_exist() {
    let Some(_alone) = alone("a_namespace_that_does_not_exist", &[]) else { return };
    let scratch = Scratch::new("absent");
    let file = scratch.path("testbed.toml");
    let one = host("h1", "netns:smt-absent", "eth1", "198.18.7.1/24", "h2/eth1");
    let two = host("h2", "netns:smt-absent-too", "eth1", "198.18.7.2/24", "h1/eth1");
    std::fs::write(&file, format!("{one}{two}")).expect("writes");
    let output = latency(&file, &scratch.path("journal.db"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("smt-absent") && told.contains("hint:"), "{told}");
    assert!(output.stdout.is_empty(), "nothing on stdout");
}

#[test]
fn a_store_that_can_not_be_written() {
    let Some(_alone) = alone("a_store_that_can_not_be_written", &[]) else { return };
    let output = latency(Path::new("lab:cable"), Path::new("/proc/switchmark/journal.db"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("error: ") && told.contains("hint: "), "{told}");
}
