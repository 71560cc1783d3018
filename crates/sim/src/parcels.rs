//! One way of an exchange over datagrams: a message cut into frames, and credits for them.
//!
//! Owns the numbering (frame n belongs to message n / parts), the frames under way and what is
//! given up. A frame is credited once it, or a later one, has come; nothing is sent again. Never
//! knows the other way.

use measure::Picos;

use crate::flight::{Kind, Probe};
use crate::ground::{Ground, Lane};

/// IPv4 and UDP headers, and those of Ethernet.
const PACKET_OVERHEAD: u32 = 28;
const FRAME_OVERHEAD: u32 = 46;
const SHORTEST: u32 = 64;

/// A credit comes after every fourth part of the credits.
const CREDITS_SHARE: u64 = 4;

/// How long an end waits for anything before it gives a message up, and takes credits for lost.
const PATIENCE: Picos = Picos(200_000_000_000);

/// What tells a credit from a part of a message in a probe's mark; the sending end is the lowest
/// bit.
const CREDIT: u32 = 2;

/// What an arrival came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The message is not whole yet, or it was a credit.
    Nothing,
    /// It is whole.
    Whole,
    /// It can't become whole any more.
    Lost,
}

/// What one end sends and the other receives.
#[derive(Debug)]
pub(crate) struct Parcels {
    /// The exchange's place, and the sending end.
    flow: u32,
    end: u32,
    there: Lane,
    back: Lane,
    parts: u64,
    /// Octets of a message's frames, and of their payload: all but the last, and the last.
    sizes: [u32; 2],
    payloads: [u64; 2],
    credits: u64,
    silent: Picos,
    /// The next frame to send, and where the message under way ends.
    next: u64,
    goal: u64,
    /// All below this are under way no more, as was heard last; beyond `next` where the receiver
    /// has given up what was never sent.
    credited: u64,
    credit_heard: Picos,
    /// At the receiver: the message waited for, what came of it, and the next number to come.
    wanted: u64,
    got: u64,
    expected: u64,
    last_credit: u64,
    heard: Picos,
    /// Frames that came, in time for their message or not.
    came: u64,
}

impl Parcels {
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
        Self {
            flow,
            end,
            there,
            back,
            parts,
            sizes: [frame(most as u32), frame(last)],
            payloads: [most, u64::from(last)],
            credits: u64::from(credits).min(fit).max(1),
            silent,
            next: 0,
            goal: 0,
            credited: 0,
            credit_heard: Picos::ZERO,
            wanted: 0,
            got: 0,
            expected: 0,
            last_credit: 0,
            heard: Picos::ZERO,
            came: 0,
        }
    }

    /// Which end sent what this probe is about.
    pub(crate) const fn sender_of(probe: &Probe) -> usize {
        (probe.mark & 1) as usize
    }

    /// Starts the next message.
    pub(crate) fn begin(&mut self, ground: &mut Ground) {
        self.goal += self.parts;
        self.credit_heard = ground.now;
        self.push(ground);
    }

    const fn may_send(&self) -> bool {
        self.next < self.goal && self.next.saturating_sub(self.credited) < self.credits
    }

    fn push(&mut self, ground: &mut Ground) {
        while self.may_send() && ground.now < self.silent {
            let is_last = (self.next + 1).is_multiple_of(self.parts);
            let probe =
                Probe { flow: self.flow, mark: self.end, number: self.next, stamp: ground.now };
            let tag = ground.flight.probe(Kind::Parcel, probe);
            self.next += 1;
            // What the queue refuses is lost like any other.
            ground.send(&self.there, self.sizes[usize::from(is_last)], tag);
        }
    }

    /// At the sender: nothing was credited for long, so nothing is under way any more.
    pub(crate) fn unstick(&mut self, ground: &mut Ground) {
        if self.next < self.goal && ground.now >= self.credit_heard + PATIENCE {
            self.credited = self.next;
            self.credit_heard = ground.now;
            self.push(ground);
        }
    }

    /// At the receiver: it waits for the next message from now on.
    pub(crate) fn await_from(&mut self, now: Picos) {
        self.heard = self.heard.max(now);
    }

    /// At the receiver: when it stops waiting.
    pub(crate) fn patience_ends(&self) -> Picos {
        self.heard + PATIENCE
    }

    /// At the receiver: the message waited for will not come whole.
    pub(crate) fn give_up(&mut self, now: Picos) {
        self.wanted += 1;
        self.got = 0;
        self.expected = self.expected.max(self.wanted * self.parts);
        self.heard = now;
    }

    /// A frame of this way came to the receiver, or its credit to the sender.
    /// What it came to, and its payload.
    pub(crate) fn arrive(&mut self, ground: &mut Ground, probe: &Probe) -> (Progress, u64) {
        if probe.mark & CREDIT != 0 {
            self.credit_heard = ground.now;
            self.credited = self.credited.max(probe.number);
            if self.may_send() {
                ground.hand_over(self.there.nic);
            }
            self.push(ground);
            return (Progress::Nothing, 0);
        }
        self.heard = ground.now;
        let progress = self.count(probe.number);
        let over = progress != Progress::Nothing;
        if over || self.expected >= self.last_credit + self.credits.div_ceil(CREDITS_SHARE) {
            self.credit(ground);
        }
        let is_last = (probe.number + 1).is_multiple_of(self.parts);
        (progress, self.payloads[usize::from(is_last)])
    }

    fn count(&mut self, number: u64) -> Progress {
        self.came += 1;
        if number < self.expected {
            return Progress::Nothing;
        }
        self.expected = number + 1;
        let message = number / self.parts;
        let mut progress = Progress::Nothing;
        // A frame of a later message shows that no more of this one will come.
        if message > self.wanted {
            self.wanted = message;
            self.got = 0;
            progress = Progress::Lost;
        }
        self.got += 1;
        if !self.expected.is_multiple_of(self.parts) {
            return progress;
        }
        let whole = self.got == self.parts;
        self.wanted += 1;
        self.got = 0;
        if whole { Progress::Whole } else { Progress::Lost }
    }

    fn credit(&mut self, ground: &mut Ground) {
        self.last_credit = self.expected;
        let mark = CREDIT | self.end;
        let probe = Probe { flow: self.flow, mark, number: self.expected, stamp: ground.now };
        let tag = ground.flight.probe(Kind::Parcel, probe);
        ground.send(&self.back, SHORTEST, tag);
    }

    /// Frames that never came.
    pub(crate) const fn lost(&self) -> u64 {
        self.next - self.came
    }
}
