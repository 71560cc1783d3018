//! What all flows of a trial stand on: the hour, the agenda, the hosts' ports and what is under
//! way.
//!
//! Owns how a frame gets from a flow to its port and how an arrival waits for its host. Never knows
//! a flow.

use std::collections::VecDeque;

use device::{Edge, Frame, Mac, Network};
use measure::Picos;

use crate::agenda::Agenda;
use crate::flight::{Flight, Kind};
use crate::nic::{Far, Nic};

/// Octets before a frame's own on a cable.
const PREAMBLE: u64 = 8;

/// When the load runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// It starts.
    pub(crate) start: Picos,
    /// It ends.
    pub(crate) stop: Picos,
    /// Nothing that arrives from here on counts.
    pub(crate) closed: Picos,
}

/// From one port to another, with all that its frames have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lane {
    /// The sending port, by its place.
    pub(crate) nic: u32,
    /// Addresses; length and tag are each frame's own.
    frame: Frame,
}

impl Lane {
    pub(crate) const fn new(nic: u32, frame: Frame) -> Self {
        Self { nic, frame }
    }

    /// The same way to another address on the link.
    pub(crate) const fn towards(&self, destination: Mac) -> Self {
        Self { nic: self.nic, frame: Frame { destination, ..self.frame } }
    }

    /// Who sends.
    pub(crate) const fn source(&self) -> Mac {
        self.frame.source
    }

    #[inline]
    pub(crate) const fn frame(&self, octets: u32, tag: u64) -> Frame {
        Frame { octets, tag, ..self.frame }
    }
}

/// Whose turn an actor's number means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Actor {
    /// A port may send.
    Nic(u32),
    /// A frame on a direct cable reaches a port.
    Cable(u32),
    /// A host takes notice of what reached its port.
    Inbox(u32),
    /// A flow's alarm, by its place among all alarms.
    Alarm(u32),
}

/// The ground.
#[derive(Debug)]
pub(crate) struct SharedState {
    pub(crate) now: Picos,
    pub(crate) agenda: Agenda,
    pub(crate) nics: Vec<Nic>,
    pub(crate) flight: Flight,
    /// Between a frame's arrival at a port and its host's notice.
    pub(crate) turnaround: Picos,
    cables: Vec<VecDeque<(Picos, Frame)>>,
    inboxes: Vec<VecDeque<(Picos, Frame)>>,
    at_edge: Vec<Option<u32>>,
}

impl SharedState {
    /// With `alarms` alarms, none of them set.
    pub(crate) fn new(nics: Vec<Nic>, edges: u16, turnaround: Picos, alarms: usize) -> Self {
        let mut at_edge = vec![None; usize::from(edges)];
        for (number, nic) in nics.iter().enumerate() {
            if let Far::Edge(edge) = nic.far {
                at_edge[usize::from(edge.0)] = Some(number as u32);
            }
        }
        let empty = || nics.iter().map(|_| VecDeque::new()).collect();
        Self {
            now: Picos::ZERO,
            agenda: Agenda::new(3 * nics.len() + alarms),
            flight: Flight::new(),
            turnaround,
            cables: empty(),
            inboxes: empty(),
            at_edge,
            nics,
        }
    }

    /// What an actor's number means.
    #[inline]
    pub(crate) fn actor(&self, who: u32) -> Actor {
        let nics = self.nics.len() as u32;
        if who < nics {
            Actor::Nic(who)
        } else if who >= 3 * nics {
            Actor::Alarm(who - 3 * nics)
        } else if who < 2 * nics {
            Actor::Cable(who - nics)
        } else {
            Actor::Inbox(who - 2 * nics)
        }
    }

    /// Sets an alarm; [`Picos::MAX`] turns it off.
    #[inline]
    pub(crate) fn set_alarm(&mut self, alarm: u32, at: Picos) {
        let who = 3 * self.nics.len() as u32 + alarm;
        if self.agenda.at(who) != at {
            self.agenda.set(who, at);
        }
    }

    /// The port whose cable ends at an edge.
    #[inline]
    pub(crate) fn nic_at(&self, edge: Edge) -> Option<u32> {
        self.at_edge.get(usize::from(edge.0)).copied().flatten()
    }

    /// Hands a frame down to its port; false where the queue is full, and the frame is gone.
    #[inline]
    pub(crate) fn send(&mut self, lane: &Lane, octets: u32, tag: u64) -> bool {
        let taken = self.nics[lane.nic as usize].enqueue(lane.frame(octets, tag));
        if taken {
            self.arm(lane.nic);
        } else {
            self.flight.land(tag);
        }
        taken
    }

    /// A port has something to send that it may not have had.
    #[inline]
    pub(crate) fn arm(&mut self, number: u32) {
        let nic = &self.nics[number as usize];
        if nic.is_open() {
            self.agenda.hasten(number, nic.free.max(self.now));
        }
    }

    /// What something that came has released is handed over to a port.
    #[inline]
    pub(crate) fn hand_over(&mut self, number: u32) {
        self.nics[number as usize].hand_over(self.now);
    }

    /// A frame begins to leave its port now.
    #[inline]
    pub(crate) fn depart(&mut self, number: u32, frame: Frame, network: &mut Network) {
        let now = self.now;
        let nic = &mut self.nics[number as usize];
        nic.begin(now, &frame);
        if Kind::of(frame.tag) == Kind::Segment {
            nic.miss();
        }
        match nic.far {
            Far::Edge(edge) => network.submit(now, edge, frame),
            Far::Nic(peer, away) => {
                let arrival = now + nic.to_send(u64::from(frame.octets) + PREAMBLE) + away;
                self.cables[peer as usize].push_back((arrival, frame));
                let who = self.nics.len() as u32 + peer;
                self.agenda.hasten(who, arrival);
            }
        }
    }

    /// The frame that reaches a port over its direct cable now.
    pub(crate) fn over_cable(&mut self, number: u32) -> Option<Frame> {
        let (who, now) = (self.nics.len() as u32 + number, self.now);
        due(&mut self.cables[number as usize], &mut self.agenda, who, now)
    }

    /// The frame that a host takes notice of now.
    pub(crate) fn noticed(&mut self, number: u32) -> Option<Frame> {
        let (who, now) = (2 * self.nics.len() as u32 + number, self.now);
        due(&mut self.inboxes[number as usize], &mut self.agenda, who, now)
    }

    /// A frame reached a port and waits for its host.
    pub(crate) fn leave_for_host(&mut self, number: u32, frame: Frame) {
        let at = self.now + self.turnaround;
        self.inboxes[number as usize].push_back((at, frame));
        let who = 2 * self.nics.len() as u32 + number;
        self.agenda.hasten(who, at);
    }
}

/// Takes the first of a queue whose time has come, and tells the agenda of the next.
fn due(
    queue: &mut VecDeque<(Picos, Frame)>,
    agenda: &mut Agenda,
    who: u32,
    now: Picos,
) -> Option<Frame> {
    let (at, _) = queue.front()?;
    let frame = if *at <= now { queue.pop_front().map(|(_, frame)| frame) } else { None };
    agenda.set(who, queue.front().map_or(Picos::MAX, |(at, _)| *at));
    frame
}
