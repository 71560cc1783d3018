//! Reset: drops every frame inside, and empties every table.
//!
//! Owns the sweep through all the places where a frame can be. Never resets counters.

use super::packets::{Handle, NONE, NOWHERE};
use super::{Edge, Network};
use crate::{Cause, Event};

impl Network {
    pub(super) fn drop_everything(&mut self, out: &mut impl FnMut(Event)) {
        for handle in self.take_everything() {
            self.drop(handle, Cause::Reset, out);
        }
        for device in &mut self.devices {
            device.buffer.clear();
            device.table.clear();
            if let Some(policer) = &mut device.policer {
                policer.fill();
            }
        }
        self.signals.clear();
        for place in 0..self.places.ingress + self.ports.len() {
            self.schedule.clear(place);
        }
        for number in 0..self.ports.len() {
            let port = &mut self.ports[number];
            let (edge, stops) = (port.edge, std::mem::take(&mut port.stops));
            // Its release may have been in flight, and is lost too.
            if edge != NOWHERE && (self.hold_host(number, false) || stops > 0) {
                out(Event::Pause { at: self.now, edge: Edge(edge), stop: false });
            }
        }
    }

    /// Returns every frame inside, each once: one that is being sent to another device is on that
    /// one's cable.
    fn take_everything(&mut self) -> Vec<Handle> {
        let mut all = Vec::new();
        let packets = &self.packets;
        for server in &mut self.servers {
            all.extend(std::iter::from_fn(|| server.queue.pop(packets)));
            all.push(std::mem::replace(&mut server.current, NONE));
            (server.held, server.sending, server.paused) = (0, false, false);
            server.stopped.clear();
        }
        for device in &mut self.devices {
            all.extend(std::iter::from_fn(|| device.on_cable.pop(packets)));
            if let Some(engine) = &mut device.engine {
                all.extend(std::iter::from_fn(|| engine.queue.pop(packets)));
                all.push(std::mem::replace(&mut engine.current, NONE));
            }
        }
        for port in &mut self.ports {
            all.extend(std::iter::from_fn(|| port.ingress.pop(packets)));
        }
        all.retain(|handle| *handle != NONE);
        all
    }
}
