//! A trial: a set of flows run together for a while. Data only; this is what a study asks for, what
//! the journal keys its records by, and what a testbed carries out. Never knows how.

use std::fmt;
use std::num::NonZeroU16;

use measure::Nanos;
use serde::{Deserialize, Serialize};

use crate::topology::PortRef;
use crate::{Flow, Role, alike};

/// What a study asks a testbed to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// What it is for, in a few words: `rtt udp 64 idle`. Shown while it runs.
    pub label: String,
    /// The path it takes: the device, or the direct cable beside it.
    pub path: Path,
    /// The device that the measured flows cross, in the state it has to be in; none on a bare
    /// cable.
    #[serde(default)]
    pub subject: Option<Subject>,
    /// Which block of the study it belongs to, from 0. The block is the sampling unit.
    pub block: u32,
    /// Which try this is, from 0: an invalid trial is asked for again under the next number.
    pub attempt: u32,
    /// All flows; they start together.
    #[serde(with = "alike")]
    pub flows: Vec<Flow>,
    /// How long each phase lasts.
    pub phases: Phases,
    /// Segmentation and receive offloads of the ports in use.
    pub offloads: Offloads,
    /// What makes it invalid.
    pub gate: Gate,
    /// What is done to the device while the load runs, in order.
    #[serde(default)]
    pub events: Vec<Event>,
    /// Settings that a person has to have made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_hand: Vec<Setting>,
    /// Which of its run's studies asks for it, from 1 in the plan's order. Journals of 0.2 and
    /// before don't have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study: Option<NonZeroU16>,
}

impl Trial {
    /// Flows through the device or over a cable of its own, in the quick profile's phases, with
    /// offloads off, and nothing else asked for.
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

    /// Whether both ask for the same, whichever studies do.
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
            && *flows == other.flows
            && *phases == other.phases
            && *offloads == other.offloads
            && *gate == other.gate
            && *events == other.events
            && *by_hand == other.by_hand
    }

    /// Whether the recorded trial answers this one: what it asks is the same, and so is the study
    /// where both tell it.
    pub fn is_answered_by(&self, recorded: &Self) -> bool {
        let known = self.study.zip(recorded.study);
        known.is_none_or(|(own, other)| own == other) && self.asks_the_same(recorded)
    }
}

impl Trial {
    /// The port that the first measured flow goes to. Where nobody's commands say what a deed is,
    /// it is done to the device at the other end of this port's cable.
    pub fn receiver(&self) -> Option<&PortRef> {
        self.flows.iter().find(|flow| flow.role == Role::Measured).map(|flow| &flow.to)
    }
}

/// A setting that no command reaches: another NIC in the hosts, another kind of cable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// What is set: `nic`.
    pub factor: String,
    /// To what: `x722`.
    pub level: String,
}

/// A device in one of its variants: another kernel, another setting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Subject {
    /// The device's name in the topology.
    pub device: String,
    /// The variant's name; none is the device as it is found.
    #[serde(default)]
    pub variant: Option<String>,
}

/// Something done to the subject during a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// After the load's start.
    pub at: Nanos,
    /// What.
    pub deed: Deed,
}

/// What can be done to a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deed {
    /// It is reset by the testbed's hook (RFC 6201).
    Reset,
    /// One of the deeds that the testbed knows of it is done: [`crate::topology::KnownDeed`].
    Do {
        /// The deed's name.
        name: String,
    },
    /// The deed is undone.
    Undo {
        /// The deed's name.
        name: String,
    },
}

impl fmt::Display for Deed {
    /// `reset`, `link-down`, `undo link-down`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reset => f.write_str("reset"),
            Self::Do { name } => f.write_str(name),
            Self::Undo { name } => write!(f, "undo {name}"),
        }
    }
}

/// Which way a trial's measured flows go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Path {
    /// Through the device under test (or, where the testbed is only a cable, the cable).
    Device,
    /// The direct cable between the same hosts.
    Bypass,
}

impl Path {
    /// `device`, `bypass`
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Bypass => "bypass",
        }
    }
}

/// The phases of RFC 2544 §23 around the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phases {
    /// Wait after the learning frames, before the load.
    pub learned: Nanos,
    /// The load itself.
    pub load: Nanos,
    /// Receivers stay open this long for residual frames.
    pub residual: Nanos,
    /// Rest before the next trial.
    pub settle: Nanos,
}

impl Phases {
    /// The RFC's: two seconds, the load, two seconds, five seconds.
    pub const fn strict(load: Nanos) -> Self {
        Self {
            learned: Nanos::from_secs(2),
            load,
            residual: Nanos::from_secs(2),
            settle: Nanos::from_secs(5),
        }
    }

    /// Shortened for a look; figures from it carry a caveat.
    pub const fn quick(load: Nanos) -> Self {
        Self {
            learned: Nanos::from_millis(20),
            load,
            residual: Nanos::from_millis(100),
            settle: Nanos::from_millis(50),
        }
    }

    /// All phases together.
    pub fn total(&self) -> Nanos {
        self.learned + self.load + self.residual + self.settle
    }
}

/// What the kernel may do with several frames at once on the ports in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Offloads {
    /// TSO, GSO and GRO off, so that a frame is a frame. Restored afterwards.
    #[default]
    Off,
    /// As the host has them; only recorded.
    AsFound,
}

/// What a moved tester counter means for the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gate {
    /// Any tester-side loss, or an offered load off by more than 0.1 %, makes the trial invalid.
    Strict,
    /// The same, but for single frames that were late, for processors that other programs had, and
    /// for measured flows that sent less than asked: for studies that allow for senders that were
    /// held up, and lose something whatever the hosts do. A connection's own series tells what held
    /// it up, and a burst's stamps for how long it was.
    Uneven,
    /// A flood: the tester is meant to be at its limit, so its own loss makes the figure a lower
    /// bound instead.
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
