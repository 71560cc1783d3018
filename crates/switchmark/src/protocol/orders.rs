//! The sides of flows, as they are ordered from an agent and reported by it.
//!
//! The specifications and reports are the data plane's own, but for those of storage, which moves
//! no packets itself; this only gives one name to each side. Never runs one: the agent does.

use std::net::{IpAddr, SocketAddr};

use dataplane::Identity;
use dataplane::bulk::{SinkReport, SinkSpec, SourceReport, SourceSpec};
use dataplane::datagram::{ReceiverReport, ReceiverSpec, SenderReport, SenderSpec};
use dataplane::echo::{AskerSpec, ReflectorReport, ReflectorSpec};
use dataplane::exchange::{CallerSpec, EndReport, WaiterSpec};
use serde::{Deserialize, Serialize};
use trial::record::{EchoRecord, ServerRecord, StorageRecord};
use trial::{Storage, StorageServer};

/// The storage host's side of a storage flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeeperSpec {
    /// The address to serve on.
    pub local: IpAddr,
    /// The only address that is served.
    pub peer: IpAddr,
    /// Whose flow it is.
    pub identity: Identity,
    /// What to serve; none where the storage exists.
    pub server: Option<StorageServer>,
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
    Reflector(ReflectorSpec),
    /// Counts a datagram flow.
    Receiver(ReceiverSpec),
    /// Takes a bulk flow.
    Sink(SinkSpec),
    /// Waits for the other end of an exchange.
    Waiter(WaiterSpec),
    /// Serves a storage, or watches its disk.
    Keeper(KeeperSpec),
}

/// A side that begins to speak.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SenderOrder {
    /// Asks in an echo flow.
    Asker(AskerSpec),
    /// Sends a datagram flow.
    Sender(SenderSpec),
    /// Feeds a bulk flow.
    Source(SourceSpec),
    /// Calls the other end of an exchange.
    Caller(CallerSpec),
    /// Reads and writes.
    Client(Box<ClientSpec>),
}

/// What a side did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SideReport {
    /// Of the answering side of an echo flow.
    Reflector(ReflectorReport),
    /// Of the receiving side of a datagram flow.
    Receiver(ReceiverReport),
    /// Of the receiving side of a bulk flow.
    Sink(SinkReport),
    /// Of the asking side of an echo flow.
    Asker(EchoRecord),
    /// Of the sending side of a datagram flow.
    Sender(SenderReport),
    /// Of the sending side of a bulk flow.
    Source(SourceReport),
    /// Of the end of an exchange that waited.
    Waiter(EndReport),
    /// Of the end of an exchange that called.
    Caller(EndReport),
    /// Of the storage host's side.
    Keeper(ServerRecord),
    /// Of the reading and writing side.
    Client(Box<StorageRecord>),
}

impl ReceiverOrder {
    /// The flow's number.
    pub fn flow(&self) -> u16 {
        match self {
            Self::Reflector(spec) => spec.identity.flow,
            Self::Receiver(spec) => spec.identity.flow,
            Self::Sink(spec) => spec.identity.flow,
            Self::Waiter(spec) => spec.identity.flow,
            Self::Keeper(spec) => spec.identity.flow,
        }
    }

    /// Own address and the only one heard.
    pub fn addresses(&self) -> (IpAddr, IpAddr) {
        match self {
            Self::Reflector(spec) => (spec.local, spec.peer),
            Self::Receiver(spec) => (spec.local, spec.peer),
            Self::Sink(spec) => (spec.local, spec.peer),
            Self::Waiter(spec) => (spec.local, spec.peer),
            Self::Keeper(spec) => (spec.local, spec.peer),
        }
    }
}

impl SenderOrder {
    /// The flow's number.
    pub fn flow(&self) -> u16 {
        match self {
            Self::Asker(spec) => spec.identity.flow,
            Self::Sender(spec) => spec.identity.flow,
            Self::Source(spec) => spec.identity.flow,
            Self::Caller(spec) => spec.identity.flow,
            Self::Client(spec) => spec.identity.flow,
        }
    }

    /// Own address and the only one spoken to.
    pub fn addresses(&self) -> (IpAddr, IpAddr) {
        match self {
            Self::Asker(spec) => (spec.local, spec.remote.ip()),
            Self::Sender(spec) => (spec.local, spec.remote.ip()),
            Self::Source(spec) => (spec.local, spec.remote.ip()),
            Self::Caller(spec) => (spec.local, spec.remote.ip()),
            Self::Client(spec) => (spec.local, spec.remote.ip()),
        }
    }
}
