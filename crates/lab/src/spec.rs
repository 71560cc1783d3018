//! The user's specification of a lab, and its limits.
//!
//! Owns the limits. Never touches the kernel.

mod drops;

use std::path::PathBuf;
use std::sync::Arc;

use device::Profile;
use measure::{ByteCount, Rate};

use crate::limit::Shaper;
use crate::vm::{Acceleration, MAX_PORTS};
pub use drops::{Drops, Policer, RandomLoss};

/// A device between the hosts of a lab.
#[derive(Debug, Clone, PartialEq)]
pub enum LabDevice {
    /// No device: hosts are joined in pairs.
    Cable,
    /// The kernel's bridge.
    Bridge,
    /// A bridge for each group of hosts, and one that joins them.
    Bridges(BridgesSpec),
    /// One host that forwards by IP address; each of its ports is a subnet of its own.
    Router,
    /// Two routers side by side; the hosts spread their flows over both.
    Routers,
    /// A virtual machine with a kernel of its own.
    Vm(VmSpec),
    /// A model, run in real time.
    Emulated(EmulatedSpec),
}

/// Bridges that divide the hosts among them, each with an uplink to a central bridge: a switch of
/// several modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BridgesSpec {
    /// Number of bridges, 2…8, at most the number of hosts. The hosts are divided evenly, with at
    /// most one more in some groups.
    pub groups: u16,
    /// Rate of each uplink in each direction, counted as on a wire; `None` for no limit.
    pub uplink: Option<Rate>,
}

impl BridgesSpec {
    /// Default: two groups, no uplink limit.
    pub const DEFAULT: Self = Self { groups: 2, uplink: None };
}

/// A virtual machine that forwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VmSpec {
    /// Name of the device, to distinguish several; `None` for `vm`.
    pub name: Option<String>,
    /// Kind of forwarding.
    pub role: VmRole,
    /// Kernel image: a bzImage.
    pub kernel: PathBuf,
    /// Folder of its modules; `None` to search as [`crate::vm::Image::open`] describes.
    pub modules: Option<PathBuf>,
    /// Acceleration of its processor.
    pub acceleration: Acceleration,
}

/// Kind of a virtual machine's forwarding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VmRole {
    /// Forwards by MAC address.
    Bridge,
    /// Forwards by IP address.
    Router,
}

impl LabDevice {
    /// Devices that need no parameters, simplest first.
    pub const ALL: [Self; 5] = [
        Self::Cable,
        Self::Bridge,
        Self::Bridges(BridgesSpec::DEFAULT),
        Self::Router,
        Self::Routers,
    ];

    /// Name as a user writes it: `cable`, `bridge`, `bridges`, `router`, `routers`, `vm`,
    /// `emulated`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Cable => "cable",
            Self::Bridge => "bridge",
            Self::Bridges(_) => "bridges",
            Self::Router => "router",
            Self::Routers => "routers",
            Self::Vm(_) => "vm",
            Self::Emulated(_) => "emulated",
        }
    }
}

impl LabDevice {
    /// Base name for numbering; a model is named after its profile if that is a valid name.
    pub(crate) fn kind_name(&self) -> &str {
        match self {
            Self::Emulated(EmulatedSpec { profile, .. }) if is_free_name(&profile.name) => {
                &profile.name
            }
            _ => self.as_str(),
        }
    }
}

/// Maximum number of hosts: a /24 holds this many links to one router.
pub const MAX_HOSTS: u16 = 64;
/// Maximum number of groups of [`LabDevice::Bridges`].
pub const MAX_GROUPS: u16 = 8;
/// Maximum number of devices side by side, which divide the addresses among them.
pub const MAX_DEVICES: usize = 8;
/// Default MTU, 9000: a link then carries every frame size up to 9018 octets, Ethernet header and
/// FCS included, without fragments. It is not the usual 1500, because a lab's cables cost nothing
/// and larger sizes would have to be refused.
pub const DEFAULT_MTU: u32 = 9000;
/// Minimum rate in bits a second: one byte a second.
const LEAST_RATE: u64 = 8;
const MTU_RANGE: std::ops::RangeInclusive<u32> = 576..=65_535;

/// Specification of a lab.
#[derive(Debug, Clone, PartialEq)]
pub struct LabSpec {
    /// Devices between the hosts, side by side: each host has a port to each of them, in this
    /// order. An empty list, or one [`LabDevice::Cable`], is a cable lab.
    pub devices: Vec<LabDevice>,
    /// Number of hosts, 2…64; even for a cable lab.
    pub hosts: u16,
    /// Rate limit of each device port towards its host, counted as [`crate::PortLimit`] describes.
    /// Does not apply to an emulated device, whose profile has the rate.
    pub rate: Option<Rate>,
    /// Bytes that may wait at each limited port; `None` for the default of
    /// [`crate::PortLimit::new`].
    pub queue: Option<ByteCount>,
    /// Kernel queue that limits those ports.
    pub shaper: Shaper,
    /// Deliberate drops of each [`LabDevice::Bridge`].
    pub drops: Drops,
    /// The largest IP packet of every link, in octets.
    pub mtu: u32,
    /// True if the hosts of a pair also have a direct cable between them.
    pub bypass: bool,
}

