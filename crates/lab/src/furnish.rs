//! Configuration of a lab's node, whether a namespace or a virtual machine's kernel.
//!
//! Owns the settings, addresses, neighbours and routes of one node, for IPv4 and IPv6 alike. Their
//! order keeps every link from sending frames of its own: an idle lab carries no frame. Called on a
//! thread, or as the process, inside the node; touches nothing else.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use netlink::{Netlink, NetlinkError, NextHop, TokenBucket};

use crate::error::LabError;
use crate::limit::{PortLimit, Shaper};
use crate::plan::{InterfacePlan, NodePlan, RoutePlan, TWIN_PREFIX, fits_ipv6, twin};
use crate::sysctl;

/// Settings for all links and future ones: the kernel sends no frames of its own, and addresses
/// survive a pulled cable.
const IPV6_LINK_SETTINGS: [(&str, &str); 8] = [
    // No other addresses: none from the Ethernet address, none from a router.
    ("addr_gen_mode", "1"),
    ("autoconf", "0"),
    ("accept_ra", "0"),
    ("router_solicitations", "0"),
    ("accept_dad", "0"),
    ("dad_transmits", "0"),
    ("accept_redirects", "0"),
    ("keep_addr_on_down", "1"),
];

/// Applies settings that must precede the first link, because a link copies them when it is
/// created.
pub(crate) fn prepare(node: &NodePlan) -> Result<(), LabError> {
    // A switch has no address; it forwards IPv6 all the same.
    let mute = if node.has_addresses() { "0" } else { "1" };
    for scope in ["all", "default"] {
        let of = |name: &str| format!("net/ipv6/conf/{scope}/{name}");
        for (name, value) in IPV6_LINK_SETTINGS {
            sysctl::set_where_present(&of(name), value)?;
        }
        sysctl::set_where_present(&of("disable_ipv6"), mute)?;
        // A new namespace inherits this from the machine. A reply over the other of two equal paths
        // is legitimate.
        sysctl::set(&format!("net/ipv4/conf/{scope}/rp_filter"), "0")?;
    }
    sysctl::set("net/ipv4/ip_forward", if node.forwards { "1" } else { "0" })?;
    if node.forwards {
        sysctl::set("net/ipv4/conf/all/send_redirects", "0")?;
        sysctl::set("net/ipv4/conf/default/send_redirects", "0")?;
    }
    // Echo rate is measured, so the kernel must not limit it.
    sysctl::set_where_present("net/ipv4/icmp_ratelimit", "0")?;
    sysctl::set_where_present("net/ipv4/icmp_msgs_per_sec", "1000000000")?;
    sysctl::set_where_present("net/ipv4/icmp_msgs_burst", "1000000000")?;
    sysctl::set_where_present("net/ipv6/icmp/ratelimit", "0")?;
    // Ports and protocol choose the path, not addresses alone.
    sysctl::set_where_present("net/ipv4/fib_multipath_hash_policy", "1")?;
    sysctl::set_where_present("net/ipv6/fib_multipath_hash_policy", "1")
}

/// Sets names, addresses, limits and neighbours, once all cables are laid.
pub(crate) fn furnish(kernel: &mut Netlink, node: &NodePlan, mtu: u32) -> Result<(), NetlinkError> {
    let families = Families::here(mtu);
    let loopback = kernel.link("lo")?.index;
    kernel.set_up(loopback)?;
    for ip in &node.loopbacks {
        add_address(kernel, loopback, *ip, 32, families)?;
    }
    let mut bridges = BTreeMap::new();
    for name in &node.bridges {
        kernel.create_bridge(name)?;
        bridges.insert(name, kernel.link(name)?.index);
    }
    for plan in &node.interfaces {
        let index = kernel.link(&plan.name)?.index;
        kernel.set_silent(index)?;
        kernel.set_mtu(index, mtu)?;
        kernel.set_mac(index, plan.mac)?;
        if let Some(bridge) = plan.bridge.as_ref().and_then(|name| bridges.get(name)) {
            kernel.set_master(index, *bridge)?;
        }
        if let Some(limit) = plan.limit {
            hold_to(kernel, index, limit)?;
        }
        if let Some((ip, prefix)) = plan.address {
            add_address(kernel, index, ip, prefix, families)?;
        }
        kernel.set_up(index)?;
        introduce(kernel, index, plan, mtu)?;
    }
    for bridge in bridges.into_values() {
        kernel.set_silent(bridge)?;
        kernel.set_mtu(bridge, mtu)?;
        kernel.set_up(bridge)?;
    }
    add_routes(kernel, &node.routes, mtu)
}

