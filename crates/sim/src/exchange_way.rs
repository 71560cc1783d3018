//! One direction of an exchange over datagrams: frames for the parts of its messages, and for their
//! credits.
//!
//! Owns the frames' contents and direction. `trial::credits` decides which part may leave and what
//! an arrival means. Never knows the other direction.

use measure::Picos;
use trial::credits::{Inbound, Outbound, Progress};

use crate::HostModel;
use crate::flight::{Kind, Probe};
use crate::shared_state::{Lane, SharedState};

/// Octets of IPv4 and UDP headers; `FRAME_OVERHEAD` includes Ethernet's.
const PACKET_OVERHEAD: u32 = 28;
const FRAME_OVERHEAD: u32 = 46;
const SHORTEST: u32 = 64;

/// Mark of a credit in a probe, as opposed to a part of a message; the sending end is the lowest
/// bit.
const CREDIT: u32 = 2;

/// State of one direction: what one end sends and the other receives.
#[derive(Debug)]
pub(crate) struct ExchangeWay {
    /// Place of the exchange, and the sending end.
    flow: u32,
    end: u32,
    there: Lane,
    back: Lane,
    parts: u64,
    /// Octets of a message's frames, and of their payload: of all but the last, and of the last.
    sizes: [u32; 2],
    payloads: [u64; 2],
    silent: Picos,
    out: Outbound<Picos>,
    inbound: Inbound<Picos>,
}

impl ExchangeWay {
    /// Creates a direction for messages of the given octets, in packets of at most the hosts' MTU.
    /// A host's queue limits the credits.
    pub(crate) fn new(
        flow: u32,
        end: u32,
        [there, back]: [Lane; 2],
        message: u64,
        hosts: &HostModel,
        credits: u16,
        silent: Picos,
    ) -> Self {
        let most = u64::from(hosts.mtu - PACKET_OVERHEAD);
        let parts = message.div_ceil(most).max(1);
        let last = (message - (parts - 1) * most) as u32;
        let frame = |payload: u32| (payload + FRAME_OVERHEAD).max(SHORTEST);
        let fit = hosts.queue.0 / u64::from(frame(most as u32));
        let credits = u64::from(credits).min(fit).max(1);
        Self {
            flow,
            end,
            there,
            back,
            parts,
            sizes: [frame(most as u32), frame(last)],
            payloads: [most, u64::from(last)],
            silent,
            out: Outbound::new(parts, credits),
            inbound: Inbound::new(parts, credits),
        }
    }

    /// End that sent the message part of a probe, or that its credit answers.
    pub(crate) const fn sender_of(probe: &Probe) -> usize {
        (probe.mark & 1) as usize
    }

    /// Starts the next message.
    pub(crate) fn begin(&mut self, ground: &mut SharedState) {
        self.out.begin(ground.now);
        self.push(ground);
    }

    fn push(&mut self, ground: &mut SharedState) {
        while let Some(number) = self.out.due()
            && ground.now < self.silent
        {
            let is_last = (number + 1).is_multiple_of(self.parts);
            let probe = Probe { flow: self.flow, mark: self.end, number, stamp: ground.now };
            let tag = ground.flight.probe(Kind::ExchangeHeader, probe);
            self.out.mark_sent();
            // A frame refused by the queue is lost like any other.
            ground.send(&self.there, self.sizes[usize::from(is_last)], tag);
        }
    }

    /// Handles a long absence of credits at the sender: nothing is in flight any more.
    pub(crate) fn unstick(&mut self, ground: &mut SharedState) {
        self.out.unstick(ground.now);
        self.push(ground);
    }

    /// Starts the receiver's wait for the next message.
    pub(crate) fn await_from(&mut self, now: Picos) {
        self.inbound.await_from(now);
    }

    /// End of the receiver's wait.
    pub(crate) fn patience_ends(&self) -> Picos {
        self.inbound.patience_ends()
    }

    /// Gives up the receiver's current message: it will not arrive whole.
    pub(crate) fn give_up(&mut self, now: Picos) {
        self.inbound.give_up(now);
    }

    /// Handles a frame of this direction at the receiver, or its credit at the sender. Returns the
    /// progress made and the payload.
    pub(crate) fn arrive(&mut self, ground: &mut SharedState, probe: &Probe) -> (Progress, u64) {
        if probe.mark & CREDIT != 0 {
            self.out.credit(probe.number, ground.now);
            if self.out.due().is_some() {
                ground.hand_over(self.there.nic);
            }
            self.push(ground);
            return (Progress::Nothing, 0);
        }
        let (progress, credit) = self.inbound.arrive(probe.number, ground.now);
        if let Some(number) = credit {
            self.credit(number, ground);
        }
        let is_last = (probe.number + 1).is_multiple_of(self.parts);
        (progress, self.payloads[usize::from(is_last)])
    }

    fn credit(&self, number: u64, ground: &mut SharedState) {
        let mark = CREDIT | self.end;
        let probe = Probe { flow: self.flow, mark, number, stamp: ground.now };
        let tag = ground.flight.probe(Kind::ExchangeHeader, probe);
        ground.send(&self.back, SHORTEST, tag);
    }

    /// Distinct frames that arrived.
    pub(crate) const fn received(&self) -> u64 {
        self.inbound.received()
    }

    /// Frames that never arrived.
    pub(crate) const fn lost(&self) -> u64 {
        self.out.sent() - self.inbound.received()
    }
}
