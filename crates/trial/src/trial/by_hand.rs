//! What a person has to have seen to before a trial: where hosts' cables end, where there are fewer
//! hosts than ports, and whatever else no command reaches.
//!
//! Owns the turn of a trial of moved cables into one of hosts that stand at every port. Never moves
//! a cable.

use serde::{Deserialize, Serialize};

use super::Trial;
use crate::topology::PortRef;

/// The state of the testbed that only hands lead to; empty: as it is found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ByHand {
    /// Where cables of hosts have to end at the subject.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cabling: Vec<Cable>,
    /// What has to be set beside them.
    #[serde(default, rename = "by_hand", skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
    /// What the measured ports' only cables have to lead to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joined: Option<Joined>,
}

/// Where the only cables of two hosts end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Joined {
    /// One cable from port to port.
    Directly(PortRef, PortRef),
    /// Both at the device.
    Through {
        /// Its name.
        device: String,
        /// The hosts' ends.
        ports: (PortRef, PortRef),
    },
}

/// A cable between a host and the trial's subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cable {
    /// The host's end.
    pub port: PortRef,
    /// The device's port, from 1.
    pub device_port: u32,
}

/// Another NIC in the hosts, another kind of cable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// What is set: `nic`.
    pub factor: String,
    /// To what: `x722`.
    pub level: String,
}

impl Trial {
    /// The same trial where a host stands at every port of the device: it is that host's.
    #[must_use]
    pub fn at_standing_hosts(&self, host_at: &dyn Fn(u32) -> PortRef) -> Self {
        let stands = |port: &PortRef| {
            let cable = self.by_hand.cabling.iter().find(|cable| cable.port == *port);
            cable.map_or_else(|| port.clone(), |cable| host_at(cable.device_port))
        };
        let mut trial = self.clone();
        trial.by_hand.cabling.clear();
        for flow in &mut trial.flows {
            (flow.from, flow.to) = (stands(&flow.from), stands(&flow.to));
        }
        trial
    }
}

#[cfg(test)]
mod tests {
    use measure::Nanos;

    use super::*;
    use crate::Gate;

    /// Journals hold them so.
    #[test]
    fn what_is_done_by_hand_is_written_beside_the_rest() {
        let mut trial = Trial::quick("a trial", Vec::new(), Nanos(1), Gate::Strict);
        let json = |trial: &Trial| serde_json::to_string(trial).expect("JSON");
        assert!(json(&trial).ends_with(r#","events":[]}"#), "{}", json(&trial));
        let port = "h1/eth1".parse().expect("a port");
        trial.by_hand.cabling = vec![Cable { port, device_port: 7 }];
        trial.by_hand.settings = vec![Setting { factor: "nic".into(), level: "x722".into() }];
        let text = json(&trial);
        let expected = r#"[],"cabling":[{"port":"h1/eth1","device_port":7}],"by_hand":[{"factor":"nic","level":"x722"}]}"#;
        assert!(text.ends_with(expected), "{text}");
        assert_eq!(serde_json::from_str::<Trial>(&text).expect("a trial"), trial);
    }
}
