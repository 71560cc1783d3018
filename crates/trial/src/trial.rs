//! A trial: a set of flows that run together for a while. Data only: studies request trials, the
//! journal keys its records by them, and testbeds carry them out.

use std::fmt;
use std::num::NonZeroU16;

use measure::Nanos;
use serde::{Deserialize, Serialize};

use crate::topology::{PortRef, Topology};
use crate::{Flow, Role, alike};

/// Request from a study to a testbed: a set of flows with their conditions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Purpose of the trial in a few words: `rtt udp 64 idle`. Shown while it runs.
    pub label: String,
    /// Path of the flows: the device, or the direct cable beside it.
    pub path: Path,
    /// Device that the measured flows cross, in its required state; `None` on a bare cable.
    #[serde(default)]
    pub subject: Option<Subject>,
    /// Block of the study, from 0. The block is the sampling unit.
    pub block: u32,
    /// Attempt number, from 0: an invalid trial is repeated under the next number.
    pub attempt: u32,
    /// All flows; they start together.
    #[serde(with = "alike")]
    pub flows: Vec<Flow>,
    /// Duration of each phase.
    pub phases: Phases,
    /// Segmentation and receive offloads of the ports in use.
    pub offloads: Offloads,
    /// Conditions that make the trial invalid.
    pub gate: Gate,
    /// Actions on the device during the load, in order.
    #[serde(default)]
    pub events: Vec<Event>,
    /// Settings that a person must have made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_hand: Vec<Setting>,
    /// Number of the study in its run, from 1 in the plan's order; `None` in journals of 0.2 and
    /// before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study: Option<NonZeroU16>,
}

impl Trial {
    /// Creates a trial through the device, in the quick profile's phases, with offloads off and
    /// nothing else requested.
    pub fn quick(label: impl Into<String>, flows: Vec<Flow>, load: Nanos, gate: Gate) -> Self {
        Self {
            label: label.into(),
            path: Path::Device,
            subject: None,
            block: 0,
            attempt: 0,
            flows,
            phases: Phases::quick(load),
            offloads: Offloads::Off,
            gate,
            events: Vec::new(),
            by_hand: Vec::new(),
            study: None,
        }
    }

    /// Leaves offloads as they are on a testbed whose agents may not set up ports.
    #[must_use]
    pub fn adapted_to(self, topology: &Topology) -> Self {
        let offloads = if topology.settings_as_found { Offloads::AsFound } else { self.offloads };
        Self { offloads, ..self }
    }

    /// True if both trials request the same, apart from the study number and from what may stand in
    /// for a flow's first choice.
    fn asks_the_same(&self, other: &Self) -> bool {
        let Self {
            label,
            path,
            subject,
            block,
            attempt,
            flows,
            phases,
            offloads,
            gate,
            events,
            by_hand,
            study: _,
        } = self;
        *label == other.label
            && *path == other.path
            && *subject == other.subject
            && *block == other.block
            && *attempt == other.attempt
            && (*flows == other.flows || self.first_choices() == other.first_choices())
            && *phases == other.phases
            && *offloads == other.offloads
            && *gate == other.gate
            && *events == other.events
            && *by_hand == other.by_hand
    }

    /// Flows with their first choices alone.
    pub(crate) fn first_choices(&self) -> Vec<Flow> {
        let mut flows = self.flows.clone();
        flows.iter_mut().for_each(Flow::keep_first_choice);
        flows
    }

    /// True if the recorded trial answers this one: the request is the same, and so is the study
    /// number where both have one.
    pub fn is_answered_by(&self, recorded: &Self) -> bool {
        let known = self.study.zip(recorded.study);
        known.is_none_or(|(own, other)| own == other) && self.asks_the_same(recorded)
    }
}

impl Trial {
    /// Destination port of the first measured flow. Where no commands define a deed, it is done to
    /// the device at the other end of this port's cable.
    pub fn receiver(&self) -> Option<&PortRef> {
        self.flows.iter().find(|flow| flow.role == Role::Measured).map(|flow| &flow.to)
    }
}

/// Setting that no command can change: another NIC in the hosts, another kind of cable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Name of the setting: `nic`.
    pub factor: String,
    /// Value of the setting: `x722`.
    pub level: String,
}

/// Device in one of its variants: another kernel, another setting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Subject {
    /// Name of the device in the topology.
    pub device: String,
    /// Name of the variant; `None` for the device as found.
    #[serde(default)]
    pub variant: Option<String>,
}

