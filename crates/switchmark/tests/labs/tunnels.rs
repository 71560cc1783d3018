//! Tunnels as test ports: a TUN device without a MAC address, whose own queue drops, and VXLAN.
//!
//! Needs root, iproute2 and, for the TUN device's far end, python3.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;
use serde_json::Value;

use crate::harness::spaces::{Spaces, call, ip, space};
use crate::harness::{Scratch, alone, find, full, json, switchmark};

/// Line behind a TUN device.
#[derive(Debug, Clone, Copy)]
struct Line {
    /// Bits a second of IP packets.
    rate: f64,
    delay_ms: u32,
    mtu: u32,
    /// Longest packet that it carries.
    longest: u32,
}

const LINE: Line = Line { rate: 20e6, delay_ms: 2, mtu: 1420, longest: 65_535 };
/// Longest packet of a line with a black hole.
const HOLE: u32 = 1300;

const HOSTS: [&str; 3] = ["left", "right", "third"];

/// Hosts joined by TUN devices; the line's program ends when dropped.
struct Tun {
    relay: Child,
    _spaces: Spaces,
}

impl Tun {
    /// Joins so many hosts; their addresses are in this subnet.
    fn new(line: Line, hosts: usize, subnet: &str) -> Self {
        let hosts = &HOSTS[..hosts];
        let spaces = Spaces::new(hosts);
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/labs/tunnels/relay.py");
        let mut relay = Command::new(find("python3").expect("looked for before"))
            .arg(script)
            .args([line.rate.to_string(), line.delay_ms.to_string(), line.longest.to_string()])
            .args(hosts.iter().map(|host| space(host)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 starts");
        let mut said = String::new();
        BufReader::new(relay.stdout.take().expect("piped")).read_line(&mut said).expect("reads");
        let this = Self { relay, _spaces: spaces };
        assert_eq!(said, "ready\n");
        for (host, number) in hosts.iter().zip(1..) {
            let host = space(host);
            let address = format!("{subnet}.{number}/24");
            ip(&["-n", &host, "address", "add", &address, "dev", "tun0"]);
            // A short queue, so that it overflows within a short trial.
            let mtu = line.mtu.to_string();
            let up = ["set", "dev", "tun0", "mtu", &mtu, "txqueuelen", "50", "up"];
            ip(&[&["-n", &host, "link"][..], &up].concat());
        }
        this
    }

    /// Hosts joined by VXLAN over such devices: as its own MTU, it has the line's.
    fn vxlan(line: Line, hosts: usize) -> Self {
        let below = Line { mtu: line.mtu + VXLAN_OCTETS, ..line };
        let this = Self::new(below, hosts, "198.18.2");
        for (host, number) in HOSTS[..hosts].iter().zip(1..) {
            let host = space(host);
            let local = format!("198.18.2.{number}");
            let kind = ["type", "vxlan", "id", "7", "dev", "tun0", "local", &local];
            let link = ["-n", &host, "link", "add", "vx0"];
            ip(&[&link[..], &kind, &["dstport", "4789"]].concat());
            for other in (1..=hosts).filter(|other| *other != number) {
                let remote = format!("198.18.2.{other}");
                let to = ["append", "00:00:00:00:00:00", "dev", "vx0", "dst", &remote];
                call("bridge", &[&["-n", &host, "fdb"][..], &to].concat());
            }
            let address = format!("198.18.1.{number}/24");
            ip(&["-n", &host, "address", "add", &address, "dev", "vx0"]);
            let mtu = line.mtu.to_string();
            ip(&["-n", &host, "link", "set", "dev", "vx0", "mtu", &mtu, "up"]);
        }
        this
    }
}

/// Octets of VXLAN around an IP packet.
const VXLAN_OCTETS: u32 = 50;

impl Drop for Tun {
    fn drop(&mut self) {
        let _ = self.relay.kill();
        let _ = self.relay.wait();
    }
}

/// Two hosts on a bridge, with VXLAN over it.
pub fn vxlan() -> Spaces {
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

/// Runs a verb on the first two hosts, whose test ports are `tun0` to a device of this kind.
fn run(scratch: &Scratch, kind: &str, args: &[&str]) -> Output {
    run_on(scratch, ("tun0", kind), 2, args)
}

/// Runs a verb on so many hosts, whose test ports have this name, to a device of this kind.
fn run_on(scratch: &Scratch, (port, kind): (&str, &str), hosts: usize, args: &[&str]) -> Output {
    let host = |(number, namespace): (u8, &&str)| {
        format!(
            "[[host]]\nname = \"h{number}\"\nreach = \"netns:{}\"\n[[host.port]]\nname = \"{port}\"\n\
             address = \"198.18.1.{number}/24\"\ncable = \"vpn/{number}\"\n",
            space(namespace)
        )
    };
    let device = format!("[[device]]\nname = \"vpn\"\nkind = \"{kind}\"\n");
    let text = (1..).zip(&HOSTS[..hosts]).map(host).collect::<String>() + &device;
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
    let (_tun, scratch) = (Tun::new(LINE, 2, "198.18.1"), Scratch::new("tun"));
    let tcp = ["tcp", "-t", "0.7", "-O", "0.3", "--blocks", "2", "--json", "--quiet"];
    let output = run(&scratch, "router", &tcp);
    let goodput = values(&output, "goodput", |_| true);
    let most = LINE.rate * f64::from(LINE.mtu - 52) / f64::from(LINE.mtu);
    assert!(goodput.len() >= 4, "{goodput:?}");
    // Both directions together come to twice as much.
    assert!(goodput.iter().all(|rate| *rate > most / 20.0 && *rate < 2.1 * most), "{goodput:?}");
    let flood = ["forwarding", "--flood", "--size", "1438", "-t", "0.3", "--blocks", "2"];
    let output = run(&scratch, "router", &[&flood[..], &["--json", "--quiet"]].concat());
    let frames = |figure: &Value| figure["unit"] == "frames/s";
    let rates = values(&output, "received", frames);
    let line = LINE.rate / 8.0 / f64::from(LINE.mtu);
    assert!(!rates.is_empty() && rates.iter().all(|rate| *rate < 1.1 * line), "{rates:?}");
    let sizes = ["latency", "--protocol", "icmp,udp", "-t", "0.1", "--blocks", "2"];
    let output = run(&scratch, "router", &sizes);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    assert!(stderr_of(&output).contains("1438"), "the longest that the MTU takes");
}

#[test]
fn a_path_mtu_black_hole_is_named() {
    let Some(_alone) = alone("a_path_mtu_black_hole", &["ip", "python3"]) else { return };
    let line = Line { longest: HOLE, ..LINE };
    let (_tun, scratch) = (Tun::new(line, 2, "198.18.1"), Scratch::new("hole"));
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
    beside_the_port_below(&scratch);
    // The path below is shorter than the tunnel was made for.
    ip(&["-n", &space("left"), "link", "set", "eth1", "mtu", "1480"]);
    let doctor = run(&scratch, "switch", &["doctor", "--json", "--quiet"]);
    assert!(stderr_of(&doctor).contains("ip link set dev tun0 mtu 1430"));
}

/// Without a file: the ports keep their addresses, and the path below is the direct cable.
fn beside_the_port_below(scratch: &Scratch) {
    let end = |host: &str, port: &str, address: &str| {
        format!("netns:{}:{port}@198.18.{address}/24", space(host))
    };
    let ends = |port: &str, subnet: u8, between: char| {
        let [one, other] = [("left", 1), ("right", 2)]
            .map(|(host, number)| end(host, port, &format!("{subnet}.{number}")));
        format!("{one}{between}{other}")
    };
    let hosts = format!("{},{}", ends("tun0", 1, ','), ends("eth1", 2, '='));
    let mut command = Command::new(switchmark());
    command.args(["tcp", "-t", "0.3", "-O", "0.1", "--blocks", "2", "--json", "--quiet"]);
    command.args(["--hosts", &hosts, "--store"]).arg(scratch.path("hosts.db"));
    let output = command.output().expect("switchmark starts");
    println!("{}", stderr_of(&output));
    for device in ["dut", "cable"] {
        let of_device = |figure: &Value| figure["where"]["device"] == device;
        assert!(!values(&output, "goodput", of_device).is_empty(), "{device}");
    }
}

/// Studies in a short form each, and the metric of which each has values.
const STUDIES: [(&str, &str, &[&str]); 4] = [
    ("tcp", "goodput", &["-t", "1", "-O", "0.5", "--blocks", "2"]),
    ("latency", "rtt", &["-t", "0.3", "--blocks", "2"]),
    ("forwarding", "received", &["--flood", "-t", "0.3", "--blocks", "2"]),
    ("buffer", "goodput", &["-t", "2", "-O", "0.5", "--blocks", "1"]),
];

/// What is wrong with a study's answer over such a line; `None` if nothing is.
fn fault(output: &Output, metric: &str, line: Line, around: u32) -> Option<String> {
    if !output.status.success() {
        return Some(format!("exit {:?}", output.status.code()));
    }
    let document = json(output);
    let figures = document["figures"].as_array().expect("figures");
    let own: Vec<&Value> = figures.iter().filter(|figure| figure["metric"] == metric).collect();
    let values: Vec<f64> = own.iter().filter_map(|figure| figure["value"].as_f64()).collect();
    if values.len() < own.len() || values.is_empty() {
        return Some(format!("{} of {} have a value", values.len(), own.len()));
    }
    let payload = f64::from(line.mtu - 52) / f64::from(line.mtu + around);
    let (least, most) = match metric {
        // Both directions together come to twice as much.
        "goodput" => (line.rate / 50.0, 2.04 * line.rate * payload),
        "rtt" => (2e6 * f64::from(line.delay_ms), 1e9),
        // Of frames, and a little more than their line carried meanwhile: its queue empties.
        _ => (1.0, 1.05 * line.rate * f64::from(line.mtu + 18) / f64::from(line.mtu)),
    };
    let wrong = values.iter().find(|value| !(least..=most).contains(*value));
    wrong.map(|value| format!("{value} is not within {least}…{most}"))
}

/// Random lines: at least 19 of 20 answers are valid and possible.
#[test]
fn studies_over_random_tunnels_have_answers() {
    const TEST: &str = "studies_over_random_tunnels";
    let Some(_alone) = alone(TEST, &["ip", "bridge", "python3"]) else { return };
    if !full() {
        eprintln!("skipped: {TEST} takes minutes, and runs under SWITCHMARK_TESTS=full");
        return;
    }
    let mut rng = Pcg64::seed_from_u64(20_261_128);
    let mut wrong = Vec::new();
    let mut asked = 0;
    for number in 0..5 {
        for kind in ["tun", "vxlan"] {
            let line = Line {
                rate: rng.random_range(5e6..30e6_f64).round(),
                delay_ms: rng.random_range(0..30),
                mtu: rng.random_range(576..=9000),
                longest: 65_535,
            };
            println!("{number}, {kind}: {line:?}");
            let (tun, scratch) = match kind {
                "tun" => (Tun::new(line, 3, "198.18.1"), Scratch::new("random-tun")),
                _ => (Tun::vxlan(line, 3), Scratch::new("random-vxlan")),
            };
            let (device, around) = if kind == "tun" {
                (("tun0", "router"), 0)
            } else {
                (("vx0", "switch"), VXLAN_OCTETS)
            };
            for (study, metric, args) in STUDIES {
                let hosts = if study == "buffer" { 3 } else { 2 };
                let load = format!("{:.0}bit", line.rate / 5.0);
                let own = if study == "buffer" { &["--background", &*load][..] } else { &[] };
                let args =
                    [&[study][..], args, own, &["--seed", "1", "--json", "--quiet"]].concat();
                let output = run_on(&scratch, device, hosts, &args);
                asked += 1;
                let found = fault(&output, metric, line, around);
                println!("{number}, {kind}, {study}: {}", found.as_deref().unwrap_or("right"));
                wrong
                    .extend(found.map(|why| format!("{number}, {kind}, {study}: {line:?}: {why}")));
            }
            drop(tun);
        }
    }
    println!("{} of {asked} are right", asked - wrong.len());
    assert!(20 * wrong.len() <= asked, "{}", wrong.join("\n"));
}
