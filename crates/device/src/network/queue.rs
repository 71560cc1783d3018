//! Servers: a queue and the wire that it drains into, at a port or between a group and the
//! backplane.
//!
//! Owns enqueueing, sending and handing on. A server knows the end of a transmission at its
//! beginning, so it wakes once per frame: at the last bit. Never decides where a frame goes.

use measure::Picos;

use super::Network;
use super::pace::Pace;
use super::packets::{EVERYWHERE, Fifo, Handle, NONE, NOWHERE};
use crate::{Cause, Event};

/// Destination of a server's frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Cable of the port.
    Port,
    /// Backplane, from a group.
    Up,
    /// Group, from the backplane.
    Down {
        /// Number of the group in the device.
        group: u16,
    },
}

/// Queue and its wire.
#[derive(Debug)]
pub(super) struct Server {
    pub device: u16,
    pub role: Role,
    pub pace: Pace,
    pub queue: Fifo,
    /// Octets of buffer in use by the queue and the frame being sent.
    pub held: u64,
    pub sending: bool,
    /// Frame being sent; [`NONE`] if the far end has it already.
    pub current: Handle,
    pub current_octets: u32,
    /// Earliest start of the next frame.
    pub free_at: Picos,
    /// True if the far end paused it.
    pub paused: bool,
    /// Ports that were paused for this queue.
    pub stopped: Vec<u16>,
    /// True for a port without a link: no frame is accepted.
    pub shut: bool,
}

impl Server {
    pub(super) fn new(device: u16, role: Role, pace: Pace) -> Self {
        Self {
            device,
            role,
            pace,
            queue: Fifo::new(),
            held: 0,
            sending: false,
            current: NONE,
            current_octets: 0,
            free_at: Picos::ZERO,
            paused: false,
            stopped: Vec::new(),
            shut: false,
        }
    }
}

impl Network {
    /// Adds a frame to a queue, or drops it.
    pub(super) fn enqueue(&mut self, place: usize, handle: Handle, out: &mut impl FnMut(Event)) {
        let server = &mut self.servers[place];
        if server.shut {
            self.drop_out(place, handle, Cause::LinkDown, out);
            return;
        }
        let device = &mut self.devices[usize::from(server.device)];
        let octets = device.buffer.cells(self.packets[handle].frame.octets);
        if !device.buffer.admit(server.held, octets) {
            if server.role == Role::Port {
                self.drop_out(place, handle, Cause::QueueFull, out);
            } else {
                self.drop(handle, Cause::UplinkFull, out);
            }
            return;
        }
        server.held += u64::from(octets);
        server.queue.push(&mut self.packets, handle);
        if device.pause && device.buffer.is_congested(server.held) {
            self.stop_sender(place, handle);
        }
        if !self.servers[place].sending {
            self.begin_sending(place);
        }
    }

    /// Begins to send the first frame in the queue, if there is one and it may leave.
    pub(super) fn begin_sending(&mut self, place: usize) {
        let server = &mut self.servers[place];
        if server.paused {
            return;
        }
        let Some(handle) = server.queue.pop(&self.packets) else { return };
        let device = &mut self.devices[usize::from(server.device)];
        let packet = &self.packets[handle];
        let mut begin = self.now.max(server.free_at);
        // A port that is faster than the frame arrives would run dry in the middle of it.
        if server.pace.rate > packet.rate {
            begin = begin.max(packet.stored);
        }
        let begin = device.chance.after_stall(self.now, begin);
        let octets = packet.frame.octets;
        server.sending = true;
        server.current = handle;
        server.current_octets = device.buffer.cells(octets);
        server.free_at = begin + server.pace.slot(octets);
        let end = begin + server.pace.frame(octets);
        let port = (server.role == Role::Port).then(|| &self.ports[place]);
        self.schedule.set(place, end, 0);
        let Some(peer) = port.map(|port| port.peer).filter(|peer| *peer != NOWHERE) else { return };
        // The far end of a cable between devices may begin with the frame before its last bit has
        // left.
        self.servers[place].current = NONE;
        let rate = self.servers[place].pace.rate;
        let packet = &mut self.packets[handle];
        (packet.came_by, packet.goal, packet.rate) = (peer, NOWHERE, rate);
        self.put_on_cable(handle, peer, begin);
    }

