//! What a network is made of besides its queues: ports, devices, and where each waits in the
//! schedule.
//!
//! Data only.

use measure::Picos;

use super::buffer::Buffer;
use super::chance::{Chance, Damage};
use super::mac_table::MacTable;
use super::packets::{Fifo, Handle};
use super::router::Routes;
use crate::{Mac, profile};

/// Where each kind of thing waits in the schedule. What happens at one moment happens in this
/// order, so a frame that leaves makes room for one that comes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    /// One for each device; before them the queues.
    pub engines: usize,
    /// The cables to hosts: one for each device.
    pub cables: usize,
    /// PAUSE frames under way.
    pub signals: usize,
    /// One for each port, to the end.
    pub ingress: usize,
}

/// A port, as it takes frames in. Its egress is the server of the same number.
#[derive(Debug)]
pub(super) struct Port {
    pub device: u16,
    pub group: u16,
    /// The edge that it is, or [`super::packets::NOWHERE`].
    pub edge: u16,
    /// The port at the other end of a cable to another device, or [`super::packets::NOWHERE`].
    pub peer: u16,
    /// Of its cable.
    pub delay: Picos,
    /// Frames on their way in, until the device decides on them.
    pub ingress: Fifo,
    /// How many frames came: what ties are drawn from.
    pub turn: u64,
    /// How many of the device's queues made the port's peer pause.
    pub stops: u16,
    /// When the host at it was told to stop; none while it may send.
    pub held_since: Option<Picos>,
    /// Whether flooded frames leave by it.
    pub floods: bool,
    /// Its cable loses what comes in, and what goes out.
    pub broken: [bool; 2],
    /// Its cable damages some of what comes in, and of what goes out; none where it damages
    /// nothing.
    pub damage: Option<Box<[Damage; 2]>>,
    /// Its link was taken down.
    pub down: bool,
    /// What leaves by it was told to be lost.
    pub blackhole: bool,
}

/// One device.
#[derive(Debug)]
pub(super) struct Switchboard {
    pub cut_through: bool,
    pub latency: Picos,
    pub max_frame: u32,
    pub pause: bool,
    pub buffer: Buffer,
    /// Not where other devices always decide for it: between the others, in a network with loops.
    pub learns: bool,
    pub table: MacTable,
    /// Of a router.
    pub routes: Option<Routes>,
    pub chance: Chance,
    pub policer: Option<Policer>,
    pub engine: Option<Engine>,
    pub groups: Vec<PortGroup>,
    /// Frames whose last bit is on its way to a host, the first to arrive first: all the cables of
    /// a device are equally long.
    pub on_cable: Fifo,
}

/// Ports on one chip.
#[derive(Debug)]
pub(super) struct PortGroup {
    /// Those of its ports that flooded frames leave by, numbered through the whole network.
    pub flooding: Vec<u16>,
    /// The server into the backplane; the one out of it follows. None without a limit.
    pub uplink: Option<usize>,
}

/// A token bucket that frames pass or are dropped at.
#[derive(Debug)]
pub(super) struct Policer {
    /// Time in which a token comes.
    each: Picos,
    /// Time in which all of them do.
    whole: Picos,
    only_groups: bool,
    /// When the bucket is full again.
    full_at: Picos,
}

impl Policer {
    pub(super) fn new(sheet: profile::Policer) -> Self {
        let each = Picos(1_000_000_000_000_u64.div_ceil(sheet.pps));
        let whole = Picos(each.0.saturating_mul(u64::from(sheet.burst)));
        Self { each, whole, only_groups: sheet.only_groups, full_at: Picos::ZERO }
    }

    /// Takes a token for a frame, where there is one.
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

    /// All tokens are there.
    pub(super) fn fill(&mut self) {
        self.full_at = Picos::ZERO;
    }
}

/// A software device's processor: one packet at a time.
#[derive(Debug)]
pub(super) struct Engine {
    pub each: Picos,
    pub room: u32,
    pub queue: Fifo,
    pub current: Handle,
}
