//! One device and one cable as the model needs them: numbers without a place in a file.
//!
//! Owns the defaults and what a scale does to each number. Never checks: [`super::resolve`] did.

use std::collections::BTreeMap;

use measure::{ByteCount, Nanos, Rate};

/// A switch or router. Ports count from 0 here.
#[derive(Debug, Clone, PartialEq)]
pub struct Device {
    /// As the file has it.
    pub name: String,
    /// How many.
    pub ports: u16,
    /// Each port's rate, where no cable to another device has its own.
    pub rate: Rate,
    /// One way, of each host's cable.
    pub link_delay: Nanos,
    /// Hosts' cables that are not like the others, by their ports.
    pub cables: BTreeMap<u16, HostCable>,
    /// By what it forwards.
    pub kind: Kind,
    /// When it begins to forward.
    pub mode: Mode,
    /// From the last bit in (of cut-through: the first) to the first bit out, at rest.
    pub latency: Nanos,
    /// Every port is in exactly one.
    pub groups: Vec<Group>,
    /// Where frames wait.
    pub buffer: Buffer,
    /// What it remembers of stations.
    pub mac_table: MacTable,
    /// Packets a second that a software device forwards; 0 without a limit.
    pub pps_limit: u64,
    /// How many packets wait for a software device's turn.
    pub pps_queue: u32,
    /// What drops frames beyond a rate at once.
    pub policer: Option<Policer>,
    /// Whether a congested port makes those who send to it pause (802.3x).
    pub pause: bool,
    /// The longest frame it takes, in octets with FCS.
    pub max_frame: u32,
    /// The share of frames that are lost at random, 0…1.
    pub loss: f64,
    /// Times in which it forwards nothing.
    pub stalls: Option<Stalls>,
}

/// A host's cable that is not like the device's others.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HostCable {
    /// Its own rate; none: as the others.
    pub rate: Option<Rate>,
    /// Which way it loses every frame; none: neither.
    pub broken: Option<Broken>,
    /// How many frames it damages.
    pub damaged: Damaged,
}

/// The share of frames that a cable damages each way, 0…1: their FCS is wrong at its other end.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Damaged {
    /// Of what the host sends: the device drops them.
    pub inward: f64,
    /// Of what the device sends: the host does.
    pub outward: f64,
}

/// Which way a cable loses every frame, as the device sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// What the host sends never arrives.
    In,
    /// What the device sends never arrives.
    Out,
    /// Both.
    Both,
}

/// By what a device forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// MAC addresses that it learns.
    Switch,
    /// IPv4 addresses that it is told.
    Router,
}

/// When a device begins to forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Once the frame is there.
    StoreAndForward,
    /// Once its header is there; where it leaves faster than it comes, once the frame is there.
    CutThrough,
}

/// Ports on one chip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Which, from 0, ascending.
    pub ports: Vec<u16>,
    /// The chip's way to the backplane, each direction; none without a limit.
    pub uplink: Option<Rate>,
}

/// Where frames wait. A queue is a port's egress, or a group's way into or out of the backplane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Buffer {
    /// Of the whole device where it is shared; of each queue where it is not.
    pub size: ByteCount,
    /// What each queue of a shared buffer has for itself.
    pub reserved: ByteCount,
    /// A queue takes of the shared part up to alpha times what is free of it; none: not shared.
    pub alpha: Option<f64>,
    /// A frame takes whole cells of so many octets.
    pub cell: u32,
}

/// What a switch remembers of stations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MacTable {
    /// How many addresses.
    pub entries: u32,
    /// New addresses a second; 0 without a limit.
    pub learn_rate: u64,
    /// For how long after the last frame from it.
    pub age: Nanos,
}

/// A token bucket that frames pass or are dropped at: a policer, or storm control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policer {
    /// Frames a second.
    pub pps: u64,
    /// How many may come at once.
    pub burst: u32,
    /// Whether it counts broadcasts and groups alone.
    pub only_groups: bool,
}

/// Times in which a device forwards nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stalls {
    /// How many begin in a second of forwarding, on average; the times between are exponential.
    pub per_second: f64,
    /// How long each one is.
    pub length: Nanos,
}

/// One of a network's ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortAt {
    /// Which device, from 0.
    pub device: u16,
    /// Which of its ports, from 0.
    pub port: u16,
}

/// A cable between two devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// One end.
    pub a: PortAt,
    /// The other.
    pub b: PortAt,
    /// Each way.
    pub rate: Rate,
    /// How long a bit is under way.
    pub delay: Nanos,
}

