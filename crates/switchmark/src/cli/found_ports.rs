//! Ports of hosts of which no file tells, and where their cables lead.
//!
//! Owns what a look at hosts means. Never reaches a host, and never guesses where a cable leads
//! that no frame came through.

mod cables;

use std::net::Ipv4Addr;

use agents::controller::Surroundings;
use agents::protocol::{Kept, NicFacts};
use trial::topology::PortRef;

pub use cables::Leads;

/// A host's port, and the findings on it.
pub struct Port<'a> {
    /// Host and interface.
    pub at: PortRef,
    /// The kernel's facts about the interface.
    pub nic: &'a NicFacts,
    /// Far end of the cable; `None` if the port was left alone.
    pub leads: Option<Leads>,
}

impl Port<'_> {
    /// Number of the device at which the port is; `None` if it is at none.
    pub const fn device(&self) -> Option<usize> {
        match self.leads {
            Some(Leads::Device { device, .. }) => Some(device),
            _ => None,
        }
    }

    /// Returns why the port was left alone; `None` if it was not.
    pub fn reason_left(&self) -> Option<String> {
        let kept = self.nic.kept.as_ref().filter(|_| self.leads.is_none())?;
        Some(match kept {
            Kept::Launcher => "left alone: this host is reached by it".to_owned(),
            Kept::PartOf(bridge) => format!("left alone: part of {bridge}"),
            Kept::DefaultRoute => "left alone: the default route leaves by it".to_owned(),
            Kept::PerhapsLauncher => {
                "left alone: the default route leaves by it, and perhaps this host is reached by it"
                    .to_owned()
            }
        })
    }
}

/// Returns all ports that were found, in the order of the hosts.
pub fn all(seen: &Surroundings) -> Vec<Port<'_>> {
    let leads = cables::leads(&seen.proofs);
    let mut all = Vec::new();
    for (host, nics) in &seen.nics {
        for nic in nics {
            let at = PortRef { host: host.clone(), port: nic.name.clone() };
            let proven = seen.proofs.iter().position(|proof| proof.port == at);
            let leads = match (&nic.kept, proven) {
                (Some(_), _) => None,
                (None, Some(number)) => Some(leads[number].clone()),
                (None, None) => Some(Leads::Nowhere),
            };
            all.push(Port { at, nic, leads });
        }
    }
    all
}

/// Returns each host's first port at the device where most hosts have one. Fails with the reason if
/// a host has none there.
pub fn at_one_device<'a>(
    hosts: &[&str],
    ports: &'a [Port<'_>],
) -> Result<Vec<&'a PortRef>, String> {
    let at_device = |host: &str, device: usize| {
        let mut own = ports.iter().filter(|port| port.at.host == host);
        own.find(|port| port.device() == Some(device)).map(|port| &port.at)
    };
    let count =
        |device: usize| hosts.iter().filter(|host| at_device(host, device).is_some()).count();
    let devices = 1..=ports.iter().filter_map(Port::device).max().unwrap_or(0);
    // Of two with as many hosts, the first.
    let Some(device) = devices.rev().max_by_key(|device| count(*device)) else {
        return Err("no port of these hosts hears another's frames at a device".to_owned());
    };
    let port = |host: &&str| {
        let missing = || format!("`{host}` has no port at the device where the others have one");
        at_device(host, device).ok_or_else(missing)
    };
    hosts.iter().map(port).collect()
}

/// Returns each host's port in the subnet of the fastest ports that all hosts share: the choice
/// where no frame may be sent. Fails with the reason if they share none.
pub fn in_one_subnet<'a>(
    hosts: &[&str],
    ports: &'a [Port<'_>],
) -> Result<Vec<&'a PortRef>, String> {
    let free = || ports.iter().filter(|port| port.nic.kept.is_none() && port.nic.link.carrier);
    let in_subnet = |host: &str, subnet: Subnet| {
        free().find(|port| port.at.host == host && subnets(port).any(|own| own == subnet))
    };
    let mut best: Option<(u32, Vec<&PortRef>)> = None;
    for subnet in free().filter(|port| Some(&&*port.at.host) == hosts.first()).flat_map(subnets) {
        let own: Option<Vec<&Port<'_>>> =
            hosts.iter().map(|host| in_subnet(host, subnet)).collect();
        let Some(own) = own else { continue };
        let slowest = own.iter().filter_map(|port| port.nic.speed_mbits).min().unwrap_or(0);
        if best.as_ref().is_none_or(|(speed, _)| slowest > *speed) {
            best = Some((slowest, own.into_iter().map(|port| &port.at).collect()));
        }
    }
    let none = "no subnet has a free port of every host, and no frame may be sent to see which \
                belong together";
    best.map(|(_, ports)| ports).ok_or_else(|| none.to_owned())
}

/// Subnet of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Subnet {
    /// Bits of its lowest address.
    first: u32,
    /// Length of its prefix, in bits.
    prefix: u32,
}