impl LabSpec {
    /// Creates the default lab: two hosts, one device, no limit, jumbo frames, with a bypass.
    pub fn new(device: LabDevice) -> Self {
        Self::with_devices(vec![device])
    }

    /// Creates the default lab with several devices side by side.
    pub fn with_devices(devices: Vec<LabDevice>) -> Self {
        Self {
            devices,
            hosts: 2,
            rate: None,
            queue: None,
            shaper: Shaper::default(),
            drops: Drops::default(),
            mtu: DEFAULT_MTU,
            bypass: true,
        }
    }

    /// True if the hosts are only joined in pairs.
    pub fn is_cable(&self) -> bool {
        matches!(self.devices.as_slice(), [] | [LabDevice::Cable])
    }

    /// Checks that every value is valid for a lab.
    pub fn check(&self) -> Result<(), SpecError> {
        let hosts = self.hosts;
        if !(2..=MAX_HOSTS).contains(&hosts) {
            return Err(SpecError::Hosts { hosts });
        }
        if self.devices.len() > MAX_DEVICES {
            return Err(SpecError::Devices { devices: self.devices.len() });
        }
        if !self.is_cable() && self.devices.contains(&LabDevice::Cable) {
            return Err(SpecError::CableBesideDevice);
        }
        if self.is_cable() && !hosts.is_multiple_of(2) {
            return Err(SpecError::OddCable { hosts });
        }
        self.check_machines()?;
        self.check_emulated()?;
        self.check_groups()?;
        if !MTU_RANGE.contains(&self.mtu) {
            return Err(SpecError::Mtu { mtu: self.mtu });
        }
        if self.shaper != Shaper::default() && self.rate.is_none() {
            return Err(SpecError::ShaperWithoutRate { shaper: self.shaper });
        }
        if !self.drops.is_none() && !self.devices.contains(&LabDevice::Bridge) {
            return Err(SpecError::DropsWithoutBridge);
        }
        match (self.rate, self.queue) {
            (Some(rate), _) if rate.0 < LEAST_RATE => Err(SpecError::Rate { rate }),
            (None, Some(queue)) => Err(SpecError::QueueWithoutRate { queue }),
            (Some(_), Some(queue)) if queue.0 < u64::from(self.mtu) + 14 => {
                Err(SpecError::Queue { queue, mtu: self.mtu })
            }
            (Some(_), Some(queue)) if queue.0 > u64::from(u32::MAX) => {
                Err(SpecError::Queue { queue, mtu: self.mtu })
            }
            _ => Ok(()),
        }
    }
}

impl LabSpec {
    fn check_machines(&self) -> Result<(), SpecError> {
        let machines = self.devices.iter().filter_map(|device| match device {
            LabDevice::Vm(machine) => Some(machine),
            _ => None,
        });
        let mut names: Vec<&String> = Vec::new();
        for machine in machines {
            if usize::from(self.hosts) > MAX_PORTS {
                return Err(SpecError::MachinePorts { hosts: self.hosts });
            }
            let Some(name) = &machine.name else { continue };
            if !is_name(name) {
                return Err(SpecError::Name { name: name.clone() });
            }
            if !is_free_name(name) || names.contains(&name) {
                return Err(SpecError::NameTaken { name: name.clone() });
            }
            names.push(name);
        }
        Ok(())
    }
}

impl LabSpec {
    fn check_groups(&self) -> Result<(), SpecError> {
        for device in &self.devices {
            let LabDevice::Bridges(BridgesSpec { groups, uplink }) = *device else { continue };
            if !(2..=MAX_GROUPS.min(self.hosts)).contains(&groups) {
                return Err(SpecError::Groups { groups, hosts: self.hosts });
            }
            if let Some(rate) = uplink.filter(|rate| rate.0 < LEAST_RATE) {
                return Err(SpecError::Rate { rate });
            }
        }
        Ok(())
    }
}

impl LabSpec {
    fn check_emulated(&self) -> Result<(), SpecError> {
        let mut all_emulated = !self.devices.is_empty();
        for device in &self.devices {
            let LabDevice::Emulated(EmulatedSpec { profile, .. }) = device else {
                all_emulated = false;
                continue;
            };
            if self.hosts > profile.edges() {
                let (name, ports) = (profile.name.clone(), profile.edges());
                return Err(SpecError::ProfilePorts { hosts: self.hosts, name, ports });
            }
        }
        if all_emulated && self.rate.is_some() {
            return Err(SpecError::ProfileRate);
        }
        Ok(())
    }
}

