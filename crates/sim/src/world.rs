//! All moving parts of one trial: the network, the hosts' ports and the flows.
//!
//! Owns the order of turns and the delivery of arrivals. Events inside the network come before a
//! host's at the same time, and hosts' in the order of their numbers. Never decides what a flow
//! does.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicBool, Ordering};

use device::{Edge, Event, Frame, Mac, Network};
use measure::Picos;

use crate::bulk::Bulk;
use crate::collective::Member;
use crate::disk::Disk;
use crate::echo::Echo;
use crate::exchange::Exchange;
use crate::flight::{Cargo, Kind};
use crate::load::Load;
use crate::nic::Pull;
use crate::sessions::Sessions;
use crate::shared_state::{Actor, SharedState, Window};
use crate::storage::{Heard, Storage};
use crate::stream::{Owner, Stream};
use crate::tcp::Segment;

/// Number of turns between two checks of the stop flag.
const TURNS_A_LOOK: u32 = 1 << 14;

/// Recipient of an alarm, by place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// Sending end of a stream.
    Sender(u32),
    /// Receiving end of a stream.
    Receiver(u32),
    /// Echo flow.
    Echo(u32),
    /// Bulk flow.
    Bulk(u32),
    /// Exchange, and the end of it.
    Exchange(u32, u8),
    /// Member of a collective.
    Member(u32),
    /// Storage flow.
    Storage(u32),
    /// Disk.
    Disk(u32),
    /// Flow of connections.
    Sessions(u32),
}

/// All flows.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    pub(crate) loads: Vec<Load>,
    pub(crate) echoes: Vec<Echo>,
    pub(crate) bulks: Vec<Bulk>,
    pub(crate) exchanges: Vec<Exchange>,
    /// Members of a collective, of whose exchanges each connects two.
    pub(crate) members: Vec<Member>,
    pub(crate) storages: Vec<Storage>,
    pub(crate) disks: Vec<Disk>,
    pub(crate) sessions: Vec<Sessions>,
    pub(crate) streams: Vec<Stream>,
    pub(crate) alarms: Vec<Alarm>,
}

/// The user asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interrupted;

/// Hosts' side of a trial.
#[derive(Debug)]
pub(crate) struct Hosts {
    pub(crate) ground: SharedState,
    pub(crate) flows: Flows,
}

/// Trial in progress.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) network: Network,
    pub(crate) hosts: Hosts,
    /// Time at which hosts fail; `None` if none will, or all have.
    pub(crate) death: Option<Picos>,
}

impl World {
    /// Processes all events up to and including `until`. The time is then `until`.
    pub(crate) fn run(
        &mut self,
        until: Picos,
        stop: Option<&AtomicBool>,
    ) -> Result<(), Interrupted> {
        if let Some(at) = self.death.take_if(|at| *at <= until) {
            self.pass(at.max(self.hosts.ground.now), stop)?;
            self.hosts.die();
        }
        self.pass(until, stop)
    }

    fn pass(&mut self, until: Picos, stop: Option<&AtomicBool>) -> Result<(), Interrupted> {
        let mut turns = 0;
        loop {
            turns += 1;
            if turns == TURNS_A_LOOK {
                turns = 0;
                if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                    return Err(Interrupted);
                }
            }
            let (at, who) = self.hosts.ground.agenda.first();
            let inside = self.network.next().unwrap_or(Picos::MAX);
            if at.min(inside) > until {
                break;
            }
            if inside <= at {
                let hosts = &mut self.hosts;
                self.network.advance(inside, &mut |event| hosts.handle_event(event));
            } else {
                self.hosts.ground.now = at;
                self.hosts.act(who, &mut self.network);
            }
        }
        self.hosts.ground.now = until;
        let hosts = &mut self.hosts;
        self.network.advance(until, &mut |event| hosts.handle_event(event));
        Ok(())
    }

    /// Takes every link to the network down, discarding the frames inside, or brings it back up.
    pub(crate) fn reset(&mut self, down: bool) {
        let now = self.hosts.ground.now;
        if down {
            let hosts = &mut self.hosts;
            self.network.reset(now, &mut |event| hosts.handle_event(event));
        }
        for number in 0..self.hosts.ground.nics.len() as u32 {
            if self.hosts.ground.nics[number as usize].is_at_network() {
                self.hosts.carrier(number, down);
            }
        }
    }

    /// Takes the link between a port and the network's edge down, discarding the frames on it, or
    /// brings it back up.
    pub(crate) fn set_link(&mut self, nic: u32, edge: Edge, up: bool) {
        let hosts = &mut self.hosts;
        self.network.set_link(edge, up, &mut |event| hosts.handle_event(event));
        self.hosts.carrier(nic, !up);
    }
}

