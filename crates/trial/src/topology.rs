//! Hosts, their test ports, the devices between them, and which cable goes where.
//!
//! Names only: knows no socket, namespace or agent. A port whose cable ends at another host's port
//! is a *bypass*: the same hosts without the device.

mod another_time;
mod plain;
mod runs;

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use measure::{ByteCount, Nanos, Rate};
use serde::{Deserialize, Serialize};

pub use another_time::AnotherTime;
pub use runs::{IPERF3, NOTHING, Runs};

/// How a host is reached that is only a model ([`Host::reach`]).
pub const SIMULATED: &str = "sim";

/// Everything a study may know of where its trials run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Topology {
    /// As the user named it: `lab:bridge`, or the testbed file's name.
    pub name: String,
    /// Hosts in the order they were given.
    pub hosts: Vec<Host>,
    /// Devices under test; empty for a bare cable.
    pub devices: Vec<Device>,
    /// Where no port is left for a direct cable beside the device: when there is one all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub another_time: Option<AnotherTime>,
    /// Hosts that are no lab's, and what is between them, turned out to be one machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared_machine: bool,
}

/// A Linux host with at least one test port.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// `h1`
    pub name: String,
    /// How an agent gets there: `lab`, `local`, `netns:NAME`, `pid:N`; [`SIMULATED`] where there is
    /// none.
    pub reach: String,
    /// Its test ports.
    pub ports: Vec<HostPort>,
}

impl Host {
    /// What of a trial runs there.
    pub fn runs(&self) -> Runs {
        Runs::where_reached(&self.reach)
    }

    /// The kernel interfaces of all its ports.
    pub fn interfaces(&self) -> Vec<String> {
        self.ports.iter().flat_map(|port| &port.interfaces).cloned().collect()
    }
}

/// One end of a test cable, on a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostPort {
    /// As the plan names it; for ordinary ports also the kernel's interface name.
    pub name: String,
    /// The kernel interfaces whose counters belong to it: itself, or several where the host spreads
    /// its traffic over equal-cost paths.
    pub interfaces: Vec<String>,
    /// The test address.
    pub address: IpAddr,
    /// The test address of IPv6, where `address` is IPv4 and the port has both.
    #[serde(default)]
    pub address6: Option<Ipv6Addr>,
    /// Further addresses that the path leads to this port, for flows that vary them; at most one
    /// block for each version. Nobody need own them: they are counted before the host's stack.
    #[serde(default)]
    pub blocks: Vec<AddressBlock>,
    /// Where its cable ends.
    pub cable: CableEnd,
    /// The port's own speed where it is known.
    pub rate: Option<Rate>,
}

impl HostPort {
    /// True if it has an address of IPv6.
    pub const fn has_ipv6(&self) -> bool {
        self.address.is_ipv6() || self.address6.is_some()
    }
}

/// Consecutive addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressBlock {
    /// The lowest.
    pub first: IpAddr,
    /// How many, at least 1.
    pub count: u16,
}

impl AddressBlock {
    /// This one alone.
    pub const fn single(address: IpAddr) -> Self {
        Self { first: address, count: 1 }
    }

    /// The address at a place in the block; `None` where there are no so high addresses.
    #[inline]
    pub fn checked_at(&self, index: u16) -> Option<IpAddr> {
        match self.first {
            IpAddr::V4(first) => {
                first.to_bits().checked_add(index.into()).map(|bits| IpAddr::V4(bits.into()))
            }
            IpAddr::V6(first) => {
                first.to_bits().checked_add(index.into()).map(|bits| IpAddr::V6(bits.into()))
            }
        }
    }

    /// The address of frame `number`, where frames use all in turn.
    #[inline]
    pub fn at(&self, number: u64) -> IpAddr {
        let index = (number % u64::from(self.count.max(1))) as u16;
        self.checked_at(index).unwrap_or(self.first)
    }

    /// Where frame `number` comes from or goes, where frames use all addresses in turn and so many
    /// ports from the lowest on.
    #[inline]
    pub fn end_at(&self, (lowest, ports): (u16, u16), number: u64) -> SocketAddr {
        let above = (number % u64::from(ports.max(1))) as u16;
        SocketAddr::new(self.at(number), lowest.wrapping_add(above))
    }

