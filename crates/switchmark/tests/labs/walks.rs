//! From the program to an answer without editing a file, as a new user goes: four hosts behind ssh,
//! a switch, ports of any name and without an address.
//!
//! Needs root, iproute2 and Debian's openssh-server. The switch is a bridge whose ports the
//! kernel's token bucket holds to a rate; the hosts are namespaces.

use std::process::{Command, Output};

use crate::harness::spaces::{Spaces, cable, call, ip, space};
use crate::harness::{self, Scratch, alone, switchmark};
use crate::ssh::{FOUR, Rack};

const NEEDED: [&str; 6] = ["ip", "tc", "ethtool", "ssh", "sshd", "ssh-keygen"];
/// What the hosts' test ports are called, in no order.
const PORTS: [&str; 4] = ["eth5", "eth2", "enp3s0", "eth1"];

/// A rack whose test ports nobody has set up: other names, down, no addresses.
fn untouched(name: &str) -> Rack {
    let rack = Rack::of(name, &FOUR, None);
    for (host, port) in FOUR.iter().zip(PORTS) {
        let own = space(host);
        ip(&["-n", &own, "address", "flush", "dev", "eth1"]);
        ip(&["-n", &own, "link", "set", "eth1", "down"]);
        if port != "eth1" {
            ip(&["-n", &own, "link", "set", "eth1", "name", port]);
        }
    }
    rack
}

/// The first command: what it found goes into a file, which is its path.
fn testbed_new(rack: &Rack) -> (Output, String) {
    let hosts = FOUR.map(|host| format!("root@{host}"));
    let output = rack.at_console().args(["testbed", "new"]).args(hosts).output().expect("starts");
    let file = rack.path("rack.toml");
    std::fs::write(&file, &output.stdout).expect("writes");
    (output, file)
}

/// What the second says is bad.
fn bad(rack: &Rack, file: &str) -> Vec<String> {
    let output = rack
        .at_console()
        .args(["doctor", "--testbed", file, "--json", "--quiet"])
        .output()
        .expect("starts");
    let document = harness::json(&output);
    let findings = document["findings"].as_array().expect("findings");
    let bad = findings.iter().filter(|finding| finding["state"] == "bad");
    bad.map(|f| format!("{} {} {}", f["place"], f["check"], f["found"])).collect()
}

/// What a buyer was promised of this switch, whose ports are held to 20 Mbit/s: two claims that it
/// keeps, and one that no hosts without a direct cable can put down to it.
const SHEET: &str = r#"
device = "desk switch"

[[accept]]
claim = "throughput at least 3000pps at 512 octets"
source = "its data sheet"

[[accept]]
claim = "throughput at least 1000pps at 1518 octets"

[[accept]]
claim = "throughput at least 20000pps at 512 octets"
"#;

fn has_addresses(host: &str) -> bool {
    let output = Command::new("ip")
        .args(["-n", &space(host), "-o", "-4", "address", "show"])
        .output()
        .expect("ip starts");
    String::from_utf8_lossy(&output.stdout).contains("198.18.0.")
}

#[test]
fn a_testbed_is_found_by_looking() {
    let Some(_alone) = alone("a_testbed_is_found_by_looking", &NEEDED) else { return };
    let rack = untouched("walk-new");
    let (output, file) = testbed_new(&rack);
    let told = String::from_utf8_lossy(&output.stderr);
    let written = String::from_utf8_lossy(&output.stdout);
    println!("{told}\n{written}");
    assert_eq!(output.status.code(), Some(0), "{told}");
    for (number, (host, port)) in (1..).zip(FOUR.iter().zip(PORTS)) {
        assert!(written.contains(&format!("reach = \"ssh://root@{host}\"")), "{written}");
        assert!(written.contains(&format!("name = \"{port}\"")), "{written}");
        assert!(written.contains(&format!("cable = \"sw1/{number}\"")), "{written}");
    }
    assert_eq!(written.matches("# mgmt: left alone: this host is reached by it").count(), 4);
    assert!(bad(&rack, &file).is_empty(), "{:?}", bad(&rack, &file));
    let output = rack
        .at_console()
        .args(["latency", "--size", "64", "-t", "0.1", "--blocks", "2", "--testbed", &file])
        .args(["--json", "--quiet", "--store", &rack.path("journal.db")])
        .output()
        .expect("starts");
    harness::told_a_round_trip(&output);
    assert!(!FOUR.iter().any(|host| has_addresses(host)), "addresses go with the run");
}

#[test]
fn what_is_wrong_with_a_rack_is_named() {
    let Some(_alone) = alone("what_is_wrong_with_a_rack_is_named", &NEEDED) else { return };
    let rack = untouched("walk-wrong");
    let (_, file) = testbed_new(&rack);
    // A port as slow as one that negotiated half duplex.
    let slow = ["root", "tbf", "rate", "1mbit", "burst", "2500", "limit", "64kb"];
    call("tc", &[&["-n", &space("sw"), "qdisc", "replace", "dev", "p3"][..], &slow].concat());
    let found = bad(&rack, &file);
    println!("{found:#?}");
    let named = |found: &[String], place: &str, what: &str| {
        found.iter().any(|line| line.contains(place) && line.contains(what))
    };
    assert!(named(&found, "h3/enp3s0", "throughput"), "{found:?}");
    assert!(!named(&found, "h1/eth5\"", "throughput"), "{found:?}");
    // A cable in the wrong switch.
    ip(&["-n", &space("sw"), "link", "set", "p4", "nomaster"]);
    let found = bad(&rack, &file);
    println!("{found:#?}");
    assert!(named(&found, "h4/eth1", "cable"), "{found:?}");
    let (output, _) = testbed_new(&rack);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("h4/eth1") && told.contains("no host here hears it"), "{told}");
}

