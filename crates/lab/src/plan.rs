//! A lab as a description: what a study may know of it, and what the kernel is to be told.
//!
//! Owns names, addresses, Ethernet addresses and routes of every node; the same spec gives the same
//! plan. Pure: reads and changes nothing. Addresses come from 198.18.0.0/15, which RFC 2544 C.2.2
//! sets aside for measuring devices: 198.18 across the devices, 198.19 for direct cables and
//! blocks. Only IPv4 addresses are written down: each has its [`twin`] of IPv6.

mod layout;

use std::net::{Ipv4Addr, Ipv6Addr};

use measure::Rate;
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::limit::PortLimit;
use crate::spec::{Drops, EmulatedSpec, LabDevice, LabSpec, VmSpec};

/// Everything about a lab, before there is one.
#[derive(Debug, Clone, PartialEq)]
pub struct LabPlan {
    /// The largest IP packet of every link, in octets.
    pub mtu: u32,
    /// Whether every address has its [`twin`]: where the links are large enough for IPv6 and, once
    /// the lab is built, the kernel speaks it.
    pub ipv6: bool,
    /// The limit of each device port towards its host; in a cable lab, of each end.
    pub limit: Option<PortLimit>,
    /// What each of [`Self::dropping`] drops.
    pub drops: Drops,
    /// `h1`, `h2`, …: what a study sees.
    pub hosts: Vec<HostPlan>,
    /// What can be measured, in the order of the spec: `bridge`, `router`, `routers`; none for a
    /// cable.
    pub subjects: Vec<SubjectPlan>,
    /// What they are made of: `bridge`, `router`, `r1` and `r2`.
    pub devices: Vec<DevicePlan>,
    /// What the kernel is told: one namespace for each host and each device, hosts first.
    pub nodes: Vec<NodePlan>,
    /// Which interfaces are two ends of one cable.
    pub cables: Vec<CablePlan>,
}

/// A host with its test ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPlan {
    /// `h1`; also the name of its node.
    pub name: String,
    /// One to each subject (`eth1`, or `ecmp`), then `direct` where there is a bypass.
    pub ports: Vec<HostPortPlan>,
}

/// A host's test port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPortPlan {
    /// `eth1`, `direct`, or `ecmp` for the two links to a pair of routers.
    pub name: String,
    /// The kernel interfaces whose counters belong to it; two for `ecmp`.
    pub interfaces: Vec<String>,
    /// The test address. That of `ecmp` is the loopback's.
    pub address: Ipv4Addr,
    /// The length of its subnet, in bits.
    pub prefix: u8,
    /// The first of [`BLOCK_ADDRESSES`] that every path leads to this host's end of it: nobody owns
    /// them, so that flows may vary them. The same on each of the host's ports, since a frame's
    /// path is chosen by the port that it leaves by.
    pub block: Ipv4Addr,
    /// Where each of `interfaces` leads, in the same order. All are of one kind.
    pub far_ends: Vec<FarEnd>,
    /// The rate to which the host's own sending is limited: in a cable lab with a rate, and towards
    /// an emulated device. A device port's limit is in [`DevicePortPlan`].
    pub rate: Option<Rate>,
}

impl HostPortPlan {
    /// Where its first interface leads.
    pub fn far_end(&self) -> &FarEnd {
        &self.far_ends[0]
    }
}

/// How many addresses a host's block has, of IPv4 and of IPv6.
pub const BLOCK_ADDRESSES: u16 = 256;

/// The IPv6 address that stands wherever this IPv4 address does: 2001:2::198.18.0.1, from the block
/// of RFC 5180 §8. A prefix is [`TWIN_PREFIX`] bits longer than its IPv4 twin's.
pub const fn twin(address: Ipv4Addr) -> Ipv6Addr {
    Ipv6Addr::from_bits(0x2001_0002 << 96 | address.to_bits() as u128)
}

/// What stands before the IPv4 address in its [`twin`], in bits.
pub const TWIN_PREFIX: u8 = 96;
/// RFC 8200 §5: IPv6 needs links of at least so much; a lab with less has IPv4 only.
const IPV6_MTU: u32 = 1280;
/// The length of a host's block, in bits.
pub(crate) const BLOCK_PREFIX: u8 = 24;

/// The other end of a host's cable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FarEnd {
    /// A device's port.
    Device {
        /// The device's name.
        device: String,
        /// The port's name on it: `1`, `2`, …
        port: String,
    },
    /// Another host's port.
    Host {
        /// The host's name.
        host: String,
        /// The port's name on it.
        port: String,
    },
}

/// A device as a study sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct SubjectPlan {
    /// `bridge`, `router`, `routers`; a second of the kind is `bridge2`.
    pub name: String,
    /// What was asked for.
    pub device: LabDevice,
    /// The devices that it consists of: itself, or two routers.
    pub devices: Vec<String>,
}

/// A device with a node of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DevicePlan {
    /// `bridge`, `router`, `r1`, `r2`; also the name of its node.
    pub name: String,
    /// How it forwards.
    pub kind: DeviceKind,
    /// Port `1` leads to `h1`, and so on.
    pub ports: Vec<DevicePortPlan>,
}