/// IPv4 subnets of a port's addresses, which are written as `192.0.2.7/24`.
fn subnets(port: &Port<'_>) -> impl Iterator<Item = Subnet> {
    port.nic.addresses.iter().filter_map(|text| {
        let (address, prefix) = text.split_once('/')?;
        let (address, prefix): (Ipv4Addr, u32) = (address.parse().ok()?, prefix.parse().ok()?);
        let mask = u32::MAX.checked_shl(32_u32.checked_sub(prefix)?).unwrap_or(0);
        Some(Subnet { first: address.to_bits() & mask, prefix })
    })
}

#[cfg(test)]
mod tests {
    use agents::protocol::Link;

    use super::*;

    #[test]
    fn ports_of_one_subnet_belong_together() {
        let check = |lines: &[&str], expected: Result<&[&str], &str>| {
            let nics: Vec<NicFacts> = lines.iter().map(|line| nic(line)).collect();
            let port = |(line, nic): (&&str, _)| {
                let at = line.split(' ').next().expect("a port").parse().expect("a port");
                Port { at, nic, leads: None }
            };
            let ports: Vec<Port<'_>> = lines.iter().zip(&nics).map(port).collect();
            let told = in_one_subnet(&["a", "b"], &ports);
            let told = told.map(|ports| ports.iter().map(ToString::to_string).collect());
            match expected {
                Ok(expected) => assert_eq!(told, Ok(names(expected)), "{lines:?}"),
                Err(why) => assert!(told.expect_err("none").contains(why), "{lines:?}"),
            }
        };
        let none = Err("no subnet has a free port of every host");
        check(&["a/1 10.0.0.1/24", "b/1 10.0.0.2/24"], Ok(&["a/1", "b/1"]));
        check(&["a/1 10.0.0.1/24", "b/1 10.0.1.2/24"], none);
        check(&["a/1 10.0.0.1/24", "b/1 10.0.0.2/16"], none);
        check(&["a/0 10.0.0.1/24 kept", "a/1 10.1.0.1/24", "b/0 10.0.0.2/24"], none);
        check(&["a/1 10.0.0.1/24", "b/1 10.0.0.2/24 down"], none);
        let slow = ["a/0 10.0.0.1/24 1000", "b/0 10.0.0.2/24 1000"];
        let fast = ["a/1 10.1.0.1/24 10000", "b/1 10.1.0.2/24 10000"];
        check(&[slow, fast].concat(), Ok(&["a/1", "b/1"]));
        check(&[fast, slow].concat(), Ok(&["a/1", "b/1"]));
    }

    fn names(all: &[&str]) -> Vec<String> {
        all.iter().map(|name| (*name).to_owned()).collect()
    }

    /// Port of a line: `a/1 10.0.0.1/24 1000`, with its speed, `kept` or `down`.
    fn nic(line: &str) -> NicFacts {
        let words: Vec<&str> = line.split(' ').collect();
        let carrier = !words.contains(&"down");
        NicFacts {
            link: Link { carrier, ..Link::default() },
            speed_mbits: words.last().and_then(|word| word.parse().ok()),
            addresses: vec![words[1].to_owned()],
            kept: words.contains(&"kept").then_some(Kept::Launcher),
            ..NicFacts::default()
        }
    }

    /// Ports `h1/eth1 1`: at which device each is, or `-`.
    fn chosen(hosts: &[&str], lines: &[&str]) -> Result<Vec<String>, String> {
        let nic = NicFacts::default();
        let port = |line: &&str| {
            let (at, device) = line.split_once(' ').expect("a blank");
            let device = device.parse().ok();
            let leads = device.map(|device| Leads::Device { device, port: 1 });
            Port { at: at.parse().expect("a port"), nic: &nic, leads }
        };
        let ports: Vec<Port<'_>> = lines.iter().map(port).collect();
        let chosen = at_one_device(hosts, &ports)?;
        Ok(chosen.into_iter().map(ToString::to_string).collect())
    }

    #[test]
    fn each_host_has_one_port_at_the_device_of_most() {
        let check = |lines: &[&str], expected: Result<&[&str], &str>| {
            let told = chosen(&["a", "b", "c"], lines);
            match expected {
                Ok(expected) => assert_eq!(told.expect("ports"), expected, "{lines:?}"),
                Err(why) => assert!(told.expect_err("none").contains(why), "{lines:?}"),
            }
        };
        check(&["a/1 1", "b/1 1", "c/1 1"], Ok(&["a/1", "b/1", "c/1"]));
        check(&["a/0 -", "a/1 1", "a/2 1", "b/1 1", "c/9 1"], Ok(&["a/1", "b/1", "c/9"]));
        check(&["a/1 1", "a/2 2", "b/1 1", "b/2 2", "c/2 2"], Ok(&["a/2", "b/2", "c/2"]));
        check(&["a/2 2", "a/1 1", "b/1 1", "b/2 2", "c/1 1", "c/2 2"], Ok(&["a/1", "b/1", "c/1"]));
        check(&["a/1 1", "b/1 1", "c/0 -"], Err("`c` has no port"));
        check(&["a/1 -", "b/1 -"], Err("no port of these hosts hears another's frames"));
    }
}