    /// Whether every address of another is one of these.
    pub fn contains(&self, other: Self) -> bool {
        let ends = |block: Self| match block.first {
            IpAddr::V4(v4) => (false, u128::from(v4.to_bits()), u128::from(block.count.max(1))),
            IpAddr::V6(v6) => (true, v6.to_bits(), u128::from(block.count.max(1))),
        };
        let ((known_v6, low, width), (v6, first, count)) = (ends(*self), ends(other));
        known_v6 == v6
            && first >= low
            && first.saturating_add(count - 1) <= low.saturating_add(width - 1)
    }
}

/// The far end of a host port's cable.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum CableEnd {
    /// A port of a device under test: `sw1/1`.
    Device {
        /// The device's name.
        device: String,
        /// The device's own name for the port.
        port: String,
    },
    /// Another host's port: a direct cable.
    Host(PortRef),
}

/// A host's port, written `h1/eth1`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct PortRef {
    /// The host's name.
    pub host: String,
    /// The port's name on that host.
    pub port: String,
}

/// What stands between the hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// `sw1`
    pub name: String,
    /// What it is.
    pub kind: DeviceKind,
    /// The rate its ports were limited to, where the lab did so: a truth to test against.
    pub port_rate: Option<Rate>,
    /// The byte limit of each limited port's queue.
    pub port_queue: Option<ByteCount>,
    /// What the user wrote about it: model, firmware, price.
    pub facts: BTreeMap<String, String>,
    /// The variants it can be put into, by name; see [`crate::Subject`].
    #[serde(default)]
    pub variants: Vec<String>,
    /// Whether the testbed has a hook to reset it.
    #[serde(default)]
    pub resettable: bool,
    /// What else can be done to it while a load runs; see [`crate::Deed`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deeds: Vec<KnownDeed>,
}

/// Something that the testbed can do to a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownDeed {
    /// `link-down`
    pub name: String,
    /// Whether there is a way back by command.
    pub undo: bool,
    /// What the device is given after it to be as it was, where nothing tells that it is.
    #[serde(default)]
    pub settle: Nanos,
}

/// How a device forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// By MAC address.
    Switch,
    /// By IP address.
    Router,
}

/// Two ports that can talk, and what is between them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// Sending or asking end.
    pub from: PortRef,
    /// Receiving or answering end.
    pub to: PortRef,
}

impl Pair {
    /// The same two, the other way.
    #[must_use]
    pub fn back(&self) -> Self {
        Self { from: self.to.clone(), to: self.from.clone() }
    }
}

impl Topology {
    /// Whether it is the testbed that a run was recorded on: a run that is older than deeds has
    /// none in its record.
    pub fn is_that_of(&self, recorded: &Self) -> bool {
        let mut recorded = recorded.clone();
        for (then, now) in recorded.devices.iter_mut().zip(&self.devices) {
            if then.deeds.is_empty() {
                then.deeds.clone_from(&now.deeds);
            }
        }
        *self == recorded
    }

    /// The named port.
    pub fn port(&self, port: &PortRef) -> Option<&HostPort> {
        self.host(&port.host)?.ports.iter().find(|p| p.name == port.port)
    }

    /// The named host.
    pub fn host(&self, name: &str) -> Option<&Host> {
        self.hosts.iter().find(|h| h.name == name)
    }

    /// The host's port at the other end of the cable in a device's port.
    pub fn at_device(&self, device: &str, port: &str) -> Option<PortRef> {
        let ends_there = |end: &CableEnd| matches!(end, CableEnd::Device { device: d, port: p } if d == device && p == port);
        self.hosts.iter().find_map(|host| {
            let own = host.ports.iter().find(|own| ends_there(&own.cable))?;
            Some(PortRef { host: host.name.clone(), port: own.name.clone() })
        })
    }

    /// Hosts that an agent runs on.
    pub fn agents(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter().filter(|host| host.runs() == Runs::Agent)
    }

    /// What runs on a port's host.
    pub fn runs_at(&self, port: &PortRef) -> Runs {
        self.host(&port.host).map_or(Runs::Agent, Host::runs)
    }

    /// The slowest link's rate, where all of them are known: what stands beside a figure must hold
    /// of whichever link it was measured on.
    pub fn link_rate(&self) -> Option<Rate> {
        let ports = self.hosts.iter().flat_map(|host| &host.ports);
        let rates: Option<Vec<Rate>> = ports.map(|port| port.rate).collect();
        rates?.into_iter().min()
    }

