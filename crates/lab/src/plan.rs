//! A lab as a description: the part that a study may know, and the configuration for the kernel.
//!
//! Owns names, addresses, Ethernet addresses and routes of every node; the same spec gives the same
//! plan. Pure: reads and changes nothing. Addresses come from 198.18.0.0/15, which RFC 2544 C.2.2
//! reserves for measuring devices: 198.18 across the devices, 198.19 for direct cables and blocks.
//! Only IPv4 addresses are listed: each has its IPv6 [`twin`].

mod layout;

use std::net::{Ipv4Addr, Ipv6Addr};

use measure::Rate;
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::limit::PortLimit;
use crate::spec::{Drops, EmulatedSpec, LabDevice, LabSpec, VmSpec};

/// A lab's complete description, before it is built.
#[derive(Debug, Clone, PartialEq)]
pub struct LabPlan {
    /// The largest IP packet of every link, in octets.
    pub mtu: u32,
    /// True if every address has its [`twin`]: the links are large enough for IPv6 and, once the
    /// lab is built, the kernel supports it.
    pub ipv6: bool,
    /// The limit of each device port towards its host; in a cable lab, of each end.
    pub limit: Option<PortLimit>,
    /// Drops of each device of [`Self::dropping`].
    pub drops: Drops,
    /// Hosts as a study sees them: `h1`, `h2`, ….
    pub hosts: Vec<HostPlan>,
    /// Devices that can be measured, in the order of the spec: `bridge`, `router`, `routers`; empty
    /// for a cable lab.
    pub subjects: Vec<SubjectPlan>,
    /// Devices that the subjects consist of: `bridge`, `router`, `r1` and `r2`.
    pub devices: Vec<DevicePlan>,
    /// Configuration for the kernel: one namespace for each host and each device, hosts first.
    pub nodes: Vec<NodePlan>,
    /// Cables, each with the two interfaces that it connects.
    pub cables: Vec<CablePlan>,
}

/// A host with its test ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPlan {
    /// Name of the host and of its node, such as `h1`.
    pub name: String,
    /// Ports: one to each subject (`eth1`, or `ecmp`), then `direct` if there is a bypass.
    pub ports: Vec<HostPortPlan>,
}

/// A host's test port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPortPlan {
    /// Name: `eth1`, `direct`, or `ecmp` for the two links to a pair of routers.
    pub name: String,
    /// Kernel interfaces whose counters belong to it; two for `ecmp`.
    pub interfaces: Vec<String>,
    /// Test address; that of `ecmp` is the loopback's.
    pub address: Ipv4Addr,
    /// Prefix length of its subnet, in bits.
    pub prefix: u8,
    /// First of [`BLOCK_ADDRESSES`] addresses that every path routes to this host's end of it. No
    /// host owns them, so flows may vary them. They are the same on each of the host's ports, since
    /// the sending port determines a frame's path.
    pub block: Ipv4Addr,
    /// Far end of each of `interfaces`, in the same order. All are of one kind.
    pub far_ends: Vec<FarEnd>,
    /// Rate limit of the host's own sending: in a cable lab with a rate, and towards an emulated
    /// device. A device port's limit is in [`DevicePortPlan`].
    pub rate: Option<Rate>,
}

impl HostPortPlan {
    /// Far end of its first interface.
    pub fn far_end(&self) -> &FarEnd {
        &self.far_ends[0]
    }
}

/// Number of addresses in a host's block, for IPv4 and for IPv6 each.
pub const BLOCK_ADDRESSES: u16 = 256;

/// IPv6 address that corresponds to this IPv4 address: 2001:2::198.18.0.1, from the block of RFC
/// 5180 §8. A prefix is [`TWIN_PREFIX`] bits longer than its IPv4 twin's.
pub const fn twin(address: Ipv4Addr) -> Ipv6Addr {
    Ipv6Addr::from_bits(0x2001_0002 << 96 | address.to_bits() as u128)
}

/// Bits before the IPv4 address in its [`twin`].
pub const TWIN_PREFIX: u8 = 96;
/// Minimum MTU for IPv6 (RFC 8200 §5); a lab with less has IPv4 only.
const IPV6_MTU: u32 = 1280;
/// Prefix length of a host's block, in bits.
pub(crate) const BLOCK_PREFIX: u8 = 24;

/// Far end of a host's cable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FarEnd {
    /// A device's port.
    Device {
        /// Name of the device.
        device: String,
        /// Name of its port: `1`, `2`, …
        port: String,
    },
    /// Another host's port.
    Host {
        /// Name of the host.
        host: String,
        /// Name of its port.
        port: String,
    },
}

/// A device as a study sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct SubjectPlan {
    /// Name: `bridge`, `router`, `routers`; a second one of the kind is `bridge2`.
    pub name: String,
    /// Device as specified.
    pub device: LabDevice,
    /// Devices that it consists of: itself, or two routers.
    pub devices: Vec<String>,
}

/// A device with a node of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DevicePlan {
    /// Name of the device and of its node: `bridge`, `router`, `r1`, `r2`.
    pub name: String,
    /// Kind of forwarding.
    pub kind: DeviceKind,
    /// Ports in order: port `1` leads to `h1`, and so on.
    pub ports: Vec<DevicePortPlan>,
}

