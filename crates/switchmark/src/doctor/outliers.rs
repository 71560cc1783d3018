//! Compares a rack's hosts with each other: ports that differ from the others in rate, speed,
//! duplex, MTU, driver, firmware or offloads.
//!
//! Pure: typed facts in, differences out. Never says which value is right: the majority's is only
//! the reference.

mod page;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use agents::protocol::Examination;
use measure::quantile::upper_median;
use serde::Serialize;
use trial::Topology;
use trial::topology::{CableEnd, HostPort, PortRef};

use super::paths::BestRates;
pub use page::{sentences, table};

/// Fewest hosts that are compared: of two, neither is the odd one.
const FEWEST_HOSTS: usize = 3;
/// Largest deviation from the reference rate that is no difference.
const TOLERANCE: f64 = 0.05;

/// Property in which ports are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Property {
    /// Negotiated speed.
    Speed,
    /// Duplex mode.
    Duplex,
    /// MTU.
    Mtu,
    /// Driver of the card.
    Driver,
    /// Version of the card's firmware.
    Firmware,
    /// Features that merge or split frames.
    Offloads,
    /// Rate at which the port sends.
    Sends,
    /// Rate at which the port receives.
    Receives,
}

/// Value of a property. A field's name is its key in JSON.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// Negotiated speed, Mbit/s.
    SpeedMbits(u32),
    /// True for full duplex.
    FullDuplex(bool),
    /// MTU in octets.
    Mtu(u32),
    /// Driver: `ixgbe`.
    Driver(String),
    /// Version of the firmware, as the driver reports it.
    Firmware(String),
    /// Enabled features that merge or split frames.
    Offloads(BTreeSet<String>),
    /// Best TCP payload rate over all partners, bits/s.
    SendsBitsPerS(u64),
    /// Best TCP payload rate over all partners, bits/s.
    ReceivesBitsPerS(u64),
}

/// Port of a rack, and the facts by which it is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedPort {
    /// Name of the port.
    pub port: PortRef,
    /// Device at the far end of its cable; `None` for a direct cable.
    pub device: Option<String>,
    /// Known facts by property; an unknown one is absent.
    pub facts: BTreeMap<Property, Fact>,
}

/// Ports with one value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Group {
    /// Names of the ports.
    pub places: Vec<PortRef>,
    /// Common value; of rates, the median.
    pub found: Fact,
}

/// Difference among the ports of a rack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Difference {
    /// Ports that differ from a majority.
    Outlier {
        /// Ports that differ.
        outlier: Group,
        /// Majority, the reference.
        others: Group,
        /// True if the majority is all other ports.
        #[serde(skip)]
        are_all_others: bool,
    },
    /// Groups of which none is a majority.
    Split {
        /// Groups, the largest first.
        groups: Vec<Group>,
    },
}

impl Property {
    /// Properties compared among ports of one speed.
    const AT_ONE_SPEED: [Self; 7] = [
        Self::Duplex,
        Self::Mtu,
        Self::Driver,
        Self::Firmware,
        Self::Offloads,
        Self::Sends,
        Self::Receives,
    ];
}

impl Fact {
    /// Property of which it is a value.
    pub const fn property(&self) -> Property {
        match self {
            Self::SpeedMbits(_) => Property::Speed,
            Self::FullDuplex(_) => Property::Duplex,
            Self::Mtu(_) => Property::Mtu,
            Self::Driver(_) => Property::Driver,
            Self::Firmware(_) => Property::Firmware,
            Self::Offloads(_) => Property::Offloads,
            Self::SendsBitsPerS(_) => Property::Sends,
            Self::ReceivesBitsPerS(_) => Property::Receives,
        }
    }

    /// Value in bits/s, if it is a measured rate.
    const fn rate(&self) -> Option<f64> {
        match self {
            Self::SendsBitsPerS(rate) | Self::ReceivesBitsPerS(rate) => Some(*rate as f64),
            _ => None,
        }
    }
}

impl ComparedPort {
    fn new(port: PortRef, device: Option<String>, facts: impl IntoIterator<Item = Fact>) -> Self {
        let facts = facts.into_iter().map(|fact| (fact.property(), fact)).collect();
        Self { port, device, facts }
    }

    fn from_examination(
        port: PortRef,
        written: &HostPort,
        known: &Examination,
        rates: &BestRates,
    ) -> Self {
        let examined = written.interfaces.first().and_then(|name| known.ports.get(name));
        // A port without a link has no facts.
        let examined = examined.and_then(|port| Some((port, port.link.as_ref()?)));
        let of_link = examined.into_iter().flat_map(|(port, link)| {
            [
                port.nic.speed_mbits.map(Fact::SpeedMbits),
                port.nic.full_duplex.map(Fact::FullDuplex),
                Some(Fact::Mtu(link.mtu)),
                port.driver.clone().map(Fact::Driver),
                port.firmware.clone().map(Fact::Firmware),
                Some(Fact::Offloads(port.offloads.iter().cloned().collect())),
            ]
        });
        let sends = rates.sends.get(&port).map(|rate| Fact::SendsBitsPerS(rate.0));
        let receives = rates.receives.get(&port).map(|rate| Fact::ReceivesBitsPerS(rate.0));
        let facts: Vec<Fact> = of_link.chain([sends, receives]).flatten().collect();
        let device = match &written.cable {
            CableEnd::Device { device, .. } => Some(device.clone()),
            CableEnd::Host(_) => None,
        };
        Self::new(port, device, facts)
    }
}

impl Difference {
    /// True if the difference is one of measured rates.
    pub fn is_of_rates(&self) -> bool {
        self.fact().rate().is_some()
    }

    fn fact(&self) -> &Fact {
        match self {
            Self::Outlier { outlier, .. } => &outlier.found,
            Self::Split { groups } => &groups[0].found,
        }
    }
}

