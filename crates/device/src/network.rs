//! Devices and the cables among them, as one thing with edges where hosts are.
//!
//! Owns the order of what happens inside. A driver hands frames in at an edge and lets time pass;
//! it gets back what left, in the order of time. A single switch is a network of one device. Never
//! looks ahead of the time that it was told.
//!
//! On a cable a frame is its preamble (8 octets), its octets, and a gap (12): it begins with the
//! preamble, and its last bit is there L + 8 octets later.

mod buffer;
mod build;
pub mod chance;
mod forward;
mod mac_table;
mod pace;
mod packets;
mod parts;
mod paths;
mod pause;
mod ports;
mod queue;
mod reset;
mod router;
mod schedule;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::Sum;

use measure::Picos;

use crate::{Cause, Event, Frame, PortAddress, Profile};
use packets::{Handle, Packet, Packets};
use parts::{Places, Port, Switchboard};
use paths::Paths;
use pause::Signal;
use queue::Server;
use schedule::Schedule;

/// A place where a host's cable ends, from 0: the edges are numbered as the profile's ports are,
/// port 1 first; in a network of several devices, those ports that no cable between devices takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge(pub u16);

/// What a network has counted since it began. Over all edges `entered + copies = delivered +
/// dropped + standing`, at every instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortCounts {
    /// Frames that entered at the edge.
    pub entered: u64,
    /// Frames that left by it.
    pub delivered: u64,
    /// Copies made of frames that entered here, beyond the first.
    pub copies: u64,
    /// Frames that entered here and were dropped, copies among them, but for those that were to
    /// leave by an edge, or were on its cable: they are counted there.
    pub dropped: u64,
    /// Of these, frames that were to leave by it: no room in its queue, no link, a black hole.
    pub dropped_out: u64,
    /// Of these, frames that its cable, being broken, lost on their way in.
    pub broken_in: u64,
    /// Of these, frames that its cable, being broken, lost on their way out.
    pub broken_out: u64,
    /// Of these, frames of its host that came with a wrong FCS.
    pub damaged_in: u64,
    /// Of these, frames that left by it, and reached its host with a wrong FCS.
    pub damaged_out: u64,
    /// PAUSE frames that told its host to stop; those that let it go on are not among them.
    pub pauses: u64,
    /// For how long its host had to wait by them.
    pub paused: Picos,
}

impl PortCounts {
    /// Frames that were dropped where they had come in.
    pub const fn discarded(&self) -> u64 {
        self.dropped - self.dropped_out - self.lost_in() - self.lost_out()
    }

    /// Frames that its host sent and the device did not receive.
    pub const fn lost_in(&self) -> u64 {
        self.broken_in + self.damaged_in
    }

    /// Frames that left by it and its host did not receive.
    pub const fn lost_out(&self) -> u64 {
        self.broken_out + self.damaged_out
    }

    /// What was counted since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.with(earlier, |later, earlier| later - earlier)
    }

    /// Each count with the same one of another.
    fn with(&self, other: &Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            entered: of(self.entered, other.entered),
            delivered: of(self.delivered, other.delivered),
            copies: of(self.copies, other.copies),
            dropped: of(self.dropped, other.dropped),
            dropped_out: of(self.dropped_out, other.dropped_out),
            broken_in: of(self.broken_in, other.broken_in),
            broken_out: of(self.broken_out, other.broken_out),
            damaged_in: of(self.damaged_in, other.damaged_in),
            damaged_out: of(self.damaged_out, other.damaged_out),
            pauses: of(self.pauses, other.pauses),
            paused: Picos(of(self.paused.0, other.paused.0)),
        }
    }
}

/// Of several edges together.
impl Sum for PortCounts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |sum, one| sum.with(&one, |sum, one| sum + one))
    }
}

/// What is inside at the moment, on the edges' cables too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    /// Frames, copies among them.
    pub frames: u64,
    /// The octets of buffer they take, whole cells counted.
    pub octets: u64,
}

/// The model, turned by a driver.
#[derive(Debug)]
pub struct Network {
    now: Picos,
    seed: u64,
    schedule: Schedule,
    places: Places,
    packets: Packets,
    /// The egress queues of the ports, in their order; then two of each uplink.
    servers: Vec<Server>,
    ports: Vec<Port>,
    devices: Vec<Switchboard>,
    paths: Paths,
    /// The port of each edge.
    edges: Vec<u16>,
    counts: Vec<PortCounts>,
    signals: BinaryHeap<Reverse<Signal>>,
    signalled: u64,
}

