//! Messages in both directions: each end sends one, waits until the other's has arrived whole, and
//! continues.
//!
//! Owns the rounds and the receipts of both ends. The carriers are in `exchange_way` (datagrams)
//! and in the streams (TCP).

use measure::{ByteCount, Histogram, Picos};
use trial::record::{ExchangeRecord, ReceiptRecord};

use crate::flight::Probe;
use crate::shared_state::{SharedState, Window};
use trial::credits::Progress;

use crate::exchange_way::ExchangeWay;
use crate::stream::Stream;

/// Carrier of the messages.
#[derive(Debug)]
pub(crate) enum Carrier {
    /// Streams in both directions, by their places.
    Streams([u32; 2]),
    /// Streams for the parts of a collective.
    Parts(Parts),
    /// Separate frames, by sending end.
    Frames(Box<[ExchangeWay; 2]>),
}

/// Streams that carry the parts of a collective between two ranks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts {
    /// Streams in both directions, by their places.
    pub(crate) streams: [u32; 2],
    /// Ranks at both ends.
    pub(crate) ranks: [u32; 2],
    /// Members at both ends, by their places.
    pub(crate) members: [u32; 2],
}

/// Receipts of one end.
#[derive(Debug)]
struct End {
    sent_at: Picos,
    messages: u64,
    octets: u64,
    rounds: Histogram,
    finishes: Histogram,
    intervals: Vec<ByteCount>,
}

/// Exchange flow. End 0 is the flow's `from`, end 1 its `to`; end i sends stream i and way i.
#[derive(Debug)]
pub(crate) struct Exchange {
    message: u64,
    interval: Picos,
    window: Window,
    alarms: [u32; 2],
    carrier: Carrier,
    begun: [bool; 2],
    ends: [End; 2],
}

impl Exchange {
    pub(crate) fn new(
        asked: &trial::Exchange,
        carrier: Carrier,
        alarms: [u32; 2],
        window: Window,
    ) -> Self {
        let interval = Picos::from(asked.interval);
        let intervals = (window.stop - window.start).0.div_ceil(interval.0);
        let end = || End {
            sent_at: window.start,
            messages: 0,
            octets: 0,
            rounds: Histogram::growing(),
            finishes: Histogram::growing(),
            intervals: vec![ByteCount(0); intervals as usize],
        };
        Self {
            message: asked.message.0,
            interval,
            window,
            alarms,
            carrier,
            begun: [false; 2],
            ends: [end(), end()],
        }
    }

    /// Handles the load's start at an end, and later the time-out of an end that receives nothing.
    pub(crate) fn alarm(&mut self, ground: &mut SharedState, streams: &mut [Stream], end: usize) {
        ground.set_alarm(self.alarms[end], Picos::MAX);
        if ground.now >= self.window.stop {
            return;
        }
        if self.parts().is_some() {
            return;
        }
        if !self.begun[end] {
            self.begun[end] = true;
            self.send(ground, streams, end);
            return;
        }
        let Carrier::Frames(parcels) = &mut self.carrier else { return };
        parcels[end].unstick(ground);
        let at = parcels[1 - end].patience_ends();
        if at > ground.now {
            ground.set_alarm(self.alarms[end], at);
            return;
        }
        parcels[1 - end].give_up(ground.now);
        self.send(ground, streams, end);
    }

    /// Sends an end's next message.
    fn send(&mut self, ground: &mut SharedState, streams: &mut [Stream], end: usize) {
        self.ends[end].sent_at = ground.now;
        match &mut self.carrier {
            Carrier::Streams(ways) => streams[ways[end] as usize].offer(ground, self.message),
            Carrier::Parts(_) => {}
            Carrier::Frames(parcels) => {
                parcels[end].begin(ground);
                parcels[1 - end].await_from(ground.now);
                ground.set_alarm(self.alarms[end], parcels[1 - end].patience_ends());
            }
        }
    }

