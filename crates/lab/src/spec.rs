//! What a user asks of a lab, and what can't be asked.
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

/// A device to stand between the hosts of a lab.
#[derive(Debug, Clone, PartialEq)]
pub enum LabDevice {
    /// None: hosts are joined in pairs.
    Cable,
    /// The kernel's bridge.
    Bridge,
    /// A bridge for each group of hosts, and one that joins them.
    Bridges(BridgesSpec),
    /// One host that forwards by IP address; each of its ports is a subnet of its own.
    Router,
    /// Two of these side by side; the hosts spread their flows over both.
    Routers,
    /// A virtual machine with a kernel of its own.
    Vm(VmSpec),
    /// A model, turned in real time.
    Emulated(EmulatedSpec),
}

/// Bridges that share out the hosts, each with an uplink to one more bridge: a switch of several
/// modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BridgesSpec {
    /// How many, 2…8, no more than hosts: each has as many hosts as the next, or one more.
    pub groups: u16,
    /// What each uplink carries, each way, counted as on a wire; without it, whatever the kernel
    /// does.
    pub uplink: Option<Rate>,
}

impl BridgesSpec {
    /// Two, and nothing limits what passes between them.
    pub const DEFAULT: Self = Self { groups: 2, uplink: None };
}

/// A virtual machine that forwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VmSpec {
    /// The device's name, so that several can be told apart; else `vm`.
    pub name: Option<String>,
    /// How it forwards.
    pub role: VmRole,
    /// The kernel's image: a bzImage.
    pub kernel: PathBuf,
    /// Its modules, where they are not found by themselves; see [`crate::vm::Image::open`].
    pub modules: Option<PathBuf>,
    /// By what its instructions are carried out.
    pub acceleration: Acceleration,
}

/// How a virtual machine forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VmRole {
    /// By MAC address.
    Bridge,
    /// By IP address.
    Router,
}

impl LabDevice {
    /// Those that need nothing said about them, simplest first.
    pub const ALL: [Self; 5] = [
        Self::Cable,
        Self::Bridge,
        Self::Bridges(BridgesSpec::DEFAULT),
        Self::Router,
        Self::Routers,
    ];

    /// As a user writes it: `cable`, `bridge`, `bridges`, `router`, `routers`, `vm`, `emulated`.
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
    /// What several are numbered by: a model is called as its profile is, where that is a name.
    pub(crate) fn kind_name(&self) -> &str {
        match self {
            Self::Emulated(EmulatedSpec { profile, .. }) if is_free_name(&profile.name) => {
                &profile.name
            }
            _ => self.as_str(),
        }
    }
}

/// The most hosts of a lab: a /24 holds the links of so many to one router.
pub const MAX_HOSTS: u16 = 64;
/// The most groups of [`LabDevice::Bridges`].
pub const MAX_GROUPS: u16 = 8;
/// The most devices side by side; the addresses are shared out among so many.
pub const MAX_DEVICES: usize = 8;
/// 9000: with it a link carries every frame size up to 9018 octets, Ethernet header and FCS
/// included, without fragments. It is not the habitual 1500, because a lab's cables cost nothing
/// and a size that does not fit would have to be refused.
pub const DEFAULT_MTU: u32 = 9000;
/// A byte a second.
const LEAST_RATE: u64 = 8;
const MTU_RANGE: std::ops::RangeInclusive<u32> = 576..=65_535;

/// A lab to be planned.
#[derive(Debug, Clone, PartialEq)]
pub struct LabSpec {
    /// What stands between the hosts, side by side: each host has a port to each of them, in this
    /// order. None, or one [`LabDevice::Cable`], is a cable lab.
    pub devices: Vec<LabDevice>,
    /// How many hosts, 2…64; an even number for a cable.
    pub hosts: u16,
    /// The limit of each device port towards its host, counted as [`crate::PortLimit`] says; of no
    /// emulated device, whose profile has the rate.
    pub rate: Option<Rate>,
    /// How much may wait at each limited port; absent, what [`crate::PortLimit::new`] finds fit.
    pub queue: Option<ByteCount>,
    /// By what the kernel holds those ports to the rate.
    pub shaper: Shaper,
    /// What each bridge of kind [`LabDevice::Bridge`] drops besides.
    pub drops: Drops,
    /// The largest IP packet of every link, in octets.
    pub mtu: u32,
    /// Whether the hosts of a pair are also joined by a cable of their own, past all devices.
    pub bypass: bool,
}

impl LabSpec {
    /// Two hosts, one device, no limit, jumbo frames, with a bypass.
    pub fn new(device: LabDevice) -> Self {
        Self::of(vec![device])
    }

