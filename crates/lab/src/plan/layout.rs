//! Assignment of names, addresses and cables.
//!
//! Owns the numbering. Host and port numbers i start at 1, places n of devices and pairs k at 0.
//! Never touches the kernel, and never fails: the spec was checked before.
//!
//! | what | IPv4 (IPv6: its twin) |
//! |---|---|
//! | host at a bridge | 198.18.32n.i/24 |
//! | link to a router | 198.18.(32n+1).4(i-1) /30: .1 the router, .2 the host |
//! | links to two routers | as to one, and 198.18.(32n+2).4(i-1) /30 to the second |
//! | host behind two routers | 198.18.(32n+3).i/32 on its loopback |
//! | pair of a cable lab | 198.18.k.1/30 and .2/30 |
//! | pair on a direct cable | 198.19.k.1/30 and .2/30 |
//! | block of a host | 198.19.(100+i).0/24 |
//!
//! The device at place n has 198.18.32n.0/19 for itself, which each host reaches by one route.

use std::net::Ipv4Addr;

use device::Edge;
use measure::Rate;

use super::{
    BLOCK_PREFIX, CablePlan, DeviceKind, DevicePlan, DevicePortPlan, FarEnd, HostPlan,
    HostPortPlan, InterfacePlan, LabPlan, NodePlan, RoutePlan, SubjectPlan, fits_ipv6,
};
use crate::limit::PortLimit;
use crate::spec::EmulatedSpec;
use crate::spec::{BridgesSpec, LabDevice, LabSpec, VmRole, VmSpec};

/// Prefix length of each place's share of 198.18.0.0/16.
const PLACE_PREFIX: u8 = 19;
const LINK_PREFIX: u8 = 30;
/// Bridge of a switch; with several, the one that joins the others.
const BRIDGE: &str = "br0";

/// Kind of interface that an Ethernet address belongs to; the third octet from the end.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Side {
    Host = 1,
    Device = 2,
    Direct = 3,
    SecondHost = 4,
    SecondDevice = 5,
    /// The kernel's end of a cable to a model: no frame is addressed to it.
    Model = 6,
    /// Ends of a cable between two bridges of one device.
    Uplink = 7,
    Downlink = 8,
}

/// Builds an Ethernet address. `02` marks it as locally administered; the rest identifies the
/// interface in a capture.
fn mac(side: Side, place: u8, number: u8) -> [u8; 6] {
    [0x02, 0x53, 0x4d, side as u8, place, number]
}

/// Parts of a place's address range.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Part {
    Bridge = 0,
    Links = 1,
    SecondLinks = 2,
    Loopbacks = 3,
}

fn across(place: u8, part: Part, last: u8) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, 32 * place + part as u8, last)
}

/// Addresses of the link to host `i`: the router's end, then the host's.
fn link_ends(place: u8, part: Part, i: u8) -> (Ipv4Addr, Ipv4Addr) {
    let network = 4 * (i - 1);
    (across(place, part, network + 1), across(place, part, network + 2))
}

fn block(i: u8) -> Ipv4Addr {
    Ipv4Addr::new(198, 19, 100 + i, 0)
}

pub(super) fn lay_out(spec: &LabSpec) -> LabPlan {
    let limit = spec.rate.map(|rate| PortLimit::new(rate, spec.queue, spec.mtu).by(spec.shaper));
    let numbers: Vec<u8> = (1..=spec.hosts as u8).collect();
    let mut plan = LabPlan {
        mtu: spec.mtu,
        ipv6: fits_ipv6(spec.mtu),
        limit,
        drops: spec.drops,
        hosts: numbers.iter().map(|i| HostPlan { name: host(*i), ports: Vec::new() }).collect(),
        subjects: Vec::new(),
        devices: Vec::new(),
        nodes: numbers.iter().map(|i| NodePlan::empty(&host(*i))).collect(),
        cables: Vec::new(),
    };
    if spec.is_cable() {
        join_in_pairs(&mut plan, "eth1", Side::Host, 18, limit);
        return plan;
    }
    for (place, device) in spec.devices.iter().enumerate() {
        let mut site = Site { plan: &mut plan, numbers: &numbers, place: place as u8 };
        match device {
            LabDevice::Cable => {}
            LabDevice::Bridge => site.bridge(device),
            LabDevice::Bridges(bridges) => site.bridges(device, bridges, spec),
            LabDevice::Router => site.router(device),
            LabDevice::Routers => site.routers(device),
            LabDevice::Vm(machine) => match machine.role {
                VmRole::Bridge => site.bridge(device),
                VmRole::Router => site.router(device),
            },
            LabDevice::Emulated(model) => site.emulated(device, model),
        }
    }
    if spec.bypass {
        join_in_pairs(&mut plan, "direct", Side::Direct, 19, None);
    }
    plan
}

