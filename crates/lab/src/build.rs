//! Building what a plan says, and holding it.
//!
//! Owns the namespaces of a lab. Everything is built from inside them, so that a failure half way
//! leaves nothing: the descriptors close and the kernel takes the links away. Never touches the
//! namespace of the caller.

use std::net::IpAddr;
use std::process::{Child, Command};
use std::time::Duration;

use netlink::{Link, Netlink, NetlinkError, NextHop, Tbf};

use crate::error::LabError;
use crate::namespace::Namespace;
use crate::plan::{CablePlan, InterfacePlan, LabPlan, NodePlan};
use crate::spec::LabSpec;
use crate::sysctl;

/// How often, and with what pause, a node's links are looked at until they are settled: about five
/// seconds together, where the kernel takes a few milliseconds and, by its own rule, up to one second.
const SETTLE_ATTEMPTS: u32 = 1000;
const SETTLE_PAUSE: Duration = Duration::from_millis(5);

/// A lab that exists. Dropping it removes it, once the programs started in it have ended.
#[derive(Debug)]
pub struct Lab {
    plan: LabPlan,
    nodes: Vec<Namespace>,
}

impl Lab {
    /// Plans and builds; when this returns, every link has its carrier and every host can reach
    /// every other across the device.
    pub fn build(spec: &LabSpec) -> Result<Self, LabError> {
        let plan = spec.plan()?;
        let mut nodes = Vec::new();
        for node in &plan.nodes {
            nodes.push(Namespace::create(&node.name)?);
        }
        let lab = Self { plan, nodes };
        for node in &lab.plan.nodes {
            lab.inside(&node.name, || prepare(node))??;
        }
        for (number, cable) in lab.plan.cables.iter().enumerate() {
            lab.lay(cable, number)?;
        }
        let mtu = lab.plan.mtu;
        for node in &lab.plan.nodes {
            lab.netlink(&node.name, |kernel| furnish(kernel, node, mtu))?;
        }
        for node in lab.nodes() {
            lab.settle(node)?;
        }
        Ok(lab)
    }

    /// What was built.
    pub fn plan(&self) -> &LabPlan {
        &self.plan
    }

    /// The nodes' names: hosts first, then devices.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.plan.nodes.iter().map(|node| node.name.as_str())
    }

    /// A node's namespace.
    pub fn namespace(&self, node: &str) -> Result<&Namespace, LabError> {
        let found = self.plan.nodes.iter().position(|n| n.name == node);
        found.map(|index| &self.nodes[index]).ok_or_else(|| LabError::NoSuchNode {
            name: node.to_owned(),
            known: self.nodes().map(str::to_owned).collect(),
        })
    }

    /// Runs `work` on a thread that stands in the node's namespace; see [`Namespace::enter_with`].
    pub fn inside<T: Send>(
        &self,
        node: &str,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, LabError> {
        self.namespace(node)?.enter_with(work)
    }

    /// Starts a program in a node; see [`Namespace::spawn`].
    pub fn spawn(&self, node: &str, command: &mut Command) -> Result<Child, LabError> {
        self.namespace(node)?.spawn(command)
    }

    /// Runs `work` with a conversation about the node's own links and queues.
    pub fn netlink<T: Send>(
        &self,
        node: &str,
        work: impl FnOnce(&mut Netlink) -> Result<T, NetlinkError> + Send,
    ) -> Result<T, LabError> {
        self.inside(node, || work(&mut Netlink::open()?))?
            .map_err(|cause| LabError::Netlink { node: node.to_owned(), cause })
    }

    /// Takes a node's interface up or down, as a pulled cable would: its far end loses the carrier.
    /// What the kernel forgets when a link goes down (routes, neighbours) is given back with the
    /// link.
    pub fn set_link(&self, node: &str, interface: &str, up: bool) -> Result<(), LabError> {
        self.namespace(node)?;
        let plan = self.plan.node(node).expect("the namespace was found by the same name");
        self.netlink(node, |kernel| {
            let index = kernel.link(interface)?.index;
            if !up {
                return kernel.set_down(index);
            }
            kernel.set_up(index)?;
            if let Some(known) = plan.interfaces.iter().find(|i| i.name == interface) {
                introduce(kernel, index, known)?;
            }
            Ok(())
        })?;
        if up {
            self.settle(node)?;
            self.netlink(node, |kernel| add_routes(kernel, plan))?;
        }
        let end = (node.to_owned(), interface.to_owned());
        let far = self.plan.cables.iter().find_map(|cable| cable.far_end_of(&end));
        far.map_or(Ok(()), |(far_node, _)| self.settle(far_node))
    }

    /// Waits until the node's links pass frames where they should: the kernel notes a carrier
    /// shortly after it came.
    #[expect(clippy::disallowed_methods, reason = "the kernel gives no answer when it has noted")]
    fn settle(&self, node: &str) -> Result<(), LabError> {
        for _ in 0..SETTLE_ATTEMPTS {
            let links = self.netlink(node, Netlink::links)?;
            if links.iter().all(Link::is_settled) {
                return Ok(());
            }
            std::thread::sleep(SETTLE_PAUSE);
        }
        let links = self.netlink(node, Netlink::links)?;
        let restless = links.into_iter().filter(|link| !link.is_settled()).map(|link| link.name);
        Err(LabError::Unsettled { node: node.to_owned(), links: restless.collect() })
    }

    /// Makes a cable in the first end's namespace and hands the second end over.
    fn lay(&self, cable: &CablePlan, number: usize) -> Result<(), LabError> {
        let (node, interface) = &cable.a;
        let (far_node, far_interface) = &cable.b;
        let far = self.namespace(far_node)?;
        self.netlink(node, |kernel| {
            let passing = format!("far{number}");
            kernel.create_veth(interface, &passing)?;
            let index = kernel.link(&passing)?.index;
            kernel.rename_into_namespace(index, far_interface, far)
        })
    }
}