/// Kind of a device's forwarding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceKind {
    /// Forwards by MAC address.
    Switch,
    /// Forwards by IP address.
    Router,
}

/// A device's port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DevicePortPlan {
    /// Name: `1`, `2`, …
    pub name: String,
    /// Kernel interface in the device's node: `p1`, `p2`, …
    pub interface: String,
    /// Limit of the traffic that it sends to its host; `None` for no limit.
    pub limit: Option<PortLimit>,
}

/// One namespace with its configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodePlan {
    /// Name of the host or device.
    pub name: String,
    /// True if it forwards IP packets.
    pub forwards: bool,
    /// Names of the bridges.
    pub bridges: Vec<String>,
    /// Addresses of the node rather than of a link, as a /32 each on its loopback.
    pub loopbacks: Vec<Ipv4Addr>,
    /// Interfaces, without the loopback.
    pub interfaces: Vec<InterfacePlan>,
    /// Routes beyond those to its own subnets.
    pub routes: Vec<RoutePlan>,
}

impl NodePlan {
    /// True if it has an IP address; a switch has none.
    pub(crate) fn has_addresses(&self) -> bool {
        !self.loopbacks.is_empty() || self.interfaces.iter().any(|i| i.address.is_some())
    }
}

/// An interface of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfacePlan {
    /// Name: `eth1`, `direct`, `p1`…
    pub name: String,
    /// Ethernet address: locally administered, the same in every lab of the same shape.
    pub mac: [u8; 6],
    /// Bridge that it is a port of; `None` if it is no bridge port.
    pub bridge: Option<String>,
    /// Address and prefix length of the subnet; `None` for a bridge's ports.
    pub address: Option<(Ipv4Addr, u8)>,
    /// Limit of the traffic that it sends; `None` for no limit.
    pub limit: Option<PortLimit>,
    /// Permanent neighbours, which it reaches without ARP or neighbour discovery.
    pub neighbours: Vec<(Ipv4Addr, [u8; 6])>,
}

/// A route of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoutePlan {
    /// Destination and its prefix length.
    pub destination: (Ipv4Addr, u8),
    /// Next router and interface; several share the flows equally.
    pub next_hops: Vec<(Ipv4Addr, String)>,
    /// Source address of an unbound socket; `None` for the link's address.
    pub source: Option<Ipv4Addr>,
}

/// A virtual cable: two interfaces, each as node and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CablePlan {
    /// One end: the device's, if the cable leads to one.
    pub a: (String, String),
    /// Other end: a host's, or the same device's if it joins two bridges inside.
    pub b: (String, String),
}

impl CablePlan {
    /// End that is not `end`; `None` if the cable does not end there.
    pub fn far_end_of(&self, end: &(String, String)) -> Option<&(String, String)> {
        if *end == self.a { Some(&self.b) } else { (*end == self.b).then_some(&self.a) }
    }
}

impl LabSpec {
    /// Computes the lab's plan. Touches nothing.
    pub fn plan(&self) -> Result<LabPlan, LabError> {
        self.check()?;
        Ok(layout::lay_out(self))
    }
}

impl LabPlan {
    /// Finds a host by name.
    pub fn host(&self, name: &str) -> Option<&HostPlan> {
        self.hosts.iter().find(|host| host.name == name)
    }

    /// Finds a subject by name.
    pub fn subject(&self, name: &str) -> Option<&SubjectPlan> {
        self.subjects.iter().find(|subject| subject.name == name)
    }

    /// Virtual machine that a device is, or `None`. Its node is not a namespace.
    pub fn machine(&self, device: &str) -> Option<&VmSpec> {
        match &self.subject_of(device)?.device {
            LabDevice::Vm(machine) => Some(machine),
            _ => None,
        }
    }

    /// Model that a device is, or `None`. Its node holds only the cables' ends.
    pub fn emulated(&self, device: &str) -> Option<&EmulatedSpec> {
        match &self.subject_of(device)?.device {
            LabDevice::Emulated(spec) => Some(spec),
            _ => None,
        }
    }

    /// Lists the devices that drop frames on purpose: every kernel bridge, if the spec asks for
    /// drops.
    pub fn dropping(&self) -> impl Iterator<Item = &DevicePlan> {
        let bridge = |device: &&DevicePlan| {
            self.subject_of(&device.name).is_some_and(|it| it.device == LabDevice::Bridge)
        };
        let devices = if self.drops.is_none() { &[][..] } else { &self.devices };
        devices.iter().filter(bridge)
    }

    /// Subject that a device belongs to.
    pub fn subject_of(&self, device: &str) -> Option<&SubjectPlan> {
        self.subjects.iter().find(|subject| subject.devices.iter().any(|d| d == device))
    }

    /// Finds a device by name.
    pub fn device(&self, name: &str) -> Option<&DevicePlan> {
        self.devices.iter().find(|device| device.name == name)
    }

    /// Finds a node by name: a host or a device.
    pub fn node(&self, name: &str) -> Option<&NodePlan> {
        self.nodes.iter().find(|node| node.name == name)
    }
}

/// True if links of this MTU carry IPv6.
pub(crate) const fn fits_ipv6(mtu: u32) -> bool {
    mtu >= IPV6_MTU
}
