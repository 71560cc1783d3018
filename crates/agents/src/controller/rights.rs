//! Rights of agents to set up their hosts' ports, and what a testbed does without them.
//!
//! Owns the choice: if one agent has no such right, all ports keep their settings and the addresses
//! that they have, since two ends of a path need addresses of one kind. Never asks for rights, and
//! never changes a host.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use measure::Nanos;
use trial::Topology;
use trial::topology::{Host, PortRef};

use super::own_addresses::OwnAddresses;
use super::pool::AgentPool;
use crate::failed::Failed;
use crate::protocol::{Answer, Ask, Examination, PortExamination};

/// CAP_NET_ADMIN of `linux/capability.h`, as a bit.
const NET_ADMIN: u64 = 1 << 12;
/// CAP_NET_RAW of `linux/capability.h`, as a bit.
const NET_RAW: u64 = 1 << 13;
/// Time-out for examining a host, which takes about a second.
const EXAMINING: Duration = Duration::from_secs(20);

/// Leaves the ports as they are if an agent may not set them up. Fails if a port that was to get an
/// address has none.
pub fn settle(
    topology: &mut Topology,
    addresses: &mut OwnAddresses,
    pool: &mut AgentPool,
) -> Result<(), Failed> {
    let examined = examine(topology, pool)?;
    if let Some(host) = without(NET_ADMIN, &examined) {
        keep_addresses(topology, &addresses.withdraw(), &examined, host)?;
        topology.settings_as_found = true;
    }
    Ok(())
}

/// Returns a host whose agent may not set up ports or send marked frames; `None` if all may.
pub fn without_probes(topology: &Topology, pool: &mut AgentPool) -> Result<Option<String>, Failed> {
    Ok(without(NET_ADMIN | NET_RAW, &examine(topology, pool)?).map(str::to_owned))
}

fn examine(
    topology: &Topology,
    pool: &mut AgentPool,
) -> Result<BTreeMap<String, Examination>, Failed> {
    let ask = |host: &Host| {
        (host.name.clone(), Ask::Examine { interfaces: host.interfaces(), watched: Nanos::ZERO })
    };
    let asks: Vec<_> = topology.agents().map(ask).collect();
    pool.ask_all(asks, EXAMINING, Answer::examined).map_err(Failed::to("examine the hosts"))
}

/// Returns the first host whose agent lacks one of these capabilities; `None` if none does.
fn without(needed: u64, examined: &BTreeMap<String, Examination>) -> Option<&str> {
    let has_all = |examined: &Examination| examined.capabilities & needed == needed;
    examined.iter().find(|(_, examined)| !has_all(examined)).map(|(host, _)| host.as_str())
}

/// Gives these ports, whose addresses were to be set, the ones that they have.
fn keep_addresses(
    topology: &mut Topology,
    ports: &[PortRef],
    examined: &BTreeMap<String, Examination>,
    restricted: &str,
) -> Result<(), Failed> {
    for at in ports {
        let found = examined.get(&at.host).and_then(|host| host.ports.get(&at.port));
        let v4 = |port: &PortExamination| port.addresses.iter().copied().find(IpAddr::is_ipv4);
        let Some(address) = found.and_then(v4) else {
            let why = format!(
                "use {at}: it has no IPv4 address, and the agent on `{restricted}` may not set up \
                 ports (no CAP_NET_ADMIN)"
            );
            return Err(Failed::new(why).hinted("name a port that has an address, or run as root"));
        };
        let hosts = topology.hosts.iter_mut().filter(|host| host.name == at.host);
        for port in hosts.flat_map(|host| &mut host.ports).filter(|port| port.name == at.port) {
            port.address = address;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use trial::topology::{CableEnd, HostPort};

    use super::*;

    fn topology() -> Topology {
        let host = |(number, name): (u8, &str)| Host {
            name: name.to_owned(),
            reach: format!("srun:{name}"),
            ports: vec![HostPort::plain(
                "eth1",
                IpAddr::from([198, 18, 0, number]),
                CableEnd::device("dut", number.to_string()),
            )],
        };
        Topology::new("two", (1..).zip(["a", "b"]).map(host).collect(), Vec::new())
    }

    fn examined(
        capabilities: [u64; 2],
        addresses: [&[IpAddr]; 2],
    ) -> BTreeMap<String, Examination> {
        let one = |((name, capabilities), own): ((&str, u64), &[IpAddr])| {
            let port = PortExamination { addresses: own.to_vec(), ..PortExamination::default() };
            let ports = [("eth1".to_owned(), port)].into();
            (name.to_owned(), Examination { capabilities, ports, ..Examination::default() })
        };
        ["a", "b"].into_iter().zip(capabilities).zip(addresses).map(one).collect()
    }

    #[test]
    fn one_agent_without_the_right_is_enough() {
        let check = |capabilities: [u64; 2], expected: Option<&str>| {
            assert_eq!(without(NET_ADMIN, &examined(capabilities, [&[], &[]])), expected);
        };
        check([NET_ADMIN, u64::MAX], None);
        check([NET_ADMIN, NET_RAW], Some("b"));
        check([0, 0], Some("a"));
        let both = examined([NET_ADMIN | NET_RAW, NET_ADMIN], [&[], &[]]);
        assert_eq!(without(NET_ADMIN | NET_RAW, &both), Some("b"));
    }

    #[test]
    fn ports_keep_the_addresses_that_they_have() {
        let (mut topology, own) = (topology(), IpAddr::from([10, 0, 0, 1]));
        let ports: Vec<PortRef> = vec!["a/eth1".parse().expect("a port")];
        let known = examined([0, 0], [&[own, [10, 0, 0, 9].into()], &[]]);
        keep_addresses(&mut topology, &ports, &known, "a").expect("an address");
        let address = |host: usize| topology.hosts[host].ports[0].address;
        assert_eq!(address(0), own);
        assert_eq!(address(1), IpAddr::from([198, 18, 0, 2]), "as its file says");
        let ports: Vec<PortRef> = vec!["b/eth1".parse().expect("a port")];
        let error = keep_addresses(&mut topology, &ports, &known, "a").expect_err("no address");
        assert!(
            error.to_string().contains("b/eth1") && error.to_string().contains("CAP_NET_ADMIN")
        );
    }
}