    /// Whether all hosts are this one machine, in a lab or not: they share its processors, and one
    /// clock stamps them all. One on which nothing runs is nobody's clock.
    pub fn one_machine(&self) -> bool {
        let here = |reach: &str| {
            matches!(reach, "lab" | "local" | SIMULATED)
                || ["netns:", "pid:", "docker:", "podman:"].iter().any(|way| reach.starts_with(way))
        };
        self.hosts.iter().all(|host| here(&host.reach) || host.runs() == Runs::Nothing)
    }

    /// Whether the hosts are a lab's own.
    pub fn is_lab(&self) -> bool {
        self.hosts.iter().any(|host| host.reach == "lab")
    }

    /// Whether hosts and what is between them share a machine's processors: what a device does
    /// slows the hosts.
    pub fn shares_processors(&self) -> bool {
        self.shared_machine || self.is_lab()
    }

    /// Whether no host is real: trials run in virtual time, against a model.
    pub fn is_simulated(&self) -> bool {
        self.hosts.iter().any(|host| host.reach == SIMULATED)
    }

    /// The first port of each host that leads to a device, or, where there is no device, to another
    /// host; paired in order: first with second, third with fourth.
    pub fn measured_pairs(&self) -> Vec<Pair> {
        self.pairs(|p| self.devices.is_empty() || matches!(p.cable, CableEnd::Device { .. }))
    }

    /// As [`Self::measured_pairs`], with the ports that lead to one device of several.
    pub fn pairs_across(&self, name: &str) -> Vec<Pair> {
        self.pairs(|p| matches!(&p.cable, CableEnd::Device { device, .. } if device == name))
    }

    fn pairs(&self, measured: impl Fn(&HostPort) -> bool) -> Vec<Pair> {
        let ports = self.ports(measured);
        let pair = |two: &[PortRef]| Pair { from: two[0].clone(), to: two[1].clone() };
        // Nobody sends from a host on which nothing runs.
        let sent = |pair: Pair| match self.runs_at(&pair.from) {
            Runs::Nothing => pair.back(),
            Runs::Agent | Runs::Iperf3 { .. } => pair,
        };
        ports.chunks_exact(2).map(pair).map(sent).collect()
    }

    fn ports(&self, measured: impl Fn(&HostPort) -> bool) -> Vec<PortRef> {
        let first = |host: &Host| {
            let port = host.ports.iter().find(|port| measured(port))?;
            Some(PortRef { host: host.name.clone(), port: port.name.clone() })
        };
        self.hosts.iter().filter_map(first).collect()
    }

    /// The first port of each host that leads to the device, in the order of the device's own
    /// ports: what is to be paired up by where it is plugged in. Without a device, that of each
    /// host that leads to another host, in the hosts' order.
    pub fn ports_of(&self, device: Option<&str>) -> Vec<PortRef> {
        let Some(device) = device else {
            return self.ports(|port| matches!(port.cable, CableEnd::Host(_)));
        };
        let leads_there =
            |p: &HostPort| matches!(&p.cable, CableEnd::Device { device: d, .. } if d == device);
        let mut ports = self.ports(leads_there);
        ports.sort_by_cached_key(|port| match self.port(port).map(|p| &p.cable) {
            Some(CableEnd::Device { port, .. }) => place_of(port),
            _ => (String::new(), 0),
        });
        ports
    }

    /// Direct cables among these ports' hosts, no host's twice, in the hosts' order.
    pub fn cables_among(&self, ports: &[PortRef]) -> Vec<Pair> {
        let among = |host: &str| ports.iter().any(|port| port.host == host);
        let mut used: Vec<&str> = Vec::new();
        let mut cables = Vec::new();
        for host in ports.iter().filter_map(|port| self.host(&port.host)) {
            let free = |name: &str| among(name) && !used.contains(&name);
            let cable = host.ports.iter().find_map(|port| match &port.cable {
                CableEnd::Host(end) if free(&host.name) && free(&end.host) => Some((port, end)),
                _ => None,
            });
            if let Some((port, end)) = cable {
                used.extend([host.name.as_str(), end.host.as_str()]);
                let from = PortRef { host: host.name.clone(), port: port.name.clone() };
                cables.push(Pair { from, to: end.clone() });
            }
        }
        cables
    }

