//! 802.3x: a congested queue pauses the ports that feed it.
//!
//! Owns the pause state, and the time for which hosts had to wait. A PAUSE frame waits for the
//! frame that is being sent and takes its time on the cable. It takes no place in a queue, and does
//! not count towards the port's rate. Never lets a port continue while another queue still pauses
//! it.

use std::cmp::Reverse;

use measure::Picos;

use super::packets::{Handle, NOWHERE};
use super::{Edge, Network};
use crate::Event;

/// PAUSE frame on its way out of a port; ordered by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Signal {
    at: Picos,
    number: u64,
    port: u16,
    stop: bool,
}

impl Signal {
    /// True if it is on its way out of this port.
    pub(super) const fn is_to(&self, port: u16) -> bool {
        self.port == port
    }
}

impl Network {
    /// Pauses the port by which this frame came, on behalf of a queue.
    pub(super) fn stop_sender(&mut self, place: usize, handle: Handle) {
        let came_by = self.packets[handle].came_by;
        let stopped = &mut self.servers[place].stopped;
        if stopped.contains(&came_by) {
            return;
        }
        stopped.push(came_by);
        let port = &mut self.ports[usize::from(came_by)];
        port.stops += 1;
        if port.stops == 1 {
            self.send_pause(came_by, true);
        }
    }

    /// Lets a queue's senders continue: it has room again.
    pub(super) fn let_senders_go(&mut self, place: usize) {
        while let Some(number) = self.servers[place].stopped.pop() {
            let port = &mut self.ports[usize::from(number)];
            port.stops -= 1;
            if port.stops == 0 {
                self.send_pause(number, false);
            }
        }
    }

    fn send_pause(&mut self, port: u16, stop: bool) {
        let edge = self.ports[usize::from(port)].edge;
        if stop && edge != NOWHERE {
            self.counts[usize::from(edge)].pauses += 1;
        }
        let server = &self.servers[usize::from(port)];
        let begin = self.now.max(server.free_at);
        let at = begin + server.pace.pause_frame() + self.ports[usize::from(port)].delay;
        self.signalled += 1;
        self.signals.push(Reverse(Signal { at, number: self.signalled, port, stop }));
        self.expect_signal();
    }

    /// Delivers the first PAUSE frame in flight at the far end.
    pub(super) fn signal(&mut self, out: &mut impl FnMut(Event)) {
        let Some(Reverse(signal)) = self.signals.pop() else { return };
        self.expect_signal();
        let port = &self.ports[usize::from(signal.port)];
        if port.edge != NOWHERE {
            let edge = Edge(port.edge);
            self.hold_host(usize::from(signal.port), signal.stop);
            out(Event::Pause { at: self.now, edge, stop: signal.stop });
            return;
        }
        let peer = usize::from(port.peer);
        self.servers[peer].paused = signal.stop;
        if !signal.stop && !self.servers[peer].sending {
            self.begin_sending(peer);
        }
    }

    /// Pauses the host at a port from now on, or lets it send; true if it was paused before.
    pub(super) fn hold_host(&mut self, place: usize, stop: bool) -> bool {
        let now = self.now;
        let port = &mut self.ports[place];
        let before = std::mem::replace(&mut port.held_since, stop.then_some(now));
        if let Some(since) = before {
            self.counts[usize::from(port.edge)].paused += now - since;
        }
        before.is_some()
    }

    pub(super) fn expect_signal(&mut self) {
        match self.signals.peek() {
            Some(Reverse(first)) => self.schedule.set(self.places.signals, first.at, 0),
            None => self.schedule.clear(self.places.signals),
        }
    }
}
