//! Hosts, their test ports, the devices between them, and the cables.
//!
//! Names only: knows no socket, namespace or agent. A port whose cable ends at another host's port
//! is a *bypass*: the same hosts without the device.

mod another_time;
mod opening;
mod plain;
mod runs;
mod text;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use measure::{ByteCount, Nanos, Rate};
use serde::{Deserialize, Serialize};

pub use another_time::AnotherTime;
pub use opening::Opening;
pub use runs::{IPERF3, NOTHING, Runs};
pub use text::NotAPort;

/// Value of [`Host::reach`] for a simulated host.
pub const SIMULATED: &str = "sim";

/// Everything that a study may know of its testbed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Topology {
    /// Name as the user gave it: `lab:bridge`, or the testbed file's name.
    pub name: String,
    /// Hosts in the order they were given.
    pub hosts: Vec<Host>,
    /// Devices under test; empty for a bare cable.
    pub devices: Vec<Device>,
    /// Direct cable that was measured in the device's place, if no port is left for one beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub another_time: Option<AnotherTime>,
    /// True if hosts outside a lab turned out to share one machine with the device.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared_machine: bool,
    /// True if the path below turned out to be between other machines than the measured ports: it
    /// is no control.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere_below: bool,
    /// True if agents may not set up ports: settings and addresses are as the hosts have them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub settings_as_found: bool,
    /// Ways that do not simply open, as they were found before the run; empty if all do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub openings: Vec<Opening>,
}

/// Linux host with at least one test port.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Name: `h1`.
    pub name: String,
    /// Way to reach the host: `lab`, `local`, `netns:NAME`, `pid:N`; [`SIMULATED`] without a real
    /// host.
    pub reach: String,
    /// Test ports.
    pub ports: Vec<HostPort>,
}

impl Host {
    /// Role of the host in trials.
    pub fn runs(&self) -> Runs {
        Runs::where_reached(&self.reach)
    }

    /// Kernel interfaces of all ports.
    pub fn interfaces(&self) -> Vec<String> {
        self.ports.iter().flat_map(|port| &port.interfaces).cloned().collect()
    }
}

/// Host end of a test cable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostPort {
    /// Name in the plan; for ordinary ports also the kernel's interface name.
    pub name: String,
    /// Kernel interfaces whose counters belong to the port. Several if the host spreads its traffic
    /// over equal-cost paths.
    pub interfaces: Vec<String>,
    /// Test address.
    pub address: IpAddr,
    /// IPv6 test address, if `address` is IPv4 and the port has both.
    #[serde(default)]
    pub address6: Option<Ipv6Addr>,
    /// Further addresses routed to this port, for flows that vary them; at most one block per IP
    /// version. The host need not own them: frames are counted before its stack.
    #[serde(default)]
    pub blocks: Vec<AddressBlock>,
    /// Far end of the cable.
    pub cable: CableEnd,
    /// Link speed of the port, if known.
    pub rate: Option<Rate>,
}

impl HostPort {
    /// True if the port has an IPv6 address.
    pub const fn has_ipv6(&self) -> bool {
        self.address.is_ipv6() || self.address6.is_some()
    }
}

/// Block of consecutive addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressBlock {
    /// Lowest address.
    pub first: IpAddr,
    /// Number of addresses, at least 1.
    pub count: u16,
}

impl AddressBlock {
    /// Creates a block of one address.
    pub const fn single(address: IpAddr) -> Self {
        Self { first: address, count: 1 }
    }

    /// Returns the address at an index in the block; `None` if it would overflow.
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

    /// Returns the address of frame `number` if frames use all addresses in turn.
    #[inline]
    pub fn at(&self, number: u64) -> IpAddr {
        let index = (number % u64::from(self.count.max(1))) as u16;
        self.checked_at(index).unwrap_or(self.first)
    }

    /// Returns the address and port of frame `number` if frames use all addresses in turn, and
    /// `ports` ports from `lowest` on.
    #[inline]
    pub fn end_at(&self, lowest: u16, ports: u16, number: u64) -> SocketAddr {
        let above = (number % u64::from(ports.max(1))) as u16;
        SocketAddr::new(self.at(number), lowest.wrapping_add(above))
    }

    /// True if the block contains every address of `other`.
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

/// Far end of a host port's cable.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum CableEnd {
    /// Port of a device under test: `sw1/1`.
    Device {
        /// Name of the device.
        device: String,
        /// Port name on the device.
        port: String,
    },
    /// Port of another host: a direct cable.
    Host(PortRef),
}

/// Port of a host, written `h1/eth1`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct PortRef {
    /// Name of the host.
    pub host: String,
    /// Name of the port on that host.
    pub port: String,
}

/// Device under test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Name: `sw1`.
    pub name: String,
    /// Kind of the device.
    pub kind: DeviceKind,
    /// Rate to which a lab limited the ports, if it did: a known value to test against.
    pub port_rate: Option<Rate>,
    /// Byte limit of each limited port's queue.
    pub port_queue: Option<ByteCount>,
    /// Facts by the user: model, firmware, price.
    pub facts: BTreeMap<String, String>,
    /// Names of the device's variants; see [`crate::Subject`].
    #[serde(default)]
    pub variants: Vec<String>,
    /// True if the testbed has a hook to reset the device.
    #[serde(default)]
    pub resettable: bool,
    /// Other actions on the device during a load; see [`crate::Deed`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deeds: Vec<KnownDeed>,
}

