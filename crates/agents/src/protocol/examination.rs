//! Facts about a host that affect a measurement, found by its agent and judged by the doctor.
//!
//! Data only. A value that a kernel does not report is absent.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use netlink::Nic;
use serde::{Deserialize, Serialize};

/// A host and its test ports.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Examination {
    /// Number of processors.
    pub cpus: Option<usize>,
    /// Distinct frequency governors of all processors: `performance`.
    pub governors: Vec<String>,
    /// Enabled idle states of the first processor.
    pub idle_states: Vec<IdleState>,
    /// The clock source in use: `tsc`.
    pub clock_source: Option<String>,
    /// Available clock sources.
    pub clock_sources: Vec<String>,
    /// Value of `net.core.rmem_max`.
    pub rmem_max: Option<u64>,
    /// Value of `net.core.wmem_max`.
    pub wmem_max: Option<u64>,
    /// Octets that the agent may lock.
    pub memlock: Option<u64>,
    /// Effective capabilities of the agent, one bit each (capabilities(7)).
    pub capabilities: u64,
    /// Share of the processors that was busy, measured briefly; 0…1.
    pub busy: f64,
    /// Share of the processors that a hypervisor took, measured briefly; 0…1.
    pub stolen: f64,
    /// Test ports, by interface.
    pub ports: BTreeMap<String, PortExamination>,
}

/// Frames to send out of a port to find the far end of its cable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortProbe {
    /// Name of a test port.
    pub interface: String,
    /// Frames in this order; the first that cannot be sent ends the probe.
    pub frames: Vec<ProbeFrame>,
    /// Address of the port; other owners of it are looked for.
    pub address: Option<Ipv4Addr>,
}

/// One such frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeFrame {
    /// Number of the frame, unique within a check.
    pub number: u16,
    /// Octets of the frame, with its FCS.
    pub size: u32,
    /// True if switches must not forward the frame.
    pub far_end_only: bool,
}

/// Result of a [`PortProbe`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProbeReply {
    /// MAC addresses of other owners of the address.
    pub owners: Vec<String>,
    /// Reason why a frame could not be sent; `None` if all were sent.
    pub failed: Option<String>,
}

/// A port of a host, whether or not a testbed names it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NicFacts {
    /// Name, such as `eth1`.
    pub name: String,
    /// State of the link in the kernel.
    pub link: Link,
    /// Driver: `ixgbe`, `veth`.
    pub driver: Option<String>,
    /// Speed in megabits a second; `None` if not reported.
    pub speed_mbits: Option<u32>,
    /// True for full duplex; `None` if not reported.
    pub full_duplex: Option<bool>,
    /// Addresses with their prefix lengths: `192.0.2.7/24`.
    pub addresses: Vec<String>,
    /// Use that keeps the port from tests; `None` if it is free.
    pub kept: Option<Kept>,
}

/// Use of a port by something else than tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    /// The connection of what launched the agent: ssh, srun, mpirun.
    Launcher,
    /// Port of the bridge or bond of this name.
    PartOf(String),
    /// The default route, at a host whose launcher's connection is by another port, or by none.
    DefaultRoute,
    /// The default route, at a host where nothing tells which port carries its launcher's
    /// connection.
    PerhapsLauncher,
}

/// An idle state of a processor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleState {
    /// Name, such as `state3`.
    pub name: String,
    /// Wake-up time in microseconds.
    pub wake_us: u64,
}

/// A test port.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PortExamination {
    /// State of the link; `None` if there is no such interface.
    pub link: Option<Link>,
    /// IP addresses.
    pub addresses: Vec<IpAddr>,
    /// Settings of the card.
    pub nic: Nic,
    /// Driver: `ixgbe`, `veth`.
    pub driver: Option<String>,
    /// Version of the card's firmware, as its driver reports it.
    pub firmware: Option<String>,
    /// Enabled features that merge or split frames.
    pub offloads: Vec<String>,
    /// Interrupts of its device.
    pub interrupts: Vec<Interrupt>,
    /// NUMA node of its device (-1 on a machine with a single node), and the processors near it.
    pub numa: Option<(i32, String)>,
}

/// An interface as the kernel has it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Link {
    /// True if the interface is set up.
    pub up: bool,
    /// True if it has a far end.
    pub carrier: bool,
    /// MTU in octets.
    pub mtu: u32,
    /// Ethernet address: `02:00:00:00:00:01`.
    pub mac: Option<String>,
    /// True if it is a tunnel: packets without an Ethernet header, or frames inside IP.
    #[serde(default)]
    pub tunnel: bool,
    /// MTU of the interface below a tunnel, if the kernel knows which it is.
    #[serde(default)]
    pub underlay_mtu: Option<u32>,
}

/// An interrupt and the processors that handle it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupt {
    /// Number in `/proc/interrupts`.
    pub number: u32,
    /// Processors: `0`, `0-3,8`.
    pub processors: String,
}