impl Hosts {
    /// Handles an event of the network.
    #[inline]
    pub(crate) fn handle_event(&mut self, event: Event) {
        match event {
            Event::Delivered { at, edge, frame } => {
                self.ground.now = at;
                match self.ground.nic_at(edge) {
                    Some(nic) => self.reach(nic, frame),
                    None => drop(self.ground.flight.land(frame.tag)),
                }
            }
            Event::Copied { frame, copies, .. } => self.ground.flight.copied(frame.tag, copies),
            Event::Dropped { frame, .. } => drop(self.ground.flight.land(frame.tag)),
            Event::Pause { at, edge, stop } => {
                self.ground.now = at;
                let Some(number) = self.ground.nic_at(edge) else { return };
                let nic = &mut self.ground.nics[number as usize];
                nic.held = stop;
                nic.counts.pauses += u64::from(stop);
                self.ground.arm(number);
            }
        }
    }

    /// Handles an actor's turn.
    #[inline]
    pub(crate) fn act(&mut self, who: u32, network: &mut Network) {
        match self.ground.actor(who) {
            Actor::Nic(number) => self.serve(number, network),
            Actor::Cable(number) => {
                if let Some(frame) = self.ground.over_cable(number) {
                    self.reach(number, frame);
                }
            }
            Actor::Inbox(number) => {
                if let Some(frame) = self.ground.noticed(number) {
                    self.notice(frame.tag, self.ground.now);
                }
            }
            Actor::Alarm(alarm) => self.alarm(alarm),
        }
    }

    /// Serves a port: sends the next frame, and schedules the one after.
    #[inline]
    fn serve(&mut self, number: u32, network: &mut Network) {
        let nic = &mut self.ground.nics[number as usize];
        if nic.is_open() && nic.free <= self.ground.now {
            let frame = match nic.dequeue() {
                Some(frame) => Some(frame),
                None => self.due(number).or_else(|| self.pull(number)),
            };
            // A stream that had nothing to send may have had an acknowledgement.
            let frame = frame.or_else(|| self.ground.nics[number as usize].dequeue());
            if let Some(frame) = frame {
                self.ground.depart(number, frame, network);
            }
        }
        let next = self.ground.nics[number as usize].next();
        self.ground.agenda.set(number, next);
    }

    /// Returns the due frame of a load on schedule.
    #[inline]
    fn due(&mut self, number: u32) -> Option<Frame> {
        loop {
            let paced = &self.ground.nics[number as usize].paced;
            let load = match paced.peek() {
                Some(Reverse((due, load))) if *due <= self.ground.now => *load,
                _ => return None,
            };
            let (frame, next) = self.flows.loads[load as usize].turn(&mut self.ground);
            let paced = &mut self.ground.nics[number as usize].paced;
            if next == Picos::MAX {
                paced.pop();
            } else if let Some(mut first) = paced.peek_mut() {
                *first = Reverse((next, load));
            }
            if frame.is_some() {
                return frame;
            }
        }
    }

    /// Returns the frame of a source that always has one, each in turn.
    #[inline]
    fn pull(&mut self, number: u32) -> Option<Frame> {
        loop {
            let first = self.ground.nics[number as usize].pulls.pop_front()?;
            let frame = match first {
                Pull::Load(load) => self.flows.loads[load as usize].pull(&mut self.ground),
                Pull::Stream(stream) => self.pull_stream(stream),
            };
            if frame.is_some() {
                self.ground.nics[number as usize].pulls.push_back(first);
                return frame;
            }
        }
    }

    /// Returns a stream's next frame, with its partner's acknowledgement.
    #[inline]
    fn pull_stream(&mut self, number: u32) -> Option<Frame> {
        let (ground, streams) = (&mut self.ground, &mut self.flows.streams);
        let stream = &mut streams[number as usize];
        let partner = stream.partner();
        let segment = stream.pull(ground);
        let mut along = None;
        if let Some(partner) = partner {
            let partner = &mut streams[partner as usize];
            match segment {
                Some(_) => along = partner.along(ground),
                None => partner.settle(ground),
            }
        }
        let stream = &streams[number as usize];
        let frame = segment.map(|segment| stream.frame(ground, segment, along));
        if segment.is_some()
            && let Owner::Exchange(exchange, back) = stream.owner
            && !stream.sender().has_more()
        {
            self.finish_part(exchange, usize::from(back));
        }
        frame
    }

