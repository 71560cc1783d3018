//! Facts about the testbed, for the record: those of every host and device port.
//!
//! Owns one common form for all of them, and gathering them. Never measures.

use std::collections::BTreeMap;
use std::time::Duration;

use lab::Lab;
use trial::Topology;
use trial::topology::{Host, Pair, PortRef};

use super::launching::useless;
use super::pool::AgentPool;
use super::site;
use crate::failed::Failed;
use crate::protocol::{Answer, Ask, HostFacts, PortFacts};

/// Time-out for reading a few dozen files.
const ASKING: Duration = Duration::from_secs(10);

/// All known facts about a testbed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// True if hosts and device are namespaces of one machine, and disturb each other
    /// ([`page::Caveat::SharedMachine`]).
    pub shared_machine: bool,
    /// True if the path below the measured ports is not known to be between their own machines
    /// ([`Topology::elsewhere_below`]).
    pub elsewhere_below: bool,
    /// Facts by host name.
    pub hosts: BTreeMap<String, HostFacts>,
    /// Facts about devices on this machine, by device name.
    pub devices: BTreeMap<String, HostFacts>,
    /// Further facts by name: those that devices report by their management, and parameters of
    /// models.
    pub described: BTreeMap<String, BTreeMap<String, String>>,
}

/// Drivers of virtual ports, whose far end is on the same machine.
const VIRTUAL: [&str; 5] = ["veth", "tun", "macvlan", "macvtap", "ipvlan"];

impl Facts {
    /// Gathers facts from every agent, and from a lab's own devices.
    pub(super) fn gather(
        topology: &Topology,
        lab: Option<&Lab>,
        pool: &mut AgentPool,
    ) -> Result<Self, Failed> {
        let ask = |host: &Host| (host.name.clone(), Ask::Facts { interfaces: host.interfaces() });
        let told = pool.ask_all(topology.agents().map(ask), ASKING, |answer| match answer {
            Answer::Facts(facts) => Some(*facts),
            _ => None,
        });
        let hosts = told.map_err(|cause| useless("every host", cause))?;
        let mut this = Self { hosts, ..Self::default() };
        this.elsewhere_below = topology.devices.iter().any(|device| {
            topology.pairs_across(&device.name).iter().any(|over| this.is_elsewhere(topology, over))
        });
        this.shared_machine = this.take_machines() || lab.is_some();
        let Some(lab) = lab else { return Ok(this) };
        for device in &lab.plan().devices {
            let facts = site::device_facts(lab, device)
                .map_err(Failed::to(format!("ask device `{}` for its facts", device.name)))?;
            this.devices.insert(device.name.clone(), facts);
        }
        Ok(this)
    }

    /// True if the pair's direct cable is one between other hosts, and these are not both known to
    /// be the pair's own machines: a container tells the boot id of its node's kernel.
    fn is_elsewhere(&self, topology: &Topology, over: &Pair) -> bool {
        let boot = |port: &PortRef| self.hosts.get(&port.host)?.machine.boot_id.as_ref();
        let same = |one: &PortRef, other: &PortRef| {
            one.host == other.host || boot(one).is_some_and(|id| Some(id) == boot(other))
        };
        let below = topology.bypass_of(over);
        below.is_some_and(|below| !same(&over.from, &below.from) || !same(&over.to, &below.to))
    }

    /// True if two hosts are one machine with virtual ports only between them. Removes the boot
    /// ids, which are no lasting facts.
    fn take_machines(&mut self) -> bool {
        let mut boots: BTreeMap<String, usize> = BTreeMap::new();
        for facts in self.hosts.values_mut() {
            let Some(boot) = facts.machine.boot_id.take() else { continue };
            let is_virtual = |port: &PortFacts| {
                port.driver.as_ref().is_none_or(|driver| VIRTUAL.contains(&driver.as_str()))
            };
            if facts.ports.values().any(is_virtual) {
                *boots.entry(boot).or_default() += 1;
            }
        }
        boots.values().any(|hosts| *hosts > 1)
    }

    /// Converts the facts to a list for each host and device, as the journal keeps them: `kernel`
    /// and `eth1.mtu` under `h1`.
    pub fn to_lists(&self) -> BTreeMap<String, BTreeMap<String, String>> {
        let all = self.hosts.iter().chain(&self.devices);
        let lists = all.map(|(name, facts)| (name.clone(), facts.to_list()));
        lists.chain(self.described.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::protocol::MachineFacts;
    use trial::topology::{CableEnd, Device, DeviceKind, HostPort};

    #[test]
    fn hosts_of_one_machine() {
        let port =
            |driver: &str| PortFacts { driver: Some(driver.to_owned()), ..PortFacts::default() };
        let host = |boot: &str, driver: &str| HostFacts {
            machine: MachineFacts { boot_id: Some(boot.to_owned()), ..MachineFacts::default() },
            ports: [("eth1".to_owned(), port(driver))].into(),
        };
        for (hosts, shared) in [
            ([("a", "veth"), ("a", "veth")], true),
            ([("a", "veth"), ("b", "veth")], false),
            // A machine with two cards beside a switch: the switch has its own processors.
            ([("a", "igb"), ("a", "igb")], false),
            ([("a", "veth"), ("a", "igb")], false),
        ] {
            let names = ["h1", "h2"].map(str::to_owned);
            let told = names.into_iter().zip(hosts.map(|(boot, driver)| host(boot, driver)));
            let mut facts = Facts { hosts: told.collect(), ..Facts::default() };
            assert_eq!(facts.take_machines(), shared, "{hosts:?}");
            assert!(
                facts.hosts.values().all(|facts| facts.machine.boot_id.is_none()),
                "none is kept"
            );
        }
    }

    #[test]
    fn a_path_below_is_a_control_only_between_the_same_machines() {
        let address = IpAddr::from([198, 18, 0, 1]);
        let host = |name: &str, end: CableEnd| Host {
            name: name.to_owned(),
            reach: "local".to_owned(),
            ports: vec![HostPort::plain("e", address, end)],
        };
        let cable = |end: &str| CableEnd::Host(end.parse().expect("a port"));
        let hosts = vec![
            host("p1", CableEnd::device("sw", "1")),
            host("p2", CableEnd::device("sw", "2")),
            host("n1", cable("n2/e")),
            host("n2", cable("n1/e")),
        ];
        let device = Device::plain("sw", DeviceKind::Router);
        let topology = Topology::new("pods", hosts, vec![device]);
        let over = Pair {
            from: PortRef { host: "p1".to_owned(), port: "e".to_owned() },
            to: PortRef { host: "p2".to_owned(), port: "e".to_owned() },
        };
        for (boots, elsewhere) in [
            ([("p1", "A"), ("p2", "B"), ("n1", "A"), ("n2", "B")], false),
            ([("p1", "A"), ("p2", "B"), ("n1", "B"), ("n2", "A")], true),
            ([("p1", "A"), ("p2", "B"), ("n1", "A"), ("n2", "C")], true),
            ([("p1", "A"), ("p2", "B"), ("n1", "A"), ("nobody", "B")], true),
        ] {
            let told = boots.map(|(name, boot)| {
                let machine =
                    MachineFacts { boot_id: Some(boot.to_owned()), ..MachineFacts::default() };
                (name.to_owned(), HostFacts { machine, ports: BTreeMap::new() })
            });
            let facts = Facts { hosts: told.into(), ..Facts::default() };
            assert_eq!(facts.is_elsewhere(&topology, &over), elsewhere, "{boots:?}");
        }
    }
}
