//! Paths of frames among several devices.
//!
//! Owns the shortest paths and the tree for flooding; both are computed once. If several ports lead
//! to a device by equally few cables, a hash over the frame's two addresses chooses, so that frames
//! of one flow stay in order. Never learns.

use std::collections::{BTreeSet, VecDeque};

use crate::Mac;

/// End of a cable between devices: the device, its port (numbered through the network), and the
/// device at the other end.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    pub device: usize,
    pub port: u16,
    pub far: usize,
    pub far_port: u16,
}

/// Paths of one network.
#[derive(Debug)]
pub(super) struct Paths {
    devices: usize,
    /// Start of each pair of devices in `ports`; one more at the end.
    offsets: Vec<u32>,
    ports: Vec<u16>,
    /// True if there is more than one path between two devices.
    pub loops: bool,
    /// Ports with a cable that the flooding tree excludes, or that lead to no host in it.
    pub shut: Vec<u16>,
}

impl Paths {
    /// Computes the paths. `with_hosts` states for each device whether it has edges; `ends`
    /// contains each cable twice, once from either side.
    pub(super) fn new(with_hosts: &[bool], ends: &[End]) -> Self {
        let devices = with_hosts.len();
        let mut near: Vec<Vec<End>> = vec![Vec::new(); devices];
        for end in ends {
            near[end.device].push(*end);
        }
        let distances: Vec<Vec<u32>> = (0..devices).map(|to| distances(&near, to)).collect();
        let mut offsets = vec![0];
        let mut ports = Vec::new();
        for (from, ends) in near.iter().enumerate() {
            for (to, away) in distances.iter().enumerate() {
                if from != to {
                    let closer = ends.iter().filter(|end| away[end.far] + 1 == away[from]);
                    ports.extend(closer.map(|end| end.port));
                }
                offsets.push(ports.len() as u32);
            }
        }
        let tree = flooding_tree(&near, with_hosts);
        let shut = ends.iter().map(|end| end.port).filter(|port| !tree.contains(port)).collect();
        // A tree has one cable less than devices; each is listed twice.
        let loops = ends.len() > 2 * devices.saturating_sub(1);
        Self { devices, offsets, ports, loops, shut }
    }

    /// Port of device `from` by which a frame of this flow goes towards device `to`.
    #[inline]
    pub(super) fn port(&self, from: usize, to: usize, flow: (Mac, Mac)) -> u16 {
        let pair = from * self.devices + to;
        let choice = &self.ports[self.offsets[pair] as usize..self.offsets[pair + 1] as usize];
        if let [only] = choice {
            return *only;
        }
        let scaled = u64::from(hash(from, flow.0, flow.1)) * choice.len() as u64;
        choice[(scaled >> 32) as usize]
    }
}

/// Hashes the flow with the device's number: otherwise all devices would choose alike, and leave
/// paths unused.
fn hash(device: usize, source: Mac, destination: Mac) -> u32 {
    let mut z = source.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ destination.0;
    z = (z ^ (device as u64) << 48).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 29).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z >> 32) as u32
}

fn distances(near: &[Vec<End>], from: usize) -> Vec<u32> {
    let mut away = vec![u32::MAX / 2; near.len()];
    away[from] = 0;
    let mut next = VecDeque::from([from]);
    while let Some(device) = next.pop_front() {
        for end in &near[device] {
            if away[end.far] > away[device] + 1 {
                away[end.far] = away[device] + 1;
                next.push_back(end.far);
            }
        }
    }
    away
}

/// Ports of the flooding tree's cables, from the first device on, without branches that end at no
/// host.
fn flooding_tree(near: &[Vec<End>], with_hosts: &[bool]) -> BTreeSet<u16> {
    let mut reached_by: Vec<Option<End>> = vec![None; near.len()];
    let mut order = VecDeque::from([0]);
    let mut next = 0;
    while next < order.len() {
        let device = order[next];
        for end in &near[device] {
            if end.far != 0 && reached_by[end.far].is_none() {
                reached_by[end.far] = Some(*end);
                order.push_back(end.far);
            }
        }
        next += 1;
    }
    let mut tree = BTreeSet::new();
    let mut leads_to_hosts = with_hosts.to_vec();
    for device in order.into_iter().rev() {
        if let Some(end) = reached_by[device].filter(|_| leads_to_hosts[device]) {
            tree.extend([end.port, end.far_port]);
            leads_to_hosts[end.device] = true;
        }
    }
    tree
}
