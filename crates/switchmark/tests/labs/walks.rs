//! From the program to an answer without editing a file, as a new user goes: four hosts behind ssh,
//! a switch, ports of any name and without an address.
//!
//! The commands are those of docs/start, read from its pages.
//!
//! Needs root, iproute2 and Debian's openssh-server. The switch is a bridge whose ports the
//! kernel's token bucket holds to a rate; the hosts are namespaces.

use std::process::{Command, Output};

use crate::harness::spaces::{Spaces, cable, call, ip, space};
use crate::harness::{self, Scratch, alone, switchmark};
use crate::program::browser::assert_answered;
use crate::program::docs::{self, Shown};
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

/// The page's commands without output, with this rack's names in them.
fn of_the_page(rack: &Rack) -> Vec<Shown> {
    let names = |one: Shown| {
        let one = FOUR
            .iter()
            .zip(["@a", "@b", "@c", "@d"])
            .fold(one, |one, (host, shown)| one.with(&[(shown, &format!("@{host}"))]));
        ["rack.toml", "sheet.toml", "accept.html"]
            .into_iter()
            .fold(one, |one, file| one.with(&[(file, &rack.path(file))]))
    };
    let all = docs::commands(&docs::read("docs/start/rack-of-four.md"));
    all.into_iter().filter(|shown| !shown.with_output).map(names).collect()
}

fn the_one(rack: &Rack, verb: &str) -> Shown {
    let mut own = of_the_page(rack).into_iter().filter(|shown| shown.is(verb));
    let one = own.next().unwrap_or_else(|| panic!("the page has `{verb}`"));
    assert_eq!(own.next(), None, "the page has one `{verb}`");
    one
}

/// The first command: what it found goes into a file, which is its path.
fn testbed_new(rack: &Rack) -> (Output, String) {
    let new = the_one(rack, "testbed");
    let output = rack.at_console().args(&new.words).output().expect("starts");
    let file = rack.path(&new.into.expect("it is written into a file"));
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
    let (output, _) = testbed_new(&rack);
    assert_eq!(output.status.code(), Some(0));
    let run = |verb: &str, more: &[&str]| {
        let words = the_one(&rack, verb).words;
        let output = rack.at_console().args(&words).args(more).output().expect("starts");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        println!("$ switchmark {}\n{told}", words.join(" "));
        println!("{}", String::from_utf8_lossy(&output.stderr));
        (output, told)
    };
    let (doctor, _) = run("doctor", &[]);
    assert_eq!(doctor.status.code(), Some(0), "nothing is bad");
    // What a buyer was promised of this switch, whose ports are held to 20 Mbit/s: two claims that
    // it keeps, and one that no hosts without a direct cable can put down to it.
    let sheet = docs::read("docs/start/rack-of-four.md");
    std::fs::write(rack.path("sheet.toml"), docs::toml(&sheet)).expect("writes");
    let (accept, told) = run("accept", &["--full", "--journal", &rack.path("journal.db")]);
    assert_eq!(accept.status.code(), Some(3), "no claim is broken, one is open");
    assert_eq!(told.matches(" pass").count(), 2, "{told}");
    assert!(told.contains("inconclusive"), "{told}");
    let said = ["Keeps its data sheet?", "1 of 3 claims undecided, 2 met"];
    assert_answered(rack.scratch(), "accept.html", &said);
    assert!(!FOUR.iter().any(|host| has_addresses(host)), "addresses go with the run");
    if let Some(folder) = std::env::var_os("SWITCHMARK_PAGES") {
        let folder = std::path::Path::new(&folder);
        std::fs::copy(rack.path("accept.html"), folder.join("rack-of-four.html")).expect("copies");
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
    let all = docs::commands(&docs::read("docs/start/two-pcs.md"));
    let own: Vec<Shown> = all.into_iter().filter(|shown| !shown.with_output).collect();
    let run = |verb: &str, at: usize, more: &[&str]| {
        let shown = own.iter().filter(|shown| shown.is(verb)).nth(at).expect("it is on the page");
        let words = shown.clone().with(&[("local:", &format!("{pc1}:")), ("root@pc2", &pc2)]).words;
        let output = Command::new(switchmark())
            .args(&words)
            .args(more)
            .args(["--quiet", "--full", "--journal"])
            .arg(scratch.path("journal.db"))
            .current_dir(scratch.folder())
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
    let told = run("latency", 0, &asked);
    assert!(told.contains("RTT"), "{told}");
    // The cable is moved.
    ip(&["-n", &space("pc1"), "link", "delete", "eth0"]);
    plug_into_the_switch();
    let told = run("latency", 1, &[&asked[..], &["--report", "adds.html"]].concat());
    assert!(told.contains("Added latency, UDP 64, idle: "), "{told}");
    assert!(told.contains("measured at another time"), "{told}");
    assert_answered(&scratch, "adds.html", &["Added latency", "UDP 64"]);
    let asked = ["-t", "0.5", "-O", "0.3", "--blocks", "2", "--report", "tcp.html"];
    let told = run("tcp", 0, &asked);
    assert!(told.contains("Mbit/s") && told.contains("TCP goodput"), "{told}");
    assert_answered(&scratch, "tcp.html", &["TCP goodput", "Mbit/s"]);
    if let Some(folder) = std::env::var_os("SWITCHMARK_PAGES") {
        for page in ["adds.html", "tcp.html"] {
            let own = std::path::Path::new(&folder).join(format!("two-pcs-{page}"));
            std::fs::copy(scratch.path(page), own).expect("copies");
        }
    }
}