/// How a device forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceKind {
    /// By MAC address.
    Switch,
    /// By IP address.
    Router,
}

/// A device's port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DevicePortPlan {
    /// `1`, `2`, …
    pub name: String,
    /// Its kernel interface in the device's node: `p1`, `p2`, …
    pub interface: String,
    /// The limit of what it sends to its host.
    pub limit: Option<PortLimit>,
}

/// One namespace and all that is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodePlan {
    /// As a host or device.
    pub name: String,
    /// Whether it forwards IP packets.
    pub forwards: bool,
    /// Its bridges.
    pub bridges: Vec<String>,
    /// Addresses of the node rather than of a link, as a /32 each on its loopback.
    pub loopbacks: Vec<Ipv4Addr>,
    /// Its interfaces, without the loopback.
    pub interfaces: Vec<InterfacePlan>,
    /// Routes beyond those to its own subnets.
    pub routes: Vec<RoutePlan>,
}

impl NodePlan {
    /// Whether it speaks IP itself: a switch does not.
    pub(crate) fn has_addresses(&self) -> bool {
        !self.loopbacks.is_empty() || self.interfaces.iter().any(|i| i.address.is_some())
    }
}

/// An interface of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfacePlan {
    /// `eth1`, `direct`, `p1`…
    pub name: String,
    /// Locally administered, the same in every lab of the same shape.
    pub mac: [u8; 6],
    /// The node's bridge that it is a port of.
    pub bridge: Option<String>,
    /// Address and length of the subnet; none for a bridge's ports.
    pub address: Option<(Ipv4Addr, u8)>,
    /// The limit of what it sends.
    pub limit: Option<PortLimit>,
    /// Whom it can reach without asking: the permanent neighbours.
    pub neighbours: Vec<(Ipv4Addr, [u8; 6])>,
}

/// A route of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoutePlan {
    /// The destination and the length of its prefix.
    pub destination: (Ipv4Addr, u8),
    /// Next router and interface; several share the flows equally.
    pub next_hops: Vec<(Ipv4Addr, String)>,
    /// What an unbound socket sends from, where it is not the link's address.
    pub source: Option<Ipv4Addr>,
}

/// A virtual cable: two interfaces, each as node and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CablePlan {
    /// One end; the device's where there is one.
    pub a: (String, String),
    /// The other; a host's, or the same device's where it joins two bridges inside.
    pub b: (String, String),
}

impl CablePlan {
    /// The end that is not `end`; none where the cable does not end there.
    pub fn far_end_of(&self, end: &(String, String)) -> Option<&(String, String)> {
        if *end == self.a { Some(&self.b) } else { (*end == self.b).then_some(&self.a) }
    }
}

impl LabSpec {
    /// Works the lab out. Touches nothing.
    pub fn plan(&self) -> Result<LabPlan, LabError> {
        self.check()?;
        Ok(layout::lay_out(self))
    }
}

impl LabPlan {
    /// The named host.
    pub fn host(&self, name: &str) -> Option<&HostPlan> {
        self.hosts.iter().find(|host| host.name == name)
    }

    /// The named subject.
    pub fn subject(&self, name: &str) -> Option<&SubjectPlan> {
        self.subjects.iter().find(|subject| subject.name == name)
    }

    /// The virtual machine that a device is, if it is one. Its node is not a namespace.
    pub fn machine(&self, device: &str) -> Option<&VmSpec> {
        match &self.subject_of(device)?.device {
            LabDevice::Vm(machine) => Some(machine),
            _ => None,
        }
    }

    /// The model that a device is, if it is one. Its node holds the cables' ends and nothing else.
    pub fn emulated(&self, device: &str) -> Option<&EmulatedSpec> {
        match &self.subject_of(device)?.device {
            LabDevice::Emulated(spec) => Some(spec),
            _ => None,
        }
    }

    /// The devices that drop frames on purpose: all that are the kernel's bridge, where that was
    /// asked.
    pub fn dropping(&self) -> impl Iterator<Item = &DevicePlan> {
        let bridge = |device: &&DevicePlan| {
            self.subject_of(&device.name).is_some_and(|it| it.device == LabDevice::Bridge)
        };
        let devices = if self.drops.is_none() { &[][..] } else { &self.devices };
        devices.iter().filter(bridge)
    }

    /// The subject that a device belongs to.
    pub fn subject_of(&self, device: &str) -> Option<&SubjectPlan> {
        self.subjects.iter().find(|subject| subject.devices.iter().any(|d| d == device))
    }

    /// The named device.
    pub fn device(&self, name: &str) -> Option<&DevicePlan> {
        self.devices.iter().find(|device| device.name == name)
    }

    /// The named node: a host or a device.
    pub fn node(&self, name: &str) -> Option<&NodePlan> {
        self.nodes.iter().find(|node| node.name == name)
    }
}

/// Whether links of this MTU carry IPv6.
pub(crate) const fn fits_ipv6(mtu: u32) -> bool {
    mtu >= IPV6_MTU
}