    /// The direct cable between the same two hosts, which at another time joins the two ports
    /// themselves; `None` where there is none, and for a pair that
    /// is itself a direct cable.
    pub fn bypass_of(&self, pair: &Pair) -> Option<Pair> {
        let host = self.host(&pair.from.host)?;
        if self.another_time.is_some() && self.device_between(pair).is_some() {
            return Some(pair.clone());
        }
        host.ports.iter().find_map(|p| match &p.cable {
            CableEnd::Host(end) if end.host == pair.to.host => {
                let from = PortRef { host: host.name.clone(), port: p.name.clone() };
                (from != pair.from).then(|| Pair { from, to: end.clone() })
            }
            _ => None,
        })
    }

    /// A port's rate, where it is known.
    pub fn rate(&self, port: &PortRef) -> Option<Rate> {
        self.port(port)?.rate
    }

    /// What the device at the port's cable holds its ports to.
    pub fn limit(&self, port: &PortRef) -> Option<Rate> {
        match &self.port(port)?.cable {
            CableEnd::Device { device, .. } => {
                self.devices.iter().find(|d| d.name == *device)?.port_rate
            }
            CableEnd::Host(_) => None,
        }
    }

    /// The device that the pair's traffic crosses; `None` for a direct cable.
    pub fn device_between(&self, pair: &Pair) -> Option<&Device> {
        match &self.port(&pair.from)?.cable {
            CableEnd::Device { device, .. } => self.devices.iter().find(|d| d.name == *device),
            CableEnd::Host(_) => None,
        }
    }
}

/// A device's port name as its letters and its last number, so that `p2` comes before `p10`.
fn place_of(name: &str) -> (String, u64) {
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (letters.to_owned(), name[letters.len()..].parse().unwrap_or(0))
}

/// A text is not of the form `name/port`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not of the form name/port")]
pub struct NotAPort(pub String);

impl fmt::Display for PortRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/{}", self.host, self.port))
    }
}

impl FromStr for PortRef {
    type Err = NotAPort;
    fn from_str(text: &str) -> Result<Self, NotAPort> {
        match text.split_once('/') {
            Some((host, port)) if !host.is_empty() && !port.is_empty() && !port.contains('/') => {
                Ok(Self { host: host.to_owned(), port: port.to_owned() })
            }
            _ => Err(NotAPort(text.to_owned())),
        }
    }
}

impl From<PortRef> for String {
    fn from(port: PortRef) -> Self {
        port.to_string()
    }
}

impl TryFrom<String> for PortRef {
    type Error = NotAPort;
    fn try_from(text: String) -> Result<Self, NotAPort> {
        text.parse()
    }
}

/// As people write it in a testbed file: `sw1/1`, `h2/eth1`.
impl fmt::Display for CableEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device { device, port } => f.pad(&format!("{device}/{port}")),
            Self::Host(port) => port.fmt(f),
        }
    }
}

/// How a cable end is told from a journal's text: a device's is written `device:sw1/1`, because
/// only the testbed file knows whether a name is a host's.
impl From<CableEnd> for String {
    fn from(end: CableEnd) -> Self {
        match end {
            CableEnd::Device { device, port } => format!("device:{device}/{port}"),
            CableEnd::Host(port) => format!("host:{port}"),
        }
    }
}

impl TryFrom<String> for CableEnd {
    type Error = NotAPort;
    fn try_from(text: String) -> Result<Self, NotAPort> {
        let read = |rest: &str| rest.parse::<PortRef>();
        match text.split_once(':') {
            Some(("device", rest)) => {
                read(rest).map(|p| Self::Device { device: p.host, port: p.port })
            }
            Some(("host", rest)) => read(rest).map(Self::Host),
            _ => Err(NotAPort(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_rate_is_said_only_where_all_are_known() {
        let port = |rate: Option<u64>| HostPort {
            rate: rate.map(Rate),
            ..HostPort::plain(
                "eth1",
                IpAddr::from([198, 18, 0, 1]),
                CableEnd::Host("h2/eth1".parse().expect("a port")),
            )
        };
        let slowest = |rates: &[Option<u64>]| {
            let ports = rates.iter().copied().map(port).collect();
            let host = Host { name: "h1".to_owned(), reach: "local".to_owned(), ports };
            let name = "a testbed".to_owned();
            Topology::new(name, vec![host], Vec::new()).link_rate()
        };
        assert_eq!(slowest(&[Some(10), Some(4)]), Some(Rate(4)));
        assert_eq!(slowest(&[Some(10), None]), None, "it may be the other one");
        assert_eq!(slowest(&[]), None);
    }
}
