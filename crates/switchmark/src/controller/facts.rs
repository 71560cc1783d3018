//! What the testbed is, for the record: every host's and device port's own facts.
//!
//! Owns one shape for all of them. Never measures.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::protocol::{BOOT_ID, HostFacts};

/// Everything known of where trials run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Facts {
    /// Hosts and device are namespaces of one machine, and disturb each other
    /// ([`page::Caveat::SharedMachine`]).
    pub shared_machine: bool,
    /// By host name.
    pub hosts: BTreeMap<String, HostFacts>,
    /// By device name, of devices that are this machine's own, or tell of themselves.
    pub devices: BTreeMap<String, HostFacts>,
}

/// Ports that no hardware stands behind: where they lead to is the same machine.
const VIRTUAL: [&str; 5] = ["veth", "tun", "macvlan", "macvtap", "ipvlan"];

impl Facts {
    /// Whether two hosts are one machine, and what is between them is that too: no port of theirs
    /// is hardware. Which boot it was is no fact to keep: it differs from day to day.
    pub fn take_machines(&mut self) -> bool {
        let mut boots: BTreeMap<String, usize> = BTreeMap::new();
        for facts in self.hosts.values_mut() {
            let Some(boot) = facts.host.remove(BOOT_ID) else { continue };
            let driver = |port: &BTreeMap<String, String>| port.get("driver").cloned();
            let virtual_port = |port: &BTreeMap<String, String>| {
                driver(port).is_none_or(|driver| VIRTUAL.contains(&driver.as_str()))
            };
            if facts.ports.values().any(virtual_port) {
                *boots.entry(boot).or_default() += 1;
            }
        }
        boots.values().any(|hosts| *hosts > 1)
    }

    /// As one list: `testbed.shared_machine`, `h1.kernel`, `h1/eth1.mtu`, `bridge/p1.rx-gro`…
    pub fn flat(&self) -> BTreeMap<String, String> {
        let mut flat = BTreeMap::new();
        flat.insert("testbed.shared_machine".to_owned(), self.shared_machine.to_string());
        for (name, facts) in self.hosts.iter().chain(&self.devices) {
            for (key, value) in &facts.host {
                flat.insert(format!("{name}.{key}"), value.clone());
            }
            for (port, facts) in &facts.ports {
                for (key, value) in facts {
                    flat.insert(format!("{name}/{port}.{key}"), value.clone());
                }
            }
        }
        flat
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_one_machine() {
        let host = |boot: &str, driver: &str| HostFacts {
            host: [(BOOT_ID.to_owned(), boot.to_owned())].into(),
            ports: [("eth1".to_owned(), [("driver".to_owned(), driver.to_owned())].into())].into(),
        };
        for (hosts, shared) in [
            ([("a", "veth"), ("a", "veth")], true),
            ([("a", "veth"), ("b", "veth")], false),
            // A machine with two cards beside a switch: the switch has its own processors.
            ([("a", "igb"), ("a", "igb")], false),
            ([("a", "veth"), ("a", "igb")], false),
        ] {
            let names = ["h1", "h2"].map(str::to_owned);
            let told = names.into_iter().zip(hosts.map(|(boot, driver)| host(boot, driver)));
            let mut facts = Facts { hosts: told.collect(), ..Facts::default() };
            assert_eq!(facts.take_machines(), shared, "{hosts:?}");
            assert!(facts.hosts.values().all(|facts| facts.host.is_empty()), "none is kept");
        }
    }
}