    /// As [`Self::new`], with several devices side by side.
    pub fn of(devices: Vec<LabDevice>) -> Self {
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

    /// Whether the hosts are joined in pairs and nothing else.
    pub fn is_cable(&self) -> bool {
        matches!(self.devices.as_slice(), [] | [LabDevice::Cable])
    }

    /// Whether every value is one that a lab can have.
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

/// Whether a device may be called so: whatever else the lab comes to hold, its own names are these
/// with a number.
fn is_free_name(name: &str) -> bool {
    let kind = name.trim_end_matches(|c: char| c.is_ascii_digit());
    is_name(name) && !OWN_NAMES.contains(&kind)
}

/// What hosts and devices are called, before their number.
const OWN_NAMES: [&str; 9] =
    ["h", "r", "cable", "bridge", "bridges", "router", "routers", "vm", "emulated"];

/// A lab can't be as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// Too few or too many.
    #[error("a lab of {hosts} hosts: it has 2…{MAX_HOSTS}")]
    Hosts {
        /// As asked.
        hosts: u16,
    },
    /// Too many.
    #[error("a lab of {devices} devices: it has at most {MAX_DEVICES}")]
    Devices {
        /// As asked.
        devices: usize,
    },
    /// The direct cable is there beside every device, and is none.
    #[error("a lab of a cable and other devices: the direct cable is beside them anyway")]
    CableBesideDevice,
    /// More than a machine has room for.
    #[error("a lab of {hosts} hosts with a virtual machine: it has at most {MAX_PORTS} ports")]
    MachinePorts {
        /// As asked.
        hosts: u16,
    },
    /// More hosts than an emulated device has ports.
    #[error("a lab of {hosts} hosts at an emulated {name}: it has {ports} ports")]
    ProfilePorts {
        /// As asked.
        hosts: u16,
        /// The profile's.
        name: String,
        /// The profile's.
        ports: u16,
    },
    /// Fewer than two, more than are built, or one without a host.
    #[error("a lab of {groups} bridges for {hosts} hosts: it has 2…{MAX_GROUPS}, each with a host")]
    Groups {
        /// As asked.
        groups: u16,
        /// As asked.
        hosts: u16,
    },
    /// Two rates for one port.
    #[error("a lab with a rate for emulated ports: their profile has it")]
    ProfileRate,
    /// It would be ambiguous in `name/port`.
    #[error("a device called `{name}`: a name is not empty and has no slash, colon or blank")]
    Name {
        /// As asked.
        name: String,
    },
    /// Another has it, or might.
    #[error("a device called `{name}`: another one is called so, or the lab's own may be")]
    NameTaken {
        /// As asked.
        name: String,
    },
    /// A host would be left over.
    #[error("a cable lab of {hosts} hosts: a cable joins two, so their number is even")]
    OddCable {
        /// As asked.
        hosts: u16,
    },
    /// Out of IPv4's or the kernel's range.
    #[error("a lab with an mtu of {mtu}: it is 576…65535 octets")]
    Mtu {
        /// As asked, in octets.
        mtu: u32,
    },
    /// Less than a byte a second.
    #[error("a lab with ports of {rate}: the least is 8bit")]
    Rate {
        /// As asked.
        rate: Rate,
    },
    /// Nothing waits at a port without a limit.
    #[error("a lab with a queue of {queue}: a queue needs a rate")]
    QueueWithoutRate {
        /// As asked.
        queue: ByteCount,
    },
    /// Nothing is shaped at a port without a limit.
    #[error("a lab shaped by {}: a shaper needs a rate", .shaper.as_str())]
    ShaperWithoutRate {
        /// As asked.
        shaper: Shaper,
    },
    /// Only a bridge can be told to drop frames.
    #[error("a lab with random loss or policing: they are a bridge's, and it has none")]
    DropsWithoutBridge,
    /// Less than one frame, or more than the kernel can count.
    #[error("a lab with a queue of {queue}: it holds at least a frame of mtu {mtu}, at most 4GiB")]
    Queue {
        /// As asked.
        queue: ByteCount,
        /// The lab's.
        mtu: u32,
    },
}

/// A device of a lab that is a model.
#[derive(Debug, Clone, PartialEq)]
pub struct EmulatedSpec {
    /// What it is a model of; host i is at its port i.
    pub profile: Arc<Profile>,
    /// Of the profile's stalls and random losses.
    pub seed: u64,
}

impl EmulatedSpec {
    /// A model of that profile, with the first seed.
    pub fn new(profile: Profile) -> Self {
        Self { profile: Arc::new(profile), seed: 1 }
    }
}