/// Action on the subject during a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Time after the load's start.
    pub at: Nanos,
    /// Action to perform.
    pub deed: Deed,
}

/// Action on a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deed {
    /// Reset by the testbed's hook (RFC 6201).
    Reset,
    /// Action that the testbed defines for the device: [`crate::topology::KnownDeed`].
    Do {
        /// Name of the deed.
        name: String,
    },
    /// Reversal of such an action.
    Undo {
        /// Name of the deed.
        name: String,
    },
}

impl fmt::Display for Deed {
    /// Formats the deed: `reset`, `link-down`, `undo link-down`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reset => f.write_str("reset"),
            Self::Do { name } => f.write_str(name),
            Self::Undo { name } => write!(f, "undo {name}"),
        }
    }
}

/// Path of a trial's measured flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Path {
    /// Through the device under test, or the cable if the testbed is only a cable.
    Device,
    /// The direct cable between the same hosts.
    Bypass,
}

impl Path {
    /// Name of the path: `device`, `bypass`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Bypass => "bypass",
        }
    }
}

/// Phases of RFC 2544 §23 around the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phases {
    /// Wait after the learning frames, before the load.
    pub learned: Nanos,
    /// Duration of the load.
    pub load: Nanos,
    /// Time that receivers stay open for residual frames.
    pub residual: Nanos,
    /// Rest before the next trial.
    pub settle: Nanos,
}

impl Phases {
    /// Phases of the RFC: two seconds, the load, two seconds, five seconds.
    pub const fn strict(load: Nanos) -> Self {
        Self {
            learned: Nanos::from_secs(2),
            load,
            residual: Nanos::from_secs(2),
            settle: Nanos::from_secs(5),
        }
    }

    /// Phases shortened for a quick look; results carry a caveat.
    pub const fn quick(load: Nanos) -> Self {
        Self {
            learned: Nanos::from_millis(20),
            load,
            residual: Nanos::from_millis(100),
            settle: Nanos::from_millis(50),
        }
    }

    /// Total duration of all phases.
    pub fn total(&self) -> Nanos {
        self.learned + self.load + self.residual + self.settle
    }
}

/// Segmentation and receive offloads of the ports in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Offloads {
    /// TSO, GSO and GRO off, so that a frame is a frame. Restored afterwards.
    #[default]
    Off,
    /// Offloads unchanged, only recorded.
    AsFound,
}

/// Effect of a moved tester counter on the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gate {
    /// Any tester-side loss, or an offered load off by more than 0.1 %, makes the trial invalid.
    Strict,
    /// Strict, except for single late frames, processors used by other programs, and measured flows
    /// that sent less than asked. For studies that allow for delayed senders and lose frames in any
    /// case. A connection's time series shows its delays, a burst's timestamps how long it was
    /// delayed.
    Uneven,
    /// Flood: the tester is meant to be at its limit, so its own loss makes the result a lower
    /// bound.
    Flood,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Journals hold them so; those of 0.2 also what cables a person had to have moved.
    #[test]
    fn what_is_set_by_hand_is_written_beside_the_rest() {
        let mut trial = Trial::quick("a trial", Vec::new(), Nanos(1), Gate::Strict);
        let json = |trial: &Trial| serde_json::to_string(trial).expect("JSON");
        assert!(json(&trial).ends_with(r#","events":[]}"#), "{}", json(&trial));
        trial.by_hand = vec![Setting { factor: "nic".into(), level: "x722".into() }];
        let text = json(&trial);
        let expected = r#"[],"by_hand":[{"factor":"nic","level":"x722"}]}"#;
        assert!(text.ends_with(expected), "{text}");
        let moved =
            text.replace(r#""by_hand""#, r#""joined":{"directly":["a/1","b/1"]},"by_hand""#);
        for text in [text, moved] {
            assert_eq!(serde_json::from_str::<Trial>(&text).expect("a trial"), trial);
        }
    }

    #[test]
    fn a_reset_is_written_as_it_always_was() {
        let check = |deed: Deed, json: &str| {
            assert_eq!(serde_json::to_string(&deed).expect("plain values"), json);
            assert_eq!(serde_json::from_str::<Deed>(json).expect("our own"), deed);
        };
        check(Deed::Reset, r#""reset""#);
        check(Deed::Do { name: "link-down".to_owned() }, r#"{"do":{"name":"link-down"}}"#);
        check(Deed::Undo { name: "link-down".to_owned() }, r#"{"undo":{"name":"link-down"}}"#);
    }
}