fn host(number: u8) -> String {
    format!("h{number}")
}

/// Joins hosts in pairs, the first with the second, the third with the fourth: the pairs that a
/// study measures. With an odd number the last host is left out.
fn join_in_pairs(plan: &mut LabPlan, port: &str, side: Side, second: u8, limit: Option<PortLimit>) {
    for pair in 0..(plan.hosts.len() / 2) as u8 {
        let ends = [2 * pair + 1, 2 * pair + 2];
        let address = |end: usize| Ipv4Addr::new(198, second, pair, end as u8 + 1);
        for (end, number) in ends.into_iter().enumerate() {
            let other = 1 - end;
            let node = usize::from(number) - 1;
            plan.nodes[node].interfaces.push(InterfacePlan {
                name: port.to_owned(),
                mac: mac(side, 0, number),
                bridge: None,
                address: Some((address(end), LINK_PREFIX)),
                limit,
                neighbours: vec![(address(other), mac(side, 0, ends[other]))],
            });
            plan.hosts[node].ports.push(HostPortPlan {
                name: port.to_owned(),
                interfaces: vec![port.to_owned()],
                address: address(end),
                prefix: LINK_PREFIX,
                block: block(number),
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

/// Place at which a device is being added.
struct Site<'a> {
    plan: &'a mut LabPlan,
    numbers: &'a [u8],
    place: u8,
}

/// Properties of a router's links to the hosts.
struct Uplink {
    router: String,
    interface: String,
    part: Part,
    host_side: Side,
    device_side: Side,
}

impl Site<'_> {
    fn bridge(&mut self, device: &LabDevice) {
        let name = self.free_name(device);
        let interface = self.next_interface();
        self.add_subject(&name, device, &[&name]);
        self.add_device(&name, DeviceKind::Switch).bridges = vec![BRIDGE.to_owned()];
        let (place, numbers) = (self.place, self.numbers);
        for &i in numbers {
            let own = across(place, Part::Bridge, i);
            let host_mac = mac(Side::Host, place, i);
            self.plug_in(&name, i, &interface, host_mac, mac(Side::Device, place, i), None);
            let port = self.host_interface(i);
            port.address = Some((own, 24));
            port.neighbours = numbers
                .iter()
                .filter(|other| **other != i)
                .map(|&other| (across(place, Part::Bridge, other), mac(Side::Host, place, other)))
                .collect();
            self.add_host_port(i, &interface, &[&interface], own, 24, &[&name]);
        }
        for port in &mut self.device_node(&name).interfaces {
            port.bridge = Some(BRIDGE.to_owned());
        }
    }

    /// Adds bridges. Neighbouring ports share a bridge, and each such bridge has a cable to a
    /// central one. A host's limit is its wire's, in both directions.
    fn bridges(&mut self, device: &LabDevice, bridges: &BridgesSpec, spec: &LabSpec) {
        let name = self.free_name(device);
        self.bridge(device);
        let (place, mtu) = (self.place, self.plan.mtu);
        let switch_port = |rate: Rate| PortLimit::of_switch(rate, spec.queue, mtu).by(spec.shaper);
        let (port, uplink) = (spec.rate.map(switch_port), bridges.uplink.map(switch_port));
        for &i in self.numbers {
            self.host_interface(i).limit = spec.rate.map(|rate| PortLimit::of_wire(rate, mtu));
            let ports = &mut self.plan.hosts[usize::from(i) - 1].ports;
            ports.last_mut().expect("the host was plugged in").rate = spec.rate;
        }
        for device in self.plan.devices.iter_mut().filter(|device| device.name == name) {
            device.ports.iter_mut().for_each(|told| told.limit = port);
        }
        let node = self.device_node(&name);
        for (at, interface) in (0..).zip(&mut node.interfaces) {
            interface.limit = port;
            interface.bridge = Some(group_bridge(at * bridges.groups / spec.hosts + 1));
        }
        for group in 1..=bridges.groups {
            let end = |name: &str, side, bridge: &str| InterfacePlan {
                name: format!("{name}{group}"),
                mac: mac(side, place, group as u8),
                bridge: Some(bridge.to_owned()),
                address: None,
                limit: uplink,
                neighbours: Vec::new(),
            };
            let own = group_bridge(group);
            node.interfaces.push(end("up", Side::Uplink, &own));
            node.interfaces.push(end("down", Side::Downlink, BRIDGE));
            node.bridges.push(own);
        }
        let cable = |group| CablePlan {
            a: (name.clone(), format!("up{group}")),
            b: (name.clone(), format!("down{group}")),
        };
        self.plan.cables.extend((1..=bridges.groups).map(cable));
    }

    fn router(&mut self, device: &LabDevice) {
        let name = self.free_name(device);
        let link = Uplink {
            router: name.clone(),
            interface: self.next_interface(),
            part: Part::Links,
            host_side: Side::Host,
            device_side: Side::Device,
        };
        self.add_subject(&name, device, &[&name]);
        self.lay_links(&link);
        for &i in self.numbers {
            let (gateway, own) = link_ends(self.place, Part::Links, i);
            let destination = (across(self.place, Part::Bridge, 0), PLACE_PREFIX);
            self.host_node(i).routes.push(RoutePlan {
                destination,
                next_hops: vec![(gateway, link.interface.clone())],
                source: None,
            });
            self.add_host_port(i, &link.interface, &[&link.interface], own, LINK_PREFIX, &[&name]);
        }
    }

    fn routers(&mut self, device: &LabDevice) {
        let name = self.free_name(device);
        let port = name.replace(device.as_str(), "ecmp");
        let before = self.count(device);
        let names = [1, 2].map(|number| format!("r{}", 2 * before + number));
        self.add_subject(&name, device, &[&names[0], &names[1]]);
        let mut links = Vec::new();
        for (number, router) in names.iter().enumerate() {
            let link = Uplink {
                router: router.clone(),
                interface: self.next_interface(),
                part: [Part::Links, Part::SecondLinks][number],
                host_side: [Side::Host, Side::SecondHost][number],
                device_side: [Side::Device, Side::SecondDevice][number],
            };
            self.lay_links(&link);
            links.push(link);
        }
        for &i in self.numbers {
            let own = across(self.place, Part::Loopbacks, i);
            let place = self.place;
            // The hosts' test addresses are on no link, so the routers need routes to them.
            for link in &links {
                let via = link_ends(place, link.part, i).1;
                self.device_node(&link.router).routes.push(route_to_host((own, 32), via, i));
            }
            let node = self.host_node(i);
            node.loopbacks.push(own);
            node.routes.push(RoutePlan {
                destination: (across(place, Part::Loopbacks, 0), 24),
                next_hops: links
                    .iter()
                    .map(|link| (link_ends(place, link.part, i).0, link.interface.clone()))
                    .collect(),
                source: Some(own),
            });
            let interfaces = [links[0].interface.as_str(), &links[1].interface];
            self.add_host_port(i, &port, &interfaces, own, 32, &[&names[0], &names[1]]);
        }
    }

    /// Adds a model. To its hosts it looks like the kernel's bridge or router. Its own node has
    /// only the cables' ends, so nothing there can answer. On each cable a host sends no faster
    /// than its wire.
    fn emulated(&mut self, device: &LabDevice, model: &EmulatedSpec) {
        let name = self.free_name(device);
        if model.profile.is_router() {
            self.router(device);
            self.plan.ipv6 = false;
        } else {
            self.bridge(device);
        }
        let (place, mtu) = (self.place, self.plan.mtu);
        let node = self.device_node(&name);
        node.forwards = false;
        node.bridges.clear();
        node.routes.clear();
        for (i, interface) in (1..).zip(&mut node.interfaces) {
            (interface.address, interface.limit, interface.bridge) = (None, None, None);
            interface.mac = mac(Side::Model, place, i);
            interface.neighbours.clear();
        }
        for device in self.plan.devices.iter_mut().filter(|device| device.name == name) {
            device.ports.iter_mut().for_each(|port| port.limit = None);
        }
        for &i in self.numbers {
            let rate = model.profile.edge_rate(Edge(u16::from(i) - 1));
            self.host_interface(i).limit = Some(PortLimit::of_wire(rate, mtu));
            let port = self.plan.hosts[usize::from(i) - 1].ports.last_mut();
            port.expect("the host was plugged in").rate = Some(rate);
        }
    }

    /// Adds a router and its link to every host.
    fn lay_links(&mut self, link: &Uplink) {
        self.add_device(&link.router, DeviceKind::Router).forwards = true;
        let place = self.place;
        for &i in self.numbers {
            let ends = link_ends(place, link.part, i);
            let host_mac = mac(link.host_side, place, i);
            let device_mac = mac(link.device_side, place, i);
            self.plug_in(&link.router, i, &link.interface, host_mac, device_mac, Some(ends));
            let to_block = route_to_host((block(i), BLOCK_PREFIX), ends.1, i);
            self.device_node(&link.router).routes.push(to_block);
        }
    }

    /// Chooses a free name: `bridge`, then `bridge2`.
    fn free_name(&self, device: &LabDevice) -> String {
        if let LabDevice::Vm(VmSpec { name: Some(name), .. }) = device {
            return name.clone();
        }
        let kind = device.kind_name();
        match self.count(device) {
            0 => kind.to_owned(),
            before => format!("{kind}{}", before + 1),
        }
    }

    /// Number of devices of this kind added so far, without machines that have names.
    fn count(&self, device: &LabDevice) -> usize {
        let nameless = |subject: &&SubjectPlan| !matches!(&subject.device, LabDevice::Vm(machine) if machine.name.is_some());
        let alike = |subject: &&SubjectPlan| subject.device.kind_name() == device.kind_name();
        self.plan.subjects.iter().filter(nameless).filter(alike).count()
    }

    /// Name of the next host interface; those to devices are numbered in the order of the cables.
    fn next_interface(&self) -> String {
        format!("eth{}", self.plan.nodes[0].interfaces.len() + 1)
    }

    fn add_subject(&mut self, name: &str, device: &LabDevice, devices: &[&str]) {
        self.plan.subjects.push(SubjectPlan {
            name: name.to_owned(),
            device: device.clone(),
            devices: devices.iter().map(|&name| name.to_owned()).collect(),
        });
    }

    fn add_device(&mut self, name: &str, kind: DeviceKind) -> &mut NodePlan {
        let port = |i: &u8| DevicePortPlan {
            name: i.to_string(),
            interface: format!("p{i}"),
            limit: self.plan.limit,
        };
        let ports = self.numbers.iter().map(port).collect();
        self.plan.devices.push(DevicePlan { name: name.to_owned(), kind, ports });
        self.plan.nodes.push(NodePlan::empty(name));
        self.plan.nodes.last_mut().expect("just added")
    }

    /// Lays the cable from host `i` to port `i` of the device. A router's port has an address of
    /// its own, passed with the host's on that link; then each end is the other's neighbour.
    fn plug_in(
        &mut self,
        device: &str,
        i: u8,
        interface: &str,
        host_mac: [u8; 6],
        device_mac: [u8; 6],
        routed: Option<(Ipv4Addr, Ipv4Addr)>,
    ) {
        let limit = self.plan.limit;
        self.host_node(i).interfaces.push(InterfacePlan {
            name: interface.to_owned(),
            mac: host_mac,
            bridge: None,
            address: routed.map(|(_, own)| (own, LINK_PREFIX)),
            limit: None,
            neighbours: routed.map(|(gateway, _)| (gateway, device_mac)).into_iter().collect(),
        });
        self.device_node(device).interfaces.push(InterfacePlan {
            name: format!("p{i}"),
            mac: device_mac,
            bridge: None,
            address: routed.map(|(gateway, _)| (gateway, LINK_PREFIX)),
            limit,
            neighbours: routed.map(|(_, own)| (own, host_mac)).into_iter().collect(),
        });
        self.plan.cables.push(CablePlan {
            a: (device.to_owned(), format!("p{i}")),
            b: (host(i), interface.to_owned()),
        });
    }

    fn add_host_port(
        &mut self,
        i: u8,
        name: &str,
        interfaces: &[&str],
        address: Ipv4Addr,
        prefix: u8,
        devices: &[&str],
    ) {
        let far =
            |device: &&str| FarEnd::Device { device: (*device).to_owned(), port: i.to_string() };
        self.plan.hosts[usize::from(i) - 1].ports.push(HostPortPlan {
            name: name.to_owned(),
            interfaces: interfaces.iter().map(|&name| name.to_owned()).collect(),
            address,
            prefix,
            block: block(i),
            far_ends: devices.iter().map(far).collect(),
            rate: None,
        });
    }

    fn host_node(&mut self, i: u8) -> &mut NodePlan {
        &mut self.plan.nodes[usize::from(i) - 1]
    }

    fn host_interface(&mut self, i: u8) -> &mut InterfacePlan {
        self.host_node(i).interfaces.last_mut().expect("the host was plugged in")
    }

    fn device_node(&mut self, name: &str) -> &mut NodePlan {
        self.plan.nodes.iter_mut().find(|node| node.name == name).expect("the device was added")
    }
}

/// Name of the bridge of a device's group, counted from 1.
fn group_bridge(group: u16) -> String {
    format!("group{group}")
}

fn route_to_host(destination: (Ipv4Addr, u8), via: Ipv4Addr, i: u8) -> RoutePlan {
    RoutePlan { destination, next_hops: vec![(via, format!("p{i}"))], source: None }
}

impl NodePlan {
    fn empty(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            forwards: false,
            bridges: Vec::new(),
            loopbacks: Vec::new(),
            interfaces: Vec::new(),
            routes: Vec::new(),
        }
    }
}
