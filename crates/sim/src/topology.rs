//! Topology of a virtual testbed for studies: hosts, ports and addresses, named as in a lab.
//!
//! Owns the names and addresses; those of hosts at a router are the device model's plan. Host
//! numbers i count from 1, pairs k from 0:
//!
//! | what | address | MAC |
//! |---|---|---|
//! | host at a switch | 198.18.0.0 + i | 02:53:4d:01:00:00 + i |
//! | pair on a direct cable | 198.19.0.0 + 4k + 1 and + 2 | 02:53:4d:03:00:00 + i |
//! | block of one of the first 155 hosts | 198.19.(100+i).0/24 | |

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use device::profile::host_mac;
use device::{Edge, Mac, Profile};
use measure::Rate;
use trial::topology::{
    AddressBlock, CableEnd, Device, DeviceKind, Host, HostPort, PortRef, SIMULATED, Topology,
};

use crate::offered::Offered;
use crate::{Cabling, HostModel};

const AT_SWITCH: u32 = 0xc612_0000;
const DIRECT: u32 = 0xc613_0000;
const BLOCKS: u32 = 0xc613_6400;
const MOST_BLOCKS: u32 = 155;
const DIRECT_MAC: u64 = 0x0253_4d03_0000;
/// RFC 5180 §8: IPv6 addresses, with the IPv4 ones in their last 32 bits.
const TWINS: u128 = 0x2001_0002 << 96;

/// Names of a host's port to the network, and of the port to its direct cable.
pub(crate) const TO_NETWORK: &str = "eth1";
pub(crate) const TO_PEER: &str = "direct";

/// Builds the testbed's hosts and its one device, which may be a network of several.
pub(crate) fn build(name: &str, profile: &Profile, hosts: &HostModel) -> Topology {
    let count = hosts.count.min(profile.edges());
    let kind = if profile.is_router() { DeviceKind::Router } else { DeviceKind::Switch };
    let device = Device {
        port_rate: Some(profile.rate),
        facts: BTreeMap::from([
            ("made_of".to_owned(), "a model in virtual time".to_owned()),
            ("mtu".to_owned(), hosts.mtu.to_string()),
            ("scale".to_owned(), profile.scale.to_string()),
        ]),
        resettable: true,
        deeds: Offered::known_deeds(),
        ..Device::plain(&profile.name, kind)
    };
    let hosts = (0..count).map(|number| host(profile, number, count)).collect();
    Topology::new(name, hosts, vec![device])
}

/// Removes the ports, and the device, that the cabling does not use.
pub(crate) fn cabled(mut topology: Topology, cabling: Cabling) -> Topology {
    for host in &mut topology.hosts {
        if cabling != Cabling::Both {
            host.ports.retain(|port| port.name == TO_NETWORK);
        }
    }
    if cabling == Cabling::Direct {
        topology.devices.clear();
        let names: Vec<String> = topology.hosts.iter().map(|host| host.name.clone()).collect();
        // With an odd number of hosts the last one has no partner.
        topology.hosts.truncate(names.len() / 2 * 2);
        let rates: Vec<Option<Rate>> =
            topology.hosts.iter().map(|host| host.ports.first()?.rate).collect();
        for (number, host) in topology.hosts.iter_mut().enumerate() {
            for port in &mut host.ports {
                port.rate = rates[number].min(rates[number ^ 1]);
                let peer = names[number ^ 1].clone();
                port.cable = CableEnd::Host(PortRef { host: peer, port: TO_NETWORK.to_owned() });
            }
        }
    }
    topology
}

fn host(profile: &Profile, number: u16, count: u16) -> Host {
    let mut ports = vec![to_network(profile, Edge(number))];
    if (number ^ 1) < count {
        ports.push(to_peer(profile, number));
    }
    Host { name: name(number), reach: SIMULATED.to_owned(), ports }
}

fn name(number: u16) -> String {
    format!("h{}", number + 1)
}

fn to_network(profile: &Profile, edge: Edge) -> HostPort {
    let cable = CableEnd::Device { device: profile.name.clone(), port: port_name(profile, edge) };
    port(TO_NETWORK, address(profile, edge), cable, edge, profile.edge_rate(edge))
}

fn to_peer(profile: &Profile, number: u16) -> HostPort {
    let cable = CableEnd::Host(PortRef { host: name(number ^ 1), port: TO_PEER.to_owned() });
    let rate = direct_rate(profile, number);
    port(TO_PEER, direct_address(number), cable, Edge(number), rate)
}

fn port(name: &str, address: Ipv4Addr, cable: CableEnd, edge: Edge, rate: Rate) -> HostPort {
    let number = u32::from(edge.0) + 1;
    let first = Ipv4Addr::from_bits(BLOCKS + (number << 8));
    let block = |first| AddressBlock { first, count: 256 };
    let blocks = [block(IpAddr::V4(first)), block(IpAddr::V6(twin(first)))];
    HostPort {
        name: name.to_owned(),
        interfaces: vec![name.to_owned()],
        address: IpAddr::V4(address),
        address6: Some(twin(address)),
        blocks: if number <= MOST_BLOCKS { blocks.to_vec() } else { Vec::new() },
        cable,
        rate: Some(rate),
    }
}

/// Rate of a host's direct cable: the slower of the two cables to the device, joined.
pub(crate) fn direct_rate(profile: &Profile, number: u16) -> Rate {
    profile.edge_rate(Edge(number)).min(profile.edge_rate(Edge(number ^ 1)))
}

fn twin(address: Ipv4Addr) -> Ipv6Addr {
    Ipv6Addr::from_bits(TWINS | u128::from(address.to_bits()))
}

/// Device's own name for an edge: its number, or `leaf2.7` in a network of several devices.
pub(crate) fn port_name(profile: &Profile, edge: Edge) -> String {
    match profile.devices() {
        [_] => (edge.0 + 1).to_string(),
        _ => profile.edge_name(edge).replace('/', "."),
    }
}

/// Address of a host at an edge.
pub(crate) fn address(profile: &Profile, edge: Edge) -> Ipv4Addr {
    let at_switch = || Ipv4Addr::from_bits(AT_SWITCH + u32::from(edge.0) + 1);
    profile.port_address(edge).map_or_else(at_switch, |planned| planned.address)
}

fn direct_address(number: u16) -> Ipv4Addr {
    let (pair, end) = (u32::from(number / 2), u32::from(number % 2));
    Ipv4Addr::from_bits(DIRECT + 4 * pair + end + 1)
}

/// Addresses of a host's port on its direct cable.
pub(crate) fn direct(number: u16) -> (Mac, Ipv4Addr) {
    (Mac(DIRECT_MAC + u64::from(number) + 1), direct_address(number))
}

/// Addresses of a host's port to the network.
pub(crate) fn across(profile: &Profile, edge: Edge) -> (Mac, Ipv4Addr) {
    (host_mac(edge), address(profile, edge))
}
