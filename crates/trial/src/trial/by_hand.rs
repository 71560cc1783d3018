//! The state of the testbed that a person has to have seen to before a trial: where two hosts' only
//! cables end, and whatever else no command reaches.
//!
//! Data only. Never moves a cable.

use serde::{Deserialize, Serialize};

use crate::topology::PortRef;

/// The state of the testbed that only hands lead to; empty: as it is found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ByHand {
    /// What has to be set.
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

/// Another NIC in the hosts, another kind of cable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// What is set: `nic`.
    pub factor: String,
    /// To what: `x722`.
    pub level: String,
}

#[cfg(test)]
mod tests {
    use measure::Nanos;

    use super::*;
    use crate::{Gate, Trial};

    /// Journals hold them so.
    #[test]
    fn what_is_done_by_hand_is_written_beside_the_rest() {
        let mut trial = Trial::quick("a trial", Vec::new(), Nanos(1), Gate::Strict);
        let json = |trial: &Trial| serde_json::to_string(trial).expect("JSON");
        assert!(json(&trial).ends_with(r#","events":[]}"#), "{}", json(&trial));
        trial.by_hand.settings = vec![Setting { factor: "nic".into(), level: "x722".into() }];
        let text = json(&trial);
        let expected = r#"[],"by_hand":[{"factor":"nic","level":"x722"}]}"#;
        assert!(text.ends_with(expected), "{text}");
        assert_eq!(serde_json::from_str::<Trial>(&text).expect("a trial"), trial);
    }
}
