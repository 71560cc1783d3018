//! Model data of one device and one cable: numbers without a location in a file.
//!
//! Owns the defaults and the effect of a scale on each number. Never checks: [`super::resolve`]
//! did.

use std::collections::BTreeMap;

use measure::{ByteCount, Nanos, Rate};

/// Switch or router. Ports count from 0 here.
#[derive(Debug, Clone, PartialEq)]
pub struct Device {
    /// Name as in the file.
    pub name: String,
    /// Number of ports.
    pub ports: u16,
    /// Rate of each port, unless a cable to another device has its own.
    pub rate: Rate,
    /// One-way delay of each host's cable.
    pub link_delay: Nanos,
    /// Cables of hosts that differ from the others, by their ports.
    pub cables: BTreeMap<u16, HostCable>,
    /// Kind of forwarding.
    pub kind: Kind,
    /// Start of forwarding: store-and-forward or cut-through.
    pub mode: Mode,
    /// Latency from the last bit in (cut-through: the first) to the first bit out, at rest.
    pub latency: Nanos,
    /// Port groups; every port is in exactly one.
    pub groups: Vec<Group>,
    /// Buffer for waiting frames.
    pub buffer: Buffer,
    /// MAC table.
    pub mac_table: MacTable,
    /// Packet limit of a software device, per second; 0 without a limit.
    pub pps_limit: u64,
    /// Queue length of a software device, in packets.
    pub pps_queue: u32,
    /// Policer that drops frames beyond a rate at once; `None` without one.
    pub policer: Option<Policer>,
    /// Limits of a device that keeps a table of sessions, as a firewall does; `None` for one
    /// that keeps none.
    pub sessions: Option<SessionLimits>,
    /// True if a congested port pauses its senders (802.3x).
    pub pause: bool,
    /// Maximum frame length, in octets with FCS.
    pub max_frame: u32,
    /// Share of frames that are lost at random, 0…1.
    pub loss: f64,
    /// Times in which it forwards nothing; `None` without stalls.
    pub stalls: Option<Stalls>,
}

/// Cable of a host that differs from the device's others.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HostCable {
    /// Rate of the cable; `None` for the device's.
    pub rate: Option<Rate>,
    /// Rate at which the device sends to the host, below the cable's; `None` for the cable's.
    pub shaped: Option<Rate>,
    /// Direction in which it loses every frame; `None` if intact.
    pub broken: Option<Broken>,
    /// Share of frames that it damages.
    pub damaged: Damaged,
}

/// Share of frames that a cable damages in each direction, 0…1: their FCS is wrong at its other
/// end.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Damaged {
    /// Share of the host's frames: the device drops them.
    pub inward: f64,
    /// Share of the device's frames: the host drops them.
    pub outward: f64,
}

/// Direction in which a cable loses every frame, as the device sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// Frames from the host never arrive.
    In,
    /// Frames from the device never arrive.
    Out,
    /// No frame arrives in either direction.
    Both,
}

/// Kind of addresses by which a device forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Learned MAC addresses.
    Switch,
    /// Configured IPv4 addresses.
    Router,
}

/// Time at which a device begins to forward a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Once the frame has arrived.
    StoreAndForward,
    /// Once its header has arrived; if the egress is faster than the ingress, once the frame has
    /// arrived.
    CutThrough,
}

/// Ports on one chip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Port numbers, from 0, ascending.
    pub ports: Vec<u16>,
    /// Rate of the chip's uplink to the backplane, in each direction; `None` without a limit.
    pub uplink: Option<Rate>,
}

/// Buffer for waiting frames. A queue is a port's egress, or a group's uplink into or out of the
/// backplane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Buffer {
    /// Size of the device's shared buffer, or of each queue if not shared.
    pub size: ByteCount,
    /// Reserve of each queue of a shared buffer.
    pub reserved: ByteCount,
    /// Factor of the dynamic threshold: a queue takes up to alpha times the free part of the shared
    /// buffer; `None` if not shared.
    pub alpha: Option<f64>,
    /// Cell size in octets: a frame takes whole cells.
    pub cell: u32,
}

/// MAC table of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MacTable {
    /// Capacity in addresses.
    pub entries: u32,
    /// Learning rate, in new addresses per second; 0 without a limit.
    pub learn_rate: u64,
    /// Ageing time after the last frame from an address.
    pub age: Nanos,
}

