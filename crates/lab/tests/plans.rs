//! Plans, without a kernel: every name resolves, no address is used twice, every neighbour is true.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use lab::{FarEnd, LabDevice, LabPlan, LabSpec, MAX_HOSTS};
use measure::{ByteCount, Rate};

fn all_plans() -> Vec<(String, LabPlan)> {
    let mut plans = Vec::new();
    for device in LabDevice::ALL {
        for hosts in [2, 3, 4, 63, MAX_HOSTS] {
            for bypass in [false, true] {
                let spec = LabSpec { hosts, bypass, ..LabSpec::new(device) };
                if let Ok(plan) = spec.plan() {
                    plans.push((format!("{device:?}, {hosts} hosts, bypass {bypass}"), plan));
                }
            }
        }
    }
    assert_eq!(plans.len(), 36, "a cable lab of an odd number has no plan");
    plans
}

#[test]
fn addresses_and_names_are_unique() {
    for (case, plan) in all_plans() {
        let mut addresses = BTreeSet::new();
        let mut macs = BTreeSet::new();
        for node in &plan.nodes {
            let mut names = BTreeSet::new();
            for interface in &node.interfaces {
                assert!(names.insert(&interface.name), "{case}: {interface:?} twice");
                assert!(macs.insert(interface.mac), "{case}: {interface:?} shares its address");
                assert_eq!(interface.mac[0] & 3, 2, "{case}: local and unicast");
                if let Some((ip, _)) = interface.address {
                    assert!(addresses.insert(ip), "{case}: {ip} twice");
                }
            }
            if let Some(ip) = node.loopback {
                assert!(addresses.insert(ip), "{case}: {ip} twice");
            }
        }
        // RFC 2544 C.2.2.
        let inside = |ip: &Ipv4Addr| ip.octets()[0] == 198 && matches!(ip.octets()[1], 18 | 19);
        assert!(addresses.iter().all(inside), "{case}: {addresses:?}");
    }
}

#[test]
fn both_ends_of_a_cable_are_one_subnet_and_know_each_other() {
    for (case, plan) in all_plans() {
        let interface = |(node, name): &(String, String)| {
            let node = plan.node(node).unwrap_or_else(|| panic!("{case}: no node {node}"));
            let found = node.interfaces.iter().find(|i| i.name == *name);
            found.unwrap_or_else(|| panic!("{case}: no interface {name} on {}", node.name))
        };
        let mut plugged = BTreeSet::new();
        for cable in &plan.cables {
            for end in [&cable.a, &cable.b] {
                assert!(plugged.insert(end.clone()), "{case}: two cables in {end:?}");
            }
            let (a, b) = (interface(&cable.a), interface(&cable.b));
            let (Some((a_ip, prefix)), Some((b_ip, _))) = (a.address, b.address) else { continue };
            let subnet = |ip: Ipv4Addr| ip.to_bits() >> (32 - u32::from(prefix));
            assert_eq!(subnet(a_ip), subnet(b_ip), "{case}: {cable:?}");
            assert!(a.neighbours.contains(&(b_ip, b.mac)), "{case}: {cable:?}");
            assert!(b.neighbours.contains(&(a_ip, a.mac)), "{case}: {cable:?}");
        }
        let all: usize = plan.nodes.iter().map(|node| node.interfaces.len()).sum();
        assert_eq!(plugged.len(), all, "{case}: an interface without a cable");
    }
}

#[test]
fn neighbours_are_where_they_are_said_to_be() {
    for (case, plan) in all_plans() {
        let interfaces = plan.nodes.iter().flat_map(|node| &node.interfaces);
        let truth: BTreeMap<Ipv4Addr, [u8; 6]> =
            interfaces.clone().filter_map(|i| Some((i.address?.0, i.mac))).collect();
        for (ip, mac) in interfaces.flat_map(|i| &i.neighbours) {
            assert_eq!(truth.get(ip), Some(mac), "{case}: {ip}");
        }
    }
}

#[test]
fn ports_resolve_both_ways() {
    for (case, plan) in all_plans() {
        for host in &plan.hosts {
            let node = plan.node(&host.name).unwrap();
            for port in &host.ports {
                assert_eq!(port.interfaces.len(), port.far_ends.len(), "{case}: {port:?}");
                for (interface, far) in port.interfaces.iter().zip(&port.far_ends) {
                    assert!(node.interfaces.iter().any(|i| i.name == *interface), "{case}");
                    let here = (host.name.clone(), interface.clone());
                    let there = plan.cables.iter().find_map(|c| c.far_end_of(&here)).unwrap();
                    check_far_end(&case, &plan, &host.name, far, there);
                }
            }
        }
    }
}

