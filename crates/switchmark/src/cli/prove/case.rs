//! One device, the question about it, and its known values: drawn, or read from a scenario file.
//!
//! Owns the scenario file's shape. A file says all that is needed: it outlives the draws that made
//! it.

use std::path::Path;

use lab::{EmulatedSpec, LabDevice, LabSpec};
use measure::{ByteCount, FrameMix, FrameRate, FrameSize, Nanos};
use serde::{Deserialize, Serialize};
use sim::HostModel;
use study::depth::Depth;
use study::fabric::Fabric;
use study::forwarding::Forwarding;
use study::latency::Latency;
use study::prove::Truth;
use study::request::StudyRequest;
use study::request::given::Given;
use study::search::GoalName;
use study::storage::Storage;
use study::switching::Switching;
use study::{BLOCKS, Blocks, ForwardingTest, Profile, SearchKind, StudySpec, SwitchTest};
use trial::{Jobs, PortRef, Protocol, QueueDepth, VlanId};

use crate::cli::Failure;
use crate::config::resolved::{Source, Testbed, VirtualConfig};
use crate::config::{ConfigError, request, testbed};

/// World that a device is made in.
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
    /// The simulator's model, with real frames, in a lab
    Emulated,
    /// The kernel's own queues and filters, in a lab
    Kernel,
}

impl World {
    /// Returns its name in files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Emulated => "emulated",
            Self::Kernel => "kernel",
        }
    }
}

/// Study that measures a device.
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
    /// Rates, loss and resets between two ports
    Forwarding,
    /// Address tables, and all ports at work
    Switching,
    /// Groups of ports, their uplinks, and whether anything blocks
    Fabric,
    /// Buffer size before an output
    Buffer,
    /// Latency that a device adds to a round trip
    Latency,
    /// Comparison of two devices' latency
    Compare,
    /// Effect of a device on reads and writes
    Storage,
}

impl Study {
    /// All studies.
    pub const ALL: [Self; 7] = [
        Self::Forwarding,
        Self::Switching,
        Self::Fabric,
        Self::Buffer,
        Self::Latency,
        Self::Compare,
        Self::Storage,
    ];

    /// Returns its name in files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Forwarding => "forwarding",
            Self::Switching => "switching",
            Self::Fabric => "fabric",
            Self::Buffer => "buffer",
            Self::Latency => "latency",
            Self::Compare => "compare",
            Self::Storage => "storage",
        }
    }
}

/// Peculiarity of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// No peculiarity: only its links limit it.
    LineRate,
    /// Internal path that is slower than its ports.
    SlowWay,
    /// Limit on packets a second.
    PacketLimit,
    /// Slow path with a queue that takes long to drain.
    DeepQueue,
    /// Random loss of frames.
    RandomLoss,
    /// Occasional stalls.
    Stalls,
    /// Two ports of different speeds.
    MixedSpeeds,
    /// Distant hosts: 100 to 300 ms one way.
    LongPath,
    /// Table of few addresses.
    SmallTable,
    /// Limit on addresses learnt a second.
    SlowLearner,
    /// Groups of ports, each with an uplink that is short.
    ShortUplinks,
    /// Short uplinks, and one that could take more than all others have.
    UnfillableUplinks,
    /// Queues with a buffer of their own.
    OwnBuffers,
    /// One buffer that all queues share by a threshold.
    SharedBuffer,
    /// Shared buffer with a reserve for each queue.
    Reserve,
    /// Two devices that are the same.
    Alike,
    /// Two devices, one a little slower.
    LittleSlower,
    /// Two devices, one much slower.
    MuchSlower,
    /// Reads and writes fill a link.
    FullLink,
    /// Writes are copied to other hosts.
    Replicas,
    /// The kernel's token bucket, with a queue that drains at once.
    TokenBucket,
    /// The kernel's hierarchical token bucket.
    Htb,
    /// Frames beyond a rate are dropped at once: a bucket without a queue.
    Policed,
}

impl Kind {
    /// Returns its name in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LineRate => "line rate",
            Self::SlowWay => "slow way",
            Self::PacketLimit => "packet limit",
            Self::DeepQueue => "deep queue",
            Self::RandomLoss => "random loss",
            Self::Stalls => "stalls",
            Self::MixedSpeeds => "mixed speeds",
            Self::LongPath => "long path",
            Self::SmallTable => "small table",
            Self::SlowLearner => "slow learner",
            Self::ShortUplinks => "short uplinks",
            Self::UnfillableUplinks => "unfillable uplink",
            Self::OwnBuffers => "own buffers",
            Self::SharedBuffer => "shared buffer",
            Self::Reserve => "reserve",
            Self::Alike => "alike",
            Self::LittleSlower => "a little slower",
            Self::MuchSlower => "much slower",
            Self::FullLink => "full link",
            Self::Replicas => "replicas",
            Self::TokenBucket => "token bucket",
            Self::Htb => "htb",
            Self::Policed => "policed",
        }
    }
}

