//! Connections opened at a rate, as a device with a table of sessions sees them.
//!
//! Owns the opener's schedule, its time-outs, and the device's table and limit of new sessions. A
//! TCP connection is a SYN, its answer, a message, and its answer, a UDP flow the latter two; its
//! close takes no frame, a lost frame is not sent again, and the questions at the load's end take
//! none either. Each trial begins with an empty table.

use std::collections::{BTreeMap, VecDeque};

use device::SessionLimits;
use measure::{FrameRate, Histogram, Nanos, Picos};
use trial::record::{Failures, SessionsRecord};
use trial::{Hold, Opening, Transport};

use crate::flight::{Kind, Probe};
use crate::shared_state::{Lane, SharedState, Window};
use crate::turns::Turns;

/// Octets of a SYN and of its answer with their FCS, and of a message with TCP's time stamps.
const SYN_OCTETS: u32 = 78;
const MESSAGE_OCTETS: u32 = 82;

/// Marks of a connection's frames, in their order.
const SYN: u32 = 0;
const SYN_ACK: u32 = 1;
const MESSAGE: u32 = 2;
const ANSWER: u32 = 3;

const PICOS_PER_SECOND: f64 = 1e12;

/// Flow of connections.
#[derive(Debug)]
pub(crate) struct Sessions {
    place: u32,
    lanes: [Lane; 2],
    asked: trial::Sessions,
    turns: Option<Turns>,
    window: Window,
    alarm: u32,
    gate: Option<Gate>,
    /// Connections under way: false until the handshake is complete.
    under_way: BTreeMap<u64, bool>,
    /// Times at which connections time out, in the order of their begin.
    deadlines: VecDeque<(Picos, u64)>,
    begun: u64,
    opened: u64,
    /// Times at which idle connections spoke last.
    silent_since: Vec<Picos>,
    failed: Failures,
    most_held: u64,
    first: Option<Picos>,
    last: Picos,
    handshakes: Histogram,
}

/// A device's table of sessions, and its token bucket of new ones.
#[derive(Debug)]
struct Gate {
    limits: SessionLimits,
    entries: u64,
    /// Times at which entries of ended flows are forgotten.
    forgotten: VecDeque<Picos>,
    tokens: f64,
    filled: Picos,
}

impl Gate {
    fn new(limits: SessionLimits, now: Picos) -> Self {
        let (entries, forgotten) = (0, VecDeque::new());
        Self { limits, entries, forgotten, tokens: f64::from(limits.burst), filled: now }
    }

    /// True if a new session passes; it then has an entry.
    fn admits(&mut self, now: Picos) -> bool {
        let SessionLimits { table, per_second, burst, .. } = self.limits;
        while self.forgotten.front().is_some_and(|at| *at <= now) {
            self.forgotten.pop_front();
            self.entries -= 1;
        }
        if per_second > 0 {
            let passed = now.saturating_sub(self.filled).0 as f64 / PICOS_PER_SECOND;
            let filled = self.tokens + passed * per_second as f64;
            self.tokens = filled.min(f64::from(burst));
            self.filled = now;
            // Rounding: sessions at exactly the rate all pass.
            if self.tokens < 1.0 - 1e-6 {
                return false;
            }
        }
        if table > 0 && self.entries >= table {
            return false;
        }
        self.tokens -= 1.0;
        self.entries += 1;
        true
    }

    /// Ends a session. The device sees that of TCP; it forgets a UDP flow that is silent.
    fn end(&mut self, transport: Transport, now: Picos) {
        match (transport, self.limits.idle) {
            (Transport::Tcp, _) => self.entries = self.entries.saturating_sub(1),
            (Transport::Udp, Nanos::ZERO) => {}
            (Transport::Udp, idle) => self.forgotten.push_back(now + idle.into()),
        }
    }
}

impl Sessions {
    /// Creates the flow at `place` among those of connections; `limits` are the device's on its
    /// path.
    pub(crate) fn new(
        asked: trial::Sessions,
        place: u32,
        lanes: [Lane; 2],
        alarm: u32,
        window: Window,
        limits: Option<SessionLimits>,
    ) -> Self {
        let turns = match asked.opening {
            Opening::Paced(rate) => {
                let load = (window.stop - window.start).to_nanos();
                Some(Turns::paced(window.start, load, FrameRate(rate.0)))
            }
            Opening::Greedy(_) => None,
        };
        Self {
            place,
            lanes,
            asked,
            turns,
            window,
            alarm,
            gate: limits.map(|limits| Gate::new(limits, window.start)),
            under_way: BTreeMap::new(),
            deadlines: VecDeque::new(),
            begun: 0,
            opened: 0,
            silent_since: Vec::new(),
            failed: Failures::default(),
            most_held: 0,
            first: None,
            last: Picos::ZERO,
            handshakes: Histogram::growing(),
        }
    }

    /// Begins the connections that are due, and gives up those whose time is over.
    pub(crate) fn alarm(&mut self, ground: &mut SharedState) {
        self.time_out(ground.now);
        self.begin_due(ground);
        self.set_alarm(ground);
    }

