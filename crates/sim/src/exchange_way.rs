//! One way of an exchange over datagrams: frames for the parts of its messages, and for their
//! credits.
//!
//! Owns what the frames are and which way they go. Which part may leave and what an arrival comes
//! to is `trial::credits`'s. Never knows the other way.

use measure::Picos;
use trial::credits::{Inbound, Outbound, Progress};

use crate::flight::{Kind, Probe};
use crate::shared_state::{Lane, SharedState};

/// IPv4 and UDP headers, and those of Ethernet.
const PACKET_OVERHEAD: u32 = 28;
const FRAME_OVERHEAD: u32 = 46;
const SHORTEST: u32 = 64;

/// What tells a credit from a part of a message in a probe's mark; the sending end is the lowest
/// bit.
const CREDIT: u32 = 2;

/// What one end sends and the other receives.
#[derive(Debug)]
pub(crate) struct ExchangeWay {
    /// The exchange's place, and the sending end.
    flow: u32,
    end: u32,
    there: Lane,
    back: Lane,
    parts: u64,
    /// Octets of a message's frames, and of their payload: all but the last, and the last.
    sizes: [u32; 2],
    payloads: [u64; 2],
    silent: Picos,
    out: Outbound<Picos>,
    inbound: Inbound<Picos>,
}

impl ExchangeWay {
    /// For messages of so many octets, in packets of `mtu` octets at most, of which `room` octets'
    /// worth fit the host's queue.
    pub(crate) fn new(
        (flow, end): (u32, u32),
        [there, back]: [Lane; 2],
        (message, mtu): (u64, u32),
        (credits, room): (u16, u64),
        silent: Picos,
    ) -> Self {
        let most = u64::from(mtu - PACKET_OVERHEAD);
        let parts = message.div_ceil(most).max(1);
        let last = (message - (parts - 1) * most) as u32;
        let frame = |payload: u32| (payload + FRAME_OVERHEAD).max(SHORTEST);
        let fit = room / u64::from(frame(most as u32));
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

    /// Which end sent what this probe is about.
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
            self.out.left();
            // What the queue refuses is lost like any other.
            ground.send(&self.there, self.sizes[usize::from(is_last)], tag);
        }
    }

    /// At the sender: nothing was credited for long, so nothing is under way any more.
    pub(crate) fn unstick(&mut self, ground: &mut SharedState) {
        self.out.unstick(ground.now);
        self.push(ground);
    }

    /// At the receiver: it waits for the next message from now on.
    pub(crate) fn await_from(&mut self, now: Picos) {
        self.inbound.await_from(now);
    }

    /// At the receiver: when it stops waiting.
    pub(crate) fn patience_ends(&self) -> Picos {
        self.inbound.patience_ends()
    }

    /// At the receiver: the message waited for will not come whole.
    pub(crate) fn give_up(&mut self, now: Picos) {
        self.inbound.give_up(now);
    }

    /// A frame of this way came to the receiver, or its credit to the sender.
    /// What it came to, and its payload.
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

    /// Frames that came, each once.
    pub(crate) const fn came(&self) -> u64 {
        self.inbound.received()
    }

    /// Frames that never came.
    pub(crate) const fn lost(&self) -> u64 {
        self.out.sent() - self.inbound.received()
    }
}
