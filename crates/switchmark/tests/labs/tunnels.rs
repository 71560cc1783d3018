//! Tunnels as test ports: a TUN device without a MAC address, whose own queue drops, and VXLAN.
//!
//! Needs root, iproute2 and, for the TUN device's far end, python3.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use crate::harness::spaces::{Spaces, ip, space};
use crate::harness::{Scratch, alone, find, json, switchmark};

/// Rate of the line behind the TUN device, in bits a second of IP packets.
const RATE: f64 = 20e6;
const MTU: u32 = 1420;
/// Longest packet that a line with a black hole carries.
const HOLE: u32 = 1300;

/// Two hosts joined by TUN devices; the line's program ends when dropped.
struct Tun {
    relay: Child,
    _spaces: Spaces,
}

impl Tun {
    fn new(longest: u32) -> Self {
        let spaces = Spaces::new(&["left", "right"]);
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/labs/tunnels/relay.py");
        let mut relay = Command::new(find("python3").expect("looked for before"))
            .args([script, &space("left"), &space("right")])
            .args([RATE.to_string(), "2".to_owned(), longest.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 starts");
        let mut line = String::new();
        BufReader::new(relay.stdout.take().expect("piped")).read_line(&mut line).expect("reads");
        let this = Self { relay, _spaces: spaces };
        assert_eq!(line, "ready\n");
        for (host, last) in [("left", "1"), ("right", "2")] {
            let host = space(host);
            ip(&["-n", &host, "address", "add", &format!("198.18.1.{last}/24"), "dev", "tun0"]);
            // A short queue, so that it overflows within a short trial.
            let mtu = MTU.to_string();
            let up = ["set", "dev", "tun0", "mtu", &mtu, "txqueuelen", "50", "up"];
            ip(&[&["-n", &host, "link"][..], &up].concat());
        }
        this
    }
}

impl Drop for Tun {
    fn drop(&mut self) {
        let _ = self.relay.kill();
        let _ = self.relay.wait();
    }
}

/// Two hosts on a bridge, with VXLAN over it.
fn vxlan() -> Spaces {
    let spaces = Spaces::new(&["left", "right", "middle"]);
    let middle = space("middle");
    ip(&["-n", &middle, "link", "add", "sw", "type", "bridge"]);
    ip(&["-n", &middle, "link", "set", "sw", "up"]);
    for (host, port, own, other) in [("left", "p1", 1, 2), ("right", "p2", 2, 1)] {
        let host = space(host);
        let below = ["type", "veth", "peer", "name", "eth1", "netns", &host];
        ip(&[&["-n", &middle, "link", "add", port][..], &below].concat());
        ip(&["-n", &middle, "link", "set", port, "master", "sw", "up"]);
        ip(&["-n", &host, "address", "add", &format!("198.18.2.{own}/24"), "dev", "eth1"]);
        ip(&["-n", &host, "link", "set", "eth1", "up"]);
        let (local, remote) = (format!("198.18.2.{own}"), format!("198.18.2.{other}"));
        let ends = ["dev", "eth1", "local", &local, "remote", &remote, "dstport", "4789"];
        let link = ["link", "add", "tun0", "type", "vxlan", "id", "7"];
        ip(&[&["-n", &host][..], &link, &ends].concat());
        ip(&["-n", &host, "address", "add", &format!("198.18.1.{own}/24"), "dev", "tun0"]);
        ip(&["-n", &host, "link", "set", "tun0", "up"]);
    }
    spaces
}

/// Runs a verb on the two hosts, whose test ports are `tun0` to a device of this kind.
fn run(scratch: &Scratch, kind: &str, args: &[&str]) -> Output {
    let host = |name: &str, namespace: &str, number: u8| {
        format!(
            "[[host]]\nname = \"{name}\"\nreach = \"netns:{}\"\n[[host.port]]\nname = \"tun0\"\n\
             address = \"198.18.1.{number}/24\"\ncable = \"vpn/{number}\"\n",
            space(namespace)
        )
    };
    let device = format!("[[device]]\nname = \"vpn\"\nkind = \"{kind}\"\n");
    let text = host("h1", "left", 1) + &host("h2", "right", 2) + &device;
    std::fs::write(scratch.path("testbed.toml"), text).expect("writes");
    let mut command = Command::new(switchmark());
    command.args(args).arg("--testbed").arg(scratch.path("testbed.toml"));
    if args[0] != "doctor" {
        command.arg("--store").arg(scratch.path("journal.db"));
    }
    let output = command.output().expect("switchmark starts");
    println!("{args:?}: {:?}\n{}", output.status.code(), stderr_of(&output));
    output
}

fn stderr_of(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).concat()
}

/// Values of a metric's figures that have one.
fn values(output: &Output, metric: &str, is_it: impl Fn(&Value) -> bool) -> Vec<f64> {
    let document = json(output);
    let figures = document["figures"].as_array().expect("figures").iter();
    let of = figures.filter(|figure| figure["metric"] == metric && is_it(figure));
    of.filter_map(|figure| figure["value"].as_f64()).collect()
}

/// What the TUN device's own queue drops is neither the tester's nor a reason to try again.
#[test]
fn over_a_tun_device_each_study_ends_with_an_answer() {
    let Some(_alone) = alone("over_a_tun_device", &["ip", "python3"]) else { return };
    let (_tun, scratch) = (Tun::new(65_535), Scratch::new("tun"));
    let tcp = ["tcp", "-t", "0.7", "-O", "0.3", "--blocks", "2", "--json", "--quiet"];
    let output = run(&scratch, "router", &tcp);
    let goodput = values(&output, "goodput", |_| true);
    let most = RATE * f64::from(MTU - 52) / f64::from(MTU);
    assert!(goodput.len() >= 4, "{goodput:?}");
    // Both directions together come to twice as much.
    assert!(goodput.iter().all(|rate| *rate > most / 20.0 && *rate < 2.1 * most), "{goodput:?}");
    let flood = ["forwarding", "--flood", "--size", "1438", "-t", "0.3", "--blocks", "2"];
    let output = run(&scratch, "router", &[&flood[..], &["--json", "--quiet"]].concat());
    let frames = |figure: &Value| figure["unit"] == "frames/s";
    let rates = values(&output, "received", frames);
    let line = RATE / 8.0 / f64::from(MTU);
    assert!(!rates.is_empty() && rates.iter().all(|rate| *rate < 1.1 * line), "{rates:?}");
    let sizes = ["latency", "--protocol", "icmp,udp", "-t", "0.1", "--blocks", "2"];
    let output = run(&scratch, "router", &sizes);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    assert!(stderr_of(&output).contains("1438"), "the longest that the MTU takes");
}

#[test]
fn a_path_mtu_black_hole_is_named() {
    let Some(_alone) = alone("a_path_mtu_black_hole", &["ip", "python3"]) else { return };
    let (_tun, scratch) = (Tun::new(HOLE), Scratch::new("hole"));
    let wanted = [
        format!("packets above {HOLE} octets vanish between h1 and h2"),
        format!("mtu {HOLE}"),
        format!("maxseg size set {}", HOLE - 40),
    ];
    let latency = ["latency", "--protocol", "icmp", "--size", "64", "-t", "0.1", "--blocks", "2"];
    for args in [&["doctor", "--json", "--quiet"][..], &latency] {
        let output = run(&scratch, "router", args);
        let said = stderr_of(&output).replace('\n', " ");
        assert!(wanted.iter().all(|words| said.contains(words)), "{args:?}: {said}");
    }
}

#[test]
fn over_vxlan_the_mtu_is_judged_and_studies_run() {
    let Some(_alone) = alone("over_vxlan", &["ip"]) else { return };
    let (_spaces, scratch) = (vxlan(), Scratch::new("vxlan"));
    let doctor = run(&scratch, "switch", &["doctor", "--json", "--quiet"]);
    assert!(
        stderr_of(&doctor).contains("vxlan, 1450: costs 3.5 % of the payload rate beside the 1500")
    );
    let tcp = ["tcp", "-t", "0.3", "-O", "0.1", "--blocks", "2", "--json", "--quiet"];
    assert!(values(&run(&scratch, "switch", &tcp), "goodput", |_| true).len() >= 4);
    // The path below is shorter than the tunnel was made for.
    ip(&["-n", &space("left"), "link", "set", "eth1", "mtu", "1480"]);
    let doctor = run(&scratch, "switch", &["doctor", "--json", "--quiet"]);
    assert!(stderr_of(&doctor).contains("ip link set dev tun0 mtu 1430"));
}
