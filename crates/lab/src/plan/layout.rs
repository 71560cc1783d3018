//! Who gets which name, address and cable.
//!
//! Owns the numbering. Host and port numbers start at 1. Never touches the kernel, and never fails:
//! the spec was checked.
//!
//! | device | across the device | direct cables, pair k from 0 |
//! |---|---|---|
//! | cable | 198.18.k.1/30 and .2/30 | - |
//! | bridge | 198.18.0.i/24 | 198.19.k.1/30 and .2/30 |
//! | router | 198.18.i.2/24, router .1 | as above |
//! | routers | 198.18.0.i/32 on loopback; links 198.18.i.2/24 and 198.18.(128+i).2/24 | as above |

use std::net::Ipv4Addr;

use super::{
    CablePlan, DeviceKind, DevicePlan, DevicePortPlan, FarEnd, HostPlan, HostPortPlan,
    InterfacePlan, LabPlan, NodePlan, RoutePlan,
};
use crate::limit::PortLimit;
use crate::spec::{LabDevice, LabSpec};

/// All that lies across the device.
const DEVICE_SIDE: (Ipv4Addr, u8) = (Ipv4Addr::new(198, 18, 0, 0), 16);
/// The hosts' loopback addresses in a lab of two routers.
const LOOPBACKS: (Ipv4Addr, u8) = (Ipv4Addr::new(198, 18, 0, 0), 24);
/// The second router's links start here, above the highest host number.
const SECOND_ROUTER: u8 = 128;

/// Whose interface an Ethernet address is; the third octet from the end.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Side {
    Host = 1,
    Device = 2,
    Direct = 3,
    SecondHost = 4,
    SecondDevice = 5,
}

/// `02` marks it as locally administered; the rest tells in a capture whose it is.
fn mac(side: Side, number: u8) -> [u8; 6] {
    [0x02, 0x53, 0x4d, side as u8, 0, number]
}

fn across(third: u8, last: u8) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, third, last)
}

pub(super) fn lay_out(spec: &LabSpec) -> LabPlan {
    let limit = spec.rate.map(|rate| PortLimit::new(rate, spec.queue, spec.mtu));
    let numbers: Vec<u8> = (1..=spec.hosts as u8).collect();
    let mut plan = LabPlan {
        device: spec.device,
        mtu: spec.mtu,
        limit,
        hosts: numbers.iter().map(|i| HostPlan { name: host(*i), ports: Vec::new() }).collect(),
        devices: Vec::new(),
        nodes: numbers.iter().map(|i| NodePlan::empty(&host(*i))).collect(),
        cables: Vec::new(),
    };
    match spec.device {
        LabDevice::Cable => join_in_pairs(&mut plan, "eth1", Side::Host, 18, limit),
        LabDevice::Bridge => bridge(&mut plan, &numbers),
        LabDevice::Router => router(&mut plan, &numbers),
        LabDevice::Routers => routers(&mut plan, &numbers),
    }
    if spec.bypass && spec.device != LabDevice::Cable {
        join_in_pairs(&mut plan, "direct", Side::Direct, 19, None);
    }
    plan
}

fn host(number: u8) -> String {
    format!("h{number}")
}

/// First with second, third with fourth: the pairs that a study measures. With an odd number the
/// last host stays without.
fn join_in_pairs(plan: &mut LabPlan, port: &str, side: Side, second: u8, limit: Option<PortLimit>) {
    for pair in 0..(plan.hosts.len() / 2) as u8 {
        let ends = [2 * pair + 1, 2 * pair + 2];
        let address = |end: usize| Ipv4Addr::new(198, second, pair, end as u8 + 1);
        for (end, number) in ends.into_iter().enumerate() {
            let other = 1 - end;
            let node = usize::from(number) - 1;
            plan.nodes[node].interfaces.push(InterfacePlan {
                name: port.to_owned(),
                mac: mac(side, number),
                address: Some((address(end), 30)),
                limit,
                neighbours: vec![(address(other), mac(side, ends[other]))],
            });
            plan.hosts[node].ports.push(HostPortPlan {
                name: port.to_owned(),
                interfaces: vec![port.to_owned()],
                address: address(end),
                prefix: 30,
                far_ends: vec![FarEnd::Host { host: host(ends[other]), port: port.to_owned() }],
                rate: limit.map(|limit| limit.rate),
            });
        }
        plan.cables.push(CablePlan {
            a: (host(ends[0]), port.to_owned()),
            b: (host(ends[1]), port.to_owned()),
        });
    }
}

fn bridge(plan: &mut LabPlan, numbers: &[u8]) {
    let device = add_device(plan, "bridge", DeviceKind::Switch, numbers);
    device.bridge = Some("br0".to_owned());
    for &i in numbers {
        plug_in(plan, "bridge", i, (Side::Host, "eth1"), (Side::Device, None));
        let interface = last_interface(plan, i);
        interface.address = Some((across(0, i), 24));
        interface.neighbours = numbers
            .iter()
            .filter(|other| **other != i)
            .map(|other| (across(0, *other), mac(Side::Host, *other)))
            .collect();
        add_device_port(plan, i, "eth1", (across(0, i), 24), &["bridge"]);
    }
}

