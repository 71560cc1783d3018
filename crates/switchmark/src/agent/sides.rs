//! The sides of flows that this host runs: opened by order, run over a window.
//!
//! Never makes up an address: a side that would talk to anybody is refused.

use std::fmt;
use std::net::IpAddr;

use dataplane::{FlowError, Halt, Window, bulk, datagram, echo, exchange};

use super::cancel::Cancel;
use super::fault::AgentFault;
use super::storage;
use crate::protocol::{ReceiverOrder, SenderOrder, SideReport};

type Run = Box<dyn FnOnce(Window, &Halt) -> Result<SideReport, FlowError> + Send>;

/// An opened side of a flow.
pub struct Side {
    name: &'static str,
    run: Run,
}

impl Side {
    /// Opens a data port, and tells its number.
    pub fn receive(order: &ReceiverOrder) -> Result<(Self, u16), AgentFault> {
        let (name, flow) = (order.name(), order.flow());
        check_addresses(name, flow, order.addresses())?;
        let (port, run) =
            open_receiver(order).map_err(|cause| AgentFault::Open { side: name, flow, cause })?;
        Ok((Self { name, run }, port))
    }

    /// Opens a sending side and lets it learn its path.
    pub fn send(order: &SenderOrder, cancel: &Cancel) -> Result<Self, AgentFault> {
        let (name, flow) = (order.name(), order.flow());
        check_addresses(name, flow, order.addresses())?;
        let run = open_sender(order, cancel).map_err(|cause| AgentFault::Open {
            side: name,
            flow,
            cause,
        })?;
        Ok(Self { name, run })
    }

    /// Does its part of the trial.
    pub fn run(self, window: Window, halt: &Halt) -> Result<SideReport, FlowError> {
        (self.run)(window, halt)
    }

    /// Its name, for a thread.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl fmt::Debug for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Side").field(&self.name).finish()
    }
}

fn open_receiver(order: &ReceiverOrder) -> Result<(u16, Run), FlowError> {
    Ok(match order {
        ReceiverOrder::EchoServer(spec) => {
            let side = echo::EchoServer::bind(spec)?;
            (side.port(), Box::new(|w, h| side.run(w, h).map(SideReport::EchoServer)))
        }
        ReceiverOrder::Receiver(spec) => {
            let side = datagram::Receiver::bind(spec)?;
            (side.port(), Box::new(|w, h| side.run(w, h).map(SideReport::Receiver)))
        }
        ReceiverOrder::Sink(spec) => {
            let side = bulk::Sink::bind(spec)?;
            (side.port(), Box::new(|w, h| side.run(w, h).map(SideReport::Sink)))
        }
        ReceiverOrder::ExchangeResponder(spec) => {
            let side = exchange::ExchangeResponder::bind(spec)?;
            (side.port(), Box::new(|w, h| side.run(w, h).map(SideReport::ExchangeResponder)))
        }
        ReceiverOrder::StorageServer(spec) => {
            let side = storage::StorageServer::open(spec)?;
            (side.port(), Box::new(|w, h| side.run(w, h).map(SideReport::StorageServer)))
        }
    })
}

fn open_sender(order: &SenderOrder, cancel: &Cancel) -> Result<Run, FlowError> {
    Ok(match order {
        SenderOrder::EchoClient(spec) => {
            let side = echo::EchoClient::connect(spec)?;
            Box::new(|w, h| side.run(w, h).map(SideReport::EchoClient))
        }
        SenderOrder::Sender(spec) => {
            let mut side = datagram::Sender::open(spec)?;
            side.learn()?;
            Box::new(|w, h| side.run(w, h).map(SideReport::Sender))
        }
        SenderOrder::Source(spec) => {
            let side = bulk::Source::connect(spec)?;
            Box::new(|w, h| side.run(w, h).map(SideReport::Source))
        }
        SenderOrder::ExchangeInitiator(spec) => {
            let side = exchange::ExchangeInitiator::connect(spec)?;
            Box::new(|w, h| side.run(w, h).map(SideReport::ExchangeInitiator))
        }
        SenderOrder::Client(spec) => {
            let side = storage::Client::prepare(spec, cancel)?;
            Box::new(|w, h| side.run(w, h).map(|report| SideReport::Client(Box::new(report))))
        }
    })
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