#[test]
fn four_hosts_come_to_an_acceptance_page_in_three_commands() {
    let Some(_alone) = alone("four_hosts_come_to_an_acceptance_page", &NEEDED) else { return };
    let rack = untouched("walk-accept");
    let (output, file) = testbed_new(&rack);
    assert_eq!(output.status.code(), Some(0));
    let run = |words: &[&str]| {
        let output = rack.at_console().args(words).output().expect("starts");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        println!("$ switchmark {}\n{told}", words.join(" "));
        println!("{}", String::from_utf8_lossy(&output.stderr));
        (output, told)
    };
    let (doctor, _) = run(&["doctor", "--testbed", &file]);
    assert_eq!(doctor.status.code(), Some(0), "nothing is bad");
    let (sheet, page) = (rack.path("sheet.toml"), rack.path("accept.html"));
    std::fs::write(&sheet, SHEET).expect("writes");
    let journal = rack.path("journal.db");
    let asked = ["accept", "--testbed", &file, "--claims", &sheet, "--report", &page];
    let (accept, told) = run(&[&asked[..], &["--journal", &journal]].concat());
    assert_eq!(accept.status.code(), Some(3), "no claim is broken, one is open");
    assert_eq!(told.matches(" pass").count(), 2, "{told}");
    assert!(told.contains("inconclusive"), "{told}");
    let html = std::fs::read_to_string(&page).expect("a page");
    let first = html.find("class=\"answers\"").expect("answers");
    assert!(first < html.find("<figure").expect("a picture"), "answers come first");
    assert!(!FOUR.iter().any(|host| has_addresses(host)), "addresses go with the run");
    if let Some(folder) = std::env::var_os("SWITCHMARK_PAGES") {
        let folder = std::path::Path::new(&folder);
        std::fs::copy(&page, folder.join("rack-of-four.html")).expect("copies");
    }
}

/// Both cables of a switch between the PCs' only ports.
fn plug_into_the_switch() {
    let desk = space("desk");
    for (number, pc) in [(1, "pc1"), (2, "pc2")] {
        let (port, own) = (format!("p{number}"), space(pc));
        let peer = ["type", "veth", "peer", "name", "eth0", "netns", &own];
        ip(&[&["link", "add", &port, "netns", &desk][..], &peer].concat());
        ip(&["-n", &desk, "link", "set", &port, "master", "br0", "up"]);
        let queue = ["root", "tbf", "rate", "50mbit", "burst", "5000", "limit", "64kb"];
        call("tc", &[&["-n", &desk, "qdisc", "add", "dev", &port][..], &queue].concat());
        ip(&["-n", &own, "link", "set", "eth0", "up"]);
    }
}

#[test]
fn two_pcs_with_one_port_each_learn_what_their_switch_does() {
    let Some(_alone) = alone("two_pcs_with_one_port_each", &["ip", "tc"]) else { return };
    let (_spaces, scratch) = (Spaces::new(&["pc1", "pc2", "desk"]), Scratch::new("walk-pcs"));
    ip(&["-n", &space("desk"), "link", "add", "br0", "type", "bridge"]);
    ip(&["-n", &space("desk"), "link", "set", "br0", "up"]);
    let (pc1, pc2) = (format!("netns:{}", space("pc1")), format!("netns:{}", space("pc2")));
    let run = |words: &[&str]| {
        let output = Command::new(switchmark())
            .args(words)
            .args(["--quiet", "--journal"])
            .arg(scratch.path("journal.db"))
            .output()
            .expect("starts");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        println!("$ switchmark {}\n{told}", words.join(" "));
        let cause = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {cause}");
        told
    };
    let asked = ["--protocol", "udp", "--size", "64", "-t", "0.1", "--blocks", "6"];
    // Joined directly.
    cable(("pc1", "eth0", "192.0.2.1/24"), ("pc2", "eth0", "192.0.2.2/24"));
    let hosts = format!("{pc1}:eth0={pc2}:eth0");
    let told = run(&[&["latency", "--hosts", &hosts][..], &asked].concat());
    assert!(told.contains("RTT"), "{told}");
    // The cable is moved.
    ip(&["-n", &space("pc1"), "link", "delete", "eth0"]);
    plug_into_the_switch();
    let hosts = format!("{pc1}:eth0,{pc2}:eth0");
    let told = run(&[&["latency", "--hosts", &hosts, "--bypass", "latest"][..], &asked].concat());
    assert!(told.contains(" adds ") || told.contains("not significant"), "{told}");
    assert!(told.contains("measured at another time"), "{told}");
    let told = run(&["tcp", "--hosts", &hosts, "-t", "0.5", "-O", "0.3", "--blocks", "2"]);
    assert!(told.contains("Mbit/s") && told.contains("of TCP payload"), "{told}");
}
