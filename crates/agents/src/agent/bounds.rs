//! Terms that limit this agent's orders, and the kernel's routes that the orders would use.
//!
//! Owns the refusal. Never widens a term: once set, they apply until the agent ends.

use std::collections::BTreeMap;
use std::net::IpAddr;

use dataplane::echo::Requests;
use dataplane::opening::Opening;
use dataplane::{iperf3, opening};
use measure::Nanos;
use netlink::Netlink;
use trial::topology::AddressBlock;
use trial::{Datagrams, FlowKind, Schedule};

use crate::failed::Failed;
use crate::protocol::{
    Order, Setting, Terms, WIRE_OCTETS, Work, echo_bits, echo_rate, sessions_rate,
};

const UDP: u8 = 17;
/// Relative tolerance of a rate limit, for the rounding errors of its shares.
const ROUNDING: f64 = 1e-6;

/// Offered load in bits a second, by interface index.
pub type Load = BTreeMap<u32, f64>;

/// Terms in force.
#[derive(Debug)]
pub struct Bounds {
    terms: Terms,
}

impl Bounds {
    /// Puts terms into force.
    pub const fn new(terms: Terms) -> Self {
        Self { terms }
    }

    /// Returns the maximum duration of a trial: the terms', at most `ceiling`.
    pub fn longest(&self, ceiling: Nanos) -> Nanos {
        self.terms.longest.min(ceiling)
    }

    /// Refuses an interface that is not a test port.
    pub fn check_interface(&self, interface: &str) -> Result<(), Failed> {
        if self.terms.interfaces.iter().any(|known| known == interface) {
            return Ok(());
        }
        Err(Failed::new(format!("use `{interface}`: it is no test port")))
    }

    /// Refuses a setting of an interface that is not a test port, and an address outside the
    /// testbed.
    pub fn check_setting(&self, setting: &Setting) -> Result<(), Failed> {
        if let Setting::Address { address, .. } = setting
            && !self.terms.cover(*address)
        {
            return Err(Failed::new(format!("set address {address}: it is not the testbed's")));
        }
        setting.interface().map_or(Ok(()), |interface| self.check_interface(interface))
    }

    /// Refuses flow ends whose frames would reach strangers, leave by an interface that is no test
    /// port, or exceed an interface's limit. With `answers`, the orders are of senders, whose load
    /// is added to the host's answers. Returns the load by interface.
    pub fn check(&self, orders: &[Order], answers: Option<&Load>) -> Result<Load, Failed> {
        let mut load = answers.cloned().unwrap_or_default();
        for order in orders {
            let interface = self.check_ends(order)?;
            if let Work::Datagrams(traffic) = &order.flow {
                let ranges = [traffic.sources, traffic.destinations];
                self.check_ranges(order.identity.flow, &ranges)?;
            }
            if let Work::Iperf3(_) = &order.flow
                && !self.terms.servers.contains(&order.remote)
            {
                let (flow, remote) = (order.identity.flow, order.remote);
                let words = format!("{remote} is no iperf3 server of the testbed");
                return Err(Failed::new(format!("take part in flow {flow}: {words}")).unavailable());
            }
            let asked = match &order.flow {
                Work::Echo(requests) => requests_bits(requests),
                // Acknowledgements; a source of such a flow is refused if there is a limit.
                _ if answers.is_none() != order.opening.by_receiver => continue,
                Work::Datagrams(traffic) => datagrams_bits(&traffic.asked),
                // Counted whichever end sends it.
                Work::Iperf3(test) => test.ways.iter().map(way_bits).sum(),
                Work::Sessions(sessions) => sessions_rate(sessions),
                Work::Bulk(_) | Work::Exchange(_) | Work::Storage(_) => None,
            };
            self.add(order.identity.flow, asked, load.entry(interface).or_default())?;
        }
        Ok(load)
    }

    /// Lets a reflector hear a peer to which the way leaves by no test port, as long as a router on
    /// the reflector's own subnet translates it: only that router is answered then.
    pub fn hear_translated(&self, orders: &mut [Order]) {
        for order in orders {
            let is_plain = order.opening == Opening::PLAIN;
            if is_plain && matches!(order.flow, Work::Echo(_)) && self.leaves_elsewhere(order) {
                order.opening.only_translated = true;
            }
        }
    }

    /// True if the way to the order's peer leaves by an interface that is no test port.
    fn leaves_elsewhere(&self, order: &Order) -> bool {
        let way = || {
            let mut kernel = Netlink::open().ok()?;
            let route = kernel.route_to(order.peer(), Some(order.local), 0, 0, UDP).ok()?;
            kernel.links().ok()?.into_iter().find(|link| link.index == route.index)
        };
        way().is_some_and(|link| !self.terms.interfaces.contains(&link.name))
    }