/// Action that the testbed can perform on a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownDeed {
    /// Name: `link-down`.
    pub name: String,
    /// True if a command undoes the action.
    pub undo: bool,
    /// Wait after the action for the device to recover, if nothing reports that it has.
    #[serde(default)]
    pub settle: Nanos,
}

/// Method of forwarding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// Forwards by MAC address.
    Switch,
    /// Forwards by IP address.
    Router,
}

/// Two connected ports of a measurement.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// Sending or client port.
    pub from: PortRef,
    /// Receiving or server port.
    pub to: PortRef,
}

impl Pair {
    /// Returns the pair with its ports swapped.
    #[must_use]
    pub fn back(&self) -> Self {
        Self { from: self.to.clone(), to: self.from.clone() }
    }
}

impl Topology {
    /// True if this is the testbed of a recorded run. A run from before deeds existed has none in
    /// its record.
    pub fn is_that_of(&self, recorded: &Self) -> bool {
        let mut recorded = recorded.clone();
        for (then, now) in recorded.devices.iter_mut().zip(&self.devices) {
            if then.deeds.is_empty() {
                then.deeds.clone_from(&now.deeds);
            }
        }
        *self == recorded
    }

    /// Returns the named port.
    pub fn port(&self, port: &PortRef) -> Option<&HostPort> {
        self.host(&port.host)?.ports.iter().find(|p| p.name == port.port)
    }

    /// Returns the named host.
    pub fn host(&self, name: &str) -> Option<&Host> {
        self.hosts.iter().find(|h| h.name == name)
    }

    /// Returns the host port at the other end of a device port's cable.
    pub fn at_device(&self, device: &str, port: &str) -> Option<PortRef> {
        let ends_there = |end: &CableEnd| matches!(end, CableEnd::Device { device: d, port: p } if d == device && p == port);
        self.hosts.iter().find_map(|host| {
            let own = host.ports.iter().find(|own| ends_there(&own.cable))?;
            Some(PortRef { host: host.name.clone(), port: own.name.clone() })
        })
    }

    /// Hosts that run an agent.
    pub fn agents(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter().filter(|host| host.runs() == Runs::Agent)
    }

    /// Role of a port's host in trials.
    pub fn runs_at(&self, port: &PortRef) -> Runs {
        self.host(&port.host).map_or(Runs::Agent, Host::runs)
    }

    /// Rate of the slowest link; `None` if any rate is unknown. A limit stated with a result must
    /// hold for whichever link it was measured on.
    pub fn link_rate(&self) -> Option<Rate> {
        let ports = self.hosts.iter().flat_map(|host| &host.ports);
        let rates: Option<Vec<Rate>> = ports.map(|port| port.rate).collect();
        rates?.into_iter().min()
    }

    /// True if all hosts are this one machine, in a lab or not: they share its processors, and one
    /// clock stamps them all. Hosts on which nothing runs do not count.
    pub fn one_machine(&self) -> bool {
        let here = |reach: &str| {
            matches!(reach, "lab" | "local" | SIMULATED)
                || ["netns:", "pid:", "docker:", "podman:"].iter().any(|way| reach.starts_with(way))
        };
        self.hosts.iter().all(|host| here(&host.reach) || host.runs() == Runs::Nothing)
    }

    /// True if the hosts belong to a lab.
    pub fn is_lab(&self) -> bool {
        self.hosts.iter().any(|host| host.reach == "lab")
    }

    /// True if hosts and device share a machine's processors: work of the device then slows the
    /// hosts.
    pub fn shares_processors(&self) -> bool {
        self.shared_machine || self.is_lab()
    }

    /// True if no host is real: trials run in virtual time, against a model.
    pub fn is_simulated(&self) -> bool {
        self.hosts.iter().any(|host| host.reach == SIMULATED)
    }

    /// Pairs the first port of each host that leads to a device or, without devices, to another
    /// host. Pairs follow host order: first with second, third with fourth.
    pub fn measured_pairs(&self) -> Vec<Pair> {
        self.pairs(|p| self.devices.is_empty() || matches!(p.cable, CableEnd::Device { .. }))
    }

    /// Pairs the ports that lead to one device of several, like [`Self::measured_pairs`].
    pub fn pairs_across(&self, name: &str) -> Vec<Pair> {
        self.pairs(|p| matches!(&p.cable, CableEnd::Device { device, .. } if device == name))
    }

