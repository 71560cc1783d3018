//! What the testbed is, for the record: every host's and device port's own facts.
//!
//! Owns one shape for all of them. Never measures.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::protocol::HostFacts;

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

impl Facts {
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