    /// Handles payload of end `from` in order at the other end of its stream: `more`, and the
    /// total.
    pub(crate) fn progress(
        &mut self,
        ground: &mut SharedState,
        streams: &mut [Stream],
        from: usize,
        more: u64,
        all: u64,
    ) {
        let end = 1 - from;
        self.count(ground.now, end, more);
        if self.parts().is_some() {
            return;
        }
        while (self.ends[end].messages + 1) * self.message <= all {
            if !self.receipt(ground.now, end) {
                return;
            }
            self.send(ground, streams, end);
        }
    }

    /// Handles a received part of a message, or a credit.
    pub(crate) fn arrive(
        &mut self,
        ground: &mut SharedState,
        streams: &mut [Stream],
        probe: &Probe,
    ) {
        let Carrier::Frames(parcels) = &mut self.carrier else { return };
        let from = ExchangeWay::sender_of(probe);
        let (progress, octets) = parcels[from].arrive(ground, probe);
        self.count(ground.now, 1 - from, octets);
        match progress {
            Progress::Nothing => {}
            Progress::Whole => {
                if self.receipt(ground.now, 1 - from) {
                    self.send(ground, streams, 1 - from);
                }
            }
            Progress::Lost => {
                if ground.now < self.window.stop {
                    self.send(ground, streams, 1 - from);
                }
            }
        }
    }

    /// Parts of a collective; `None` for messages by themselves.
    pub(crate) const fn parts(&self) -> Option<Parts> {
        match self.carrier {
            Carrier::Parts(parts) => Some(parts),
            Carrier::Streams(_) | Carrier::Frames(_) => None,
        }
    }

    /// Sends a part of a collective from an end.
    pub(crate) fn send_part(
        &self,
        ground: &mut SharedState,
        streams: &mut [Stream],
        end: usize,
        octets: u64,
    ) {
        if let Carrier::Parts(parts) = &self.carrier {
            streams[parts.streams[end] as usize].offer(ground, octets);
        }
    }

    /// Counts a part of a collective that an end awaited, and the time of its step.
    pub(crate) fn receive_part(&mut self, end: usize, octets: u64, took: Picos) {
        let end = &mut self.ends[end];
        end.messages += 1;
        end.octets += octets;
        end.rounds.record(took.to_nanos());
    }

    /// Counts a repetition of a collective, of which an end received the last part.
    pub(crate) fn finish(&mut self, end: usize, took: Picos) {
        self.ends[end].finishes.record(took.to_nanos());
    }

    /// Counts a whole message at an end; true if the end continues.
    fn receipt(&mut self, now: Picos, end: usize) -> bool {
        if now >= self.window.stop {
            return false;
        }
        let end = &mut self.ends[end];
        end.messages += 1;
        end.octets += self.message;
        end.rounds.record((now - end.sent_at).to_nanos());
        true
    }

    /// Counts payload at an end, of a message that may never become whole.
    #[inline]
    fn count(&mut self, now: Picos, end: usize, octets: u64) {
        if now < self.window.stop {
            let interval = (now - self.window.start).0 / self.interval.0;
            self.ends[end].intervals[interval as usize].0 += octets;
        }
    }

    pub(crate) fn record(self) -> ExchangeRecord {
        let [there, back] = match &self.carrier {
            Carrier::Streams(_) | Carrier::Parts(_) => [(0, 0); 2],
            // End i sends way i.
            Carrier::Frames(ways) => [&ways[0], &ways[1]].map(|way| (way.received(), way.lost())),
        };
        // Each end waits for a message throughout the load.
        let elapsed = (self.window.stop - self.window.start).to_nanos();
        let receipts = |end: End, frames: u64, lost: u64| ReceiptRecord {
            messages: end.messages,
            octets: ByteCount(end.octets),
            elapsed,
            rounds: end.rounds,
            finishes: end.finishes,
            intervals: end.intervals,
            frames,
            lost,
        };
        let [from, to] = self.ends;
        ExchangeRecord {
            forward: receipts(to, there.0, there.1),
            backward: receipts(from, back.0, back.1),
        }
    }
}
