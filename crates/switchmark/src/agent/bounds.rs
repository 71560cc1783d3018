//! The terms that this agent holds its orders to, and its kernel's word on where they would lead.
//!
//! Owns the refusal. Never widens a term: said once, they hold until the agent ends.

use std::collections::BTreeMap;
use std::net::IpAddr;

use dataplane::datagram::{Pace, SenderSpec};
use measure::Nanos;
use netlink::Netlink;
use trial::topology::AddressBlock;

use super::fault::AgentFault;
use crate::protocol::{ReceiverOrder, SenderOrder, Terms, WIRE_OCTETS, echo_bits, per_second};

const UDP: u8 = 17;
/// Shares of a limit add up to it but for this.
const ROUNDING: f64 = 1e-6;

/// By interface's number, bits a second.
pub type Load = BTreeMap<u32, f64>;

/// The terms in force.
#[derive(Debug)]
pub struct Bounds {
    terms: Terms,
}

impl Bounds {
    /// From now on these.
    pub const fn new(terms: Terms) -> Self {
        Self { terms }
    }

    /// How long a trial may take.
    pub fn longest(&self, ceiling: Nanos) -> Nanos {
        self.terms.longest.min(ceiling)
    }

    /// Refuses an interface that is not to be loaded.
    pub fn check_interface(&self, interface: &str) -> Result<(), AgentFault> {
        if self.terms.interfaces.iter().any(|known| known == interface) {
            return Ok(());
        }
        Err(AgentFault::NoTestPort { interface: interface.to_owned() })
    }

    /// Refuses a receiver that would answer strangers, or by an interface that is not to be loaded,
    /// or more than an interface may be asked to send. What its answers come to, by interface.
    pub fn check_receivers(&self, orders: &[ReceiverOrder]) -> Result<Load, AgentFault> {
        let mut load = Load::new();
        for order in orders {
            let interface = self.check_ends(order.flow(), order.addresses())?;
            match order {
                ReceiverOrder::Receiver(spec) => {
                    let ranges = [spec.spread.sources, spec.spread.destinations];
                    self.check_ranges(order.flow(), &ranges)?;
                }
                ReceiverOrder::EchoServer(spec) => {
                    let bits = echo_bits(spec.protocol, spec.frame_size, spec.messages);
                    let asked = per_second(spec.pace).map(|often| often * bits);
                    self.add(order.flow(), asked, load.entry(interface).or_default())?;
                }
                // Acknowledgements; a source of such a flow is refused where there is a limit.
                ReceiverOrder::Sink(_)
                | ReceiverOrder::ExchangeResponder(_)
                | ReceiverOrder::StorageServer(_) => {}
            }
        }
        Ok(load)
    }

    /// Refuses a sender of which frames would reach strangers, leave by an interface that is not to
    /// be loaded, or be more than an interface may be asked to send beside what it `answers`.
    pub fn check_senders(&self, orders: &[SenderOrder], answers: &Load) -> Result<(), AgentFault> {
        let mut load = answers.clone();
        for order in orders {
            let interface = self.check_ends(order.flow(), order.addresses())?;
            if let SenderOrder::Sender(spec) = order {
                let ranges = [spec.spread.sources, spec.spread.destinations];
                self.check_ranges(order.flow(), &ranges)?;
            }
            let asked = match order {
                SenderOrder::Sender(spec) => datagrams_bits(spec),
                SenderOrder::EchoClient(spec) => {
                    let bits = echo_bits(spec.protocol, spec.frame_size, spec.messages);
                    per_second(spec.pace).map(|often| often * bits)
                }
                SenderOrder::Source(_)
                | SenderOrder::ExchangeInitiator(_)
                | SenderOrder::Client(_) => None,
            };
            self.add(order.flow(), asked, load.entry(interface).or_default())?;
        }
        Ok(())
    }

    /// The interface between two ends, by its number; zero where no route is known, so that nothing
    /// can leave.
    fn check_ends(&self, flow: u16, (own, peer): (IpAddr, IpAddr)) -> Result<u32, AgentFault> {
        for address in [own, peer] {
            if !self.terms.cover(address) {
                return Err(AgentFault::Stranger { flow, address });
            }
        }
        let look = |cause| AgentFault::Route { flow, cause };
        let mut kernel = Netlink::open().map_err(look)?;
        let Ok(route) = kernel.route_to(peer, Some(own), 0, 0, UDP) else { return Ok(0) };
        let links = kernel.links().map_err(look)?;
        let name = links.into_iter().find(|link| link.index == route.index).map(|link| link.name);
        match name {
            Some(name) if !self.terms.interfaces.contains(&name) => {
                Err(AgentFault::Interface { flow, peer, interface: name })
            }
            _ => Ok(route.index),
        }
    }

    fn check_ranges(&self, flow: u16, ranges: &[Option<AddressBlock>]) -> Result<(), AgentFault> {
        let stranger = ranges.iter().flatten().find(|range| !self.terms.cover_all(**range));
        match stranger {
            Some(range) => Err(AgentFault::Stranger { flow, address: range.first }),
            None => Ok(()),
        }
    }

    /// Adds what a flow asks to send to its interface's `load`, in bits a second. Where there is a
    /// limit, one that names no rate is refused.
    fn add(&self, flow: u16, asked: Option<f64>, load: &mut f64) -> Result<(), AgentFault> {
        let Some(limit) = self.terms.rate else { return Ok(()) };
        *load += asked.ok_or(AgentFault::Unbounded { flow, limit })?;
        if *load > limit.bits_per_second() * (1.0 + ROUNDING) {
            return Err(AgentFault::Rate { flow, asked: *load, limit });
        }
        Ok(())
    }
}

fn datagrams_bits(spec: &SenderSpec) -> Option<f64> {
    let gap_ns = match spec.pace {
        Pace::Every(gap) => gap,
        Pace::Falling { from, to, .. } => from.min(to),
        Pace::Greedy | Pace::Burst(_) => return None,
    };
    Some((spec.frames.mean_octets() + WIRE_OCTETS) * 8.0 * 1e9 / gap_ns.max(1e-3))
}
