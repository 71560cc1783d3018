//! Why an agent could not do what was asked.
//!
//! Never decides what that means for the trial: the words cross the pipe, and the controller does.

use std::io;

use dataplane::FlowError;
use dataplane::counters::CountersError;
use measure::Nanos;

use crate::protocol::{Message, MessageError, ProtocolError};

/// A request failed, or the agent can't go on.
#[derive(Debug, thiserror::Error)]
pub enum AgentFault {
    /// The pipe or what came through it.
    #[error("talk to the controller")]
    Protocol(#[from] ProtocolError),
    /// The leash could not be fastened.
    #[error("tie this agent's life to its parent's")]
    Leash(#[source] nix::Error),
    /// The parent was gone before the leash held.
    #[error("tie this agent's life to its parent's: the parent is gone")]
    Orphan,
    /// A thread could not be made.
    #[error("start thread `{name}`")]
    Thread {
        /// Its name.
        name: String,
        /// The kernel's answer.
        #[source]
        cause: io::Error,
    },
    /// A flow's side could not be made.
    #[error("open the {side} of flow {flow}")]
    Open {
        /// `reflector`, `asker`…
        side: &'static str,
        /// The flow's number.
        flow: u16,
        /// Why.
        #[source]
        cause: FlowError,
    },
    /// A flow's side would talk to anybody, or from anywhere.
    #[error("open the {side} of flow {flow}: {address} is not one host's address")]
    Address {
        /// `reflector`, `asker`…
        side: &'static str,
        /// The flow's number.
        flow: u16,
        /// The address.
        address: std::net::IpAddr,
    },
    /// Requests out of order.
    #[error("{ask}: {reason}")]
    Order {
        /// The request.
        ask: &'static str,
        /// Why not now.
        reason: &'static str,
    },
    /// The window can't be kept.
    #[error("start at {start}: the clock reads {now} already")]
    Late {
        /// Asked.
        start: Nanos,
        /// Read.
        now: Nanos,
    },
    /// The window is no window, or longer than any trial.
    #[error("run from {start} to {closed}: {reason}")]
    Window {
        /// Asked.
        start: Nanos,
        /// Asked.
        closed: Nanos,
        /// What is wrong.
        reason: &'static str,
    },
    /// The window ends later than any trial may.
    #[error("run from {start} to {closed}: no trial here may take longer than {longest}")]
    Long {
        /// Asked.
        start: Nanos,
        /// Asked.
        closed: Nanos,
        /// The most, by the terms or for any agent.
        longest: Nanos,
    },
    /// A flow's end is none of the testbed's.
    #[error("take part in flow {flow}: {address} is no address of the testbed")]
    Stranger {
        /// The flow's number.
        flow: u16,
        /// Whose.
        address: std::net::IpAddr,
    },
    /// A flow would leave by an interface that nobody named.
    #[error(
        "take part in flow {flow}: the way to {peer} leaves by `{interface}`, which is no test port"
    )]
    Interface {
        /// The flow's number.
        flow: u16,
        /// To whom.
        peer: std::net::IpAddr,
        /// By what.
        interface: String,
    },
    /// The kernel does not say where a flow would go.
    #[error("look up the way of flow {flow}")]
    Route {
        /// The flow's number.
        flow: u16,
        /// Why.
        #[source]
        cause: netlink::NetlinkError,
    },
    /// More than an interface may be asked to send.
    #[error(
        "send flow {flow}: its interface would be asked for {asked:.0} bit/s of {limit} allowed"
    )]
    Rate {
        /// The flow's number.
        flow: u16,
        /// Of all flows on the interface, bits a second.
        asked: f64,
        /// The testbed's limit.
        limit: measure::Rate,
    },
    /// A load that names no rate, where there is a limit.
    #[error("send flow {flow}: it names no rate, and an interface here may be asked for {limit}")]
    Unbounded {
        /// The flow's number.
        flow: u16,
        /// The testbed's limit.
        limit: measure::Rate,
    },
    /// A file of settings.
    #[error("{deed} {path}")]
    File {
        /// `read`, `write`.
        deed: &'static str,
        /// Which.
        path: String,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// A file that agents do not write.
    #[error(transparent)]
    NotSettable(#[from] crate::protocol::NotSettable),
    /// A setting of the machine that another agent changed and will put back.
    #[error(
        "write {path}: another agent changed it and has yet to put it back; wait until it has ended"
    )]
    OthersSetting {
        /// Which.
        path: String,
    },
    /// What was found could not be put back.
    #[error("put back {what}")]
    Restore {
        /// In words.
        what: String,
        /// Why.
        #[source]
        cause: netlink::NetlinkError,
    },
    /// Another run uses this port.
    #[error("use `{interface}`: it is held by {holder}; wait until that has ended, or end it")]
    Held {
        /// The port.
        interface: String,
        /// By whom.
        holder: String,
    },
    /// A port's setting.
    #[error("set up `{interface}`")]
    Setting {
        /// The port.
        interface: String,
        /// Why.
        #[source]
        cause: netlink::NetlinkError,
    },
    /// A port that has no such setting.
    #[error("set up `{interface}`: its driver tells of no {what}")]
    NoSetting {
        /// The port.
        interface: String,
        /// What is not there.
        what: &'static str,
    },
    /// An interrupt that no port of this host's network namespace has.
    #[error("move interrupt {number}: no port of this host has it")]
    OthersInterrupt {
        /// Its number.
        number: u32,
    },
    /// A frame by hand.
    #[error("prove the cable of `{interface}`")]
    CableProbe {
        /// The port.
        interface: String,
        /// Why.
        #[source]
        cause: FlowError,
    },
    /// A port that is none of the testbed's.
    #[error("use `{interface}`: it is no test port")]
    NoTestPort {
        /// The port.
        interface: String,
    },
    /// Counters could not be read.
    #[error("read counters around the load")]
    Counters(#[from] CountersError),
    /// Offloads could not be read or set.
    #[error("{deed} offloads of `{interface}`")]
    Offloads {
        /// `read`, `turn off`, `restore`.
        deed: &'static str,
        /// The port.
        interface: String,
        /// Why.
        #[source]
        cause: netlink::NetlinkError,
    },
    /// Delay could not be added, checked or taken away.
    #[error("{deed} the delay of what arrives at `{interface}`{}", hint_of(cause))]
    Delay {
        /// `add`, `check`, `take away`.
        deed: &'static str,
        /// The port.
        interface: String,
        /// Why.
        #[source]
        cause: netlink::NetlinkError,
    },
    /// It was added, and is there no longer as it was.
    #[error(
        "check the delay of what arrives at `{interface}`: it is no longer {delay}; another program \
         changed the port's queues"
    )]
    DelayGone {
        /// The port.
        interface: String,
        /// What it should be.
        delay: Nanos,
    },
}

/// What the user can do crosses the pipe with the words.
fn hint_of(cause: &netlink::NetlinkError) -> String {
    cause.hint().map_or_else(String::new, |hint| format!(" ({hint})"))
}

impl AgentFault {
    /// Whether something that was asked for by name can't be had here: no use asking again.
    pub fn is_unavailable(&self) -> bool {
        matches!(
            self,
            Self::Open { cause: FlowError::Unavailable { .. }, .. }
                | Self::Delay { deed: "add", .. }
                | Self::Stranger { .. }
                | Self::Interface { .. }
                | Self::Rate { .. }
                | Self::Unbounded { .. }
                | Self::Long { .. }
                | Self::Held { .. }
        )
    }

    /// A message that may not come now.
    pub fn out_of_turn(expected: &'static str, got: &Message) -> Self {
        Self::Protocol(MessageError::OutOfTurn { expected, got: got.name() }.into())
    }
}
