//! A trial: a set of flows run together for a while. Data only; this is what a study asks for, what
//! the journal keys its records by, and what a testbed carries out. Never knows how.

mod cabling;
mod datagrams;

use std::collections::BTreeMap;

use measure::{ByteCount, FrameRate, FrameSize, Nanos};
use serde::{Deserialize, Serialize};

use crate::topology::{Pair, PortRef};
pub use cabling::Cable;
pub(crate) use datagrams::one_sender;
pub use datagrams::{Backend, Datagrams, Destination, Headers, IpVersion, Reception, Spread};

/// What a study asks a testbed to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// What it is for, in a few words: `rtt udp 64 idle`. Shown while it runs.
    pub label: String,
    /// The path it takes: the device, or the direct cable beside it.
    pub path: Path,
    /// The device that the measured flows cross, in the state it has to be in; none on a bare cable.
    #[serde(default)]
    pub subject: Option<Subject>,
    /// Which block of the study it belongs to, from 0. The block is the sampling unit.
    pub block: u32,
    /// Which try this is, from 0: an invalid trial is asked for again under the next number.
    pub attempt: u32,
    /// All flows; they start together.
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
    /// Where cables of hosts have to end at the subject; empty: as the testbed has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cabling: Vec<Cable>,
    /// What a person has to have seen to, beside cables at the subject.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_hand: Vec<ByHand>,
}

impl Trial {
    /// Flows through the device or over a cable of its own, in the quick profile's phases, with offloads off,
    /// and nothing else asked for.
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
            cabling: Vec::new(),
            by_hand: Vec::new(),
        }
    }
}

/// A state of the testbed that only hands lead to: another NIC in the hosts, another cable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByHand {
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// After the load's start.
    pub at: Nanos,
    /// What.
    pub deed: Deed,
}

/// What can be done to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deed {
    /// It is reset by the testbed's hook (RFC 6201).
    Reset,
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

    /// Shortened for a look; figures from it carry [`crate::Caveat::QuickProfile`].
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Offloads {
    /// TSO, GSO and GRO off, so that a frame is a frame. Restored afterwards.
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
    /// The same, but for single frames that were late, for processors that other programs had, and for
    /// measured flows that sent less than asked: for studies that allow for senders that were held up, and
    /// lose something whatever the hosts do. A connection's own series tells what held it up, and a burst's
    /// stamps for how long it was.
    Uneven,
    /// A flood: the tester is meant to be at its limit, so its own loss makes the figure a lower
    /// bound instead.
    Flood,
}

/// One conversation between two ports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Unique in the trial; carried by every packet.
    pub id: u16,
    /// Sends, or asks.
    pub from: PortRef,
    /// Receives, or answers.
    pub to: PortRef,
    /// What it is there for.
    pub role: Role,
    /// What it does.
    pub kind: FlowKind,
}

impl Flow {
    /// The one that a trial is about, from a pair's first port to its second.
    pub fn measured(pair: &Pair, kind: FlowKind) -> Self {
        Self { id: 1, from: pair.from.clone(), to: pair.to.clone(), role: Role::Measured, kind }
    }
}

/// Whether a flow is the thing measured or the load beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Figures come from it.
    Measured,
    /// It only keeps the path busy.
    Load,
}

/// The kinds of flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowKind {
    /// Request and response, one after another or on a schedule.
    Echo(Echo),
    /// Paced, sequence-numbered UDP frames one way.
    Datagrams(Datagrams),
    /// TCP as fast as it goes.
    Bulk(Bulk),
    /// Messages both ways at once, timed at their receipt.
    Exchange(Exchange),
    /// Reads and writes of blocks: a job of fio's, or what stands in for it.
    Storage(Storage),
}

/// A round-trip flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Echo {
    /// Over what.
    pub protocol: Protocol,
    /// The size of request and response on the wire.
    pub frame_size: FrameSize,
    /// When the next request goes out.
    pub schedule: Schedule,
    /// Over TCP: requests and answers of other sizes than one frame's; none, where each is a frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Messages>,
}

/// What a request and its answer carry, cut into as many frames as they need: an operation's own sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Messages {
    /// Payload of a request.
    pub request: ByteCount,
    /// Payload of its answer.
    pub answer: ByteCount,
}

/// What carries an echo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// ICMP echo, answered by the peer's kernel.
    Icmp,
    /// UDP, answered by our reflector.
    Udp,
    /// TCP with Nagle off, answered by our reflector.
    Tcp,
}