fn check_far_end(
    case: &str,
    plan: &LabPlan,
    host: &str,
    far: &FarEnd,
    (node, interface): &(String, String),
) {
    match far {
        FarEnd::Device { device, port } => {
            let device = plan.device(device).unwrap_or_else(|| panic!("{case}: no {device}"));
            let port = device.ports.iter().find(|p| p.name == *port).unwrap();
            assert_eq!((&device.name, &port.interface), (node, interface), "{case}");
        }
        FarEnd::Host { host: peer, port } => {
            assert_eq!((peer, port), (node, interface), "{case}");
            let back = &plan.host(peer).unwrap().ports.iter().find(|p| p.name == *port).unwrap();
            assert!(
                matches!(back.far_end(), FarEnd::Host { host: h, .. } if h == host),
                "{case}: {back:?}"
            );
        }
    }
}

#[test]
fn what_a_study_sees() {
    let check = |device, expect: &str| {
        let plan = LabSpec::new(device).plan().unwrap();
        let lines: Vec<String> = plan
            .hosts
            .iter()
            .flat_map(|host| host.ports.iter().map(move |port| (host, port)))
            .map(|(host, port)| {
                let far: Vec<String> = port
                    .far_ends
                    .iter()
                    .map(|far| match far {
                        FarEnd::Device { device, port } => format!("{device}/{port}"),
                        FarEnd::Host { host, port } => format!("{host}/{port}"),
                    })
                    .collect();
                let (address, prefix) = (port.address, port.prefix);
                format!("{}/{} {address}/{prefix} {}", host.name, port.name, far.join(" "))
            })
            .collect();
        assert_eq!(lines.join("\n"), expect, "{device:?}");
    };
    check(
        LabDevice::Cable,
        "h1/eth1 198.18.0.1/30 h2/eth1\n\
         h2/eth1 198.18.0.2/30 h1/eth1",
    );
    check(
        LabDevice::Bridge,
        "h1/eth1 198.18.0.1/24 bridge/1\n\
         h1/direct 198.19.0.1/30 h2/direct\n\
         h2/eth1 198.18.0.2/24 bridge/2\n\
         h2/direct 198.19.0.2/30 h1/direct",
    );
    check(
        LabDevice::Router,
        "h1/eth1 198.18.1.2/24 router/1\n\
         h1/direct 198.19.0.1/30 h2/direct\n\
         h2/eth1 198.18.2.2/24 router/2\n\
         h2/direct 198.19.0.2/30 h1/direct",
    );
    check(
        LabDevice::Routers,
        "h1/ecmp 198.18.0.1/32 r1/1 r2/1\n\
         h1/direct 198.19.0.1/30 h2/direct\n\
         h2/ecmp 198.18.0.2/32 r1/2 r2/2\n\
         h2/direct 198.19.0.2/30 h1/direct",
    );
}

#[test]
fn limits_stand_at_the_device_and_in_a_cable_lab_at_the_hosts() {
    for device in LabDevice::ALL {
        let rate = Some(Rate(1_000_000_000));
        let plan = LabSpec { rate, hosts: 4, ..LabSpec::new(device) }.plan().unwrap();
        let cable = device == LabDevice::Cable;
        for node in &plan.nodes {
            let is_host = plan.host(&node.name).is_some();
            for interface in &node.interfaces {
                let expected = is_host == cable && interface.name != "direct";
                assert_eq!(interface.limit.is_some(), expected, "{device:?}: {interface:?}");
            }
        }
        let ports = plan.hosts.iter().flat_map(|host| &host.ports);
        assert!(ports.clone().all(|port| port.rate.is_some() == cable), "{device:?}");
        let ports = plan.devices.iter().flat_map(|device| &device.ports);
        assert!(ports.clone().all(|port| port.limit == plan.limit), "{device:?}");
    }
}

#[test]
fn what_can_not_be() {
    let spec = LabSpec::new(LabDevice::Bridge);
    let check = |spec: LabSpec, expect: &str| {
        let error = spec.plan().unwrap_err();
        assert_eq!(error.to_string(), "plan the lab");
        assert_eq!(std::error::Error::source(&error).unwrap().to_string(), expect);
    };
    check(LabSpec { hosts: 1, ..spec.clone() }, "a lab of 1 hosts: it has 2…64");
    check(LabSpec { hosts: 65, ..spec.clone() }, "a lab of 65 hosts: it has 2…64");
    check(
        LabSpec { hosts: 3, ..LabSpec::new(LabDevice::Cable) },
        "a cable lab of 3 hosts: a cable joins two, so their number is even",
    );
    check(LabSpec { mtu: 100, ..spec.clone() }, "a lab with an mtu of 100: it is 576…65535 octets");
    check(
        LabSpec { rate: Some(Rate(7)), ..spec.clone() },
        "a lab with ports of 7bit: the least is 8bit",
    );
    check(
        LabSpec { queue: Some(ByteCount(4096)), ..spec.clone() },
        "a lab with a queue of 4KiB: a queue needs a rate",
    );
    check(
        LabSpec { queue: Some(ByteCount(4096)), rate: Some(Rate(1_000_000)), ..spec },
        "a lab with a queue of 4KiB: it holds at least a frame of mtu 9000, at most 4GiB",
    );
}
