//! Construction of a network at rest from a profile.
//!
//! Owns the numbering of ports, queues and places. Never fails: the profile was checked.

use std::collections::BinaryHeap;

use measure::Picos;

use super::buffer::Buffer;
use super::chance::{Chance, Damage};
use super::mac_table::MacTable;
use super::pace::Pace;
use super::packets::{Fifo, NONE, NOWHERE, Packets};
use super::parts::{Engine, Places, Policer, Port, PortGroup, Switchboard};
use super::paths::{End, Paths};
use super::queue::{Role, Server};
use super::router::Routes;
use super::schedule::Schedule;
use super::{Network, PortCounts};
use crate::profile::{Device, Kind, Link, Mode, PortAt, Profile};
use crate::{Edge, PortAddress};

pub(super) fn network(profile: &Profile, seed: u64) -> Network {
    let firsts = first_ports(profile.devices());
    let number = |at: PortAt| firsts[usize::from(at.device)] + at.port;
    let (mut ports, mut servers) = ports(profile.devices());
    let mut ends = Vec::new();
    for link in profile.links() {
        for (near, far) in [(link.a, link.b), (link.b, link.a)] {
            let (near, far) = ((near, number(near)), (far, number(far)));
            join(&mut ports, &mut servers, link, near.1, far.1);
            let device = usize::from(near.0.device);
            ends.push(End { device, port: near.1, far: far.0.device.into(), far_port: far.1 });
        }
    }
    let mut with_hosts = vec![false; profile.devices().len()];
    for edge in 0..profile.edges() {
        with_hosts[usize::from(profile.port_of(Edge(edge)).device)] = true;
    }
    let paths = Paths::new(&with_hosts, &ends);
    for port in &paths.shut {
        ports[usize::from(*port)].floods = false;
    }
    let edges: Vec<u16> =
        (0..profile.edges()).map(|edge| number(profile.port_of(Edge(edge)))).collect();
    for (edge, port) in (0..).zip(&edges) {
        let at = profile.port_of(Edge(edge));
        let shares = profile.devices()[usize::from(at.device)].damaged(at.port);
        let port = &mut ports[usize::from(*port)];
        port.edge = edge;
        port.damage = shares.map(|[inward, outward]| {
            let way = |share, way| Damage::new(share, seed, edge, way);
            Box::new([way(inward, 0), way(outward, 1)])
        });
    }
    let mut devices = switchboards(profile, seed, &firsts, &mut servers, &ports);
    for (device, has_hosts) in devices.iter_mut().zip(&with_hosts) {
        device.learns = *has_hosts || !paths.loops;
    }
    let places = Places {
        engines: servers.len(),
        cables: servers.len() + devices.len(),
        signals: servers.len() + 2 * devices.len(),
        ingress: servers.len() + 2 * devices.len() + 1,
    };
    Network {
        now: Picos::ZERO,
        seed,
        schedule: Schedule::new(places.ingress + ports.len()),
        places,
        packets: Packets::default(),
        counts: vec![PortCounts::default(); edges.len()],
        servers,
        ports,
        devices,
        paths,
        edges,
        signals: BinaryHeap::new(),
        signalled: 0,
    }
}

/// Number of each device's first port.
fn first_ports(devices: &[Device]) -> Vec<u16> {
    let mut next = 0;
    let first = |device: &Device| {
        let first = next;
        next += device.ports;
        first
    };
    devices.iter().map(first).collect()
}

fn ports(devices: &[Device]) -> (Vec<Port>, Vec<Server>) {
    let (mut ports, mut servers) = (Vec::new(), Vec::new());
    for (number, device) in devices.iter().enumerate() {
        for port in 0..device.ports {
            let group = device.groups.iter().position(|group| group.ports.contains(&port));
            ports.push(Port {
                device: number as u16,
                group: group.unwrap_or(0) as u16,
                edge: NOWHERE,
                peer: NOWHERE,
                delay: device.link_delay.into(),
                ingress: Fifo::new(),
                turn: 0,
                stops: 0,
                held_since: None,
                floods: true,
                broken: device.broken(port),
                damage: None,
                down: false,
                blackhole: false,
            });
            servers.push(Server::new(
                number as u16,
                Role::Port,
                Pace::new(device.egress_rate(port)),
            ));
        }
    }
    (ports, servers)
}

fn join(ports: &mut [Port], servers: &mut [Server], link: &Link, near: u16, far: u16) {
    let port = &mut ports[usize::from(near)];
    port.peer = far;
    port.delay = link.delay.into();
    servers[usize::from(near)].pace = Pace::new(link.rate);
}

fn switchboards(
    profile: &Profile,
    seed: u64,
    firsts: &[u16],
    servers: &mut Vec<Server>,
    ports: &[Port],
) -> Vec<Switchboard> {
    let mut boards = Vec::new();
    for (number, device) in profile.devices().iter().enumerate() {
        let first = firsts[number];
        let groups = device.groups.iter().enumerate().map(|(group, sheet)| PortGroup {
            flooding: flooding(sheet.ports.iter().map(|port| first + port), ports),
            uplink: sheet.uplink.map(|rate| {
                let (up, pace) = (servers.len(), Pace::new(rate));
                servers.push(Server::new(number as u16, Role::Up, pace));
                let down = Role::Down { group: group as u16 };
                servers.push(Server::new(number as u16, down, pace));
                up
            }),
        });
        let groups = groups.collect();
        let range = usize::from(first)..usize::from(first) + usize::from(device.ports);
        let on_the_way = || {
            let all = range.clone().map(|port| headroom(device, &ports[port], servers[port].pace));
            all.sum()
        };
        boards.push(Switchboard {
            cut_through: device.mode == Mode::CutThrough,
            latency: device.latency.into(),
            max_frame: device.max_frame,
            pause: device.pause,
            buffer: Buffer::new(&device.buffer, device.queues(), device.pause.then(on_the_way)),
            learns: true,
            table: MacTable::new(device.mac_table),
            routes: (device.kind == Kind::Router).then(|| planned_routes(profile)),
            chance: Chance::new(device, seed, number as u64),
            policer: device.policer.map(Policer::new),
            engine: (device.pps_limit > 0).then(|| Engine {
                each: Picos(1_000_000_000_000_u64.div_ceil(device.pps_limit)),
                room: device.pps_queue,
                queue: Fifo::new(),
                current: NONE,
            }),
            groups,
            on_cable: Fifo::new(),
        });
    }
    boards
}

fn flooding(numbers: impl Iterator<Item = u16>, ports: &[Port]) -> Vec<u16> {
    numbers.filter(|port| ports[usize::from(*port)].floods).collect()
}

/// Octets that can still arrive at a port after the device decides to pause: those in flight on the
/// cable in both directions and during the latency. Added are the frame that delays the PAUSE
/// frame, and the one that the far end has just begun.
fn headroom(device: &Device, port: &Port, pace: Pace) -> u64 {
    let under_way = Picos(2 * port.delay.0 + Picos::from(device.latency).0);
    let bits = u128::from(under_way.0) * u128::from(pace.rate.0) / 1_000_000_000_000;
    let octets = bits as u64 / 8 + 2 * u64::from(device.max_frame) + 200;
    // The shortest frames (84 octets on the cable) waste the most of a cell.
    let waste = u64::from(device.buffer.cell).div_ceil(84).max(1);
    octets * waste
}

fn planned_routes(profile: &Profile) -> Routes {
    let planned: Vec<PortAddress> =
        (0..profile.edges()).map(|edge| PortAddress::planned(Edge(edge))).collect();
    Routes::new(&planned)
}
