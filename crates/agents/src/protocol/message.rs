//! The messages, and their bytes.
//!
//! Owns what may be asked of an agent and what it answers: one enum each way. Never blocks, reads
//! or writes: [`decode`] and [`encode`] are pure, so that a fuzzer can have them.

use std::collections::{BTreeMap, BTreeSet};

use dataplane::Window;
use measure::Nanos;
use serde::{Deserialize, Serialize};

use super::examination::{Examination, NicFacts, PortProbe, ProbeReply};
use super::facts::HostFacts;
use super::orders::Order;
use super::setting::Setting;
use super::terms::Terms;
use trial::record::{FlowRecord, Usage};

/// The number of the protocol spoken here. Another number is refused: controller and agent are one
/// binary, so a difference means that one of them is old.
pub const PROTOCOL: u32 = 19;

/// Everything that goes through the pipes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// The first message each way.
    Hello(Hello),
    /// From the controller.
    Request(Request),
    /// From the agent, one for each request, in order.
    Reply(Reply),
    /// From the controller, several times a second: it is still there.
    Beat,
}

/// Who speaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL`]
    pub protocol: u32,
    /// The program's version: `0.1.0`.
    #[serde(default)]
    pub version: String,
}

impl Hello {
    /// This program's own.
    pub fn ours() -> Self {
        Self { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").to_owned() }
    }

    /// Refuses a peer of another protocol.
    pub fn check(&self) -> Result<(), MessageError> {
        if self.protocol == PROTOCOL {
            return Ok(());
        }
        Err(MessageError::Protocol {
            ours: PROTOCOL,
            theirs: self.protocol,
            our_version: env!("CARGO_PKG_VERSION").to_owned(),
            their_version: self.version.clone(),
        })
    }
}

/// Something asked of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Echoed by the reply.
    pub id: u64,
    /// What is asked.
    pub ask: Ask,
}

/// What may be asked of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ask {
    /// The agent's monotonic clock, now. Answered by `clock`.
    Clock,
    /// What the host is. Answered by `facts`.
    Facts {
        /// The ports to describe.
        interfaces: Vec<String>,
    },
    /// What the agent is to hold itself to from now on; said once, before any trial. Answered by
    /// `agreed`.
    Terms {
        /// The limits.
        terms: Terms,
    },
    /// Keeps other runs from these ports until the agent ends. Answered by `done`.
    Hold {
        /// Test ports.
        interfaces: Vec<String>,
        /// Who holds them, as another is told.
        holder: String,
    },
    /// Changes or restores segmentation and receive offloads. Answered by `done`.
    Offloads {
        /// The ports.
        interfaces: Vec<String>,
        /// To what.
        change: OffloadChange,
    },
    /// Has every frame that arrives at these ports wait before the host sees it, until the agent
    /// ends; of a port that was told so before it is checked. Answered by `delayed`.
    Delay {
        /// By port, how many frames may wait.
        ports: BTreeMap<String, u32>,
        /// How long each waits.
        delay: Nanos,
    },
    /// What of the host bears on a measurement. Answered by `examined`.
    Examine {
        /// The ports to describe.
        interfaces: Vec<String>,
        /// For so long it is seen what else runs.
        watched: Nanos,
    },
    /// Which ports this host has at all. Answered by `nics`.
    Nics,
    /// Changes settings of the host, until the agent ends. Answered by `done`.
    Change {
        /// In this order; the first that fails ends it, and what was changed before stays to be
        /// restored.
        settings: Vec<Setting>,
    },
    /// Listens for marked frames at these ports, in place of any others. Answered by `done`.
    Listen {
        /// Test ports.
        interfaces: Vec<String>,
        /// What such a frame carries.
        mark: u32,
    },
    /// Sends marked frames out of test ports, and asks there who else has an address. Answered by
    /// `cable-probed`.
    CableProbe {
        /// What the frames carry.
        mark: u32,
        /// One port after another.
        ports: Vec<PortProbe>,
    },
    /// Which marked frames came since `listen`. Answered by `heard`.
    Heard,
    /// Begins a trial: opens its data ports. Whatever an earlier trial left is closed first.
    /// Answered by `prepared`.
    Prepare {
        /// In the order in which their ports are answered.
        receivers: Vec<Order>,
        /// Ports whose counters are read around the load.
        interfaces: Vec<String>,
    },
    /// Opens the sending sides, which also send learning frames. Answered by `done`.
    Connect {
        /// The sending sides.
        senders: Vec<Order>,
    },
    /// Runs everything prepared and connected over a window of this host's monotonic clock.
    /// Answered at once by `done`.
    Start {
        /// When.
        window: Window,
    },
    /// Waits for the window's end and hands the reports over. Answered by `collected`.
    Collect,
    /// Ends the trial at once, whatever its state; data ports close. Answered by `done`.
    Abort,
    /// Ends the agent. Answered by `done`; then the agent exits.
    Goodbye,
}