fn router(plan: &mut LabPlan, numbers: &[u8]) {
    add_device(plan, "router", DeviceKind::Router, numbers).forwards = true;
    for &i in numbers {
        let (own, gateway) = (across(i, 2), across(i, 1));
        let port = Some((gateway, own));
        plug_in(plan, "router", i, (Side::Host, "eth1"), (Side::Device, port));
        add_device_port(plan, i, "eth1", (own, 24), &["router"]);
        plan.nodes[usize::from(i) - 1].routes.push(RoutePlan {
            destination: DEVICE_SIDE,
            next_hops: vec![(gateway, "eth1".to_owned())],
            source: None,
        });
    }
}

fn routers(plan: &mut LabPlan, numbers: &[u8]) {
    let two = [
        ("r1", "eth1", Side::Host, Side::Device, 0),
        ("r2", "eth2", Side::SecondHost, Side::SecondDevice, SECOND_ROUTER),
    ];
    for (router, interface, host_side, device_side, offset) in two {
        let device = add_device(plan, router, DeviceKind::Router, numbers);
        device.forwards = true;
        // The hosts' test addresses are on no link: the routers must be told where they are.
        device.routes = numbers
            .iter()
            .map(|&i| RoutePlan {
                destination: (across(0, i), 32),
                next_hops: vec![(across(offset + i, 2), format!("p{i}"))],
                source: None,
            })
            .collect();
        for &i in numbers {
            let port = Some((across(offset + i, 1), across(offset + i, 2)));
            plug_in(plan, router, i, (host_side, interface), (device_side, port));
        }
    }
    for &i in numbers {
        let own = across(0, i);
        let node = &mut plan.nodes[usize::from(i) - 1];
        node.loopback = Some(own);
        node.routes.push(RoutePlan {
            destination: LOOPBACKS,
            next_hops: two
                .iter()
                .map(|(_, interface, _, _, offset)| {
                    (across(offset + i, 1), (*interface).to_owned())
                })
                .collect(),
            source: Some(own),
        });
        add_device_port(plan, i, "ecmp", (own, 32), &["r1", "r2"]);
        let port = plan.hosts[usize::from(i) - 1].ports.last_mut().expect("just added");
        port.interfaces = vec!["eth1".to_owned(), "eth2".to_owned()];
    }
}

fn add_device<'a>(
    plan: &'a mut LabPlan,
    name: &str,
    kind: DeviceKind,
    numbers: &[u8],
) -> &'a mut NodePlan {
    let ports = numbers
        .iter()
        .map(|i| DevicePortPlan {
            name: i.to_string(),
            interface: format!("p{i}"),
            limit: plan.limit,
        })
        .collect();
    plan.devices.push(DevicePlan { name: name.to_owned(), kind, ports });
    plan.nodes.push(NodePlan::empty(name));
    plan.nodes.last_mut().expect("just added")
}

/// Lays the cable from host `i` to port `i` of the device. A router's port has an address of its
/// own, given with the host's on that link; then each end knows the other.
fn plug_in(
    plan: &mut LabPlan,
    device: &str,
    i: u8,
    (host_side, interface): (Side, &str),
    (device_side, routed): (Side, Option<(Ipv4Addr, Ipv4Addr)>),
) {
    let (host_mac, device_mac) = (mac(host_side, i), mac(device_side, i));
    let limit = plan.limit;
    plan.nodes[usize::from(i) - 1].interfaces.push(InterfacePlan {
        name: interface.to_owned(),
        mac: host_mac,
        address: routed.map(|(_, own)| (own, 24)),
        limit: None,
        neighbours: routed.map(|(gateway, _)| (gateway, device_mac)).into_iter().collect(),
    });
    let node = plan.nodes.iter_mut().find(|node| node.name == device).expect("device was added");
    node.interfaces.push(InterfacePlan {
        name: format!("p{i}"),
        mac: device_mac,
        address: routed.map(|(gateway, _)| (gateway, 24)),
        limit,
        neighbours: routed.map(|(_, own)| (own, host_mac)).into_iter().collect(),
    });
    plan.cables.push(CablePlan {
        a: (device.to_owned(), format!("p{i}")),
        b: (host(i), interface.to_owned()),
    });
}

fn last_interface(plan: &mut LabPlan, i: u8) -> &mut InterfacePlan {
    let node = &mut plan.nodes[usize::from(i) - 1];
    node.interfaces.last_mut().expect("the host was plugged in")
}

fn add_device_port(
    plan: &mut LabPlan,
    i: u8,
    name: &str,
    (address, prefix): (Ipv4Addr, u8),
    devices: &[&str],
) {
    let far = |device: &&str| FarEnd::Device { device: (*device).to_owned(), port: i.to_string() };
    plan.hosts[usize::from(i) - 1].ports.push(HostPortPlan {
        name: name.to_owned(),
        interfaces: vec![name.to_owned()],
        address,
        prefix,
        far_ends: devices.iter().map(far).collect(),
        rate: None,
    });
}

impl NodePlan {
    fn empty(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            forwards: false,
            bridge: None,
            loopback: None,
            interfaces: Vec::new(),
            routes: Vec::new(),
        }
    }
}