/// What a device has that does not say.
pub(super) const MAC_ENTRIES: u32 = 8192;
/// IEEE 802.1Q table 8-6: the recommended ageing time.
pub(super) const MAC_AGE: Nanos = Nanos::from_secs(300);
/// The longest frame that most switches and network interfaces with jumbo frames take.
pub(super) const MAX_FRAME: u32 = 9216;
/// The receive ring of a network interface under Linux, as drivers commonly default it.
pub(super) const PPS_QUEUE: u32 = 256;

impl Device {
    /// One that stores and forwards without a latency of its own, with a queue of 1 MiB at each
    /// port.
    pub fn plain(name: &str, ports: u16, rate: Rate) -> Self {
        Self {
            name: name.to_owned(),
            ports,
            rate,
            link_delay: Nanos::ZERO,
            cables: BTreeMap::new(),
            kind: Kind::Switch,
            mode: Mode::StoreAndForward,
            latency: Nanos::ZERO,
            groups: vec![Group { ports: (0..ports).collect(), uplink: None }],
            buffer: Buffer {
                size: ByteCount(1 << 20),
                reserved: ByteCount(0),
                alpha: None,
                cell: 1,
            },
            mac_table: MacTable { entries: MAC_ENTRIES, learn_rate: 0, age: MAC_AGE },
            pps_limit: 0,
            pps_queue: PPS_QUEUE,
            policer: None,
            pause: false,
            max_frame: MAX_FRAME,
            loss: 0.0,
            stalls: None,
        }
    }

    /// The rate of a host's cable at a port.
    pub fn port_rate(&self, port: u16) -> Rate {
        self.cables.get(&port).and_then(|cable| cable.rate).unwrap_or(self.rate)
    }

    /// Which way a port's cable loses every frame: what comes in, what goes out.
    pub(crate) fn broken(&self, port: u16) -> [bool; 2] {
        match self.cables.get(&port).and_then(|cable| cable.broken) {
            None => [false, false],
            Some(Broken::In) => [true, false],
            Some(Broken::Out) => [false, true],
            Some(Broken::Both) => [true, true],
        }
    }

    /// The share of frames that a port's cable damages: of what comes in, of what goes out. None
    /// where it damages nothing.
    pub(crate) fn damaged(&self, port: u16) -> Option<[f64; 2]> {
        let Damaged { inward, outward } = self.cables.get(&port)?.damaged;
        (inward > 0.0 || outward > 0.0).then_some([inward, outward])
    }

    /// How many queues take of the buffer: each port's, and two for each group with an uplink.
    pub fn queues(&self) -> u64 {
        let uplinks = self.groups.iter().filter(|group| group.uplink.is_some()).count();
        u64::from(self.ports) + 2 * uplinks as u64
    }

    pub(super) fn scale(&mut self, by: f64) {
        self.rate = scaled_rate(self.rate, by);
        for cable in self.cables.values_mut() {
            cable.rate = cable.rate.map(|rate| scaled_rate(rate, by));
        }
        for group in &mut self.groups {
            group.uplink = group.uplink.map(|rate| scaled_rate(rate, by));
        }
        self.pps_limit = scaled_count(self.pps_limit, by);
        if let Some(policer) = &mut self.policer {
            policer.pps = scaled_count(policer.pps, by);
        }
        self.mac_table.learn_rate = scaled_count(self.mac_table.learn_rate, by);
        let reserved = (self.buffer.reserved.0 as f64 * by).round() as u64;
        let smallest = 2 * u64::from(self.max_frame.next_multiple_of(self.buffer.cell.max(1)));
        let size = (self.buffer.size.0 as f64 * by).round() as u64;
        self.buffer.reserved = ByteCount(reserved);
        self.resize_buffer(ByteCount(size.max(smallest)));
    }

    pub(super) fn resize_buffer(&mut self, size: ByteCount) {
        self.buffer.size = size;
        if self.buffer.alpha.is_some() {
            let most = size.0 / self.queues();
            self.buffer.reserved = ByteCount(self.buffer.reserved.0.min(most));
        }
    }
}

pub(super) fn scaled_rate(rate: Rate, by: f64) -> Rate {
    Rate(scaled_count(rate.0, by))
}

/// Nothing stays nothing, and something stays something.
fn scaled_count(count: u64, by: f64) -> u64 {
    if count == 0 { 0 } else { ((count as f64 * by).round() as u64).max(1) }
}
