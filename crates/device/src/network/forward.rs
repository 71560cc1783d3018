//! Forwarding of a frame from the cable into a device, and there to the right queue.
//!
//! Owns the order of decisions: lost, damaged, too long, too many, egress port. Never touches a
//! wire.

use measure::Picos;

use super::Network;
use super::chance;
use super::packets::{EVERYWHERE, Handle, NONE, NOWHERE};
use crate::{Cause, Event, Frame};

impl Network {
    /// Puts a frame on the cable to a port at `begin`. It becomes ready for a decision after the
    /// last bit (cut-through: the first) and the latency.
    #[inline]
    pub(super) fn put_on_cable(&mut self, handle: Handle, port: u16, begin: Picos) {
        let number = usize::from(port);
        let tail = self.ports[number].ingress.tail();
        let after = if tail == NONE { Picos::ZERO } else { self.packets[tail].ready };
        let port = &mut self.ports[number];
        let device = &self.devices[usize::from(port.device)];
        let packet = &mut self.packets[handle];
        let first = begin + port.delay + device.latency;
        packet.stored = first + self.servers[number].pace.frame(packet.frame.octets);
        // A frame never overtakes another one on a cable.
        packet.ready = (if device.cut_through { first } else { packet.stored }).max(after);
        let ready = packet.ready;
        port.ingress.push(&mut self.packets, handle);
        if tail == NONE {
            self.expect(number, ready);
        }
    }

    /// Schedules the decision on the next frame of a port's cable at `ready`.
    #[inline]
    fn expect(&mut self, number: usize, ready: Picos) {
        let port = &mut self.ports[number];
        port.turn += 1;
        let tie = chance::tie(self.seed, number, port.turn);
        self.schedule.set(self.places.ingress + number, ready, tie);
    }

    /// Handles the first frame of a port's cable after its arrival and the latency.
    pub(super) fn arrive(&mut self, number: usize, out: &mut impl FnMut(Event)) {
        let port = &mut self.ports[number];
        let Some(handle) = port.ingress.pop(&self.packets) else { return };
        let (device, edge) = (usize::from(port.device), usize::from(port.edge));
        let ([lost, _], down) = (port.broken, port.down);
        let present = !lost && !down;
        let damaged = present && port.damage.as_mut().is_some_and(|ways| ways[0].strikes());
        let next = port.ingress.head();
        if next == NONE {
            self.schedule.clear(self.places.ingress + number);
        } else {
            self.expect(number, self.packets[next].ready);
        }
        let board = &mut self.devices[device];
        if lost {
            if let Some(counts) = self.counts.get_mut(edge) {
                counts.broken_in += 1;
            }
            self.drop(handle, Cause::Broken, out);
        } else if down {
            self.drop(handle, Cause::LinkDown, out);
        } else if damaged {
            self.counts[usize::from(self.packets[handle].entry)].damaged_in += 1;
            self.drop(handle, Cause::Damaged, out);
        } else if self.packets[handle].frame.octets > board.max_frame {
            self.drop(handle, Cause::TooLong, out);
        } else if board.chance.loses() {
            self.drop(handle, Cause::Random, out);
        } else if board.policer.as_mut().is_some_and(|policer| {
            policer.refuses(self.now, self.packets[handle].frame.destination)
        }) {
            self.drop(handle, Cause::Policed, out);
        } else if board.engine.is_some() {
            self.queue_for_processing(device, handle, out);
        } else {
            self.forward(handle, out);
        }
    }

    fn queue_for_processing(&mut self, device: usize, handle: Handle, out: &mut impl FnMut(Event)) {
        let Some(engine) = &mut self.devices[device].engine else { return };
        if engine.queue.length() >= engine.room {
            self.drop(handle, Cause::Overrun, out);
            return;
        }
        engine.queue.push(&mut self.packets, handle);
        if engine.current == NONE {
            self.begin_processing(device);
        }
    }

    fn begin_processing(&mut self, device: usize) {
        let board = &mut self.devices[device];
        let Some(engine) = &mut board.engine else { return };
        let Some(handle) = engine.queue.pop(&self.packets) else { return };
        engine.current = handle;
        let begin = board.chance.after_stall(self.now, self.now);
        self.schedule.set(self.places.engines + device, begin + engine.each, 0);
    }

