//! State shared by all flows of a trial: the time, the agenda, the hosts' ports and the frames in
//! flight.
//!
//! Owns the transfer of a frame from a flow to its port, and the delay of an arrival until its host
//! notices it. Never knows a flow.

use std::collections::VecDeque;

use device::{Edge, Frame, Mac, Network};
use measure::Picos;

use crate::agenda::Agenda;
use crate::flight::{Flight, Kind};
use crate::nic::{Far, Nic};

/// Octets of preamble before a frame on a cable.
const PREAMBLE: u64 = 8;

/// Time window of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// Start of the load.
    pub(crate) start: Picos,
    /// End of the load.
    pub(crate) stop: Picos,
    /// Close of the receivers: later arrivals do not count.
    pub(crate) closed: Picos,
}

/// Lane from one port to another, with the properties that its frames share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lane {
    /// Sending port, by its place.
    pub(crate) nic: u32,
    /// Addresses of the frames; length and tag are set per frame.
    frame: Frame,
}

impl Lane {
    pub(crate) const fn new(nic: u32, frame: Frame) -> Self {
        Self { nic, frame }
    }

    /// Returns the lane from the same port to another MAC address.
    pub(crate) const fn towards(&self, destination: Mac) -> Self {
        Self { nic: self.nic, frame: Frame { destination, ..self.frame } }
    }

    /// MAC address of the sender.
    pub(crate) const fn source(&self) -> Mac {
        self.frame.source
    }

    #[inline]
    pub(crate) const fn frame(&self, octets: u32, tag: u64) -> Frame {
        Frame { octets, tag, ..self.frame }
    }
}

/// Actor denoted by a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Actor {
    /// A port may send.
    Nic(u32),
    /// A frame on a direct cable reaches a port.
    Cable(u32),
    /// A host notices a frame that reached its port.
    Inbox(u32),
    /// Alarm of a flow, by its place among all alarms.
    Alarm(u32),
}

/// Shared state of the hosts.
#[derive(Debug)]
pub(crate) struct SharedState {
    pub(crate) now: Picos,
    pub(crate) agenda: Agenda,
    pub(crate) nics: Vec<Nic>,
    pub(crate) flight: Flight,
    /// Time between a frame's arrival at a port and its host's notice.
    pub(crate) turnaround: Picos,
    cables: Vec<VecDeque<(Picos, Frame)>>,
    inboxes: Vec<VecDeque<(Picos, Frame)>>,
    at_edge: Vec<Option<u32>>,
}

impl SharedState {
    /// Creates the state with `alarms` alarms, none of them set.
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

    /// Decodes an actor's number.
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

    /// Port whose cable ends at an edge.
    #[inline]
    pub(crate) fn nic_at(&self, edge: Edge) -> Option<u32> {
        self.at_edge.get(usize::from(edge.0)).copied().flatten()
    }

    /// Passes a frame to its port; false if the queue is full, and the frame is lost.
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

    /// Schedules a port that may have something new to send.
    #[inline]
    pub(crate) fn arm(&mut self, number: u32) {
        let nic = &self.nics[number as usize];
        if nic.is_open() {
            self.agenda.hasten(number, nic.free.max(self.now));
        }
    }

    /// Hands frames released by an arrival over to a port.
    #[inline]
    pub(crate) fn hand_over(&mut self, number: u32) {
        self.nics[number as usize].hand_over(self.now);
    }

    /// Begins to send a frame from its port now.
    #[inline]
    pub(crate) fn depart(&mut self, number: u32, frame: Frame, network: &mut Network) {
        let now = self.now;
        let nic = &mut self.nics[number as usize];
        nic.begin(now, &frame);
        if Kind::from_tag(frame.tag) == Kind::Segment {
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

    /// Returns the frame that reaches a port over its direct cable now.
    pub(crate) fn over_cable(&mut self, number: u32) -> Option<Frame> {
        let (who, now) = (self.nics.len() as u32 + number, self.now);
        due(&mut self.cables[number as usize], &mut self.agenda, who, now)
    }

    /// Returns the frame that a host notices now.
    pub(crate) fn noticed(&mut self, number: u32) -> Option<Frame> {
        let (who, now) = (2 * self.nics.len() as u32 + number, self.now);
        due(&mut self.inboxes[number as usize], &mut self.agenda, who, now)
    }

    /// Time until the program of a port's host has a frame that arrives there.
    #[inline]
    pub(crate) fn turnaround_at(&self, number: u32) -> Picos {
        self.turnaround + self.nics[number as usize].late
    }

    /// Queues a frame at a port until its host notices it.
    pub(crate) fn leave_for_host(&mut self, number: u32, frame: Frame) {
        let at = self.now + self.turnaround_at(number);
        self.inboxes[number as usize].push_back((at, frame));
        let who = 2 * self.nics.len() as u32 + number;
        self.agenda.hasten(who, at);
    }
}

/// Takes the first due entry of a queue, and schedules the next one.
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
