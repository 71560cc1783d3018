//! What agents cost their controller: one fabric trial on racks of more and more hosts, each a
//! network namespace of this machine, at one bridge.
//!
//! Asserts that every agent starts and answers. The trial's own figures are not looked at: on a few
//! processors so many hosts send when they can. Namespaces go when the rack is dropped.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use journal::Store;

use super::largest_kib;
use crate::harness::{Scratch, alone, switchmark};

/// Hosts in a rack.
const RACKS: [usize; 4] = [2, 50, 100, 200];

/// Hosts in namespaces of their own, and a bridge in one more.
struct Rack {
    hosts: Vec<String>,
    bridge: String,
}

impl Rack {
    fn new(hosts: usize) -> Self {
        let name = |what: &str| format!("smb{}{what}", std::process::id());
        let hosts = (1..=hosts).map(|number| name(&format!("h{number}"))).collect();
        let this = Self { hosts, bridge: name("sw") };
        let mut lines = format!("netns add {}\n", this.bridge);
        for host in &this.hosts {
            let _ = writeln!(lines, "netns add {host}");
        }
        ip(None, &lines);
        let mut lines = "link add br0 type bridge\nlink set br0 up\n".to_owned();
        for (host, port) in this.hosts.iter().zip(1..) {
            let _ = writeln!(lines, "link add p{port} type veth peer name eth1 netns {host}");
            let _ = writeln!(lines, "link set p{port} master br0 up");
        }
        ip(Some(&this.bridge), &lines);
        for (at, host) in this.hosts.iter().enumerate() {
            let lines = format!("addr add {} dev eth1\nlink set eth1 up\n", address(at));
            ip(Some(host), &lines);
        }
        this
    }

    /// The testbed file.
    fn testbed(&self) -> String {
        let mut text = "[[device]]\nname = \"sw\"\nkind = \"switch\"\n".to_owned();
        for (at, host) in self.hosts.iter().enumerate() {
            let (number, address) = (at + 1, address(at));
            let _ = write!(
                text,
                "[[host]]\nname = \"h{number}\"\nreach = \"netns:{host}\"\n[[host.port]]\n\
                 name = \"eth1\"\naddress = \"{address}\"\ncable = \"sw/{number}\"\n"
            );
        }
        text
    }
}

impl Drop for Rack {
    fn drop(&mut self) {
        for name in self.hosts.iter().chain([&self.bridge]) {
            let _ = Command::new("ip").args(["netns", "del", name]).status();
        }
    }
}

fn address(at: usize) -> String {
    format!("198.18.{}.{}/16", at / 250, at % 250 + 1)
}

/// Commands of ip, one a line, in a namespace.
fn ip(namespace: Option<&str>, lines: &str) {
    let mut command = Command::new("ip");
    if let Some(name) = namespace {
        command.args(["-n", name]);
    }
    let mut child = command.args(["-batch", "-"]).stdin(Stdio::piped()).spawn().expect("ip starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(lines.as_bytes()).expect("ip reads");
    drop(stdin);
    assert!(child.wait().expect("ip ends").success(), "{lines}");
}

/// What the controller and its agents took.
#[derive(Default)]
struct Load {
    wall: Duration,
    controller: Duration,
    controller_kib: u64,
    agents: Duration,
    largest_agent_kib: u64,
    most_agents: usize,
}

/// Processor time by `/proc/PID/stat`: user's and system's, and those of children that have ended.
fn spent(process: u32) -> Option<[Duration; 2]> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let fields: Vec<u64> =
        stat.rsplit_once(')')?.1.split_whitespace().map(|f| f.parse().unwrap_or(0)).collect();
    // Ticks are a hundredth of a second on every Linux that this runs on.
    let of = |at: usize| Some(Duration::from_millis(10 * (fields.get(at)? + fields.get(at + 1)?)));
    Some([of(11)?, of(13)?])
}

fn children(process: u32) -> Vec<u32> {
    let mut all = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
        let told = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        all.extend(told.split_whitespace().filter_map(|id| id.parse::<u32>().ok()));
    }
    all
}

fn watched(mut child: Child) -> Load {
    let begun = Instant::now();
    let mut load = Load::default();
    let status = loop {
        if let Some([own, ended]) = spent(child.id()) {
            (load.controller, load.agents) = (own, ended.max(load.agents));
            load.controller_kib = largest_kib(child.id()).unwrap_or(0).max(load.controller_kib);
        }
        let agents = children(child.id());
        load.most_agents = load.most_agents.max(agents.len());
        for agent in agents.iter().step_by(20) {
            load.largest_agent_kib = largest_kib(*agent).unwrap_or(0).max(load.largest_agent_kib);
        }
        if let Some(status) = child.try_wait().expect("it can be asked") {
            break status;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    // 3: some trials were invalid, as so many hosts on few processors make them.
    assert!(matches!(status.code(), Some(0 | 3)), "it ended with {status}");
    load.wall = begun.elapsed();
    load
}

fn fabric(testbed: &Path, hosts: usize, store: &Path) -> Child {
    Command::new(switchmark())
        .args(["fabric", "--testbed"])
        .arg(testbed)
        .args(["--arrangement", "neighbours", "--message", "1KiB", "--messages", "1KiB"])
        .args(["-t", "200ms", "--blocks", "1", "--quiet", "--nodes", &hosts.to_string(), "--store"])
        .arg(store)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("switchmark starts")
}

#[test]
#[ignore = "a benchmark: cargo xtask bench"]
fn agents() {
    let Some(_alone) = alone("agents", &["ip"]) else { return };
    let scratch = Scratch::new("agents");
    println!(
        "{:>6} {:>7} {:>8} {:>14} {:>10} {:>14} {:>10}",
        "agents", "trials", "wall s", "controller s", "its MB", "each agent s", "its MB"
    );
    for hosts in RACKS {
        let rack = Rack::new(hosts);
        let (testbed, store) = (scratch.path("rack.toml"), scratch.path(&format!("{hosts}.db")));
        std::fs::write(&testbed, rack.testbed()).expect("writable");
        let load = watched(fabric(&testbed, hosts, &store));
        let runs = Store::open(&store).and_then(|store| store.runs()).expect("a store");
        let trials = runs.last().map_or(0, |run| run.trials);
        let mb = |kib: u64| kib as f64 * 1024.0 / 1e6;
        println!(
            "{hosts:>6} {trials:>7} {:>8.2} {:>14.2} {:>10.1} {:>14.3} {:>10.1}",
            load.wall.as_secs_f64(),
            load.controller.as_secs_f64(),
            mb(load.controller_kib),
            load.agents.as_secs_f64() / hosts as f64,
            mb(load.largest_agent_kib),
        );
        assert!(load.most_agents >= hosts, "{} of {hosts} agents", load.most_agents);
        assert!(trials >= 1);
    }
}
