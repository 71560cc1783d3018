//! Hosts at a switch, and a scripted person who moves the cable of one of them.
//!
//! Owns the switch (two of the kernel's bridges joined by limited links) and the person, who does
//! what is asked for on standard error and says so with a line. Never answers before the cable is
//! moved.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;

use lab::{BridgesSpec, Lab, LabDevice, LabSpec};
use measure::Rate;

use super::harness::{Scratch, switchmark};

pub struct Bench {
    lab: Lab,
    folder: PathBuf,
    /// Whose namespaces the hosts are reached by.
    sleepers: Vec<Child>,
}

impl Bench {
    /// An uplink carries what one port does: two flows fill it.
    pub fn new(scratch: &Scratch) -> Self {
        let rate = Rate(40_000_000);
        let device = LabDevice::Bridges(BridgesSpec { groups: 2, uplink: Some(rate) });
        let spec = LabSpec { hosts: 4, rate: Some(rate), mtu: 1500, ..LabSpec::new(device) };
        let lab = Lab::build(&spec).expect("the lab comes up");
        let mut sleepers = Vec::new();
        let mut text = "[[device]]\nname = \"sw1\"\nkind = \"switch\"\n".to_owned();
        for (number, host) in (1..).zip(&lab.plan().hosts) {
            let mut sleep = Command::new("sleep");
            sleep.arg("3600").stdin(Stdio::null()).stdout(Stdio::null());
            let sleeper = lab.spawn(&host.name, &mut sleep).expect("it sleeps");
            let (name, pid, address) = (&host.name, sleeper.id(), host.ports[0].address);
            let _ = write!(
                text,
                "[[host]]\nname = \"{name}\"\nreach = \"pid:{pid}\"\n[[host.port]]\nname = \"eth1\"\n\
                 address = \"{address}/24\"\ncable = \"sw1/{number}\"\nrate = \"40Mbit\"\n"
            );
            sleepers.push(sleeper);
        }
        let folder = scratch.folder().to_owned();
        std::fs::write(folder.join("bench.toml"), text).expect("a testbed file");
        Self { lab, folder, sleepers }
    }

    /// Runs switchmark beside a person who goes away after so many steps. How many were asked for,
    /// and all that was said.
    pub fn person(&mut self, args: &[&str], steps: Option<usize>) -> (usize, String) {
        let mut command = Command::new(switchmark());
        command.args(args).args(["--quiet", "--json", "--store", "journal.db"]);
        command.current_dir(&self.folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("switchmark starts");
        let mut answers = child.stdin.take();
        let mut stdout = child.stdout.take().expect("piped");
        let figures = thread::spawn(move || {
            let mut text = String::new();
            let _ = stdout.read_to_string(&mut text);
            text
        });
        let words = BufReader::new(child.stderr.take().expect("piped"));
        let (mut asked, mut said) = (0, String::new());
        for line in words.lines().map_while(Result::ok) {
            let _ = writeln!(said, "{line}");
            if !line.starts_with("step ") {
                continue;
            }
            asked += 1;
            if steps.is_some_and(|steps| asked > steps) {
                answers = None;
                continue;
            }
            self.join(&line);
            let answer = answers.as_mut().expect("nobody left yet").write_all(b"\n");
            answer.expect("it listens");
        }
        child.wait().expect("it ends");
        (asked, said + &figures.join().expect("no panic"))
    }

    /// `step 1: join h1/eth1 and h2/eth1 directly…`: both at one bridge, which is as near to a
    /// cable as two interfaces in one namespace come; at the device the second is beyond the
    /// uplink.
    fn join(&self, step: &str) {
        let group = if step.contains(": join ") { "group1" } else { "group2" };
        self.lab
            .netlink("bridges", |kernel| {
                let (port, bridge) = (kernel.link("p2")?.index, kernel.link(group)?.index);
                kernel.set_master(port, bridge)
            })
            .expect("the cable moves");
        // As a link that comes up does, it lets the switch learn where the host is now.
        let speak = || {
            let socket = UdpSocket::bind(("0.0.0.0", 0)).expect("a socket");
            socket.set_broadcast(true).expect("it may");
            socket.send_to(b"here", "198.18.0.255:9").expect("all hear it");
        };
        self.lab.inside("h2", speak).expect("the host is there");
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        for sleeper in &mut self.sleepers {
            let _ = sleeper.kill();
            let _ = sleeper.wait();
        }
    }
}