    /// Handles the departure of everything that an end of an exchange had to send: if it was a part
    /// of a collective, the rank may go on.
    fn finish_part(&mut self, exchange: u32, end: usize) {
        let Flows { exchanges, members, streams, .. } = &mut self.flows;
        if let Some(parts) = exchanges[exchange as usize].parts() {
            let member = &mut members[parts.members[end] as usize];
            member.finish_part(&mut self.ground, streams, exchanges, parts.ranks[1 - end]);
        }
    }

    /// Handles the arrival of a frame's last bit at a port.
    #[inline]
    fn reach(&mut self, number: u32, frame: Frame) {
        let nic = &mut self.ground.nics[number as usize];
        if nic.dead {
            self.ground.flight.land(frame.tag);
            return;
        }
        nic.counts.received += 1;
        if frame.destination == Mac::BROADCAST && Kind::from_tag(frame.tag) == Kind::Datagram {
            self.overhear(number, frame.tag);
        } else if !nic.hears(frame.destination) {
            nic.counts.others += u64::from(!frame.destination.is_group());
            self.ground.flight.land(frame.tag);
        } else if self.ground.turnaround_at(number) == Picos::ZERO {
            self.notice(frame.tag, self.ground.now);
        } else if Kind::from_tag(frame.tag) == Kind::Datagram {
            // It is only counted.
            self.notice(frame.tag, self.ground.now + self.ground.turnaround_at(number));
        } else {
            self.ground.leave_for_host(number, frame);
        }
    }

    /// Counts a copy of a load's broadcast frame at a port, if it is the receiving one.
    fn overhear(&mut self, number: u32, tag: u64) {
        let at = self.ground.now + self.ground.turnaround_at(number);
        if let Cargo::Probe(_, probe) = self.ground.flight.land(tag) {
            let load = &mut self.flows.loads[probe.flow as usize];
            if load.to() == number {
                load.arrive(at, &probe);
            }
        }
    }

    /// Handles a frame that a host notices at `at`.
    #[inline]
    fn notice(&mut self, tag: u64, at: Picos) {
        let flows = &mut self.flows;
        match self.ground.flight.land(tag) {
            Cargo::Nothing => {}
            Cargo::Probe(Kind::Datagram, probe) => {
                flows.loads[probe.flow as usize].arrive(at, &probe);
            }
            Cargo::Probe(Kind::Echo, probe) => {
                let echo = &mut flows.echoes[probe.flow as usize];
                echo.arrive(&mut self.ground, &mut flows.streams, &probe);
            }
            Cargo::Probe(Kind::Session, probe) => {
                flows.sessions[probe.flow as usize].arrive(&mut self.ground, &probe);
            }
            Cargo::Probe(_, probe) => {
                let exchange = &mut flows.exchanges[probe.flow as usize];
                exchange.arrive(&mut self.ground, &mut flows.streams, &probe);
            }
            Cargo::Ack(stream, ack) => {
                flows.streams[stream as usize].acknowledge(&mut self.ground, &ack);
            }
            Cargo::Segment(stream, segment, along) => {
                if let Some((other, ack)) = along {
                    flows.streams[other as usize].acknowledge(&mut self.ground, &ack);
                }
                self.receive(stream, &segment);
            }
        }
    }

    /// Handles a segment at the end of its stream. The acknowledgement is carried with the payload
    /// of the same end, if it has any to send.
    #[inline]
    fn receive(&mut self, number: u32, segment: &Segment) {
        let stream = &mut self.flows.streams[number as usize];
        let (owner, partner) = (stream.owner, stream.partner());
        let (more, all) = stream.receive(&mut self.ground, segment);
        if more > 0 {
            self.progress(owner, more, all);
        }
        let streams = &mut self.flows.streams;
        if !partner.is_some_and(|partner| streams[partner as usize].is_queued()) {
            streams[number as usize].settle(&mut self.ground);
        }
    }

    /// Passes `more` octets newly in order, `all` in total, to the flow.
    fn progress(&mut self, owner: Owner, more: u64, all: u64) {
        let (ground, flows) = (&mut self.ground, &mut self.flows);
        match owner {
            Owner::Bulk(bulk, stream) => {
                flows.bulks[bulk as usize].arrive(ground.now, stream, more);
            }
            Owner::Echo(echo, back) => {
                flows.echoes[echo as usize].progress(ground, &mut flows.streams, back, all);
            }
            Owner::Exchange(exchange, back) => {
                let from = usize::from(back);
                let Flows { exchanges, members, streams, .. } = flows;
                let exchange = &mut exchanges[exchange as usize];
                exchange.progress(ground, streams, from, more, all);
                if let Some(parts) = exchange.parts() {
                    let member = &mut members[parts.members[1 - from] as usize];
                    member.arrive(ground, streams, exchanges, parts.ranks[from], more);
                }
            }
            Owner::Storage(storage, over, back) => {
                let heard = Heard { over, back, octets: all };
                let storage = &mut flows.storages[storage as usize];
                storage.progress(ground, &mut flows.streams, &mut flows.disks, heard);
            }
        }
    }