/// Question about a device; all else is the study's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "study", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Question {
    /// See [`Forwarding`].
    Forwarding {
        /// Tests to run.
        tests: Vec<ForwardingTest>,
        /// Frame sizes in octets.
        sizes: Vec<u32>,
        /// Goals of the search.
        goals: Vec<GoalName>,
        /// Method of the search.
        search: SearchKind,
        /// True if the frames are IPv6.
        #[serde(default)]
        ipv6: bool,
        /// VLAN of the frames' tag; `None` if untagged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        vlan: Option<VlanId>,
    },
    /// See [`Switching`].
    Switching {
        /// Tests to run.
        tests: Vec<SwitchTest>,
        /// Frame sizes in octets.
        sizes: Vec<u32>,
    },
    /// See [`Fabric`].
    Fabric {},
    /// See [`Depth`].
    Buffer {},
    /// See [`Latency`].
    Latency {
        /// Frame sizes in octets.
        sizes: Vec<u32>,
        /// Requests a second; `None` sends each after the answer to the last.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        open_loop: Option<f64>,
    },
    /// The latency of both, compared.
    Compare {
        /// The other device's profile: the subject; the case's own is the reference.
        other: String,
        /// Frame sizes in octets.
        sizes: Vec<u32>,
    },
    /// See [`Storage`].
    Storage {
        /// Time that the disk takes to read and to write.
        disk: [Nanos; 2],
        /// fio's pattern.
        rw: String,
        /// Octets of an operation.
        bs: ByteCount,
        /// Operations of each job at once.
        iodepth: QueueDepth,
        /// Jobs.
        numjobs: Jobs,
        /// Hosts that writes are copied to, from the third on.
        replicas: u16,
        /// Duration of each trial.
        duration: Nanos,
    },
}

