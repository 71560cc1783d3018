//! Random fabrics of namespaces and bridges with one thing wrong: a host, a bridge's port or an
//! uplink between two bridges limited by tbf, or frames of one host dropped at random by nft. The
//! fabric study names the port, and never the bridge for what is a host's.
//!
//! Needs root, tc and nft. Owns the draw and the score; the truth is what was set up. Seeds are
//! printed; `SWITCHMARK_FABRICS` asks for some, as a number or as seeds (`40..60`).

use std::collections::BTreeSet;
use std::ops::Range;

use lab::{BridgesSpec, LabDevice, LabSpec};
use measure::{Nanos, Rate};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;

use super::fabric::{Said, open, said};
use super::harness::{Guest, alone, full};

const RATE: u64 = 100_000_000;

/// What is wrong.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// A host sends at this rate, in kbit/s.
    Host(u64),
    /// The bridge's port sends to its host at this rate, in kbit/s.
    Port(u64),
    /// An uplink carries so many bits a second.
    Uplink(u64),
    /// So many frames in 10,000 to a host are dropped there, or those from it at the bridge's port.
    Drops { share: u32, sends: bool },
}

/// Fabric with a known fault.
#[derive(Debug)]
struct Fabric {
    seed: u64,
    hosts: u16,
    bypass: bool,
    /// Number of the host at fault, from 1; no host's for an uplink.
    host: u16,
    fault: Fault,
}

impl Fabric {
    fn draw(seed: u64) -> Self {
        let mut chance = Pcg64::seed_from_u64(seed);
        let hosts = chance.random_range(5..=8);
        let limited = chance.random_range(0.5..0.92) * RATE as f64;
        let fault = match chance.random_range(0..4) {
            0 => Fault::Host(limited as u64 / 1000),
            1 => Fault::Port(limited as u64 / 1000),
            2 => Fault::Uplink((limited * f64::from(hosts / 2)) as u64),
            _ => Fault::Drops { share: chance.random_range(50..300), sends: chance.random() },
        };
        Self { seed, hosts, bypass: chance.random(), host: chance.random_range(1..=hosts), fault }
    }

    /// Port at fault.
    fn guilty(&self) -> BTreeSet<String> {
        let is_port = !matches!(self.fault, Fault::Uplink(_));
        is_port.then(|| format!("h{}/eth1", self.host)).into_iter().collect()
    }

    fn run(&self) -> Said {
        let device = match self.fault {
            Fault::Uplink(rate) => {
                LabDevice::Bridges(BridgesSpec { groups: 2, uplink: Some(Rate(rate)) })
            }
            _ => LabDevice::Bridge,
        };
        let (rate, name) = (Some(Rate(RATE)), format!("lab:{}", device.as_str()));
        let lab = LabSpec {
            hosts: self.hosts,
            rate,
            mtu: 1500,
            bypass: self.bypass,
            ..LabSpec::new(device)
        };
        let mut testbed = open(&name, lab);
        let (host, port) = (format!("h{}", self.host), format!("p{}", self.host));
        let run = |node: &str, program: &str, words: &str| {
            let words: Vec<&str> = words.split(' ').collect();
            Guest::run(&testbed, node, program, &words);
        };
        let bucket = |port: &str, rate: u64| {
            format!("qdisc replace dev {port} root tbf rate {rate}kbit burst 16k limit 256k")
        };
        match self.fault {
            Fault::Host(rate) => run(&host, "tc", &bucket("eth1", rate)),
            Fault::Port(rate) => run("bridge", "tc", &bucket(&port, rate)),
            Fault::Uplink(_) => {}
            Fault::Drops { share, sends } => {
                let (node, port) = if sends { ("bridge", &*port) } else { (&*host, "eth1") };
                run(node, "nft", "add table netdev t");
                let hook = format!("{{ type filter hook ingress device {port} priority 0; }}");
                run(node, "nft", &format!("add chain netdev t c {hook}"));
                let rule = format!("numgen random mod 10000 < {share} drop");
                run(node, "nft", &format!("add rule netdev t c ether type != arp {rule}"));
            }
        }
        said(&mut testbed, Nanos::from_millis(200))
    }
}

/// Seeds that are asked for, otherwise so many.
fn seeds(usual: u64) -> Range<u64> {
    let Ok(asked) = std::env::var("SWITCHMARK_FABRICS") else { return 0..usual };
    let (first, end) = asked.split_once("..").unwrap_or(("0", &asked));
    let number = |text: &str| text.parse().expect("`50` or `40..50`");
    number(first)..number(end)
}

#[test]
fn the_port_at_fault_is_named_and_no_bridge_for_a_host() {
    let test = "the_port_at_fault_is_named_and_no_bridge_for_a_host";
    let Some(_alone) = alone(test, &["tc", "nft"]) else { return };
    let (mut fabrics, mut wrong) = (0, Vec::new());
    for seed in seeds(if full() { 50 } else { 1 }) {
        let fabric = Fabric::draw(seed);
        let said = fabric.run();
        let of_host = !matches!(fabric.fault, Fault::Uplink(_));
        println!("{fabric:?}: {:?}, answer {:?}", said.named, said.nonblocking);
        if said.named != fabric.guilty() {
            println!("not as it is:\n{}", said.sentences.join("\n"));
            wrong.push(fabric.seed);
        }
        fabrics += 1;
        assert!(!of_host || said.nonblocking != Some(0.0), "the bridge is blamed: {said:?}");
    }
    println!("{} of {fabrics} right; not: {wrong:?}", fabrics - wrong.len());
    // At most one in fifty.
    assert!(wrong.len() * 50 <= fabrics, "{wrong:?} of {fabrics}");
}