impl Ask {
    /// Its name, for errors.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Clock => "clock",
            Self::Facts { .. } => "facts",
            Self::Terms { .. } => "terms",
            Self::Hold { .. } => "hold",
            Self::Offloads { .. } => "offloads",
            Self::Delay { .. } => "delay",
            Self::Examine { .. } => "examine",
            Self::Nics => "nics",
            Self::Change { .. } => "change",
            Self::Listen { .. } => "listen",
            Self::CableProbe { .. } => "cable-probe",
            Self::Heard => "heard",
            Self::Prepare { .. } => "prepare",
            Self::Connect { .. } => "connect",
            Self::Start { .. } => "start",
            Self::Collect => "collect",
            Self::Abort => "abort",
            Self::Goodbye => "goodbye",
        }
    }
}

/// What happens to a port's offloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OffloadChange {
    /// TSO, GSO and GRO off; what was found is remembered until `restore`.
    Off,
    /// Back to what was found.
    Restore,
}

/// An agent's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The request's.
    pub id: u64,
    /// The answer, or why there is none.
    pub answer: Result<Answer, Complaint>,
}

/// Why an agent did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Complaint {
    /// In its own words, causes joined by `: `.
    pub words: String,
    /// Something asked for by name can't be had on this host, whoever asks how often.
    #[serde(default)]
    pub unavailable: bool,
    /// Another host did not answer this one.
    #[serde(default)]
    pub unanswered: bool,
}

/// What became of what killed agents had left changed; in words.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Mended {
    /// Put back.
    pub restored: Vec<String>,
    /// Left as it is, and why: somebody else changed it since, or nothing proves that they did not.
    pub left: Vec<String>,
}

/// What an agent answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// To what is only to be done.
    Done,
    /// To `clock`.
    Clock {
        /// The agent's monotonic clock.
        monotonic: Nanos,
    },
    /// To `facts`.
    Facts(Box<HostFacts>),
    /// To `examine`.
    Examined(Box<Examination>),
    /// To `nics`.
    Nics {
        /// In the kernel's order.
        nics: Vec<NicFacts>,
    },
    /// To `cable-probe`.
    CableProbed {
        /// In the request's order.
        replies: Vec<ProbeReply>,
    },
    /// To `heard`.
    Heard {
        /// By port, the numbers of the frames that came.
        frames: BTreeMap<String, BTreeSet<u16>>,
    },
    /// To `terms`.
    Agreed {
        /// What became of what killed agents had left changed.
        mended: Mended,
    },
    /// To `delay`.
    Delayed {
        /// By port, the link at which its frames wait.
        through: BTreeMap<String, String>,
    },
    /// To `prepare`.
    Prepared {
        /// The port number of each receiver, in the request's order.
        ports: Vec<u16>,
    },
    /// To `collect`.
    Collected(Box<Collected>),
}

impl Answer {
    /// To `examine`, and nothing else.
    pub fn examined(self) -> Option<Examination> {
        match self {
            Self::Examined(examined) => Some(*examined),
            _ => None,
        }
    }

    /// That it is done, and nothing else.
    pub fn done(self) -> Option<()> {
        (self == Self::Done).then_some(())
    }
}

/// What a host has to say of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Collected {
    /// One for each side that this host ran.
    pub reports: Vec<FlowReport>,
    /// By port, the change of the kernel's counters from before the start to after the close.
    pub interfaces: BTreeMap<String, BTreeMap<String, u64>>,
    /// How busy the host was.
    pub usage: Usage,
}

/// What one side of a flow has to say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowReport {
    /// The flow's number in the trial.
    pub flow: u16,
    /// True for the side that speaks first.
    pub begins: bool,
    /// When the side's thread was ready to work, on this host's monotonic clock: after the window's
    /// start where it came late.
    pub ready: Nanos,
    /// The flow's record as far as this side saw it, or why there is none.
    pub report: Result<FlowRecord, String>,
}

/// Bytes are not a message, or not one for us.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// Not JSON, or not of a message's shape.
    #[error("read a message of {length} bytes")]
    Malformed {
        /// The frame's length.
        length: usize,
        /// Where it went wrong.
        #[source]
        cause: serde_json::Error,
    },
    /// A value has no JSON.
    #[error("write a message")]
    Unwritable(#[source] serde_json::Error),
    /// The peer speaks another protocol.
    #[error(
        "agree on a protocol: we speak {ours} (version {our_version}), \
         the peer speaks {theirs} (version {their_version})"
    )]
    Protocol {
        /// Ours.
        ours: u32,
        /// The peer's.
        theirs: u32,
        /// Our program's version.
        our_version: String,
        /// The peer program's version.
        their_version: String,
    },
    /// The message is a message, but not one that may come now.
    #[error("expected {expected} from the peer, got {got}")]
    OutOfTurn {
        /// What should have come.
        expected: &'static str,
        /// What came.
        got: &'static str,
    },
}

impl Message {
    /// Which of them it is, for errors.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Hello(_) => "hello",
            Self::Request(_) => "a request",
            Self::Reply(_) => "a reply",
            Self::Beat => "a beat",
        }
    }
}

/// A frame's content as a message. Any bytes may come; none of them panic.
pub fn decode(content: &[u8]) -> Result<Message, MessageError> {
    serde_json::from_slice(content)
        .map_err(|cause| MessageError::Malformed { length: content.len(), cause })
}

/// A message as a frame's content.
pub fn encode(message: &Message) -> Result<Vec<u8>, MessageError> {
    serde_json::to_vec(message).map_err(MessageError::Unwritable)
}