/// Limits the transmit rate of a link, replacing its root queue.
pub(crate) fn hold_to(
    kernel: &mut Netlink,
    index: u32,
    limit: PortLimit,
) -> Result<(), NetlinkError> {
    let PortLimit { rate, burst, queue, overhead, shaper } = limit;
    let bucket = TokenBucket { rate, burst, limit: queue, overhead };
    match shaper {
        Shaper::Tbf => kernel.set_tbf(index, &bucket),
        Shaper::Htb => kernel.set_htb(index, &bucket),
    }
}

/// Enables IPv6 forwarding on a router. Done last: a forwarding link joins the all-routers group
/// and reports it, unless it was silenced before.
pub(crate) fn forward(node: &NodePlan) -> Result<(), LabError> {
    if !node.forwards {
        return Ok(());
    }
    sysctl::set_where_present("net/ipv6/conf/all/forwarding", "1")
}

/// Adds a link's neighbours. The kernel deletes them when the link goes down.
pub(crate) fn introduce(
    kernel: &mut Netlink,
    index: u32,
    plan: &InterfacePlan,
    mtu: u32,
) -> Result<(), NetlinkError> {
    let families = Families::here(mtu);
    for (ip, mac) in &plan.neighbours {
        for ip in families.addresses(*ip) {
            kernel.add_permanent_neighbour(index, ip, *mac)?;
        }
    }
    Ok(())
}

/// Adds routes, replacing existing ones.
pub(crate) fn add_routes(
    kernel: &mut Netlink,
    routes: &[RoutePlan],
    mtu: u32,
) -> Result<(), NetlinkError> {
    let families = Families::here(mtu);
    for route in routes {
        let mut hops = Vec::new();
        for (via, interface) in &route.next_hops {
            hops.push((*via, kernel.link(interface)?.index));
        }
        let (destination, prefix) = route.destination;
        for family in families.both() {
            let hops: Vec<NextHop> = hops
                .iter()
                .map(|(via, index)| NextHop { via: Some(family.address(*via)), index: *index })
                .collect();
            let source = route.source.map(|ip| family.address(ip));
            let destination = family.address(destination);
            kernel.replace_route(destination, family.prefix(prefix), &hops, source)?;
        }
    }
    Ok(())
}

fn add_address(
    kernel: &mut Netlink,
    index: u32,
    ip: Ipv4Addr,
    prefix: u8,
    families: Families,
) -> Result<(), NetlinkError> {
    for family in families.both() {
        kernel.add_address(index, family.address(ip), family.prefix(prefix))?;
    }
    Ok(())
}

/// IP versions that a link of the node carries.
#[derive(Clone, Copy)]
struct Families {
    v6: bool,
}

#[derive(Clone, Copy)]
enum Family {
    V4,
    V6,
}

impl Families {
    fn here(mtu: u32) -> Self {
        Self { v6: fits_ipv6(mtu) && sysctl::has_ipv6() }
    }

    fn both(self) -> impl Iterator<Item = Family> {
        [Family::V4].into_iter().chain(self.v6.then_some(Family::V6))
    }

    fn addresses(self, ip: Ipv4Addr) -> impl Iterator<Item = IpAddr> {
        self.both().map(move |family| family.address(ip))
    }
}

impl Family {
    fn address(self, ip: Ipv4Addr) -> IpAddr {
        match self {
            Self::V4 => IpAddr::V4(ip),
            Self::V6 => IpAddr::V6(twin(ip)),
        }
    }

    const fn prefix(self, length: u8) -> u8 {
        match self {
            Self::V4 => length,
            Self::V6 => TWIN_PREFIX + length,
        }
    }
}