/// A device, a question and the known values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// World that the device is made in.
    pub world: World,
    /// Peculiarity of the device.
    pub kind: Kind,
    /// Seed of every random choice.
    pub seed: u64,
    /// Profile, which sets the length of the study's trials.
    pub rigor: Profile,
    /// The largest packet between the hosts.
    pub mtu: u32,
    /// The device's profile, as a profile file has it; of the kernel's own devices the lab's name.
    pub profile: String,
    /// Question about the device.
    pub question: Question,
    /// Known values.
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
        let text = crate::files::text(path).map_err(|error| bad(error.to_string()))?;
        Ok(toml::from_str(&text).map_err(|error| bad(error.message().to_owned()))?)
    }

    /// Formats it as a scenario file, with a line that states its origin.
    pub fn write(&self, origin: &str) -> String {
        let text = toml::to_string(self).unwrap_or_default();
        format!("# {origin}\n\n{text}")
    }

    /// Returns the study that measures it.
    pub const fn study(&self) -> Study {
        match self.question {
            Question::Forwarding { .. } => Study::Forwarding,
            Question::Switching { .. } => Study::Switching,
            Question::Fabric {} => Study::Fabric,
            Question::Buffer {} => Study::Buffer,
            Question::Latency { .. } => Study::Latency,
            Question::Compare { .. } => Study::Compare,
            Question::Storage { .. } => Study::Storage,
        }
    }

    /// Returns the testbed with the device as it is.
    pub fn testbed(&self) -> Result<Testbed, Failure> {
        self.testbed_of(&self.profile)
    }

    /// Returns the testbed with a comparison's other device; `None` for other questions.
    pub fn other_testbed(&self) -> Result<Option<Testbed>, Failure> {
        match &self.question {
            Question::Compare { other, .. } => self.testbed_of(other).map(Some),
            _ => Ok(None),
        }
    }

    fn testbed_of(&self, device: &str) -> Result<Testbed, Failure> {
        if self.world == World::Kernel {
            return Ok(testbed::from_argument("the scenario's lab", device)?);
        }
        let nothing = |name: &str| Err(format!("there is no `{name}` here"));
        let profile = device::Profile::parse(device, &nothing).map_err(|error| {
            ConfigError::bare(format!("the scenario's profile: {}", error.message), error.hint)
        })?;
        let name = format!("{}:{}", self.world.as_str(), profile.name);
        let source = if self.world == World::Sim {
            let hosts = HostModel { mtu: self.mtu, ..HostModel::ideal(profile.edges()) };
            Source::Virtual(Box::new(VirtualConfig { profile, hosts, cabling: sim::Cabling::Both }))
        } else {
            let hosts = profile.edges();
            let device = LabDevice::Emulated(EmulatedSpec::new(profile));
            Source::Lab(LabSpec { hosts, ..LabSpec::new(device) })
        };
        Ok(Testbed::new(name, source))
    }

    /// The study's whole request on a testbed, as its verb would make it.
    pub fn spec(&self, testbed: &Testbed) -> Result<StudySpec, Failure> {
        let profile = Some(Given::new(self.rigor));
        let of_sizes = |sizes: &[u32]| frame_sizes(sizes).map(Vec::into_iter);
        match &self.question {
            Question::Forwarding { tests, sizes, goals, search, ipv6, vlan } => {
                // In real time, a device is measured as briefly as in the demo.
                let live = self.world != World::Sim;
                let request = Forwarding {
                    profile,
                    tests: vec![Given::new(tests.clone())],
                    sizes: of_sizes(sizes)?
                        .map(|size| Given::new(FrameMix::from_size(size)))
                        .collect(),
                    search: goals.iter().copied().map(Given::new).collect(),
                    method: Some(Given::new(*search)),
                    ipv6: Some(Given::new(*ipv6)),
                    vlan: vlan.map(Given::new),
                    duration: live.then_some(Given::new(Nanos::from_millis(200))),
                    final_duration: live.then_some(Given::new(Nanos::from_secs(1))),
                    ..Default::default()
                };
                study_from_request(&request, testbed)
            }
            Question::Switching { tests, sizes } => {
                let tests = vec![Given::new(tests.clone())];
                let sizes = of_sizes(sizes)?.map(Given::new).collect();
                study_from_request(
                    &Switching { tests, sizes, profile, ..Default::default() },
                    testbed,
                )
            }
            Question::Fabric {} => {
                study_from_request(&Fabric { profile, ..Default::default() }, testbed)
            }
            Question::Buffer {} => {
                study_from_request(&Depth { profile, ..Default::default() }, testbed)
            }
            Question::Latency { sizes, open_loop } => {
                self.latency(sizes, *open_loop, None, testbed)
            }
            // As many blocks as a comparison is advised to have.
            Question::Compare { sizes, .. } => self.latency(sizes, None, Some(BLOCKS), testbed),
            Question::Storage { disk, rw, bs, iodepth, numjobs, replicas, duration } => {
                let port =
                    |host: u16| PortRef { host: format!("h{}", host + 3), port: "eth1".into() };
                let request = Storage {
                    profile,
                    ramdisk: Some(Given::new((*disk).into())),
                    rw: Some(Given::new(rw.clone())),
                    bs: vec![Given::new(*bs)],
                    iodepth: vec![Given::new(*iodepth)],
                    numjobs: Some(Given::new(*numjobs)),
                    replicas: (0..*replicas).map(|host| Given::new(port(host))).collect(),
                    duration: Some(Given::new(*duration)),
                    blocks: Some(Given::new(Blocks::known(6))),
                    ..Default::default()
                };
                study_from_request(&request, testbed)
            }
        }
    }

    fn latency(
        &self,
        sizes: &[u32],
        open_loop: Option<f64>,
        blocks: Option<Blocks>,
        testbed: &Testbed,
    ) -> Result<StudySpec, Failure> {
        // A second of virtual time tells as much as a minute.
        let duration = (self.rigor == Profile::Strict).then_some(Nanos::from_secs(1));
        let request = Latency {
            profile: Some(Given::new(self.rigor)),
            protocols: [Protocol::Icmp, Protocol::Udp].map(Given::new).to_vec(),
            sizes: frame_sizes(sizes)?.into_iter().map(Given::new).collect(),
            duration: duration.map(Given::new),
            blocks: blocks.map(Given::new),
            open_loop: open_loop.map(|rate| Given::new(FrameRate(rate))),
            ..Default::default()
        };
        study_from_request(&request, testbed)
    }
}

fn study_from_request<R: StudyRequest + Clone>(
    request: &R,
    testbed: &Testbed,
) -> Result<StudySpec, Failure> {
    Ok(request::from_flags(request, testbed)?)
}

fn frame_sizes(octets: &[u32]) -> Result<Vec<FrameSize>, Failure> {
    Ok(octets.iter().map(|octets| FrameSize::new(*octets)).collect::<Result<_, _>>()?)
}