impl Protocol {
    /// `icmp`, `udp`, `tcp`
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Icmp => "icmp",
            Self::Udp => "udp",
            Self::Tcp => "tcp",
        }
    }
}

/// When a flow sends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// Echo: as soon as the last answer is in. Datagrams: as fast as it goes.
    Greedy,
    /// So many a second, whatever comes back; latency counts from the intended send time.
    Paced(FrameRate),
    /// Datagrams only: so many frames back to back, as fast as they go, and no more.
    Burst(u64),
    /// Datagrams only: paced, from one rate to another at a moment of the load (RFC 2544 §26.5).
    Falling {
        /// Until then.
        from: FrameRate,
        /// From then on.
        to: FrameRate,
        /// The moment, from the load's start.
        after: Nanos,
    },
}

/// TCP streams.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bulk {
    /// How many connections.
    pub streams: u16,
    /// Set on every socket, so that the host's default decides nothing: `cubic`.
    pub congestion_control: String,
    /// How often tcp_info is read.
    pub interval: Nanos,
}

/// Two ports that swap messages: each end sends one, waits until the other's has come whole, and goes
/// on, as a message-passing program's neighbours do. A round so lasts as long as the slower way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// Payload of one message.
    pub message: ByteCount,
    /// What carries it.
    pub carrier: Carrier,
    /// How often the receipts are summed up: the worst of these intervals is a figure.
    pub interval: Nanos,
}

/// What carries the messages of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carrier {
    /// One connection for both ways, Nagle off: what is lost is sent again.
    Tcp,
    /// UDP frames of the largest size, at most so many under way that the peer has not credited: what
    /// is lost stays lost and is counted, and its message is given up.
    Datagrams {
        /// Frames under way.
        credits: u16,
    },
}

/// Reads and writes of blocks by a host (the flow's `from`) at a storage server (its `to`), so many
/// under way all the time. The fields are fio's, under fio's names where it has one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Storage {
    /// fio's engine, which says how the storage is reached: `libaio` for a file or a device, `nbd`,
    /// `rbd`. A simulated testbed has one storage and reads neither this nor `filename`.
    pub ioengine: String,
    /// What is read and written: a path, or the engine's own name for it.
    pub filename: String,
    /// In which order blocks are taken.
    pub pattern: Pattern,
    /// The share of reads, in percent: 100 only reads, 0 only writes.
    pub rwmixread: u8,
    /// Octets of one read or write.
    pub bs: ByteCount,
    /// How many jobs at once, each with a connection of its own.
    pub numjobs: u16,
    /// Operations under way of each job.
    pub iodepth: u16,
    /// Where the server copies what is written before it says so, beside its own disk. Live servers do
    /// as they are set up; a simulated one does as is said here.
    #[serde(default)]
    pub replicas: Vec<PortRef>,
    /// The job's other options under fio's names; an option without a value is `1`. A simulated testbed
    /// reads none.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// The server that the flow's `to` is for as long as the trial lasts; none: the storage exists.
    #[serde(default)]
    pub server: Option<StorageServer>,
    /// The block device of `to` whose own times are read: `nvme0n1`.
    #[serde(default)]
    pub disk: Option<String>,
    /// Whether data that is there already may be written over.
    #[serde(default)]
    pub allow_destroy: bool,
}

/// A storage server made for a trial: memory behind a delay that stands for its disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageServer {
    /// How much it holds.
    pub size: ByteCount,
    /// How long its disk takes to read.
    pub read: Nanos,
    /// How long its disk takes to write.
    pub write: Nanos,
}

impl Storage {
    /// A request and the head of an answer, of the NBD protocol: others' are about as long.
    const HEADS: [u64; 2] = [28, 16];

    /// What a read and its answer carry over the network.
    pub const fn read_messages(&self) -> Messages {
        let [request, answer] = Self::HEADS;
        Messages { request: ByteCount(request), answer: ByteCount(answer + self.bs.0) }
    }

    /// What a write and its answer carry over the network.
    pub const fn write_messages(&self) -> Messages {
        let [request, answer] = Self::HEADS;
        Messages { request: ByteCount(request + self.bs.0), answer: ByteCount(answer) }
    }
}

/// The order of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// One after the other.
    Sequential,
    /// Any.
    Random,
}
