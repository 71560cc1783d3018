//! Plans, without a kernel: every name resolves, no address is used twice, every neighbour is true.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use lab::{
    BLOCK_ADDRESSES, BridgesSpec, DeviceKind, Drops, FarEnd, HostPlan, HostPortPlan, LabDevice,
    LabPlan, LabSpec, MAX_DEVICES, MAX_HOSTS, NodePlan, RandomLoss, Shaper,
};
use measure::{ByteCount, Rate};

/// Lists each kind alone, every ordered pair and triple, and eight of a kind.
fn all_devices() -> Vec<Vec<LabDevice>> {
    let bridges = LabDevice::Bridges(BridgesSpec::DEFAULT);
    let kinds = [LabDevice::Bridge, bridges, LabDevice::Router, LabDevice::Routers];
    let mut all = vec![Vec::new(), vec![LabDevice::Cable]];
    let mut longer: Vec<Vec<LabDevice>> = vec![Vec::new()];
    for _ in 0..3 {
        let one_more = |devices: &Vec<LabDevice>| {
            kinds.clone().map(|kind| devices.iter().cloned().chain([kind]).collect())
        };
        longer = longer.iter().flat_map(one_more).collect();
        all.extend(longer.clone());
    }
    all.extend(kinds.map(|kind| vec![kind; MAX_DEVICES]));
    all
}