    /// Completes a transmission: frees the frame's buffer, and begins the next one.
    pub(super) fn finish_sending(&mut self, place: usize, out: &mut impl FnMut(Event)) {
        let server = &mut self.servers[place];
        let device = &mut self.devices[usize::from(server.device)];
        device.buffer.release(server.held, server.current_octets);
        server.held -= u64::from(server.current_octets);
        server.sending = false;
        let handle = std::mem::replace(&mut server.current, NONE);
        let role = server.role;
        if !server.stopped.is_empty() && device.buffer.is_relieved(server.held) {
            self.let_senders_go(place);
        }
        self.begin_sending(place);
        if !self.servers[place].sending {
            self.schedule.clear(place);
        }
        if handle != NONE {
            self.hand_on(place, role, handle, out);
        }
    }

    fn hand_on(&mut self, place: usize, role: Role, handle: Handle, out: &mut impl FnMut(Event)) {
        match role {
            Role::Port => self.leave(place, handle, out),
            Role::Up => self.cross_backplane(handle, out),
            Role::Down { group } if self.packets[handle].goal == EVERYWHERE => {
                self.flood_group(handle, group, out);
            }
            Role::Down { .. } => {
                let goal = usize::from(self.packets[handle].goal);
                self.enqueue(goal, handle, out);
            }
        }
    }

    /// Puts a frame whose last bit has left on the cable to a host.
    fn leave(&mut self, place: usize, handle: Handle, out: &mut impl FnMut(Event)) {
        let port = &self.ports[place];
        if let [_, true] = port.broken {
            let edge = port.edge;
            self.counts[usize::from(edge)].broken_out += 1;
            self.drop_at(edge, handle, Cause::Broken, out);
            return;
        }
        if port.blackhole {
            self.drop_out(place, handle, Cause::Blackholed, out);
            return;
        }
        if port.delay == Picos::ZERO {
            self.deliver(handle, place, out);
            return;
        }
        let number = usize::from(port.device);
        let ready = self.now + port.delay;
        self.packets[handle].ready = ready;
        let cable = &mut self.devices[number].on_cable;
        cable.push(&mut self.packets, handle);
        if cable.length() == 1 {
            self.schedule.set(self.places.cables + number, ready, 0);
        }
    }

    /// Delivers the first frame on a device's cables to its host.
    pub(super) fn deliver_first(&mut self, number: usize, out: &mut impl FnMut(Event)) {
        let cable = &mut self.devices[number].on_cable;
        let Some(handle) = cable.pop(&self.packets) else { return };
        let next = cable.head();
        let place = self.places.cables + number;
        if next == NONE {
            self.schedule.clear(place);
        } else {
            self.schedule.set(place, self.packets[next].ready, 0);
        }
        self.deliver(handle, usize::from(self.packets[handle].goal), out);
    }

    /// Delivers a frame after its last bit. A host accepts no frame with a wrong FCS.
    fn deliver(&mut self, handle: Handle, place: usize, out: &mut impl FnMut(Event)) {
        let port = &mut self.ports[place];
        let edge = port.edge;
        if port.damage.as_mut().is_some_and(|ways| ways[1].strikes()) {
            self.counts[usize::from(edge)].damaged_out += 1;
            self.drop_at(edge, handle, Cause::Damaged, out);
            return;
        }
        self.counts[usize::from(edge)].delivered += 1;
        let frame = self.packets[handle].frame;
        self.packets.remove(handle);
        out(Event::Delivered { at: self.now, edge: super::Edge(edge), frame });
    }
}