    fn pairs(&self, measured: impl Fn(&HostPort) -> bool) -> Vec<Pair> {
        let ports = self.ports(measured);
        let pair = |two: &[PortRef]| Pair { from: two[0].clone(), to: two[1].clone() };
        // A host on which nothing runs cannot send.
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

    /// Returns the first port of each host that leads to the device, in the order of the device's
    /// ports. Without a device, the first port of each host that leads to another host, in host
    /// order.
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

    /// Returns direct cables among these ports' hosts, at most one per host, in host order.
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

    /// Returns the direct cable between the same two hosts, or else the path below. If the cable
    /// takes the device's place in another run, that is the pair itself. `None` without one, and
    /// for a pair that is a direct cable.
    pub fn bypass_of(&self, pair: &Pair) -> Option<Pair> {
        let host = self.host(&pair.from.host)?;
        if self.another_time.is_some() && self.device_between(pair).is_some() {
            return Some(pair.clone());
        }
        let beside = host.ports.iter().find_map(|p| match &p.cable {
            CableEnd::Host(end) if end.host == pair.to.host => {
                let from = PortRef { host: host.name.clone(), port: p.name.clone() };
                (from != pair.from).then(|| Pair { from, to: end.clone() })
            }
            _ => None,
        });
        beside.or_else(|| self.path_below(pair))
    }

    fn path_below(&self, pair: &Pair) -> Option<Pair> {
        if self.elsewhere_below {
            return None;
        }
        let device = self.device_between(pair)?;
        let [over] = &self.pairs_across(&device.name)[..] else { return None };
        let is_elsewhere =
            |host: &&Host| host.ports.iter().all(|port| matches!(port.cable, CableEnd::Host(_)));
        let elsewhere: Vec<&Host> = self.hosts.iter().filter(is_elsewhere).collect();
        let [one, other] = &elsewhere[..] else { return None };
        let [port] = &one.ports[..] else { return None };
        let CableEnd::Host(end) = &port.cable else { return None };
        let from = PortRef { host: one.name.clone(), port: port.name.clone() };
        let below = (end.host == other.name).then(|| Pair { from, to: end.clone() })?;
        if pair == over {
            return Some(below);
        }
        (pair.back() == *over).then(|| below.back())
    }

    /// Returns a port's rate, if known.
    pub fn rate(&self, port: &PortRef) -> Option<Rate> {
        self.port(port)?.rate
    }

    /// Rate limit of the ports of the device at this port's cable, if any.
    pub fn limit(&self, port: &PortRef) -> Option<Rate> {
        match &self.port(port)?.cable {
            CableEnd::Device { device, .. } => {
                self.devices.iter().find(|d| d.name == *device)?.port_rate
            }
            CableEnd::Host(_) => None,
        }
    }

    /// Device that the pair's traffic crosses; `None` for a direct cable.
    pub fn device_between(&self, pair: &Pair) -> Option<&Device> {
        match &self.port(&pair.from)?.cable {
            CableEnd::Device { device, .. } => self.devices.iter().find(|d| d.name == *device),
            CableEnd::Host(_) => None,
        }
    }
}

/// Splits a device's port name into letters and last number, so that `p2` sorts before `p10`.
fn place_of(name: &str) -> (String, u64) {
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (letters.to_owned(), name[letters.len()..].parse().unwrap_or(0))
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

    /// Two pods at an overlay, and their nodes with a cable between: it is the control of the pods.
    #[test]
    fn the_only_cable_elsewhere_is_below_the_only_pair() {
        let address = IpAddr::from([198, 18, 0, 1]);
        let host = |name: &str, ends: &[(&str, CableEnd)]| Host {
            name: name.to_owned(),
            reach: "local".to_owned(),
            ports: ends
                .iter()
                .map(|(port, end)| HostPort::plain(port, address, end.clone()))
                .collect(),
        };
        let at = |port: &str| CableEnd::Device { device: "sw".to_owned(), port: port.to_owned() };
        let to = |end: &str| CableEnd::Host(end.parse().expect("a port"));
        let pair = |from: &str, to: &str| Pair {
            from: from.parse().expect("a port"),
            to: to.parse().expect("a port"),
        };
        let device = Device::plain("sw", DeviceKind::Router);
        let pods = [host("p1", &[("e", at("1"))]), host("p2", &[("e", at("2"))])];
        let nodes = [host("n1", &[("x", to("n2/x"))]), host("n2", &[("x", to("n1/x"))])];
        let of = |hosts: Vec<Host>| Topology::new("pods".to_owned(), hosts, vec![device.clone()]);
        let all = of([pods.clone(), nodes.clone()].concat());
        let across = pair("p1/e", "p2/e");
        assert_eq!(all.bypass_of(&across), Some(pair("n1/x", "n2/x")));
        assert_eq!(all.bypass_of(&across.back()), Some(pair("n2/x", "n1/x")));
        assert_eq!(all.bypass_of(&pair("n1/x", "n2/x")), None, "it has none itself");
        let more = [host("p3", &[("e", at("3"))]), host("p4", &[("e", at("4"))])];
        let two_pairs = of([&pods[..], &more, &nodes].concat());
        assert_eq!(two_pairs.bypass_of(&across), None, "it may be below the other pair");
        assert_eq!(of(pods.to_vec()).bypass_of(&across), None);
        let elsewhere = Topology { elsewhere_below: true, ..all };
        assert_eq!(elsewhere.bypass_of(&across), None, "other machines than the pods'");
    }
}