    /// Handles a connection's frame at either end.
    pub(crate) fn arrive(&mut self, ground: &mut SharedState, probe: &Probe) {
        match probe.mark {
            SYN => self.send(ground, 1, Probe { mark: SYN_ACK, ..*probe }),
            MESSAGE => self.send(ground, 1, Probe { mark: ANSWER, ..*probe }),
            SYN_ACK => {
                let Some(complete) = self.under_way.get_mut(&probe.number) else { return };
                *complete = true;
                self.handshakes.record((ground.now - probe.stamp).to_nanos());
                self.send(ground, 0, Probe { mark: MESSAGE, ..*probe });
            }
            _ => {
                if self.under_way.remove(&probe.number).is_none() {
                    return;
                }
                self.opened += 1;
                if self.asked.transport == Transport::Udp {
                    self.handshakes.record((ground.now - probe.stamp).to_nanos());
                }
                match (self.asked.hold, &mut self.gate) {
                    (Hold::Answered, Some(gate)) => gate.end(self.asked.transport, ground.now),
                    (Hold::Idle, _) => {
                        let active = self.asked.active.unwrap_or(Nanos::ZERO);
                        self.silent_since.push(ground.now + active.into());
                    }
                    _ => {}
                }
                if self.turns.is_none() {
                    self.begin_due(ground);
                    self.set_alarm(ground);
                }
            }
        }
    }

    fn begin_due(&mut self, ground: &mut SharedState) {
        let most = self.asked.most.unwrap_or(u64::MAX);
        while ground.now < self.window.stop && self.begun < most {
            let may = match (self.asked.opening, self.turns) {
                (Opening::Greedy(limit), _) => (self.under_way.len() as u64) < u64::from(limit),
                (_, Some(turns)) => turns.due(self.begun) <= ground.now,
                (_, None) => false,
            };
            if !may {
                return;
            }
            self.begin(ground);
        }
    }

    fn begin(&mut self, ground: &mut SharedState) {
        let (number, now) = (self.begun, ground.now);
        self.begun += 1;
        self.first = self.first.or(Some(now));
        self.last = now;
        self.under_way.insert(number, false);
        self.deadlines.push_back((now + self.asked.timeout.into(), number));
        let held = if self.asked.hold == Hold::Answered { 0 } else { self.opened };
        self.most_held = self.most_held.max(held + self.under_way.len() as u64);
        if self.gate.as_mut().is_none_or(|gate| gate.admits(now)) {
            let flow = self.place;
            let mark = match self.asked.transport {
                Transport::Tcp => SYN,
                Transport::Udp => MESSAGE,
            };
            self.send(ground, 0, Probe { flow, mark, number, stamp: now });
        }
    }

    fn send(&self, ground: &mut SharedState, lane: usize, probe: Probe) {
        let octets = if matches!(probe.mark, SYN | SYN_ACK) { SYN_OCTETS } else { MESSAGE_OCTETS };
        let tag = ground.flight.probe(Kind::Session, probe);
        ground.send(&self.lanes[lane], octets, tag);
    }

    fn time_out(&mut self, now: Picos) {
        while let Some((at, number)) = self.deadlines.front().copied() {
            if at > now {
                return;
            }
            self.deadlines.pop_front();
            self.give_up(number);
        }
    }

    fn give_up(&mut self, number: u64) {
        match self.under_way.remove(&number) {
            Some(false) => self.failed.timed_out += 1,
            Some(true) => self.failed.unanswered += 1,
            None => {}
        }
    }

    fn set_alarm(&self, ground: &mut SharedState) {
        let most = self.asked.most.unwrap_or(u64::MAX);
        let due = self.turns.map_or(Picos::MAX, |turns| turns.due(self.begun));
        let due = if due < self.window.stop && self.begun < most { due } else { Picos::MAX };
        let deadline = self.deadlines.front().map_or(Picos::MAX, |(at, _)| *at);
        ground.set_alarm(self.alarm, due.min(deadline));
    }

    pub(crate) fn record(mut self) -> SessionsRecord {
        for number in self.under_way.keys().copied().collect::<Vec<_>>() {
            self.give_up(number);
        }
        let stop = self.window.stop;
        let silence = self.silent_since.iter().map(|since| stop.saturating_sub(*since).to_nanos());
        let idle = self.gate.map_or(Nanos::ZERO, |gate| gate.limits.idle);
        let (alive, silent): (Vec<Nanos>, Vec<Nanos>) =
            silence.partition(|silence| idle == Nanos::ZERO || *silence < idle);
        let held = if self.asked.hold == Hold::Answered { 0 } else { self.opened };
        let first = self.first.unwrap_or(self.last);
        SessionsRecord {
            begun: self.begun,
            opened: self.opened,
            failed: self.failed,
            beginning: self.last.saturating_sub(first).to_nanos(),
            most_held: self.most_held,
            asked_again: held,
            still_answering: held - silent.len() as u64,
            oldest_alive: alive.into_iter().max(),
            youngest_silent: silent.into_iter().min(),
            handshakes: self.handshakes,
            accepted: self.opened,
            ..SessionsRecord::default()
        }
    }
}
