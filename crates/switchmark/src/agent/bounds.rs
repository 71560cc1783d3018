//! The terms that this agent holds its orders to, and its kernel's word on where they would lead.
//!
//! Owns the refusal. Never widens a term: said once, they hold until the agent ends.

use std::collections::BTreeMap;
use std::net::IpAddr;

use dataplane::datagram::{AddressRange, Pace, SenderSpec};
use dataplane::echo::AskerSpec;
use measure::Nanos;
use netlink::Netlink;

use super::fault::AgentFault;
use crate::protocol::{ReceiverOrder, SenderOrder, Terms};

const UDP: u8 = 17;
/// Of a frame without its FCS, on the wire: preamble, FCS and gap.
const OVERHEAD_OCTETS: f64 = 20.0;

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

    /// Refuses a receiver that would answer strangers, or by an interface that is not to be loaded.
    pub fn check_receivers(&self, orders: &[ReceiverOrder]) -> Result<(), AgentFault> {
        for order in orders {
            self.check_ends(order.flow(), order.addresses())?;
            if let ReceiverOrder::Receiver(spec) = order {
                let ranges = [spec.spread.sources, spec.spread.destinations];
                self.check_ranges(order.flow(), &ranges)?;
            }
        }
        Ok(())
    }

    /// Refuses a sender of which frames would reach strangers, leave by an interface that is not to be
    /// loaded, or be more than an interface may be asked to send.
    pub fn check_senders(&self, orders: &[SenderOrder]) -> Result<(), AgentFault> {
        let mut load: BTreeMap<u32, f64> = BTreeMap::new();
        for order in orders {
            let interface = self.check_ends(order.flow(), order.addresses())?;
            if let SenderOrder::Sender(spec) = order {
                let ranges = [spec.spread.sources, spec.spread.destinations];
                self.check_ranges(order.flow(), &ranges)?;
            }
            self.check_rate(order, load.entry(interface).or_default())?;
        }
        Ok(())
    }

    /// The interface between two ends, by its number; zero where no route is known, so that nothing can
    /// leave.
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

    fn check_ranges(&self, flow: u16, ranges: &[Option<AddressRange>]) -> Result<(), AgentFault> {
        let stranger = ranges.iter().flatten().find(|range| !self.terms.cover_all(**range));
        match stranger {
            Some(range) => Err(AgentFault::Stranger { flow, address: range.first }),
            None => Ok(()),
        }
    }

    /// Adds what an order sends to its interface's `load`, in bits a second. Where there is a limit, a
    /// load that names no rate is refused, but a closed loop of echoes has one frame on its way (of messages,
    /// more).
    fn check_rate(&self, order: &SenderOrder, load: &mut f64) -> Result<(), AgentFault> {
        let Some(limit) = self.terms.rate else { return Ok(()) };
        let flow = order.flow();
        *load += match order {
            SenderOrder::Sender(spec) => {
                datagrams_bits(spec).ok_or(AgentFault::Unbounded { flow, limit })?
            }
            SenderOrder::Asker(spec) => {
                echo_bits(spec).ok_or(AgentFault::Unbounded { flow, limit })?
            }
            SenderOrder::Source(_) | SenderOrder::Caller(_) | SenderOrder::Client(_) => {
                return Err(AgentFault::Unbounded { flow, limit });
            }
        };
        if *load > limit.bits_per_second() {
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
    Some((spec.frames.mean_octets() + OVERHEAD_OCTETS) * 8.0 * 1e9 / gap_ns.max(1e-3))
}

fn echo_bits(spec: &AskerSpec) -> Option<f64> {
    let frame = f64::from(spec.frame_size.octets()) + OVERHEAD_OCTETS;
    // A message of its own size goes in as many frames of that size as it needs, and one more for what
    // their headers take.
    let frames = spec.payloads.map_or(1.0, |payloads| {
        (f64::from(payloads.request) / f64::from(spec.frame_size.octets())).ceil() + 1.0
    });
    match spec.pace {
        dataplane::echo::Pace::Greedy => spec.payloads.is_none().then_some(0.0),
        dataplane::echo::Pace::Every(gap_ns) => Some(frames * frame * 8.0 * 1e9 / gap_ns.max(1e-3)),
    }
}