    fn alarm(&mut self, alarm: u32) {
        let (ground, flows) = (&mut self.ground, &mut self.flows);
        match flows.alarms[alarm as usize] {
            Alarm::Sender(stream) => flows.streams[stream as usize].expire(ground, false),
            Alarm::Receiver(stream) => flows.streams[stream as usize].expire(ground, true),
            Alarm::Echo(echo) => flows.echoes[echo as usize].alarm(ground, &mut flows.streams),
            Alarm::Sessions(sessions) => flows.sessions[sessions as usize].alarm(ground),
            Alarm::Bulk(bulk) => flows.bulks[bulk as usize].alarm(ground, &mut flows.streams),
            Alarm::Exchange(exchange, end) => {
                let exchange = &mut flows.exchanges[exchange as usize];
                exchange.alarm(ground, &mut flows.streams, usize::from(end));
            }
            Alarm::Member(member) => {
                let Flows { exchanges, members, streams, .. } = flows;
                members[member as usize].begin(ground, streams, exchanges);
                ground.set_alarm(alarm, Picos::MAX);
            }
            Alarm::Storage(storage) => {
                flows.storages[storage as usize].alarm(ground, &mut flows.streams);
            }
            Alarm::Disk(disk) => {
                while let Some(ticket) = flows.disks[disk as usize].over(ground) {
                    let storage = &mut flows.storages[ticket.flow as usize];
                    storage.done(ground, &mut flows.streams, ticket);
                }
            }
        }
    }

    /// Starts the load: schedules the first event of every flow.
    pub(crate) fn begin(&mut self, window: Window) {
        let start = window.start;
        self.ground.now = start;
        for (place, load) in (0..).zip(&self.flows.loads) {
            let nic = &mut self.ground.nics[load.nic() as usize];
            match load.first_due() {
                Some(due) if due < window.stop => nic.paced.push(Reverse((due, place))),
                Some(_) => {}
                None => nic.pulls.push_back(Pull::Load(place)),
            }
        }
        for number in 0..self.ground.nics.len() as u32 {
            let next = self.ground.nics[number as usize].next();
            let next = if next == Picos::MAX { next } else { next.max(start) };
            self.ground.agenda.set(number, next);
        }
        for (number, alarm) in (0..).zip(&self.flows.alarms) {
            match alarm {
                Alarm::Sender(_) | Alarm::Receiver(_) | Alarm::Disk(_) => {}
                Alarm::Echo(_)
                | Alarm::Bulk(_)
                | Alarm::Exchange(..)
                | Alarm::Member(_)
                | Alarm::Storage(_)
                | Alarm::Sessions(_) => {
                    self.ground.set_alarm(number, start);
                }
            }
        }
    }

    /// Makes the failing hosts fail: their queued frames stay where they are.
    fn die(&mut self) {
        for number in 0..self.ground.nics.len() as u32 {
            let nic = &mut self.ground.nics[number as usize];
            nic.dead |= nic.mortal;
            if nic.dead {
                self.ground.agenda.set(number, Picos::MAX);
            }
        }
    }

    /// Takes a port's link to the network down or up. Frames due meanwhile are not sent.
    fn carrier(&mut self, number: u32, down: bool) {
        let now = self.ground.now;
        let nic = &mut self.ground.nics[number as usize];
        nic.down = down;
        nic.held = false;
        nic.counts.carrier_changes += 1;
        if down {
            self.ground.agenda.set(number, Picos::MAX);
            return;
        }
        let paced = std::mem::take(&mut nic.paced).into_iter();
        let loads = &mut self.flows.loads;
        let next = |Reverse((_, load)): Reverse<(Picos, u32)>| {
            let due = loads[load as usize].skip(now)?;
            (due < Picos::MAX).then_some(Reverse((due, load)))
        };
        let paced = paced.filter_map(next).collect();
        let nic = &mut self.ground.nics[number as usize];
        nic.paced = paced;
        let next = nic.next();
        let next = if next == Picos::MAX { next } else { next.max(now) };
        self.ground.agenda.set(number, next);
    }
}