fn is_name(name: &str) -> bool {
    let breaks = |c: char| c == '/' || c == ':' || c == '\0' || c.is_whitespace();
    !name.is_empty() && !name.contains(breaks)
}

/// True if a device may have this name: it cannot collide with the lab's own names, which end in a
/// number.
fn is_free_name(name: &str) -> bool {
    let kind = name.trim_end_matches(|c: char| c.is_ascii_digit());
    is_name(name) && !OWN_NAMES.contains(&kind)
}

/// Names of hosts and devices, without their number.
const OWN_NAMES: [&str; 9] =
    ["h", "r", "cable", "bridge", "bridges", "router", "routers", "vm", "emulated"];

/// Invalid specification of a lab.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// Too few hosts or too many.
    #[error("a lab of {hosts} hosts: it has 2…{MAX_HOSTS}")]
    Hosts {
        /// Requested number of hosts.
        hosts: u16,
    },
    /// Too many devices.
    #[error("a lab of {devices} devices: it has at most {MAX_DEVICES}")]
    Devices {
        /// Requested number of devices.
        devices: usize,
    },
    /// A cable next to other devices: every pair has its direct cable anyway.
    #[error("a lab of a cable and other devices: the direct cable is beside them anyway")]
    CableBesideDevice,
    /// More hosts than a machine has ports.
    #[error("a lab of {hosts} hosts with a virtual machine: it has at most {MAX_PORTS} ports")]
    MachinePorts {
        /// Requested number of hosts.
        hosts: u16,
    },
    /// More hosts than an emulated device has ports.
    #[error("a lab of {hosts} hosts at an emulated {name}: it has {ports} ports")]
    ProfilePorts {
        /// Requested number of hosts.
        hosts: u16,
        /// Name of the profile.
        name: String,
        /// Ports that the profile has.
        ports: u16,
    },
    /// Fewer than two groups, more than the maximum, or one without a host.
    #[error("a lab of {groups} bridges for {hosts} hosts: it has 2…{MAX_GROUPS}, each with a host")]
    Groups {
        /// Requested number of groups.
        groups: u16,
        /// Requested number of hosts.
        hosts: u16,
    },
    /// A rate for an emulated device, whose profile already has one.
    #[error("a lab with a rate for emulated ports: their profile has it")]
    ProfileRate,
    /// Name that would be ambiguous in `name/port`.
    #[error("a device called `{name}`: a name is not empty and has no slash, colon or blank")]
    Name {
        /// Requested name.
        name: String,
    },
    /// Name that another device has, or might get.
    #[error("a device called `{name}`: another one is called so, or the lab's own may be")]
    NameTaken {
        /// Requested name.
        name: String,
    },
    /// Odd number of hosts: one would be left over.
    #[error("a cable lab of {hosts} hosts: a cable joins two, so their number is even")]
    OddCable {
        /// Requested number of hosts.
        hosts: u16,
    },
    /// MTU outside IPv4's or the kernel's range.
    #[error("a lab with an mtu of {mtu}: it is 576…65535 octets")]
    Mtu {
        /// Requested MTU in octets.
        mtu: u32,
    },
    /// Rate below one byte a second.
    #[error("a lab with ports of {rate}: the least is 8bit")]
    Rate {
        /// Requested rate.
        rate: Rate,
    },
    /// A queue without a rate: no frames wait at a port without a limit.
    #[error("a lab with a queue of {queue}: a queue needs a rate")]
    QueueWithoutRate {
        /// Requested queue.
        queue: ByteCount,
    },
    /// A shaper without a rate: a port without a limit is not shaped.
    #[error("a lab shaped by {}: a shaper needs a rate", .shaper.as_str())]
    ShaperWithoutRate {
        /// Requested shaper.
        shaper: Shaper,
    },
    /// Drops without a bridge: only a bridge can drop frames on purpose.
    #[error("a lab with random loss or policing: they are a bridge's, and it has none")]
    DropsWithoutBridge,
    /// A queue smaller than one frame, or larger than the kernel can count.
    #[error("a lab with a queue of {queue}: it holds at least a frame of mtu {mtu}, at most 4GiB")]
    Queue {
        /// Requested queue.
        queue: ByteCount,
        /// MTU of the lab.
        mtu: u32,
    },
}

/// An emulated device of a lab.
#[derive(Debug, Clone, PartialEq)]
pub struct EmulatedSpec {
    /// Profile of the model; host i is at its port i.
    pub profile: Arc<Profile>,
    /// Seed of the profile's stalls and random losses.
    pub seed: u64,
}

impl EmulatedSpec {
    /// Creates a device from a profile, with seed 1.
    pub fn new(profile: Profile) -> Self {
        Self { profile: Arc::new(profile), seed: 1 }
    }
}
