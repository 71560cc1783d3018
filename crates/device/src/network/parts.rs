//! Parts of a network besides its queues: ports, devices, and their places in the schedule.
//!
//! Data only.

use measure::Picos;

use super::buffer::Buffer;
use super::chance::{Chance, Damage};
use super::mac_table::MacTable;
use super::packets::{Fifo, Handle};
use super::router::Routes;
use crate::{Mac, profile};

/// Places of each kind of part in the schedule. Simultaneous events run in this order, so that a
/// leaving frame makes room for an arriving one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    /// Engines, one for each device; the queues come before them.
    pub engines: usize,
    /// Cables to hosts, one for each device.
    pub cables: usize,
    /// PAUSE frames in flight.
    pub signals: usize,
    /// Ingress queues, one for each port, up to the end.
    pub ingress: usize,
}

/// Ingress side of a port. Its egress is the server of the same number.
#[derive(Debug)]
pub(super) struct Port {
    pub device: u16,
    pub group: u16,
    /// Edge of the port, or [`super::packets::NOWHERE`].
    pub edge: u16,
    /// Port at the other end of a cable to another device, or [`super::packets::NOWHERE`].
    pub peer: u16,
    /// Delay of its cable.
    pub delay: Picos,
    /// Arriving frames, until the device decides on them.
    pub ingress: Fifo,
    /// Number of frames that arrived, from which ties are drawn.
    pub turn: u64,
    /// Number of the device's queues that pause the port's peer.
    pub stops: u16,
    /// Time at which its host was paused; `None` while it may send.
    pub held_since: Option<Picos>,
    /// True if flooded frames leave by it.
    pub floods: bool,
    /// True if its cable loses all frames: incoming, outgoing.
    pub broken: [bool; 2],
    /// Damage by its cable to incoming and to outgoing frames; `None` without damage.
    pub damage: Option<Box<[Damage; 2]>>,
    /// True if its link was taken down.
    pub down: bool,
    /// True if all frames that leave by it are lost (black hole).
    pub blackhole: bool,
}

/// State of one device.
#[derive(Debug)]
pub(super) struct Switchboard {
    pub cut_through: bool,
    pub latency: Picos,
    pub max_frame: u32,
    pub pause: bool,
    pub buffer: Buffer,
    /// True if it learns addresses. False for a device between others in a network with loops:
    /// others always decide for it.
    pub learns: bool,
    pub table: MacTable,
    /// Routes of a router; `None` for a switch.
    pub routes: Option<Routes>,
    pub chance: Chance,
    pub policer: Option<Policer>,
    pub engine: Option<Engine>,
    pub groups: Vec<PortGroup>,
    /// Frames whose last bit is on its way to a host, the first to arrive first: all cables of a
    /// device have the same length.
    pub on_cable: Fifo,
}

/// Ports on one chip.
#[derive(Debug)]
pub(super) struct PortGroup {
    /// Ports of the group by which flooded frames leave, numbered through the whole network.
    pub flooding: Vec<u16>,
    /// Server into the backplane; the one out of it follows. `None` without a limit.
    pub uplink: Option<usize>,
}

/// Token bucket: frames without a token are dropped.
#[derive(Debug)]
pub(super) struct Policer {
    /// Time per token.
    each: Picos,
    /// Time to fill the bucket.
    whole: Picos,
    only_groups: bool,
    /// Time at which the bucket is full again.
    full_at: Picos,
}

impl Policer {
    pub(super) fn new(sheet: profile::Policer) -> Self {
        let each = Picos(1_000_000_000_000_u64.div_ceil(sheet.pps));
        let whole = Picos(each.0.saturating_mul(u64::from(sheet.burst)));
        Self { each, whole, only_groups: sheet.only_groups, full_at: Picos::ZERO }
    }

    /// Takes a token for a frame; true if there is none and the frame is refused.
    #[inline]
    pub(super) fn refuses(&mut self, now: Picos, destination: Mac) -> bool {
        if self.only_groups && !destination.is_group() {
            return false;
        }
        let full_at = self.full_at.max(now) + self.each;
        if full_at > now + self.whole {
            return true;
        }
        self.full_at = full_at;
        false
    }

    /// Fills the bucket.
    pub(super) fn fill(&mut self) {
        self.full_at = Picos::ZERO;
    }
}

/// Processor of a software device: one packet at a time.
#[derive(Debug)]
pub(super) struct Engine {
    pub each: Picos,
    pub room: u32,
    pub queue: Fifo,
    pub current: Handle,
}