/// Settings that must stand before the first link comes, because a link takes its own from them.
pub(crate) fn prepare(node: &NodePlan) -> Result<(), LabError> {
    // Without IPv6 no link announces itself by neighbour and multicast discovery.
    sysctl::set_where_present("net/ipv6/conf/all/disable_ipv6", "1")?;
    sysctl::set_where_present("net/ipv6/conf/default/disable_ipv6", "1")?;
    // A new namespace inherits these from the machine. A reply over the other of two equal paths is
    // no forgery.
    sysctl::set("net/ipv4/conf/all/rp_filter", "0")?;
    sysctl::set("net/ipv4/conf/default/rp_filter", "0")?;
    sysctl::set("net/ipv4/ip_forward", if node.forwards { "1" } else { "0" })?;
    if node.forwards {
        sysctl::set("net/ipv4/conf/all/send_redirects", "0")?;
        sysctl::set("net/ipv4/conf/default/send_redirects", "0")?;
    }
    // Echo at speed is what we measure; the kernel must not ration it.
    sysctl::set_where_present("net/ipv4/icmp_ratelimit", "0")?;
    sysctl::set_where_present("net/ipv4/icmp_msgs_per_sec", "1000000000")?;
    sysctl::set_where_present("net/ipv4/icmp_msgs_burst", "1000000000")?;
    // Ports and protocol choose the path, not addresses alone.
    sysctl::set_where_present("net/ipv4/fib_multipath_hash_policy", "1")
}

/// Names, addresses, limits and neighbours, once all cables are laid.
pub(crate) fn furnish(kernel: &mut Netlink, node: &NodePlan, mtu: u32) -> Result<(), NetlinkError> {
    let loopback = kernel.link("lo")?.index;
    kernel.set_up(loopback)?;
    for ip in &node.loopbacks {
        kernel.add_address(loopback, (*ip).into(), 32)?;
    }
    let bridge = match &node.bridge {
        Some(name) => {
            kernel.create_bridge(name)?;
            Some(kernel.link(name)?.index)
        }
        None => None,
    };
    for plan in &node.interfaces {
        let index = kernel.link(&plan.name)?.index;
        kernel.set_mtu(index, mtu)?;
        kernel.set_mac(index, plan.mac)?;
        if let Some(bridge) = bridge {
            kernel.set_master(index, bridge)?;
        }
        if let Some(limit) = plan.limit {
            let tbf = Tbf { rate: limit.rate, burst: limit.burst, limit: limit.queue };
            kernel.set_tbf(index, &tbf)?;
        }
        if let Some((ip, prefix)) = plan.address {
            kernel.add_address(index, ip.into(), prefix)?;
        }
        kernel.set_up(index)?;
        introduce(kernel, index, plan)?;
    }
    if let Some(bridge) = bridge {
        kernel.set_mtu(bridge, mtu)?;
        kernel.set_up(bridge)?;
    }
    add_routes(kernel, node)
}

fn introduce(kernel: &mut Netlink, index: u32, plan: &InterfacePlan) -> Result<(), NetlinkError> {
    for (ip, mac) in &plan.neighbours {
        kernel.add_permanent_neighbour(index, (*ip).into(), *mac)?;
    }
    Ok(())
}

fn add_routes(kernel: &mut Netlink, node: &NodePlan) -> Result<(), NetlinkError> {
    for route in &node.routes {
        let mut hops = Vec::new();
        for (via, interface) in &route.next_hops {
            let index = kernel.link(interface)?.index;
            hops.push(NextHop { via: Some(IpAddr::V4(*via)), index });
        }
        let (destination, prefix) = route.destination;
        let source = route.source.map(IpAddr::V4);
        kernel.replace_route(destination.into(), prefix, &hops, source)?;
    }
    Ok(())
}