    /// Returns the index of the interface between two ends; zero if no route is known, so that
    /// nothing can leave.
    fn check_ends(&self, order: &Order) -> Result<u32, Failed> {
        let (own, peer, flow) = (order.local, order.peer(), order.identity.flow);
        for address in [own, peer] {
            if !self.terms.cover(address) {
                return Err(stranger(flow, address));
            }
        }
        let peer = match order.opening.translated {
            Some(seen) if !self.terms.cover(seen) && !opening::is_beside(own, seen) => {
                return Err(translated_away(flow, peer, seen));
            }
            seen => seen.unwrap_or(peer),
        };
        if order.opening.only_translated {
            return Ok(0);
        }
        let look = |cause| Failed::because(format!("look up the way of flow {flow}"), cause);
        let mut kernel = Netlink::open().map_err(look)?;
        let Ok(route) = kernel.route_to(peer, Some(own), 0, 0, UDP) else { return Ok(0) };
        let links = kernel.links().map_err(look)?;
        let name = links.into_iter().find(|link| link.index == route.index).map(|link| link.name);
        match name {
            Some(name) if !self.terms.interfaces.contains(&name) => {
                Err(Failed::new(format!(
                    "take part in flow {flow}: the way to {peer} leaves by `{name}`, which is no test port"
                ))
                .unavailable())
            }
            // With two ports in one subnet the kernel may choose either, and the result would be of
            // another cable.
            Some(name) if self.terms.own.get(&own).is_some_and(|by| !by.contains(&name)) => {
                let by = self.terms.own[&own].join(" or ");
                Err(Failed::new(format!(
                    "take part in flow {flow}: the way to {peer} leaves by `{name}`, and {own} is that of `{by}`"
                ))
                .unavailable())
            }
            _ => Ok(route.index),
        }
    }

    fn check_ranges(&self, flow: u16, ranges: &[Option<AddressBlock>]) -> Result<(), Failed> {
        let stranger = ranges.iter().flatten().find(|range| !self.terms.cover_all(**range));
        match stranger {
            Some(range) => Err(self::stranger(flow, range.first)),
            None => Ok(()),
        }
    }

    /// Adds a flow's offered load to its interface's `load`, in bits a second. If there is a limit,
    /// a flow without a rate is refused.
    fn add(&self, flow: u16, asked: Option<f64>, load: &mut f64) -> Result<(), Failed> {
        let Some(limit) = self.terms.rate else { return Ok(()) };
        *load += asked.ok_or_else(|| {
            let words = format!("it names no rate, and an interface here may be asked for {limit}");
            Failed::new(format!("send flow {flow}: {words}")).unavailable()
        })?;
        if *load > limit.bits_per_second() * (1.0 + ROUNDING) {
            return Err(Failed::new(format!(
                "send flow {flow}: its interface would be asked for {load:.0} bit/s of {limit} allowed"
            ))
            .unavailable());
        }
        Ok(())
    }
}

/// Builds the refusal of a peer that a NAT puts outside the testbed.
fn translated_away(flow: u16, peer: IpAddr, seen: IpAddr) -> Failed {
    let words = format!(
        "take part in flow {flow}: {peer} is translated to {seen}, an address outside the testbed: \
         in no subnet of this port, and nobody's in the testbed file"
    );
    Failed::new(words).unavailable()
}

fn stranger(flow: u16, address: IpAddr) -> Failed {
    let words = format!("take part in flow {flow}: {address} is no address of the testbed");
    Failed::new(words).unavailable()
}

/// Offered load of echo requests; a closed loop's is limited by its minimum gap. `None` if
/// unlimited.
fn requests_bits(requests: &Requests) -> Option<f64> {
    let least = requests.least_gap_ns;
    let held = (least > 0.0).then(|| 1e9 / least.max(1e-3) * echo_bits(&requests.asked));
    echo_rate(&requests.asked).or(held)
}

fn way_bits(way: &iperf3::Way) -> Option<f64> {
    match &way.kind {
        FlowKind::Datagrams(asked) => datagrams_bits(asked),
        _ => None,
    }
}

fn datagrams_bits(asked: &Datagrams) -> Option<f64> {
    let rate = match asked.schedule {
        Schedule::Paced(rate) => rate.0,
        Schedule::Falling { from, to, .. } => from.0.max(to.0),
        Schedule::Greedy | Schedule::Burst(_) => return None,
    };
    Some((asked.frames.mean_octets() + WIRE_OCTETS) * 8.0 * rate)
}
