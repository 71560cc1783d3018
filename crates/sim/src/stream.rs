//! One direction of a TCP connection on the wire: the two state machines, and the frames between
//! them.
//!
//! Owns the frames of segments and acknowledgements. If the same end also sends payload, an
//! acknowledgement is carried with it, as a kernel does. Never decides what is sent or why: `tcp`
//! and the flow do.

use device::Frame;
use measure::Picos;

use crate::nic::Pull;
use crate::shared_state::{Lane, SharedState};
use crate::tcp::{Ack, Config, Receiver, Segment, Sender};

/// Octets of all headers: Ethernet 14 + 4, IPv4 20, TCP 20, time stamps 12.
pub(crate) const TCP_OVERHEAD: u32 = 70;
/// Octets of the shortest frame.
const SHORTEST: u32 = 64;

/// Flow that a stream belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Bulk flow, by place, and the stream of the flow.
    Bulk(u32, u16),
    /// Echo flow, by place; true if the stream carries the answers.
    Echo(u32, bool),
    /// Exchange, by place; true if the stream is the backward one.
    Exchange(u32, bool),
    /// Storage flow, by place; its connection, and true if the stream carries the answers.
    Storage(u32, u16, bool),
}

/// Configuration of a stream besides its state machines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Course {
    /// Place of the stream.
    pub(crate) place: u32,
    /// Lane of the payload.
    pub(crate) data: Lane,
    /// Lane of the acknowledgements.
    pub(crate) acks: Lane,
    /// Alarms of the sender and of the receiver.
    pub(crate) alarms: [u32; 2],
    /// Time from which nothing is sent.
    pub(crate) silent: Picos,
    /// Stream of the same connection in the other direction.
    pub(crate) partner: Option<u32>,
}

/// TCP stream.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) owner: Owner,
    sender: Sender,
    receiver: Receiver,
    course: Course,
    queued: bool,
    taken: u64,
    /// Acknowledgement that waits to be carried with payload.
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

    /// Sending end.
    pub(crate) const fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Adds payload to send.
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

    /// Stream of the same connection in the other direction.
    #[inline]
    pub(crate) const fn partner(&self) -> Option<u32> {
        self.course.partner
    }

    /// True if the stream has asked for the line.
    #[inline]
    pub(crate) const fn is_queued(&self) -> bool {
        self.queued
    }

    /// Returns the next segment for a free line; `None` until something happens.
    #[inline]
    pub(crate) fn pull(&mut self, ground: &mut SharedState) -> Option<Segment> {
        let now = ground.now;
        let segment = if now < self.course.silent { self.sender.poll(now) } else { None };
        self.set_timer(ground);
        self.queued = segment.is_some();
        segment
    }

    /// Builds a segment's frame, with the accompanying acknowledgement of another stream's
    /// receiver.
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

    /// Returns the receiver's acknowledgement, to accompany a segment that leaves the same end now.
    /// SACK blocks would not fit into a full segment, so such an acknowledgement is sent by itself.
    #[inline]
    pub(crate) fn along(&mut self, ground: &mut SharedState) -> Option<(u32, Ack)> {
        let ack = match self.owed.take() {
            Some(ack) if ack.block_count > 0 => {
                self.answer(ground, ack);
                None
            }
            Some(ack) => Some(ack),
            // A delayed acknowledgement need not wait longer.
            None => self.receiver.deadline().and_then(|due| self.receiver.expire(due)),
        };
        self.set_delay(ground);
        ack.map(|ack| (self.course.place, ack))
    }

    /// Sends the receiver's pending acknowledgement by itself.
    #[inline]
    pub(crate) fn settle(&mut self, ground: &mut SharedState) {
        if let Some(ack) = self.owed.take() {
            self.answer(ground, ack);
        }
    }

    /// Receives a segment; returns the payload newly in order, and in total. The acknowledgement
    /// waits for [`Self::settle`] or [`Self::along`].
    pub(crate) fn receive(&mut self, ground: &mut SharedState, segment: &Segment) -> (u64, u64) {
        self.settle(ground);
        self.owed = self.receiver.receive(ground.now, segment);
        self.set_delay(ground);
        let all = self.receiver.in_order();
        let more = all - self.taken;
        self.taken = all;
        (more, all)
    }

    /// Receives an acknowledgement.
    pub(crate) fn acknowledge(&mut self, ground: &mut SharedState, ack: &Ack) {
        self.sender.acknowledge(ground.now, ack);
        if !self.queued && self.sender.has_more() {
            ground.hand_over(self.course.data.nic);
        }
        self.ready(ground);
    }

    /// Handles the expiry of one of its alarms.
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

    /// Sets the sender's timer; a sender that sends no more has none.
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

/// Octets of the SACK option. RFC 2018 §3: two octets and eight per block, and two of padding.
fn ack_octets(ack: &Ack) -> u32 {
    match u32::from(ack.block_count) {
        0 => TCP_OVERHEAD,
        blocks => TCP_OVERHEAD + 4 + 8 * blocks,
    }
}
