//! Devices and the cables among them, as one object with edges for hosts.
//!
//! Owns the order of events inside. A driver submits frames at an edge and lets time pass; it
//! receives the resulting events, in the order of time. A single switch is a network of one device.
//! Never looks beyond the time that it was given.
//!
//! On a cable a frame consists of its preamble (8 octets), its octets, and a gap (12). It begins
//! with the preamble, and its last bit arrives L + 8 octets later.

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

/// End of a host's cable, numbered from 0. Edges follow the profile's ports, port 1 first; in a
/// network of several devices, those ports without a cable between devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge(pub u16);

/// Counts of a network since it began. Over all edges `entered + copies = delivered + dropped +
/// standing`, at every instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortCounts {
    /// Frames that entered at the edge.
    pub entered: u64,
    /// Frames that left by the edge.
    pub delivered: u64,
    /// Copies made of frames that entered here, beyond the first.
    pub copies: u64,
    /// Dropped frames and copies that entered here. Those dropped at an egress edge, or on its
    /// cable, are counted there instead.
    pub dropped: u64,
    /// Part of the dropped frames that should have left by this edge: no room in its queue, no
    /// link, a black hole.
    pub dropped_out: u64,
    /// Part of the dropped frames that its broken cable lost on their way in.
    pub broken_in: u64,
    /// Part of the dropped frames that its broken cable lost on their way out.
    pub broken_out: u64,
    /// Part of the dropped frames that arrived from its host with a wrong FCS.
    pub damaged_in: u64,
    /// Part of the dropped frames that left by it and reached its host with a wrong FCS.
    pub damaged_out: u64,
    /// PAUSE frames that stopped its host, without those that let it continue.
    pub pauses: u64,
    /// Total time for which they stopped its host.
    pub paused: Picos,
}

impl PortCounts {
    /// Frames that were dropped at their ingress edge.
    pub const fn discarded(&self) -> u64 {
        self.dropped - self.dropped_out - self.lost_in() - self.lost_out()
    }

    /// Frames that its host sent and the device did not receive.
    pub const fn lost_in(&self) -> u64 {
        self.broken_in + self.damaged_in
    }

    /// Frames that left by the edge and its host did not receive.
    pub const fn lost_out(&self) -> u64 {
        self.broken_out + self.damaged_out
    }

    /// Returns the counts since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.with(earlier, |later, earlier| later - earlier)
    }

    /// Combines each count with the same count of another.
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

/// Sums the counts of several edges.
impl Sum for PortCounts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |sum, one| sum.with(&one, |sum, one| sum + one))
    }
}

/// Frames currently inside, including the edges' cables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    /// Number of frames, copies included.
    pub frames: u64,
    /// Octets of buffer that they take, in whole cells.
    pub octets: u64,
}

/// Model of a network, advanced by a driver.
#[derive(Debug)]
pub struct Network {
    now: Picos,
    seed: u64,
    schedule: Schedule,
    places: Places,
    packets: Packets,
    /// Egress queues of the ports, in their order; then two of each uplink.
    servers: Vec<Server>,
    ports: Vec<Port>,
    devices: Vec<Switchboard>,
    paths: Paths,
    /// Port of each edge.
    edges: Vec<u16>,
    counts: Vec<PortCounts>,
    signals: BinaryHeap<Reverse<Signal>>,
    signalled: u64,
}

impl Network {
    /// Creates an idle network that has learned nothing. `seed` drives the profile's stalls and
    /// losses, and the order of frames that arrive at the same time.
    pub fn new(profile: &Profile, seed: u64) -> Self {
        build::network(profile, seed)
    }

    /// Number of edges.
    pub fn edges(&self) -> u16 {
        self.edges.len() as u16
    }

    /// Sets the addresses and routes of a router's ports, one for each edge, instead of the plan's
    /// ([`Profile::port_address`]). Has no effect on switches.
    pub fn set_addresses(&mut self, ports: &[PortAddress]) {
        for device in &mut self.devices {
            if let Some(routes) = &mut device.routes {
                *routes = router::Routes::new(ports);
            }
        }
    }

    /// Submits a host's frame: it begins to leave the host at `now`, and its last bit leaves at the
    /// cable's rate.
    ///
    /// The caller guarantees three things. `now` never goes back. The next frame of this edge
    /// begins no earlier than L + 20 octets later. The host does not begin a frame while it is
    /// paused.
    #[inline]
    pub fn submit(&mut self, now: Picos, edge: Edge, frame: Frame) {
        debug_assert!(now >= self.now, "a frame from the past");
        let port = self.edges[usize::from(edge.0)];
        self.counts[usize::from(edge.0)].entered += 1;
        let rate = self.servers[usize::from(port)].pace.rate;
        let handle = self.packets.add(Packet::entering(frame, edge.0, port, rate));
        self.put_on_cable(handle, port, now);
    }

    /// Time of the next event inside; nothing happens before.
    #[inline]
    pub fn next(&self) -> Option<Picos> {
        self.schedule.first().map(|(at, _)| at)
    }

    /// Advances time up to and including `to`, and passes the resulting events to `out`, in the
    /// order of time.
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

    /// Counts of an edge since the network began.
    pub fn counts(&self, edge: Edge) -> PortCounts {
        let place = usize::from(edge.0);
        let mut counts = self.counts[place];
        if let Some(since) = self.ports[usize::from(self.edges[place])].held_since {
            counts.paused += self.now - since;
        }
        counts
    }

    /// Frames and buffer octets inside now.
    pub fn standing(&self) -> Standing {
        Standing {
            frames: self.packets.standing(),
            octets: self.devices.iter().map(|device| device.buffer.occupancy()).sum(),
        }
    }

    /// Clears everything learned and queued, as a reset does; frames inside are dropped, and paused
    /// hosts continue.
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

    /// Drops a frame at its egress port; it counts at its ingress edge if no host is at that port.
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

    /// Drops a frame, and counts it at an edge.
    fn drop_at(&mut self, edge: u16, handle: Handle, cause: Cause, out: &mut impl FnMut(Event)) {
        self.counts[usize::from(edge)].dropped += 1;
        out(Event::Dropped { at: self.now, frame: self.packets[handle].frame, cause });
        self.packets.remove(handle);
    }
}