    /// Completes a packet in a software device.
    pub(super) fn finish_processing(&mut self, device: usize, out: &mut impl FnMut(Event)) {
        let Some(engine) = &mut self.devices[device].engine else { return };
        let handle = std::mem::replace(&mut engine.current, NONE);
        self.schedule.clear(self.places.engines + device);
        self.begin_processing(device);
        self.forward(handle, out);
    }

    /// Decides on a frame's egress, and sends it there.
    fn forward(&mut self, handle: Handle, out: &mut impl FnMut(Event)) {
        let came_by = usize::from(self.packets[handle].came_by);
        let device = usize::from(self.ports[came_by].device);
        if self.devices[device].routes.is_some() {
            self.route(device, handle, out);
            return;
        }
        let packet = &self.packets[handle];
        let (frame, entry, target) = (packet.frame, packet.entry, packet.target);
        let board = &mut self.devices[device];
        if board.learns {
            board.table.learn(self.now, frame.source, entry);
        }
        // If paths form loops the first device's decision holds for the others.
        let target = if target == NOWHERE {
            let known = !frame.destination.is_group();
            known.then(|| board.table.find(self.now, frame.destination)).flatten()
        } else {
            (target != EVERYWHERE).then_some(target)
        };
        if self.paths.loops {
            self.packets[handle].target = target.unwrap_or(EVERYWHERE);
        }
        match target {
            Some(edge) => {
                let goal = self.way_to(device, edge, &frame);
                if usize::from(goal) == came_by {
                    self.drop(handle, Cause::SamePort, out);
                } else {
                    self.send(handle, goal, out);
                }
            }
            None => self.flood(device, handle, out),
        }
    }

    fn route(&mut self, device: usize, handle: Handle, out: &mut impl FnMut(Event)) {
        let packet = &mut self.packets[handle];
        let entry = packet.entry;
        let routes = self.devices[device].routes.as_ref();
        match routes.and_then(|routes| routes.forward(entry, &mut packet.frame)) {
            Some(edge) => self.send(handle, self.edges[usize::from(edge)], out),
            None => self.drop(handle, Cause::NoRoute, out),
        }
    }

    /// Port of a device that is, or leads to, an edge.
    #[inline]
    fn way_to(&self, device: usize, edge: u16, frame: &Frame) -> u16 {
        let port = self.edges[usize::from(edge)];
        let there = usize::from(self.ports[usize::from(port)].device);
        if there == device {
            return port;
        }
        self.paths.port(device, there, (frame.source, frame.destination))
    }

    /// Sends a frame to a port of the same device, through the backplane if needed.
    fn send(&mut self, handle: Handle, goal: u16, out: &mut impl FnMut(Event)) {
        let packet = &mut self.packets[handle];
        packet.goal = goal;
        let from = &self.ports[usize::from(packet.came_by)];
        let same_group = from.group == self.ports[usize::from(goal)].group;
        let groups = &self.devices[usize::from(from.device)].groups;
        match groups[usize::from(from.group)].uplink {
            _ if same_group => self.enqueue(usize::from(goal), handle, out),
            Some(up) => self.enqueue(up, handle, out),
            None => self.cross_backplane(handle, out),
        }
    }

    /// Sends a frame from the backplane to a group, or to all but the one it came from.
    pub(super) fn cross_backplane(&mut self, handle: Handle, out: &mut impl FnMut(Event)) {
        let packet = &self.packets[handle];
        let from = &self.ports[usize::from(packet.came_by)];
        let device = usize::from(from.device);
        if packet.goal != EVERYWHERE {
            let goal = usize::from(packet.goal);
            let group = usize::from(self.ports[goal].group);
            let place = self.devices[device].groups[group].uplink.map_or(goal, |up| up + 1);
            self.enqueue(place, handle, out);
            return;
        }
        let own = usize::from(from.group);
        let copies = self.other_groups(device, own);
        if self.announce_copies(handle, copies, out) {
            self.copy_into_other_groups(device, handle, own, out);
            self.packets.remove(handle);
        }
    }

