//! A path for one connection: a rate, a queue with a limit, a delay each way, and scripted mishaps.
//!
//! Owns its own small event queue. Never shares code with the simulator's: it is the measure for
//! both.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use measure::{Picos, Rate};
use sim::tcp::{Ack, Config, Reading, Receiver, Segment, Sender};

pub const MILLISECOND: u64 = 1_000_000_000;

pub fn ms(count: u64) -> Picos {
    Picos(count * MILLISECOND)
}

/// What the path is like. Delays are one way; the acknowledgements' way has no limit.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    pub rate: Rate,
    pub delay: Picos,
    /// Octets that may wait, the one on the wire included.
    pub buffer: u64,
    /// Added to each segment's payload.
    pub overhead: u64,
}

/// What happens to the nth segment or acknowledgement that is sent, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Passes,
    Dropped,
    /// Comes so much later; others overtake it.
    Late(Picos),
    /// Comes twice, the second time so much later.
    Twice(Picos),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExchangeHeader {
    Segment(Segment),
    Ack(Ack),
}

type SegmentFate<'a> = Box<dyn FnMut(u64, &Segment) -> Fate + 'a>;
type Watch<'a> = Box<dyn FnMut(Picos, &Reading) + 'a>;

/// A connection over the path. Mishaps are functions of how many were sent before.
pub struct Channel<'a> {
    pub sender: Sender,
    pub receiver: Receiver,
    pub path: Path,
    segment_fate: SegmentFate<'a>,
    ack_fate: Box<dyn FnMut(u64) -> Fate + 'a>,
    /// Called after every segment and acknowledgement that comes.
    watch: Watch<'a>,
    watched: bool,
    pub now: Picos,
    pub segments: u64,
    pub acks: u64,
    pub overflows: u64,
    wire_free: Picos,
    events: BinaryHeap<Reverse<(Picos, u64)>>,
    parcels: Vec<Option<ExchangeHeader>>,
    vacant: Vec<usize>,
    count: u64,
}

impl<'a> Channel<'a> {
    pub fn new(config: Config, window: u64, path: Path) -> Self {
        Self {
            sender: Sender::new(config),
            receiver: Receiver::new(window),
            path,
            segment_fate: Box::new(|_, _| Fate::Passes),
            ack_fate: Box::new(|_| Fate::Passes),
            watch: Box::new(|_, _| {}),
            watched: false,
            now: Picos::ZERO,
            segments: 0,
            acks: 0,
            overflows: 0,
            wire_free: Picos::ZERO,
            events: BinaryHeap::new(),
            parcels: Vec::new(),
            vacant: Vec::new(),
            count: 0,
        }
    }

    pub fn segment_fate(mut self, fate: impl FnMut(u64, &Segment) -> Fate + 'a) -> Self {
        self.segment_fate = Box::new(fate);
        self
    }

    pub fn ack_fate(mut self, fate: impl FnMut(u64) -> Fate + 'a) -> Self {
        self.ack_fate = Box::new(fate);
        self
    }

    pub fn watch(mut self, watch: impl FnMut(Picos, &Reading) + 'a) -> Self {
        self.watch = Box::new(watch);
        self.watched = true;
        self
    }

    pub fn offer(&mut self, octets: u64) {
        self.sender.offer(octets);
        self.pump();
    }

    pub fn reading(&self) -> Reading {
        self.sender.reading(self.now)
    }

    /// Until `end`, or until nothing more can happen.
    pub fn run(&mut self, end: Picos) {
        while self.step(end) {}
        self.now = self.now.max(end);
    }

    /// Until everything offered has been acknowledged; false if it is not by `end`.
    pub fn finish(&mut self, octets: u64, end: Picos) -> bool {
        while self.reading().acked.0 < octets && self.step(end) {}
        self.reading().acked.0 == octets
    }

    fn step(&mut self, end: Picos) -> bool {
        let parcel = self.events.peek().map(|Reverse((at, _))| *at);
        let timers = [self.sender.deadline(), self.receiver.deadline()];
        let next = timers.into_iter().chain([parcel]).flatten().min();
        let Some(next) = next.filter(|&next| next <= end) else { return false };
        self.now = self.now.max(next);
        if parcel.is_some_and(|at| at <= next) {
            self.arrive();
        } else {
            if let Some(ack) = self.receiver.expire(self.now) {
                self.send_ack(ack);
            }
            if self.sender.deadline().is_some_and(|at| at <= self.now) {
                self.sender.expire(self.now);
            }
        }
        self.pump();
        true
    }

    fn arrive(&mut self) {
        let Some(Reverse((_, key))) = self.events.pop() else { return };
        let slot = (key & 0xffff_ffff) as usize;
        self.vacant.push(slot);
        match self.parcels[slot].take() {
            Some(ExchangeHeader::Segment(segment)) => {
                if let Some(ack) = self.receiver.receive(self.now, &segment) {
                    self.send_ack(ack);
                }
            }
            Some(ExchangeHeader::Ack(ack)) => self.sender.acknowledge(self.now, &ack),
            None => unreachable!("every event has a parcel"),
        }
        if self.watched {
            (self.watch)(self.now, &self.sender.reading(self.now));
        }
    }

    fn pump(&mut self) {
        while let Some(segment) = self.sender.poll(self.now) {
            let number = self.segments;
            self.segments += 1;
            let fate = (self.segment_fate)(number, &segment);
            let octets = u64::from(segment.octets) + self.path.overhead;
            let start = self.wire_free.max(self.now);
            let waiting =
                u128::from((start - self.now).0) * u128::from(self.path.rate.0) / 8_000_000_000_000;
            if waiting as u64 + octets > self.path.buffer {
                self.overflows += 1;
                continue;
            }
            self.wire_free = start + Picos::to_send(octets, self.path.rate);
            self.carry(ExchangeHeader::Segment(segment), self.wire_free + self.path.delay, fate);
        }
    }

    fn send_ack(&mut self, ack: Ack) {
        let fate = (self.ack_fate)(self.acks);
        self.acks += 1;
        self.carry(ExchangeHeader::Ack(ack), self.now + self.path.delay, fate);
    }

    fn carry(&mut self, parcel: ExchangeHeader, at: Picos, fate: Fate) {
        match fate {
            Fate::Passes => self.schedule(parcel, at),
            Fate::Dropped => {}
            Fate::Late(more) => self.schedule(parcel, at + more),
            Fate::Twice(more) => {
                self.schedule(parcel, at);
                self.schedule(parcel, at + more);
            }
        }
    }

    fn schedule(&mut self, parcel: ExchangeHeader, at: Picos) {
        let slot = self.vacant.pop().unwrap_or_else(|| {
            self.parcels.push(None);
            self.parcels.len() - 1
        });
        self.parcels[slot] = Some(parcel);
        self.count += 1;
        self.events.push(Reverse((at, self.count << 32 | slot as u64)));
    }
}
