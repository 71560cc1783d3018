//! The sides of flows, as they are ordered from an agent and reported by it.
//!
//! The specifications and reports are the data plane's own, but for those of storage, which moves
//! no packets itself; this only gives one name to each side. Never runs one: the agent does.

use std::net::{IpAddr, SocketAddr};

use dataplane::Identity;
use dataplane::bulk::{SinkReport, SinkSpec, SourceReport, SourceSpec};
use dataplane::datagram::{ReceiverReport, ReceiverSpec, SenderReport, SenderSpec};
use dataplane::echo::{EchoClientSpec, EchoServerReport, EchoServerSpec};
use dataplane::exchange::{EndReport, ExchangeInitiatorSpec, ExchangeResponderSpec};
use serde::{Deserialize, Serialize};
use trial::record::{EchoRecord, ServerRecord, StorageRecord};
use trial::{ServedMemory, Storage};

/// The storage host's side of a storage flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageServerSpec {
    /// The address to serve on.
    pub local: IpAddr,
    /// The only address that is served.
    pub peer: IpAddr,
    /// Whose flow it is.
    pub identity: Identity,
    /// What to serve; none where the storage exists.
    pub server: Option<ServedMemory>,
    /// The block device whose times are read.
    pub disk: Option<String>,
}

/// The reading and writing side of a storage flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientSpec {
    /// Own address.
    pub local: IpAddr,
    /// The server made for the trial; port 0 where the storage exists.
    pub remote: SocketAddr,
    /// Whose flow it is.
    pub identity: Identity,
    /// The job.
    pub job: Storage,
}

/// A side that opens a data port and waits there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReceiverOrder {
    /// Answers an echo flow.
    EchoServer(EchoServerSpec),
    /// Counts a datagram flow.
    Receiver(ReceiverSpec),
    /// Takes a bulk flow.
    Sink(SinkSpec),
    /// Waits for the other end of an exchange.
    ExchangeResponder(ExchangeResponderSpec),
    /// Serves a storage, or watches its disk.
    StorageServer(StorageServerSpec),
}

/// A side that begins to speak.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SenderOrder {
    /// Asks in an echo flow.
    EchoClient(EchoClientSpec),
    /// Sends a datagram flow.
    Sender(SenderSpec),
    /// Feeds a bulk flow.
    Source(SourceSpec),
    /// Calls the other end of an exchange.
    ExchangeInitiator(ExchangeInitiatorSpec),
    /// Reads and writes.
    Client(Box<ClientSpec>),
}

/// What a side did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SideReport {
    /// Of the answering side of an echo flow.
    EchoServer(EchoServerReport),
    /// Of the receiving side of a datagram flow.
    Receiver(ReceiverReport),
    /// Of the receiving side of a bulk flow.
    Sink(SinkReport),
    /// Of the asking side of an echo flow.
    EchoClient(EchoRecord),
    /// Of the sending side of a datagram flow.
    Sender(SenderReport),
    /// Of the sending side of a bulk flow.
    Source(SourceReport),
    /// Of the end of an exchange that waited.
    ExchangeResponder(EndReport),
    /// Of the end of an exchange that called.
    ExchangeInitiator(EndReport),
    /// Of the storage host's side.
    StorageServer(ServerRecord),
    /// Of the reading and writing side.
    Client(Box<StorageRecord>),
}

impl ReceiverOrder {
    /// Which side of which kind of flow it is.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::EchoServer(_) => "echo server",
            Self::Receiver(_) => "receiver",
            Self::Sink(_) => "sink",
            Self::ExchangeResponder(_) => "exchange responder",
            Self::StorageServer(_) => "storage server",
        }
    }

    /// The flow's number.
    pub fn flow(&self) -> u16 {
        match self {
            Self::EchoServer(spec) => spec.identity.flow,
            Self::Receiver(spec) => spec.identity.flow,
            Self::Sink(spec) => spec.identity.flow,
            Self::ExchangeResponder(spec) => spec.identity.flow,
            Self::StorageServer(spec) => spec.identity.flow,
        }
    }

    /// Own address and the only one heard.
    pub fn addresses(&self) -> (IpAddr, IpAddr) {
        match self {
            Self::EchoServer(spec) => (spec.local, spec.peer),
            Self::Receiver(spec) => (spec.local, spec.peer),
            Self::Sink(spec) => (spec.local, spec.peer),
            Self::ExchangeResponder(spec) => (spec.local, spec.peer),
            Self::StorageServer(spec) => (spec.local, spec.peer),
        }
    }
}

impl SenderOrder {
    /// Which side of which kind of flow it is.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::EchoClient(_) => "echo client",
            Self::Sender(_) => "sender",
            Self::Source(_) => "source",
            Self::ExchangeInitiator(_) => "exchange initiator",
            Self::Client(_) => "storage client",
        }
    }

    /// The flow's number.
    pub fn flow(&self) -> u16 {
        match self {
            Self::EchoClient(spec) => spec.identity.flow,
            Self::Sender(spec) => spec.identity.flow,
            Self::Source(spec) => spec.identity.flow,
            Self::ExchangeInitiator(spec) => spec.identity.flow,
            Self::Client(spec) => spec.identity.flow,
        }
    }

    /// Own address and the only one spoken to.
    pub fn addresses(&self) -> (IpAddr, IpAddr) {
        match self {
            Self::EchoClient(spec) => (spec.local, spec.remote.ip()),
            Self::Sender(spec) => (spec.local, spec.remote.ip()),
            Self::Source(spec) => (spec.local, spec.remote.ip()),
            Self::ExchangeInitiator(spec) => (spec.local, spec.remote.ip()),
            Self::Client(spec) => (spec.local, spec.remote.ip()),
        }
    }
}