/// Collects the facts of all ports of hosts with an agent.
pub fn compared_ports(
    topology: &Topology,
    facts: &BTreeMap<String, Examination>,
    rates: &BestRates,
) -> Vec<ComparedPort> {
    let known = topology.agents().filter_map(|host| Some((host, facts.get(&host.name)?)));
    let ports = known.flat_map(|(host, known)| {
        host.ports.iter().map(move |written| {
            let port = PortRef { host: host.name.clone(), port: written.name.clone() };
            ComparedPort::from_examination(port, written, known, rates)
        })
    });
    ports.collect()
}

/// Compares the ports that lead to one device with each other: in speed, and then those of one
/// speed in everything else. The order of the ports makes no difference.
pub fn compare(ports: &[ComparedPort]) -> Vec<Difference> {
    let mut ports: Vec<&ComparedPort> = ports.iter().collect();
    // Shorter names first: h2 comes before h10.
    ports.sort_by_key(|port| (port.port.host.len(), port.port.port.len(), &port.port));
    let mut all = Vec::new();
    for beside in grouped_by(&ports, |port| port.device.as_ref()) {
        all.extend(differences(&beside, Property::Speed));
        for of_one_speed in grouped_by(&beside, |port| port.facts.get(&Property::Speed)) {
            let properties = Property::AT_ONE_SPEED.into_iter();
            all.extend(properties.flat_map(|property| differences(&of_one_speed, property)));
        }
    }
    all
}

/// Groups the ports by a key, each group in the given order.
fn grouped_by<'a, K: Ord>(
    ports: &[&'a ComparedPort],
    key: impl Fn(&'a ComparedPort) -> K,
) -> Vec<Vec<&'a ComparedPort>> {
    let mut groups: BTreeMap<K, Vec<&ComparedPort>> = BTreeMap::new();
    for port in ports {
        groups.entry(key(port)).or_default().push(port);
    }
    groups.into_values().collect()
}

/// Finds the differences in one property. A port whose value is unknown takes no part.
fn differences(ports: &[&ComparedPort], property: Property) -> Vec<Difference> {
    let known: Vec<&ComparedPort> =
        ports.iter().filter(|port| port.facts.contains_key(&property)).copied().collect();
    let hosts: BTreeSet<&String> = known.iter().map(|port| &port.port.host).collect();
    if hosts.len() < FEWEST_HOSTS {
        return Vec::new();
    }
    let mut groups = match property {
        Property::Sends | Property::Receives => groups_of_rates(&known, property),
        _ => groups_of_equals(&known, property),
    };
    groups.sort_by_key(|group| std::cmp::Reverse(group.places.len()));
    if groups.len() < 2 {
        return Vec::new();
    }
    if !is_majority(groups[0].places.len(), known.len()) {
        return vec![Difference::Split { groups }];
    }
    let others = groups.remove(0);
    let are_all_others = groups.len() == 1;
    let outlier = |outlier| Difference::Outlier { outlier, others: others.clone(), are_all_others };
    groups.into_iter().map(outlier).collect()
}

/// True for at least two thirds: the least by which one of three hosts is the odd one.
const fn is_majority(ports: usize, all: usize) -> bool {
    ports * 3 >= all * 2
}

/// Groups ports by equal values.
fn groups_of_equals(ports: &[&ComparedPort], property: Property) -> Vec<Group> {
    let groups = grouped_by(ports, |port| port.facts.get(&property)).into_iter();
    groups.filter_map(|ports| group(&ports, ports[0].facts.get(&property)?.clone())).collect()
}

/// Groups ports by rates within the tolerance: a majority and each port beside it, or two groups.
/// Rates that vary more than that form one group, in which nothing is odd.
fn groups_of_rates(ports: &[&ComparedPort], property: Property) -> Vec<Group> {
    let rate = |port: &ComparedPort| port.facts.get(&property).and_then(Fact::rate).unwrap_or(0.0);
    let median_of = |ports: &[&ComparedPort]| {
        upper_median(&ports.iter().map(|port| rate(port)).collect::<Vec<f64>>()).unwrap_or(0.0)
    };
    let is_near = |port: &ComparedPort, usual: f64| (rate(port) - usual).abs() <= TOLERANCE * usual;
    let of_median = |ports: &[&ComparedPort]| {
        let median = median_of(ports);
        let middle = ports.iter().find(|port| rate(port).total_cmp(&median).is_eq())?;
        group(ports, middle.facts.get(&property)?.clone())
    };
    let usual = median_of(ports);
    let (near, far): (Vec<_>, Vec<_>) =
        ports.iter().copied().partition(|port| is_near(port, usual));
    if is_majority(near.len(), ports.len()) {
        return [of_median(&near)]
            .into_iter()
            .chain(far.iter().map(|port| of_median(&[*port])))
            .flatten()
            .collect();
    }
    let mut sorted = ports.to_vec();
    sorted.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
    let ratio = |at: &usize| rate(sorted[*at]) / rate(sorted[at - 1]).max(1.0);
    let widest = (1..sorted.len()).max_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let (slow, fast) = sorted.split_at(widest.unwrap_or(0));
    let are_close = |ports: &[&ComparedPort]| {
        let usual = median_of(ports);
        ports.iter().all(|port| is_near(port, usual))
    };
    if !are_close(slow) || !are_close(fast) {
        return of_median(ports).into_iter().collect();
    }
    [of_median(slow), of_median(fast)].into_iter().flatten().collect()
}

fn group(ports: &[&ComparedPort], found: Fact) -> Option<Group> {
    let places: Vec<PortRef> = ports.iter().map(|port| port.port.clone()).collect();
    (!places.is_empty()).then_some(Group { places, found })
}