impl Network {
    /// Everything idle and nothing learned; `seed` is of the profile's stalls and losses, and of
    /// who comes first when frames arrive at one moment.
    pub fn new(profile: &Profile, seed: u64) -> Self {
        build::network(profile, seed)
    }

    /// How many edges there are.
    pub fn edges(&self) -> u16 {
        self.edges.len() as u16
    }

    /// Addresses and routes of a router's ports, one for each edge, instead of the plan's
    /// ([`Profile::port_address`]). Changes nothing where switches are.
    pub fn set_addresses(&mut self, ports: &[PortAddress]) {
        for device in &mut self.devices {
            if let Some(routes) = &mut device.routes {
                *routes = router::Routes::new(ports);
            }
        }
    }

    /// A host puts a frame on its cable: it begins to leave the host at `now`, and its last bit
    /// does when the cable's rate allows. `now` never goes back, and the host begins the next frame
    /// (of this edge) no earlier than L + 20 octets later, and not while it is told to pause: both
    /// are the host's to keep.
    #[inline]
    pub fn submit(&mut self, now: Picos, edge: Edge, frame: Frame) {
        debug_assert!(now >= self.now, "a frame from the past");
        let port = self.edges[usize::from(edge.0)];
        self.counts[usize::from(edge.0)].entered += 1;
        let rate = self.servers[usize::from(port)].pace.rate;
        let handle = self.packets.add(Packet::entering(frame, edge.0, port, rate));
        self.put_on_cable(handle, port, now);
    }

    /// When something next happens inside; nothing does before.
    #[inline]
    pub fn next(&self) -> Option<Picos> {
        self.schedule.first().map(|(at, _)| at)
    }

    /// Lets time pass up to and with `to`, and hands over what came of it, in the order of time.
    #[inline]
    pub fn advance(&mut self, to: Picos, out: &mut impl FnMut(Event)) {
        while let Some((at, place)) = self.schedule.first() {
            if at > to {
                break;
            }
            self.now = at;
            self.happen(place, out);
        }
        self.now = self.now.max(to);
    }

    /// What passed an edge since the network began.
    pub fn counts(&self, edge: Edge) -> PortCounts {
        let place = usize::from(edge.0);
        let mut counts = self.counts[place];
        if let Some(since) = self.ports[usize::from(self.edges[place])].held_since {
            counts.paused += self.now - since;
        }
        counts
    }

    /// What is inside now.
    pub fn standing(&self) -> Standing {
        Standing {
            frames: self.packets.standing(),
            octets: self.devices.iter().map(|device| device.buffer.taken()).sum(),
        }
    }

    /// Forgets what was learned and queued, as a reset does; frames inside are dropped, and paused
    /// hosts go on.
    pub fn reset(&mut self, now: Picos, out: &mut impl FnMut(Event)) {
        self.advance(now, out);
        self.drop_everything(out);
    }

    fn happen(&mut self, place: usize, out: &mut impl FnMut(Event)) {
        let places = self.places;
        if place < places.engines {
            self.finish_sending(place, out);
        } else if place < places.cables {
            self.finish_processing(place - places.engines, out);
        } else if place < places.signals {
            self.deliver_first(place - places.cables, out);
        } else if place < places.ingress {
            self.signal(out);
        } else {
            self.arrive(place - places.ingress, out);
        }
    }

    fn drop(&mut self, handle: Handle, cause: Cause, out: &mut impl FnMut(Event)) {
        self.drop_at(self.packets[handle].entry, handle, cause, out);
    }

    /// One that was to leave by a port; where no host is at it, it counts where it came in.
    fn drop_out(
        &mut self,
        place: usize,
        handle: Handle,
        cause: Cause,
        out: &mut impl FnMut(Event),
    ) {
        let edge = self.ports.get(place).map_or(packets::NOWHERE, |port| port.edge);
        if edge == packets::NOWHERE {
            self.drop(handle, cause, out);
        } else {
            self.counts[usize::from(edge)].dropped_out += 1;
            self.drop_at(edge, handle, cause, out);
        }
    }

    /// A frame is gone, and is counted at an edge.
    fn drop_at(&mut self, edge: u16, handle: Handle, cause: Cause, out: &mut impl FnMut(Event)) {
        self.counts[usize::from(edge)].dropped += 1;
        out(Event::Dropped { at: self.now, frame: self.packets[handle].frame, cause });
        self.packets.remove(handle);
    }
}
