//! Facts about a host and its ports as their kernel reports them, and their list in a journal.
//!
//! Data only. A fact that cannot be read is absent, never guessed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Facts of a host and, by interface, of its ports.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostFacts {
    /// Facts about the kernel and its processors.
    pub machine: MachineFacts,
    /// Facts about the ports that could be read.
    pub ports: BTreeMap<String, PortFacts>,
}

/// Facts of a kernel and of its processors. A field's name is its key in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MachineFacts {
    /// Release: `6.1.0-26-amd64`.
    pub kernel: Option<String>,
    /// Build: `#1 SMP PREEMPT_DYNAMIC Debian …`.
    pub kernel_build: Option<String>,
    /// Value `1` on a real-time kernel.
    pub realtime_kernel: Option<String>,
    /// Host name of the machine.
    pub hostname: Option<String>,
    /// Id of the machine's boot, new at each start. Hosts on one machine have the same, whatever
    /// their names and transports.
    pub boot_id: Option<String>,
    /// Clock source: `tsc`.
    pub clocksource: Option<String>,
    /// Frequency governor of the first processor: `performance`.
    pub governor: Option<String>,
    /// Product name from the firmware.
    pub machine: Option<String>,
    /// Default congestion control: `cubic`.
    pub tcp_congestion_control: Option<String>,
    /// Value `1` if TCP stamps its segments.
    pub tcp_timestamps: Option<String>,
    /// Maximum receive buffer, in octets.
    pub rmem_max: Option<String>,
    /// Maximum send buffer, in octets.
    pub wmem_max: Option<String>,
    /// Maximum frames that may wait for a processor.
    pub netdev_max_backlog: Option<String>,
    /// Model of the first processor.
    pub cpu_model: Option<String>,
    /// Number of processors.
    pub cpus: Option<usize>,
    /// True if the machine is virtual.
    pub hypervisor: Option<bool>,
    /// Number of processors that the agent may use.
    pub cpus_allowed: Option<usize>,
    /// Version of the agent.
    pub agent_version: Option<String>,
}

/// Facts of a port. A field's name is its key in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PortFacts {
    /// MTU in octets.
    pub mtu: Option<u32>,
    /// True while the link is up.
    pub running: Option<bool>,
    /// Ethernet address: `02:00:00:00:00:01`.
    pub mac: Option<String>,
    /// Driver: `ixgbe`, `veth`.
    pub driver: Option<String>,
    /// Number of receive queues.
    pub queues_rx: Option<usize>,
    /// Number of transmit queues.
    pub queues_tx: Option<usize>,
    /// Interrupts and the processors that handle them: `24 on 0; 25 on 0-1`.
    pub interrupts: Option<String>,
    /// Features that merge or split frames, by the kernel's names.
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
    /// Converts the facts to one list: `kernel`, `eth1.mtu`.
    pub fn to_list(&self) -> BTreeMap<String, String> {
        let mut list = fields("", &self.machine);
        for (port, facts) in &self.ports {
            list.append(&mut fields(&format!("{port}."), facts));
        }
        list
    }
}

/// Lists a struct's known fields by name, with `prefix` before each.
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
