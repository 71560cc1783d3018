//! The sides of flows that this host runs: opened by order, run over a window.
//!
//! Never makes up an address: a side that would talk to anybody is refused.

use std::net::IpAddr;

use dataplane::{FlowError, Halt, Window, bulk, datagram, echo, exchange};

use super::duty::Reins;
use super::fault::AgentFault;
use super::storage;
use crate::protocol::{ReceiverOrder, SenderOrder, SideReport};

/// An opened side of a flow.
pub enum Side {
    /// Answers an echo flow.
    Reflector(echo::Reflector),
    /// Counts a datagram flow.
    Receiver(datagram::Receiver),
    /// Takes a bulk flow.
    Sink(bulk::Sink),
    /// Waits for the other end of an exchange.
    Waiter(exchange::Waiter),
    /// Stands at a storage's end.
    Keeper(storage::Keeper),
    /// Asks in an echo flow.
    Asker(echo::Asker),
    /// Sends a datagram flow.
    Sender(datagram::Sender),
    /// Feeds a bulk flow.
    Source(bulk::Source),
    /// Calls the other end of an exchange.
    Caller(exchange::Caller),
    /// Reads and writes.
    Client(storage::Client),
}

impl Side {
    /// Opens a data port, and tells its number.
    pub fn receive(order: &ReceiverOrder) -> Result<(Self, u16), AgentFault> {
        let (side, flow) = (receiving(order), order.flow());
        check_addresses(side, flow, order.addresses())?;
        let opened = match order {
            ReceiverOrder::Reflector(spec) => echo::Reflector::bind(spec).map(|s| {
                let port = s.port();
                (Self::Reflector(s), port)
            }),
            ReceiverOrder::Receiver(spec) => datagram::Receiver::bind(spec).map(|s| {
                let port = s.port();
                (Self::Receiver(s), port)
            }),
            ReceiverOrder::Sink(spec) => bulk::Sink::bind(spec).map(|s| {
                let port = s.port();
                (Self::Sink(s), port)
            }),
            ReceiverOrder::Waiter(spec) => exchange::Waiter::bind(spec).map(|s| {
                let port = s.port();
                (Self::Waiter(s), port)
            }),
            ReceiverOrder::Keeper(spec) => storage::Keeper::open(spec).map(|s| {
                let port = s.port();
                (Self::Keeper(s), port)
            }),
        };
        opened.map_err(|cause| AgentFault::Open { side, flow, cause })
    }

    /// Opens a sending side and lets it learn its path.
    pub fn send(order: &SenderOrder, reins: &Reins) -> Result<Self, AgentFault> {
        let (side, flow) = (sending(order), order.flow());
        check_addresses(side, flow, order.addresses())?;
        let opened = match order {
            SenderOrder::Asker(spec) => echo::Asker::connect(spec).map(Self::Asker),
            SenderOrder::Sender(spec) => datagram::Sender::open(spec).and_then(|mut sender| {
                sender.learn()?;
                Ok(Self::Sender(sender))
            }),
            SenderOrder::Source(spec) => bulk::Source::connect(spec).map(Self::Source),
            SenderOrder::Caller(spec) => exchange::Caller::connect(spec).map(Self::Caller),
            SenderOrder::Client(spec) => storage::Client::prepare(spec, reins).map(Self::Client),
        };
        opened.map_err(|cause| AgentFault::Open { side, flow, cause })
    }

    /// Does its part of the trial.
    pub fn run(self, window: Window, halt: &Halt) -> Result<SideReport, FlowError> {
        match self {
            Self::Reflector(side) => side.run(window, halt).map(SideReport::Reflector),
            Self::Receiver(side) => side.run(window, halt).map(SideReport::Receiver),
            Self::Sink(side) => side.run(window, halt).map(SideReport::Sink),
            Self::Asker(side) => side.run(window, halt).map(SideReport::Asker),
            Self::Sender(side) => side.run(window, halt).map(SideReport::Sender),
            Self::Source(side) => side.run(window, halt).map(SideReport::Source),
            Self::Waiter(side) => side.run(window, halt).map(SideReport::Waiter),
            Self::Caller(side) => side.run(window, halt).map(SideReport::Caller),
            Self::Keeper(side) => side.run(window, halt).map(SideReport::Keeper),
            Self::Client(side) => side.run(window, halt).map(|r| SideReport::Client(Box::new(r))),
        }
    }

    /// Its name, for a thread.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Reflector(_) => "reflector",
            Self::Receiver(_) => "receiver",
            Self::Sink(_) => "sink",
            Self::Asker(_) => "asker",
            Self::Sender(_) => "sender",
            Self::Source(_) => "source",
            Self::Waiter(_) => "waiter",
            Self::Caller(_) => "caller",
            Self::Keeper(_) => "keeper",
            Self::Client(_) => "client",
        }
    }
}

const fn receiving(order: &ReceiverOrder) -> &'static str {
    match order {
        ReceiverOrder::Reflector(_) => "reflector",
        ReceiverOrder::Receiver(_) => "receiver",
        ReceiverOrder::Sink(_) => "sink",
        ReceiverOrder::Waiter(_) => "waiter",
        ReceiverOrder::Keeper(_) => "keeper",
    }
}

const fn sending(order: &SenderOrder) -> &'static str {
    match order {
        SenderOrder::Asker(_) => "asker",
        SenderOrder::Sender(_) => "sender",
        SenderOrder::Source(_) => "source",
        SenderOrder::Caller(_) => "caller",
        SenderOrder::Client(_) => "client",
    }
}

/// Both ends must be single hosts.
fn check_addresses(
    side: &'static str,
    flow: u16,
    (own, peer): (IpAddr, IpAddr),
) -> Result<(), AgentFault> {
    for address in [own, peer] {
        let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
        if address.is_unspecified() || address.is_multicast() || broadcast {
            return Err(AgentFault::Address { side, flow, address });
        }
    }
    Ok(())
}
