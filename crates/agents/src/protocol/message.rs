//! Messages and their encoding.
//!
//! Owns the requests to an agent and its answers: one enum in each direction. Never blocks, reads
//! or writes: [`decode`] and [`encode`] are pure, so a fuzzer can use them.

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

/// Version of the protocol. Another version is refused: controller and agent are one binary, so a
/// difference means that one of them is old.
pub const PROTOCOL: u32 = 21;

/// A message in either direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// First message in each direction.
    Hello(Hello),
    /// Request of the controller.
    Request(Request),
    /// Reply of the agent, one for each request, in order.
    Reply(Reply),
    /// Heartbeat of the controller, several times a second.
    Beat,
}

/// Greeting of the controller or the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Value of [`PROTOCOL`].
    pub protocol: u32,
    /// Version of the program: `0.1.0`.
    #[serde(default)]
    pub version: String,
}

impl Hello {
    /// Creates this program's own greeting.
    pub fn ours() -> Self {
        Self { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").to_owned() }
    }

    /// Refuses a peer with another protocol version.
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

/// A request to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Number of the request, repeated in the reply.
    pub id: u64,
    /// Content of the request.
    pub ask: Ask,
}

/// Requests to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ask {
    /// Reads the agent's monotonic clock. Answered by `clock`.
    Clock,
    /// Gathers facts about the host. Answered by `facts`.
    Facts {
        /// Ports to describe.
        interfaces: Vec<String>,
    },
    /// Sets the agent's limits; sent once, before any trial. Answered by `agreed`.
    Terms {
        /// Limits of the agent.
        terms: Terms,
    },
    /// Keeps other runs from these ports until the agent ends. Answered by `done`.
    Hold {
        /// Names of test ports.
        interfaces: Vec<String>,
        /// Name of the holder, shown to other runs.
        holder: String,
    },
    /// Changes or restores segmentation and receive offloads. Answered by `done`.
    Offloads {
        /// Ports to change.
        interfaces: Vec<String>,
        /// Change to make.
        change: OffloadChange,
    },
    /// Delays every frame that arrives at these ports before the host receives it, until the agent
    /// ends. A port that has its delay already is checked. Answered by `delayed`.
    Delay {
        /// Limits of waiting frames, by port.
        ports: BTreeMap<String, u32>,
        /// Delay of each frame.
        delay: Nanos,
    },
    /// Gathers facts that affect a measurement. Answered by `examined`.
    Examine {
        /// Ports to describe.
        interfaces: Vec<String>,
        /// Time during which other programs are observed.
        watched: Nanos,
    },
    /// Lists all ports of the host. Answered by `nics`.
    Nics,
    /// Changes settings of the host, until the agent ends. Answered by `done`.
    Change {
        /// Settings in this order; the first failure ends the change, and earlier changes remain to
        /// be restored.
        settings: Vec<Setting>,
    },
    /// Listens for marked frames at these ports, replacing the earlier ones. Answered by `done`.
    Listen {
        /// Names of test ports.
        interfaces: Vec<String>,
        /// Mark that such a frame carries.
        mark: u32,
    },
    /// Sends marked frames out of test ports, and looks for other owners of an address. Answered by
    /// `cable-probed`.
    CableProbe {
        /// Mark of the frames.
        mark: u32,
        /// Ports, one after another.
        ports: Vec<PortProbe>,
    },
    /// Reports the marked frames that arrived since `listen`. Answered by `heard`.
    Heard,
    /// Begins a trial: opens its data ports. Closes anything left of an earlier trial first.
    /// Answered by `prepared`.
    Prepare {
        /// Waiting sides, in the order of their ports in the answer.
        receivers: Vec<Order>,
        /// Ports whose counters are read around the load.
        interfaces: Vec<String>,
    },
    /// Opens the sending sides, which also send learning frames. Answered by `done`.
    Connect {
        /// Sending sides.
        senders: Vec<Order>,
    },
    /// Runs everything prepared and connected over a window of this host's monotonic clock.
    /// Answered at once by `done`.
    Start {
        /// Window of the trial.
        window: Window,
    },
    /// Waits for the window's end and returns the reports. Answered by `collected`.
    Collect,
    /// Ends the trial at once, whatever its state; data ports close. Answered by `done`.
    Abort,
    /// Ends the agent. Answered by `done`; then the agent exits.
    Goodbye,
}

impl Ask {
    /// Name of the request, for errors.
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

/// Change of a port's offloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OffloadChange {
    /// Turns TSO, GSO and GRO off; the original values are remembered until `restore`.
    Off,
    /// Restores the original values.
    Restore,
}

/// An agent's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// Number of the request.
    pub id: u64,
    /// Answer, or the reason why there is none.
    pub answer: Result<Answer, Complaint>,
}

