//! One way of a TCP connection on the wire: the two state machines, and the frames between them.
//!
//! Owns which frame a segment or an acknowledgement becomes. Where the same end also sends payload,
//! an acknowledgement goes along with it, as a kernel's does. Never decides what is sent or why:
//! `tcp` and the flow do.

use device::Frame;
use measure::Picos;

use crate::nic::Pull;
use crate::shared_state::{Lane, SharedState};
use crate::tcp::{Ack, Config, Receiver, Segment, Sender};

/// Ethernet 14 + 4, IPv4 20, TCP 20, time stamps 12.
pub(crate) const TCP_OVERHEAD: u32 = 70;
/// The shortest frame.
const SHORTEST: u32 = 64;

/// The flow that a stream belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Of the bulk flows, by place, and which of its streams.
    Bulk(u32, u16),
    /// Of the echo flows; whether it carries the answers.
    Echo(u32, bool),
    /// Of the exchanges; whether it goes back.
    Exchange(u32, bool),
    /// Of the storage flows; over which of its connections, and whether it carries the answers.
    Storage(u32, u16, bool),
}

/// What a stream needs beside its machines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Course {
    /// Its own place.
    pub(crate) place: u32,
    /// Of payload.
    pub(crate) data: Lane,
    /// Of acknowledgements.
    pub(crate) acks: Lane,
    /// The alarms: the sender's and the receiver's.
    pub(crate) alarms: [u32; 2],
    /// From then on nothing is sent.
    pub(crate) silent: Picos,
    /// The stream of the same connection that goes the other way.
    pub(crate) partner: Option<u32>,
}

/// A stream.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) owner: Owner,
    sender: Sender,
    receiver: Receiver,
    course: Course,
    queued: bool,
    taken: u64,
    /// An acknowledgement that waits to go along.
    owed: Option<Ack>,
}

impl Stream {
    pub(crate) fn new(owner: Owner, course: Course, config: Config, window: u64) -> Self {
        Self {
            owner,
            sender: Sender::new(config),
            receiver: Receiver::new(window),
            course,
            queued: false,
            taken: 0,
            owed: None,
        }
    }

    /// The sending end.
    pub(crate) const fn sender(&self) -> &Sender {
        &self.sender
    }

    /// More payload to send.
    pub(crate) fn offer(&mut self, ground: &mut SharedState, octets: u64) {
        self.sender.offer(octets);
        self.ready(ground);
    }

    /// Asks for the line.
    fn ready(&mut self, ground: &mut SharedState) {
        let Course { place, data, .. } = self.course;
        self.set_timer(ground);
        if !self.queued && ground.now < self.course.silent {
            self.queued = true;
            ground.nics[data.nic as usize].pulls.push_back(Pull::Stream(place));
        }
        ground.arm(data.nic);
    }

    /// The stream of the same connection that goes the other way.
    #[inline]
    pub(crate) const fn partner(&self) -> Option<u32> {
        self.course.partner
    }

    /// Whether it has asked for the line.
    #[inline]
    pub(crate) const fn is_queued(&self) -> bool {
        self.queued
    }

    /// The line is free: the next segment, or none until something happens.
    #[inline]
    pub(crate) fn pull(&mut self, ground: &mut SharedState) -> Option<Segment> {
        let now = ground.now;
        let segment = if now < self.course.silent { self.sender.poll(now) } else { None };
        self.set_timer(ground);
        self.queued = segment.is_some();
        segment
    }

    /// A segment's frame, with the acknowledgement that another stream's receiver sends along.
    #[inline]
    pub(crate) fn frame(
        &self,
        ground: &mut SharedState,
        segment: Segment,
        along: Option<(u32, Ack)>,
    ) -> Frame {
        let tag = ground.flight.segment(self.course.place, segment, along);
        self.course.data.frame((segment.octets + TCP_OVERHEAD).max(SHORTEST), tag)
    }

    /// What its receiver has to say, for a segment that leaves the same end now. SACK blocks take
    /// room that a full segment has not.
    #[inline]
    pub(crate) fn along(&mut self, ground: &mut SharedState) -> Option<(u32, Ack)> {
        let ack = match self.owed.take() {
            Some(ack) if ack.block_count > 0 => {
                self.answer(ground, ack);
                None
            }
            Some(ack) => Some(ack),
            // A delayed one need not wait longer.
            None => self.receiver.deadline().and_then(|due| self.receiver.expire(due)),
        };
        self.set_delay(ground);
        ack.map(|ack| (self.course.place, ack))
    }

    /// Sends what its receiver has to say by itself.
    #[inline]
    pub(crate) fn settle(&mut self, ground: &mut SharedState) {
        if let Some(ack) = self.owed.take() {
            self.answer(ground, ack);
        }
    }

    /// A segment came: how much payload is newly in order, and how much is in all. What the
    /// receiver has to say waits for [`Self::settle`] or [`Self::along`].
    pub(crate) fn receive(&mut self, ground: &mut SharedState, segment: &Segment) -> (u64, u64) {
        self.settle(ground);
        self.owed = self.receiver.receive(ground.now, segment);
        self.set_delay(ground);
        let all = self.receiver.in_order();
        let more = all - self.taken;
        self.taken = all;
        (more, all)
    }

    /// An acknowledgement came.
    pub(crate) fn acknowledge(&mut self, ground: &mut SharedState, ack: &Ack) {
        self.sender.acknowledge(ground.now, ack);
        if !self.queued && self.sender.has_more() {
            ground.hand_over(self.course.data.nic);
        }
        self.ready(ground);
    }

    /// One of its alarms went off.
    pub(crate) fn expire(&mut self, ground: &mut SharedState, of_receiver: bool) {
        if of_receiver {
            if let Some(ack) = self.receiver.expire(ground.now) {
                self.answer(ground, ack);
            }
            self.set_delay(ground);
        } else {
            if ground.now < self.course.silent {
                self.sender.expire(ground.now);
            }
            self.ready(ground);
        }
    }

    /// A sender that sends no more has no timer.
    fn set_timer(&self, ground: &mut SharedState) {
        let deadline = self.sender.deadline().filter(|_| ground.now < self.course.silent);
        ground.set_alarm(self.course.alarms[0], deadline.unwrap_or(Picos::MAX));
    }

    fn answer(&self, ground: &mut SharedState, ack: Ack) {
        let tag = ground.flight.ack(self.course.place, ack);
        ground.send(&self.course.acks, ack_octets(&ack), tag);
    }

    fn set_delay(&self, ground: &mut SharedState) {
        let deadline = self.receiver.deadline().unwrap_or(Picos::MAX);
        ground.set_alarm(self.course.alarms[1], deadline);
    }
}

/// RFC 2018 §3: two octets and eight a block, and two of padding.
fn ack_octets(ack: &Ack) -> u32 {
    match u32::from(ack.block_count) {
        0 => TCP_OVERHEAD,
        blocks => TCP_OVERHEAD + 4 + 8 * blocks,
    }
}
