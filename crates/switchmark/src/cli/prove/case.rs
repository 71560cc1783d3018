//! One device, what is asked of it, and what is true: drawn, or read from a scenario file.
//!
//! Owns the scenario file's shape. A file says all that is needed: it outlives the draws that made it.

use std::path::Path;

use measure::{FrameMix, FrameSize};
use method::prove::Truth;
use method::search::GoalName;
use method::{ForwardingTest, Profile, SearchKind, StudySpec};
use serde::{Deserialize, Serialize};
use sim::HostModel;

use crate::cli::Failure;
use crate::config::forwarding::ForwardingAsk;
use crate::config::resolved::{Source, Testbed, VirtualConfig};
use crate::config::{ConfigError, fit};

/// What stands for the device.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum World {
    /// The simulator
    Sim,
    /// The same model, with real frames, in a lab
    Emulated,
    /// The kernel's own queues and filters, in a lab
    Kernel,
}

impl World {
    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Emulated => "emulated",
            Self::Kernel => "kernel",
        }
    }
}

/// Who is asked.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Study {
    /// Rates, loss, bursts and falls
    Forwarding,
}

impl Study {
    /// All of them.
    pub const ALL: [Self; 1] = [Self::Forwarding];

    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Forwarding => "forwarding",
        }
    }
}

/// What is peculiar about a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Nothing: it does what its links do.
    LineRate,
    /// A way inside that is slower than its ports.
    SlowWay,
    /// So many packets a second and no more.
    PacketLimit,
    /// A slow way with a queue that takes long to drain.
    DeepQueue,
    /// It loses frames at random.
    RandomLoss,
    /// It stands still at times.
    Stalls,
    /// Its two ports have different speeds.
    MixedSpeeds,
}

impl Kind {
    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LineRate => "line rate",
            Self::SlowWay => "slow way",
            Self::PacketLimit => "packet limit",
            Self::DeepQueue => "deep queue",
            Self::RandomLoss => "random loss",
            Self::Stalls => "stalls",
            Self::MixedSpeeds => "mixed speeds",
        }
    }
}

/// What is asked; the rest is the study's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "study", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Question {
    /// See [`ForwardingAsk`].
    Forwarding {
        /// Which tests.
        tests: Vec<ForwardingTest>,
        /// Frame sizes in octets.
        sizes: Vec<u32>,
        /// What is searched.
        goals: Vec<GoalName>,
        /// How.
        search: SearchKind,
    },
}

/// A device, a question and the truth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What stands for the device.
    pub world: World,
    /// What is peculiar about it.
    pub kind: Kind,
    /// Of whatever is left to chance.
    pub seed: u64,
    /// How long the study's trials are.
    pub rigor: Profile,
    /// The largest packet between the hosts.
    pub mtu: u32,
    /// The device's profile, as a profile file has it.
    pub profile: String,
    /// What is asked.
    pub question: Question,
    /// What is true.
    #[serde(rename = "truth")]
    pub truths: Vec<Truth>,
}

impl Case {
    /// Reads a scenario file.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let bad = |message: String| {
            let hint = "`switchmark prove --keep DIR` writes such files";
            ConfigError::bare(format!("read scenario {}: {message}", path.display()), hint)
        };
        let text = std::fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
        Ok(toml::from_str(&text).map_err(|error| bad(error.message().to_owned()))?)
    }

    /// As a scenario file, with a line that says where it comes from.
    pub fn write(&self, origin: &str) -> String {
        let text = toml::to_string(self).unwrap_or_default();
        format!("# {origin}\n\n{text}")
    }

    /// Who is asked.
    pub const fn study(&self) -> Study {
        match self.question {
            Question::Forwarding { .. } => Study::Forwarding,
        }
    }

    /// The device itself.
    pub fn device(&self) -> Result<device::Profile, Failure> {
        let nothing = |name: &str| Err(format!("there is no `{name}` here"));
        device::Profile::parse(&self.profile, &nothing).map_err(|error| {
            ConfigError::bare(format!("the scenario's profile: {}", error.message), error.hint)
                .into()
        })
    }

    /// The device with simulated hosts around it.
    pub fn simulated(&self) -> Result<Testbed, Failure> {
        let profile = self.device()?;
        let hosts = HostModel { mtu: self.mtu, ..HostModel::ideal(profile.edges()) };
        let name = format!("sim:{}", profile.name);
        Ok(Testbed { name, source: Source::Virtual(Box::new(VirtualConfig { profile, hosts })) })
    }

    /// The study's whole request on a testbed, as its verb would make it.
    pub fn spec(&self, testbed: &Testbed) -> Result<StudySpec, Failure> {
        match &self.question {
            Question::Forwarding { tests, sizes, goals, search } => {
                let frames = sizes.iter().map(|octets| FrameSize::new(*octets).map(FrameMix::of));
                let ask = ForwardingAsk {
                    profile: Some(self.rigor),
                    tests: tests.clone(),
                    frames: frames.collect::<Result<_, _>>()?,
                    goals: goals.clone(),
                    search: Some(*search),
                    ..ForwardingAsk::default()
                };
                Ok(ask.resolve(fit::link_rate(testbed)))
            }
        }
    }
}
