//! Routes: adding them, and looking up the route of a packet.
//!
//! Owns RTM_NEWROUTE and RTM_GETROUTE in the main table. Never changes or removes a route.

use std::net::IpAddr;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteNextHop, RouteProtocol,
    RouteScope, RouteType, RouteVia,
};

use crate::address::family;
use crate::conversation::Context;
use crate::{Netlink, NetlinkError};

/// Next hop of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextHop {
    /// Address of the router; `None` if the destination is on the link itself.
    pub via: Option<IpAddr>,
    /// Index of the link.
    pub index: u32,
}

/// The kernel's routing decision for one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// Index of the outgoing link.
    pub index: u32,
    /// Next router; `None` if the destination is on the link.
    pub gateway: Option<IpAddr>,
    /// Source address: the requested one, or the one that an unbound socket would get.
    pub source: Option<IpAddr>,
}

impl Netlink {
    /// Adds a route to `destination`/`prefix`; fails if one exists. Several next hops share the
    /// flows equally; `source` is the address that an unbound socket sends from.
    pub fn add_route(
        &mut self,
        destination: IpAddr,
        prefix: u8,
        next_hops: &[NextHop],
        source: Option<IpAddr>,
    ) -> Result<(), NetlinkError> {
        self.write_route(destination, prefix, next_hops, source, NLM_F_EXCL)
    }

    /// Adds a route like [`Self::add_route`], but replaces an existing one.
    pub fn replace_route(
        &mut self,
        destination: IpAddr,
        prefix: u8,
        next_hops: &[NextHop],
        source: Option<IpAddr>,
    ) -> Result<(), NetlinkError> {
        self.write_route(destination, prefix, next_hops, source, NLM_F_REPLACE)
    }

    fn write_route(
        &mut self,
        destination: IpAddr,
        prefix: u8,
        next_hops: &[NextHop],
        source: Option<IpAddr>,
        where_present: u16,
    ) -> Result<(), NetlinkError> {
        let object = format!("{destination}/{prefix}");
        let context = Context { deed: "add route to", object: &object };
        let mut message = RouteMessage::default();
        message.header.address_family = family(destination);
        message.header.destination_prefix_length = prefix;
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Static;
        message.header.kind = RouteType::Unicast;
        if destination.is_ipv4() && next_hops.iter().all(|hop| hop.via.is_none()) {
            message.header.scope = RouteScope::Link;
        }
        message.attributes.push(RouteAttribute::Destination(destination.into()));
        message.attributes.extend(source.map(|ip| RouteAttribute::PrefSource(ip.into())));
        match next_hops {
            [] => return Err(context.unsuitable("no next hop")),
            [hop] => {
                message.attributes.push(RouteAttribute::Oif(hop.index));
                message.attributes.extend(gateway(*hop));
            }
            several => {
                let several = several.iter().map(|hop| multipath(*hop)).collect();
                message.attributes.push(RouteAttribute::MultiPath(several));
            }
        }
        let request = RouteNetlinkMessage::NewRoute(message);
        self.route.ask(context, request, NLM_F_CREATE | where_present).map(drop)
    }

    /// Looks up the route of a packet with these addresses and ports. `protocol` is the IP protocol
    /// number (1 ICMP, 6 TCP, 17 UDP, 58 ICMPv6); a port of zero means "not bound". With L4 hashing
    /// (`fib_multipath_hash_policy=1`) this resolves equal-cost paths exactly as the kernel will.
    pub fn route_to(
        &mut self,
        destination: IpAddr,
        source: Option<IpAddr>,
        source_port: u16,
        destination_port: u16,
        protocol: u8,
    ) -> Result<Route, NetlinkError> {
        let context = Context { deed: "look up route to", object: &destination };
        let whole = if destination.is_ipv4() { 32 } else { 128 };
        let mut message = RouteMessage::default();
        message.header.address_family = family(destination);
        message.header.destination_prefix_length = whole;
        message.attributes.push(RouteAttribute::Destination(destination.into()));
        if let Some(source) = source {
            message.header.source_prefix_length = whole;
            message.attributes.push(RouteAttribute::Source(source.into()));
        }
        message.attributes.push(RouteAttribute::IpProto(protocol));
        if source_port != 0 {
            message.attributes.push(RouteAttribute::Sport(source_port));
        }
        if destination_port != 0 {
            message.attributes.push(RouteAttribute::Dport(destination_port));
        }
        let answers = self.route.ask(context, RouteNetlinkMessage::GetRoute(message), 0)?;
        answers
            .iter()
            .find_map(|answer| match answer {
                RouteNetlinkMessage::NewRoute(route) => as_route(route, source),
                _ => None,
            })
            .ok_or_else(|| {
                context.unreadable("no route with a link in the answer".to_owned().into())
            })
    }
}

fn gateway(hop: NextHop) -> Option<RouteAttribute> {
    hop.via.map(|ip| RouteAttribute::Gateway(ip.into()))
}

/// Builds one next hop of several. The kernel's field is the weight less one, so the default of
/// zero is a weight of one.
fn multipath(hop: NextHop) -> RouteNextHop {
    let mut next = RouteNextHop::default();
    next.hops = 0;
    next.interface_index = hop.index;
    next.attributes.extend(gateway(hop));
    next
}

/// Reads a route from an answer. The kernel reports the source only if it chose one.
fn as_route(message: &RouteMessage, asked: Option<IpAddr>) -> Option<Route> {
    let (mut index, mut gateway, mut source) = (None, None, asked);
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Oif(link) => index = Some(*link),
            RouteAttribute::Gateway(address) => gateway = as_ip(address),
            RouteAttribute::PrefSource(address) => source = asked.or(as_ip(address)),
            RouteAttribute::Via(RouteVia::Inet6(ip)) => gateway = Some((*ip).into()),
            _ => {}
        }
    }
    index.map(|index| Route { index, gateway, source })
}

fn as_ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(ip) => Some((*ip).into()),
        RouteAddress::Inet6(ip) => Some((*ip).into()),
        _ => None,
    }
}
