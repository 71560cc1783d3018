//! A host and its ports as their kernel tells of them, and the one list that a journal keeps of it.
//!
//! Data only. What can't be read is absent: a fact is never guessed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Facts of a host and, by interface, of its ports.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostFacts {
    /// The kernel and the processors below it.
    pub machine: MachineFacts,
    /// Ports that could be read.
    pub ports: BTreeMap<String, PortFacts>,
}

/// Facts of a kernel and of its processors. A field's name is its key in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MachineFacts {
    /// `6.1.0-26-amd64`
    pub kernel: Option<String>,
    /// `#1 SMP PREEMPT_DYNAMIC Debian …`
    pub kernel_build: Option<String>,
    /// `1` on a real-time kernel.
    pub realtime_kernel: Option<String>,
    /// The machine's own name.
    pub hostname: Option<String>,
    /// Another at each start of the machine: hosts of one machine have the same, whatever they are
    /// called and however they are reached.
    pub boot_id: Option<String>,
    /// `tsc`
    pub clocksource: Option<String>,
    /// The first processor's: `performance`.
    pub governor: Option<String>,
    /// The product, as firmware names it.
    pub machine: Option<String>,
    /// The default algorithm: `cubic`.
    pub tcp_congestion_control: Option<String>,
    /// `1` where TCP stamps its segments.
    pub tcp_timestamps: Option<String>,
    /// The largest receive buffer, in octets.
    pub rmem_max: Option<String>,
    /// The largest send buffer, in octets.
    pub wmem_max: Option<String>,
    /// Frames that may wait for a processor.
    pub netdev_max_backlog: Option<String>,
    /// The first processor's model.
    pub cpu_model: Option<String>,
    /// Processors of the machine.
    pub cpus: Option<usize>,
    /// True where the processors are a hypervisor's.
    pub hypervisor: Option<bool>,
    /// Processors that the agent may use.
    pub cpus_allowed: Option<usize>,
    /// The agent's own version.
    pub agent_version: Option<String>,
}

/// Facts of a port. A field's name is its key in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PortFacts {
    /// The largest IP packet, in octets.
    pub mtu: Option<u32>,
    /// True while the link is up.
    pub running: Option<bool>,
    /// `02:00:00:00:00:01`
    pub mac: Option<String>,
    /// `ixgbe`, `veth`
    pub driver: Option<String>,
    /// Receive queues.
    pub queues_rx: Option<usize>,
    /// Send queues.
    pub queues_tx: Option<usize>,
    /// Its interrupts and the processors that take them: `24 on 0; 25 on 0-1`.
    pub interrupts: Option<String>,
    /// By the kernel's name, each feature that merges or splits frames.
    #[serde(flatten)]
    pub offloads: BTreeMap<String, Feature>,
}

/// State of an offload feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// Frames may be merged or split.
    On,
    /// A frame stays a frame.
    Off,
}

impl HostFacts {
    /// One list of all: `kernel`, `eth1.mtu`.
    pub fn to_list(&self) -> BTreeMap<String, String> {
        let mut list = fields("", &self.machine);
        for (port, facts) in &self.ports {
            list.append(&mut fields(&format!("{port}."), facts));
        }
        list
    }
}

/// A struct's fields by their names behind `prefix`, those that are known.
fn fields(prefix: &str, facts: &impl Serialize) -> BTreeMap<String, String> {
    let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(facts) else {
        return BTreeMap::new();
    };
    let text = |(name, value): (String, serde_json::Value)| {
        let value = match value {
            serde_json::Value::Null => return None,
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        };
        Some((format!("{prefix}{name}"), value))
    };
    fields.into_iter().filter_map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_what_is_known() {
        let port = PortFacts {
            mtu: Some(1500),
            running: Some(true),
            offloads: [("rx-gro".to_owned(), Feature::Off)].into(),
            ..PortFacts::default()
        };
        let facts = HostFacts {
            machine: MachineFacts { kernel: Some("6.1".to_owned()), ..MachineFacts::default() },
            ports: [("eth1".to_owned(), port)].into(),
        };
        let list: Vec<String> =
            facts.to_list().into_iter().map(|(key, value)| format!("{key} {value}")).collect();
        assert_eq!(list, ["eth1.mtu 1500", "eth1.running true", "eth1.rx-gro off", "kernel 6.1"]);
        let wire = serde_json::to_string(&facts).expect("JSON");
        assert_eq!(serde_json::from_str::<HostFacts>(&wire).expect("facts"), facts);
    }
}
