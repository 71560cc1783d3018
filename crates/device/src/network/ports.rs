//! Driver actions on the device's port at an edge while frames pass: its link goes down, or it
//! becomes a black hole.
//!
//! Owns the sweep of a port that loses its link: frames on its cable, in its queue and being sent
//! are dropped at that instant. Never touches another port's frames, and never resets counters.

use std::cmp::Reverse;

use super::packets::{Fifo, Handle, NONE};
use super::{Edge, Network};
use crate::{Cause, Event};

impl Network {
    /// Takes the link at an edge down, or up again. On the way down, frames in flight on it and
    /// those that wait for it are dropped, like all later frames that would leave by it. Stations
    /// behind it are forgotten, and so is its host's pause state: a link that comes up begins anew.
    pub fn set_link(&mut self, edge: Edge, up: bool, out: &mut impl FnMut(Event)) {
        let place = usize::from(self.edges[usize::from(edge.0)]);
        (self.ports[place].down, self.servers[place].shut) = (!up, !up);
        if up {
            return;
        }
        for handle in self.take_port(place) {
            if usize::from(self.packets[handle].goal) == place {
                self.drop_out(place, handle, Cause::LinkDown, out);
            } else {
                self.drop(handle, Cause::LinkDown, out);
            }
        }
        self.clear_pauses(place);
        let device = usize::from(self.ports[place].device);
        self.devices[device].table.forget(edge.0);
    }

    /// Drops every frame that would leave by an edge from now on, or stops doing so. The link stays
    /// up: neither end notices.
    pub fn set_blackhole(&mut self, edge: Edge, on: bool) {
        let place = usize::from(self.edges[usize::from(edge.0)]);
        self.ports[place].blackhole = on;
    }

    /// Removes and returns every frame of a port: on its cable in both directions, waiting for it,
    /// being sent.
    fn take_port(&mut self, place: usize) -> Vec<Handle> {
        let Self { packets, servers, ports, devices, schedule, places, .. } = self;
        let (port, server) = (&mut ports[place], &mut servers[place]);
        let number = usize::from(port.device);
        let device = &mut devices[number];
        let mut all: Vec<Handle> = std::iter::from_fn(|| port.ingress.pop(packets)).collect();
        schedule.clear(places.ingress + place);
        while let Some(handle) = server.queue.pop(packets) {
            let octets = device.buffer.cells(packets[handle].frame.octets);
            device.buffer.release(server.held, octets);
            server.held -= u64::from(octets);
            all.push(handle);
        }
        // The wire stays busy until its end, and its buffer held.
        let current = std::mem::replace(&mut server.current, NONE);
        all.extend((current != NONE).then_some(current));
        let cables = std::mem::replace(&mut device.on_cable, Fifo::new());
        for handle in cables.into_handles(packets) {
            if usize::from(packets[handle].goal) == place {
                all.push(handle);
            } else {
                device.on_cable.push(packets, handle);
            }
        }
        match device.on_cable.head() {
            NONE => schedule.clear(places.cables + number),
            head => schedule.set(places.cables + number, packets[head].ready, 0),
        }
        all
    }

    /// Clears the pauses that the port's queue caused, and those of the port's host.
    fn clear_pauses(&mut self, place: usize) {
        let port = place as u16;
        for server in &mut self.servers {
            server.stopped.retain(|stopped| *stopped != port);
        }
        self.ports[place].stops = 0;
        self.hold_host(place, false);
        self.signals.retain(|Reverse(signal)| !signal.is_to(port));
        self.expect_signal();
        let server = &self.servers[place];
        let device = &self.devices[usize::from(server.device)];
        if !server.stopped.is_empty() && device.buffer.is_relieved(server.held) {
            self.let_senders_go(place);
        }
    }
}
