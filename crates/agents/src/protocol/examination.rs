//! What of a host bears on a measurement, as its agent finds it and the doctor judges it.
//!
//! Data only. What a kernel does not tell is absent.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use netlink::Nic;
use serde::{Deserialize, Serialize};

/// A host and its test ports.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Examination {
    /// How many processors there are.
    pub cpus: Option<usize>,
    /// Of all processors, each once: `performance`.
    pub governors: Vec<String>,
    /// The first processor's, those that are on.
    pub idle_states: Vec<IdleState>,
    /// The clock source in use: `tsc`.
    pub clock_source: Option<String>,
    /// Those that could be.
    pub clock_sources: Vec<String>,
    /// `net.core.rmem_max`
    pub rmem_max: Option<u64>,
    /// `net.core.wmem_max`
    pub wmem_max: Option<u64>,
    /// Octets that the agent may lock.
    pub memlock: Option<u64>,
    /// The agent's effective capabilities, a bit each (capabilities(7)).
    pub capabilities: u64,
    /// The share of the processors that was busy, and that a hypervisor took, for a moment; 0…1.
    pub busy: f64,
    /// See `busy`.
    pub stolen: f64,
    /// By interface.
    pub ports: BTreeMap<String, PortExamination>,
}

/// What is sent out of a port to learn where its cable leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortProbe {
    /// A test port.
    pub interface: String,
    /// In this order; one that can't be sent ends it.
    pub frames: Vec<ProbeFrame>,
    /// The port's own address, of which it is asked who else has it.
    pub address: Option<Ipv4Addr>,
}

/// One such frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeFrame {
    /// No other frame of this look has it.
    pub number: u16,
    /// Its octets, with its FCS.
    pub size: u32,
    /// Whether switches are to keep it to themselves.
    pub far_end_only: bool,
}

/// What became of a [`PortProbe`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProbeReply {
    /// MAC addresses of others who have the address.
    pub owners: Vec<String>,
    /// Why a frame could not be sent.
    pub failed: Option<String>,
}

/// A port as a host has it, whether or not a testbed names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicFacts {
    /// `eth1`
    pub name: String,
    /// As the kernel has it.
    pub link: Link,
    /// `ixgbe`, `veth`.
    pub driver: Option<String>,
    /// Megabits a second, where it is told.
    pub speed_mbits: Option<u32>,
    /// Whether it is full duplex, where that is told.
    pub full_duplex: Option<bool>,
    /// With their prefix lengths: `192.0.2.7/24`.
    pub addresses: Vec<String>,
    /// Why it is no port to test with: the connection that reaches this host, the default route,
    /// a bridge.
    pub kept: Option<String>,
}

/// A state in which a processor sleeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleState {
    /// `state3`
    pub name: String,
    /// How long waking from it takes.
    pub wake_us: u64,
}

/// A test port.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PortExamination {
    /// None where there is no such interface.
    pub link: Option<Link>,
    /// IPv4 addresses.
    pub addresses: Vec<Ipv4Addr>,
    /// What the card is set to.
    pub nic: Nic,
    /// Features that merge or split frames, those that are on.
    pub offloads: Vec<String>,
    /// Those of its own.
    pub interrupts: Vec<Interrupt>,
    /// Where its device stands: the memory node, and the processors near it; -1 is a machine of
    /// one.
    pub numa: Option<(i32, String)>,
}

/// An interface as the kernel has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Set up.
    pub up: bool,
    /// With a far end.
    pub carrier: bool,
    /// In octets.
    pub mtu: u32,
    /// `02:00:00:00:00:01`
    pub mac: Option<String>,
}

/// An interrupt and the processors that take it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupt {
    /// As in `/proc/interrupts`.
    pub number: u32,
    /// `0`, `0-3,8`
    pub processors: String,
}