    /// Floods a frame to every port but its ingress port.
    fn flood(&mut self, device: usize, handle: Handle, out: &mut impl FnMut(Event)) {
        let packet = &mut self.packets[handle];
        packet.goal = EVERYWHERE;
        let came_by = packet.came_by;
        let own = usize::from(self.ports[usize::from(came_by)].group);
        let others = self.other_groups(device, own);
        let uplink = self.devices[device].groups[own].uplink.filter(|_| others > 0);
        let beyond = if uplink.is_some() { 1 } else { others };
        let copies = self.neighbours(device, own, came_by) + beyond;
        if !self.announce_copies(handle, copies, out) {
            return;
        }
        self.copy_to_ports(device, handle, own, out);
        if let Some(up) = uplink {
            let copy = self.packets.copy(handle);
            self.enqueue(up, copy, out);
        } else {
            self.copy_into_other_groups(device, handle, own, out);
        }
        self.packets.remove(handle);
    }

    /// Floods a frame out of the backplane, to every port of a group.
    pub(super) fn flood_group(&mut self, handle: Handle, group: u16, out: &mut impl FnMut(Event)) {
        let came_by = self.packets[handle].came_by;
        let device = usize::from(self.ports[usize::from(came_by)].device);
        let copies = self.neighbours(device, usize::from(group), came_by);
        if self.announce_copies(handle, copies, out) {
            self.copy_to_ports(device, handle, usize::from(group), out);
            self.packets.remove(handle);
        }
    }

    /// Number of ports of a group that flood a frame received at a port.
    fn neighbours(&self, device: usize, group: usize, came_by: u16) -> u16 {
        let port = &self.ports[usize::from(came_by)];
        let itself =
            port.floods && usize::from(port.device) == device && usize::from(port.group) == group;
        self.devices[device].groups[group].flooding.len() as u16 - u16::from(itself)
    }

    /// Number of copies that reach the other groups from the backplane: one for each limited
    /// uplink, one for each port of the others.
    fn other_groups(&self, device: usize, own: usize) -> u16 {
        let groups = self.devices[device].groups.iter().enumerate();
        let others = groups.filter(|(group, _)| *group != own).map(|(_, group)| {
            let ports = group.flooding.len() as u16;
            if group.uplink.is_some() { ports.min(1) } else { ports }
        });
        others.sum()
    }

    fn copy_into_other_groups(
        &mut self,
        device: usize,
        handle: Handle,
        own: usize,
        out: &mut impl FnMut(Event),
    ) {
        for group in 0..self.devices[device].groups.len() {
            let board = &self.devices[device].groups[group];
            if group == own || board.flooding.is_empty() {
                continue;
            }
            if let Some(up) = board.uplink {
                let copy = self.packets.copy(handle);
                self.enqueue(up + 1, copy, out);
            } else {
                self.copy_to_ports(device, handle, group, out);
            }
        }
    }

    fn copy_to_ports(
        &mut self,
        device: usize,
        handle: Handle,
        group: usize,
        out: &mut impl FnMut(Event),
    ) {
        let came_by = self.packets[handle].came_by;
        for nth in 0..self.devices[device].groups[group].flooding.len() {
            let port = self.devices[device].groups[group].flooding[nth];
            if port != came_by {
                let copy = self.packets.copy(handle);
                self.packets[copy].goal = port;
                self.enqueue(usize::from(port), copy, out);
            }
        }
    }

    /// Announces the copies that replace a frame; the first of them counts as the frame itself.
    /// Drops the frame and returns false if there are none.
    fn announce_copies(
        &mut self,
        handle: Handle,
        copies: u16,
        out: &mut impl FnMut(Event),
    ) -> bool {
        if copies == 0 {
            self.drop(handle, Cause::SamePort, out);
            return false;
        }
        if copies > 1 {
            let (packet, more) = (&self.packets[handle], copies - 1);
            self.counts[usize::from(packet.entry)].copies += u64::from(more);
            out(Event::Copied { at: self.now, frame: packet.frame, copies: more });
        }
        true
    }
}