/// Limits of a device's table of sessions: a SYN beyond them is dropped. Only the simulator's
/// connections meet them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// Capacity of the table; 0 without a limit.
    pub table: u64,
    /// New sessions per second; 0 without a limit.
    pub per_second: u64,
    /// Burst of that limit's token bucket.
    pub burst: u32,
    /// Silence after which a session is forgotten; 0 if none is.
    pub idle: Nanos,
}

/// Token bucket of a policer or storm control: frames without a token are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policer {
    /// Rate limit, in frames per second.
    pub pps: u64,
    /// Burst size, in frames.
    pub burst: u32,
    /// True if it counts only broadcasts and groups.
    pub only_groups: bool,
}

/// Times in which a device forwards nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stalls {
    /// Average number of stalls per second of forwarding; the times between are exponential.
    pub per_second: f64,
    /// Duration of each stall.
    pub length: Nanos,
}

/// Port of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortAt {
    /// Device number, from 0.
    pub device: u16,
    /// Port number, from 0.
    pub port: u16,
}

/// Cable between two devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// First end.
    pub a: PortAt,
    /// Second end.
    pub b: PortAt,
    /// Rate in each direction.
    pub rate: Rate,
    /// One-way delay.
    pub delay: Nanos,
}

/// Default capacity of a MAC table.
pub(super) const MAC_ENTRIES: u32 = 8192;
/// Recommended ageing time of IEEE 802.1Q table 8-6.
pub(super) const MAC_AGE: Nanos = Nanos::from_secs(300);
/// Longest frame that most switches and network interfaces with jumbo frames accept.
pub(super) const MAX_FRAME: u32 = 9216;
/// Receive ring of a network interface under Linux, a common default of drivers.
pub(super) const PPS_QUEUE: u32 = 256;

impl Device {
    /// Creates a device that stores and forwards without a latency of its own, with a queue of 1
    /// MiB at each port.
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
            sessions: None,
            pause: false,
            max_frame: MAX_FRAME,
            loss: 0.0,
            stalls: None,
        }
    }

    /// Rate of a host's cable at a port.
    pub fn port_rate(&self, port: u16) -> Rate {
        self.cables.get(&port).and_then(|cable| cable.rate).unwrap_or(self.rate)
    }

    /// Rate at which a port sends: that of its cable, or of its shaper if that is lower.
    pub(crate) fn egress_rate(&self, port: u16) -> Rate {
        let rate = self.port_rate(port);
        self.cables.get(&port).and_then(|cable| cable.shaped).map_or(rate, |own| own.min(rate))
    }

    /// True if a port's cable loses every frame: incoming, outgoing.
    pub(crate) fn broken(&self, port: u16) -> [bool; 2] {
        match self.cables.get(&port).and_then(|cable| cable.broken) {
            None => [false, false],
            Some(Broken::In) => [true, false],
            Some(Broken::Out) => [false, true],
            Some(Broken::Both) => [true, true],
        }
    }

    /// Share of frames that a port's cable damages: incoming, outgoing. `None` without damage.
    pub(crate) fn damaged(&self, port: u16) -> Option<[f64; 2]> {
        let Damaged { inward, outward } = self.cables.get(&port)?.damaged;
        (inward > 0.0 || outward > 0.0).then_some([inward, outward])
    }

    /// Number of queues that share the buffer: each port's, and two for each group with an uplink.
    pub fn queues(&self) -> u64 {
        let uplinks = self.groups.iter().filter(|group| group.uplink.is_some()).count();
        u64::from(self.ports) + 2 * uplinks as u64
    }

    pub(super) fn scale(&mut self, by: f64) {
        self.rate = scaled_rate(self.rate, by);
        for cable in self.cables.values_mut() {
            cable.rate = cable.rate.map(|rate| scaled_rate(rate, by));
            cable.shaped = cable.shaped.map(|rate| scaled_rate(rate, by));
        }
        for group in &mut self.groups {
            group.uplink = group.uplink.map(|rate| scaled_rate(rate, by));
        }
        self.pps_limit = scaled_count(self.pps_limit, by);
        if let Some(policer) = &mut self.policer {
            policer.pps = scaled_count(policer.pps, by);
        }
        if let Some(sessions) = &mut self.sessions {
            sessions.per_second = scaled_count(sessions.per_second, by);
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

/// Scales a count; zero stays zero, and any other stays at least 1.
fn scaled_count(count: u64, by: f64) -> u64 {
    if count == 0 { 0 } else { ((count as f64 * by).round() as u64).max(1) }
}