fn all_plans() -> Vec<(String, LabPlan)> {
    let mut plans = Vec::new();
    let mut refused = 0;
    for devices in all_devices() {
        for hosts in [2, 3, 4, 63, MAX_HOSTS] {
            for bypass in [false, true] {
                let spec = LabSpec { hosts, bypass, ..LabSpec::with_devices(devices.clone()) };
                match spec.plan() {
                    Ok(plan) => {
                        plans.push((format!("{devices:?}, {hosts} hosts, bypass {bypass}"), plan));
                    }
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert_eq!(refused, 8, "a cable lab of an odd number has no plan");
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
            for &ip in &node.loopbacks {
                assert!(addresses.insert(ip), "{case}: {ip} twice");
            }
        }
        for host in &plan.hosts {
            let Some(port) = host.ports.first() else { continue };
            assert!(host.ports.iter().all(|p| p.block == port.block), "{case}: one block a host");
            for ip in 0..u32::from(BLOCK_ADDRESSES) {
                let ip = Ipv4Addr::from_bits(port.block.to_bits() + ip);
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
    let check = |devices: &[LabDevice], expect: &str| {
        let plan = LabSpec::with_devices(devices.to_vec()).plan().unwrap();
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
        assert_eq!(lines.join("\n"), expect, "{devices:?}");
    };
    check(
        &[LabDevice::Cable],
        "h1/eth1 198.18.0.1/30 h2/eth1\n\
         h2/eth1 198.18.0.2/30 h1/eth1",
    );
    check(
        &[LabDevice::Bridge],
        "h1/eth1 198.18.0.1/24 bridge/1\n\
         h1/direct 198.19.0.1/30 h2/direct\n\
         h2/eth1 198.18.0.2/24 bridge/2\n\
         h2/direct 198.19.0.2/30 h1/direct",
    );
    check(
        &[LabDevice::Router],
        "h1/eth1 198.18.1.2/30 router/1\n\
         h1/direct 198.19.0.1/30 h2/direct\n\
         h2/eth1 198.18.1.6/30 router/2\n\
         h2/direct 198.19.0.2/30 h1/direct",
    );
    check(
        &[LabDevice::Routers],
        "h1/ecmp 198.18.3.1/32 r1/1 r2/1\n\
         h1/direct 198.19.0.1/30 h2/direct\n\
         h2/ecmp 198.18.3.2/32 r1/2 r2/2\n\
         h2/direct 198.19.0.2/30 h1/direct",
    );
    check(
        &[LabDevice::Bridge, LabDevice::Routers, LabDevice::Router, LabDevice::Bridge],
        "h1/eth1 198.18.0.1/24 bridge/1\n\
         h1/ecmp 198.18.35.1/32 r1/1 r2/1\n\
         h1/eth4 198.18.65.2/30 router/1\n\
         h1/eth5 198.18.96.1/24 bridge2/1\n\
         h1/direct 198.19.0.1/30 h2/direct\n\
         h2/eth1 198.18.0.2/24 bridge/2\n\
         h2/ecmp 198.18.35.2/32 r1/2 r2/2\n\
         h2/eth4 198.18.65.6/30 router/2\n\
         h2/eth5 198.18.96.2/24 bridge2/2\n\
         h2/direct 198.19.0.2/30 h1/direct",
    );
}

#[test]
fn subjects_are_made_of_devices() {
    let devices = [LabDevice::Routers, LabDevice::Bridge, LabDevice::Routers, LabDevice::Bridge];
    let plan = LabSpec::with_devices(devices.to_vec()).plan().unwrap();
    let told: Vec<String> = plan
        .subjects
        .iter()
        .map(|subject| format!("{}: {}", subject.name, subject.devices.join(" ")))
        .collect();
    assert_eq!(told, ["routers: r1 r2", "bridge: bridge", "routers2: r3 r4", "bridge2: bridge2"]);
    for (case, plan) in all_plans() {
        let parts: Vec<&String> = plan.subjects.iter().flat_map(|s| &s.devices).collect();
        assert_eq!(parts, plan.devices.iter().map(|d| &d.name).collect::<Vec<_>>(), "{case}");
        let names: BTreeSet<&String> = plan.nodes.iter().map(|node| &node.name).collect();
        assert_eq!(names.len(), plan.nodes.len(), "{case}: {names:?}");
    }
}

/// Follows routes and neighbours from every host to every other across every subject, without a
/// kernel: each hop's interface, gateway and far end must agree.
#[test]
fn every_path_leads_through_its_subject() {
    for (case, plan) in all_plans().into_iter().filter(|(_, plan)| plan.hosts.len() <= 4) {
        for subject in &plan.subjects {
            let ports: Vec<_> =
                plan.hosts.iter().map(|host| (host, port_to(host, &subject.devices))).collect();
            for (from, from_port) in &ports {
                for (to, to_port) in ports.iter().filter(|(to, _)| to.name != from.name) {
                    let nodes = walk(&plan, &from.name, to_port.address);
                    assert!(subject.devices.contains(&nodes[0]), "{case}: {nodes:?}");
                    assert_eq!(nodes[1..], *std::slice::from_ref(&to.name), "{case}: {nodes:?}");
                }
                if plan.device(&subject.devices[0]).unwrap().kind == DeviceKind::Router {
                    for router in &subject.devices {
                        let nodes = walk(&plan, router, from_port.block);
                        assert_eq!(
                            nodes,
                            std::slice::from_ref(&from.name),
                            "{case}: block by {router}"
                        );
                    }
                }
            }
        }
    }
}

fn port_to<'a>(host: &'a HostPlan, devices: &[String]) -> &'a HostPortPlan {
    let leads = |port: &&HostPortPlan| match port.far_end() {
        FarEnd::Device { device, .. } => devices.contains(device),
        FarEnd::Host { .. } => false,
    };
    host.ports.iter().find(leads).unwrap()
}

/// Lists the nodes that a packet passes from `start`, by the plan's routes alone, to the one that
/// owns the address or whose block it is in.
fn walk(plan: &LabPlan, start: &str, to: Ipv4Addr) -> Vec<String> {
    let covers = |(network, prefix): (Ipv4Addr, u8)| {
        (network.to_bits() ^ to.to_bits()).checked_shr(32 - u32::from(prefix)).unwrap_or(0) == 0
    };
    let mut passed = Vec::new();
    let mut here = plan.node(start).unwrap();
    loop {
        let links = here.interfaces.iter().filter_map(|i| Some((i.address?, i.name.clone(), None)));
        let routes = here.routes.iter().map(|route| {
            let (via, interface) = route.next_hops[0].clone();
            (route.destination, interface, Some(via))
        });
        let route = links.chain(routes).filter(|r| covers(r.0)).max_by_key(|r| r.0.1);
        let (_, interface, via) = route.unwrap_or_else(|| panic!("{}: no way to {to}", here.name));
        let next_hop = via.unwrap_or(to);
        let out = here.interfaces.iter().find(|i| i.name == interface).unwrap();
        let known = out.neighbours.iter().find(|(ip, _)| *ip == next_hop);
        let (_, mac) = known.unwrap_or_else(|| panic!("{}: {next_hop} is no neighbour", here.name));
        let end = (here.name.clone(), interface);
        let (node, port) = plan.cables.iter().find_map(|cable| cable.far_end_of(&end)).unwrap();
        here = plan.node(node).unwrap();
        passed.push(node.clone());
        if here.bridges.is_empty() {
            assert!(here.interfaces.iter().any(|i| i.name == *port && i.mac == *mac));
        } else {
            let at = |node: &&NodePlan| node.interfaces.iter().any(|i| i.mac == *mac);
            here = plan.nodes.iter().find(at).unwrap();
            passed.push(here.name.clone());
        }
        if !here.forwards {
            break;
        }
    }
    passed
}

#[test]
fn limits_stand_at_the_device_and_in_a_cable_lab_at_the_hosts() {
    // Bridges in groups have limits at both ends, as on a wire: see below.
    let grouped = |device: &LabDevice| matches!(device, LabDevice::Bridges(_));
    for device in LabDevice::ALL.into_iter().filter(|device| !grouped(device)) {
        let rate = Some(Rate(1_000_000_000));
        let cable = device == LabDevice::Cable;
        let plan = LabSpec { rate, hosts: 4, ..LabSpec::new(device.clone()) }.plan().unwrap();
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
fn a_shaper_is_that_of_every_limited_port() {
    let rate = Some(Rate(1_000_000_000));
    let (shaper, drops) = (Shaper::Htb, Drops { loss: RandomLoss::of_share(0.1), police: None });
    let spec = LabSpec {
        rate,
        shaper,
        ..LabSpec::with_devices(vec![LabDevice::Bridge, LabDevice::Router])
    };
    let plan = LabSpec { drops, ..spec }.plan().unwrap();
    let interfaces = plan.nodes.iter().flat_map(|node| &node.interfaces);
    let limits: Vec<_> = interfaces.filter_map(|interface| interface.limit).collect();
    assert_eq!(limits.len(), 4);
    assert!(limits.iter().all(|limit| limit.shaper == Shaper::Htb), "{limits:?}");
    let dropping: Vec<&str> = plan.dropping().map(|device| device.name.as_str()).collect();
    assert_eq!((dropping, plan.drops), (vec!["bridge"], drops));
}

#[test]
fn bridges_share_out_the_hosts_and_an_uplink_leads_from_each() {
    let (rate, uplink) = (Some(Rate(20_000_000)), Some(Rate(40_000_000)));
    let device = LabDevice::Bridges(BridgesSpec { groups: 3, uplink });
    let plan = LabSpec { rate, hosts: 8, bypass: false, ..LabSpec::new(device) }.plan().unwrap();
    let node = plan.node("bridges").unwrap();
    assert_eq!(node.bridges, ["br0", "group1", "group2", "group3"]);
    let at = |bridge: &str| -> Vec<&str> {
        let ports = node.interfaces.iter().filter(|i| i.bridge.as_deref() == Some(bridge));
        ports.map(|i| i.name.as_str()).collect()
    };
    assert_eq!(at("group1"), ["p1", "p2", "p3", "up1"]);
    assert_eq!(at("group2"), ["p4", "p5", "p6", "up2"]);
    assert_eq!(at("group3"), ["p7", "p8", "up3"]);
    assert_eq!(at("br0"), ["down1", "down2", "down3"]);
    for interface in plan.nodes.iter().flat_map(|node| &node.interfaces) {
        let expected = if interface.name.starts_with(['u', 'd']) { uplink } else { rate };
        let limit = interface.limit.unwrap_or_else(|| panic!("{interface:?}"));
        assert_eq!((Some(limit.rate), limit.overhead), (expected, 24), "{interface:?}");
    }
    assert!(plan.hosts.iter().all(|host| host.ports[0].rate == rate));
    assert_eq!(plan.device("bridges").unwrap().ports.len(), 8, "uplinks are not for hosts");
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
    check(
        LabSpec::with_devices(vec![LabDevice::Bridge; 9]),
        "a lab of 9 devices: it has at most 8",
    );
    check(
        LabSpec::with_devices(vec![LabDevice::Cable, LabDevice::Bridge]),
        "a lab of a cable and other devices: the direct cable is beside them anyway",
    );
    let three = LabDevice::Bridges(BridgesSpec { groups: 3, uplink: None });
    check(LabSpec::new(three), "a lab of 3 bridges for 2 hosts: it has 2…8, each with a host");
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
        LabSpec { shaper: Shaper::Htb, ..spec.clone() },
        "a lab shaped by htb: a shaper needs a rate",
    );
    let drops = Drops { loss: RandomLoss::of_share(0.1), police: None };
    check(
        LabSpec { drops, ..LabSpec::new(LabDevice::Router) },
        "a lab with random loss or policing: they are a bridge's, and it has none",
    );
    check(
        LabSpec { queue: Some(ByteCount(4096)), rate: Some(Rate(1_000_000)), ..spec },
        "a lab with a queue of 4KiB: it holds at least a frame of mtu 9000, at most 4GiB",
    );
}