/// Reason why an agent did not carry out a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Complaint {
    /// Reason in the agent's own words, causes joined by `: `.
    pub words: String,
    /// True if a named feature is permanently unavailable on this host.
    #[serde(default)]
    pub unavailable: bool,
    /// True if another host did not answer this one.
    #[serde(default)]
    pub unanswered: bool,
}

/// Changes left by killed agents, as text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Mended {
    /// Restored changes.
    pub restored: Vec<String>,
    /// Changes left as they are, each with the reason: another program changed them since, or that
    /// cannot be ruled out.
    pub left: Vec<String>,
}

/// Answers of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Answer to requests without a result.
    Done,
    /// Answer to `clock`.
    Clock {
        /// Reading of the agent's monotonic clock.
        monotonic: Nanos,
    },
    /// Answer to `facts`.
    Facts(Box<HostFacts>),
    /// Answer to `examine`.
    Examined(Box<Examination>),
    /// Answer to `nics`.
    Nics {
        /// Ports in the kernel's order.
        nics: Vec<NicFacts>,
    },
    /// Answer to `cable-probe`.
    CableProbed {
        /// Replies in the request's order.
        replies: Vec<ProbeReply>,
    },
    /// Answer to `heard`.
    Heard {
        /// Numbers of the received frames, by port.
        frames: BTreeMap<String, BTreeSet<u16>>,
    },
    /// Answer to `terms`.
    Agreed {
        /// Changes of killed agents that were undone or left.
        mended: Mended,
    },
    /// Answer to `delay`.
    Delayed {
        /// Links at which frames wait, by port.
        through: BTreeMap<String, String>,
    },
    /// Answer to `prepare`.
    Prepared {
        /// Data port of each receiver, in the request's order.
        ports: Vec<u16>,
    },
    /// Answer to `collect`.
    Collected(Box<Collected>),
}

impl Answer {
    /// Returns the content of `examined`; `None` for any other answer.
    pub fn examined(self) -> Option<Examination> {
        match self {
            Self::Examined(examined) => Some(*examined),
            _ => None,
        }
    }

    /// Returns `Some` for `done`; `None` for any other answer.
    pub fn done(self) -> Option<()> {
        (self == Self::Done).then_some(())
    }
}

/// Results of a trial from one host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Collected {
    /// Reports of the sides that this host ran.
    pub reports: Vec<FlowReport>,
    /// Increase of the kernel's counters from before the start to after the close, by port.
    pub interfaces: BTreeMap<String, BTreeMap<String, u64>>,
    /// Processor use of the host.
    pub usage: Usage,
}

/// Report of one side of a flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowReport {
    /// Number of the flow in the trial.
    pub flow: u16,
    /// True for the side that begins.
    pub begins: bool,
    /// Time on this host's monotonic clock at which the side's thread was ready to work; a late
    /// thread is ready after the window's start.
    pub ready: Nanos,
    /// Record of the flow from this side, or the reason why there is none.
    pub report: Result<FlowRecord, String>,
}

/// Bytes that are no message, or one of another protocol.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// Not JSON, or not of a message's form.
    #[error("read a message of {length} bytes")]
    Malformed {
        /// Length of the frame.
        length: usize,
        /// Position and cause of the error.
        #[source]
        cause: serde_json::Error,
    },
    /// A value that JSON cannot express.
    #[error("write a message")]
    Unwritable(#[source] serde_json::Error),
    /// The peer speaks another protocol version.
    #[error(
        "agree on a protocol: we speak {ours} (version {our_version}), \
         the peer speaks {theirs} (version {their_version})"
    )]
    Protocol {
        /// Protocol version of this program.
        ours: u32,
        /// Protocol version of the peer.
        theirs: u32,
        /// Version of this program.
        our_version: String,
        /// Version of the peer program.
        their_version: String,
    },
    /// A message that is not allowed at this time.
    #[error("expected {expected} from the peer, got {got}")]
    OutOfTurn {
        /// Expected message.
        expected: &'static str,
        /// Received message.
        got: &'static str,
    },
}

impl Message {
    /// Name of the message's kind, for errors.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Hello(_) => "hello",
            Self::Request(_) => "a request",
            Self::Reply(_) => "a reply",
            Self::Beat => "a beat",
        }
    }
}

/// Decodes a frame's content. Any bytes may come; none of them cause a panic.
pub fn decode(content: &[u8]) -> Result<Message, MessageError> {
    serde_json::from_slice(content)
        .map_err(|cause| MessageError::Malformed { length: content.len(), cause })
}

/// Encodes a message as a frame's content.
pub fn encode(message: &Message) -> Result<Vec<u8>, MessageError> {
    serde_json::to_vec(message).map_err(MessageError::Unwritable)
}
