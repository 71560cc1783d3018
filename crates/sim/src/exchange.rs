//! Messages both ways: each end sends one, waits until the other's has come whole, and goes on.
//!
//! Owns the rounds and the receipts of both ends. What a round needs of its carrier is in `parcels`
//! (datagrams) and in the streams (TCP).

use measure::{ByteCount, Histogram, Picos};
use trial::record::{ExchangeRecord, ReceiptRecord};

use crate::flight::Probe;
use crate::shared_state::{SharedState, Window};
use trial::credits::Progress;

use crate::exchange_way::ExchangeWay;
use crate::stream::Stream;

/// What carries the messages.
#[derive(Debug)]
pub(crate) enum Carrier {
    /// Streams, by their places: there and back.
    Streams([u32; 2]),
    /// Frames of their own, by sending end.
    Frames(Box<[ExchangeWay; 2]>),
}

/// What one end has received.
#[derive(Debug)]
struct End {
    sent_at: Picos,
    messages: u64,
    rounds: Histogram,
    intervals: Vec<ByteCount>,
}

/// An exchange flow. End 0 is the flow's `from`, end 1 its `to`; stream and parcels i are sent by
/// end i.
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
            rounds: Histogram::growing(),
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

    /// The load's start, for each end; later, that an end has heard nothing for long.
    pub(crate) fn alarm(&mut self, ground: &mut SharedState, streams: &mut [Stream], end: usize) {
        ground.set_alarm(self.alarms[end], Picos::MAX);
        if ground.now >= self.window.stop {
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

    /// An end's next message.
    fn send(&mut self, ground: &mut SharedState, streams: &mut [Stream], end: usize) {
        self.ends[end].sent_at = ground.now;
        match &mut self.carrier {
            Carrier::Streams(ways) => streams[ways[end] as usize].offer(ground, self.message),
            Carrier::Frames(parcels) => {
                parcels[end].begin(ground);
                parcels[1 - end].await_from(ground.now);
                ground.set_alarm(self.alarms[end], parcels[1 - end].patience_ends());
            }
        }
    }

    /// Payload of end `from` is in order at the other end of its stream: `more`, and so much in
    /// all.
    pub(crate) fn progress(
        &mut self,
        ground: &mut SharedState,
        streams: &mut [Stream],
        (from, more, all): (usize, u64, u64),
    ) {
        let end = 1 - from;
        self.count(ground.now, end, more);
        while (self.ends[end].messages + 1) * self.message <= all {
            if !self.receipt(ground.now, end) {
                return;
            }
            self.send(ground, streams, end);
        }
    }

    /// A part of a message, or a credit, came.
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

    /// A whole message came to an end; whether the end goes on.
    fn receipt(&mut self, now: Picos, end: usize) -> bool {
        if now >= self.window.stop {
            return false;
        }
        let end = &mut self.ends[end];
        end.messages += 1;
        end.rounds.record((now - end.sent_at).to_nanos());
        true
    }

    /// Payload came to an end, of a message that may never become whole.
    #[inline]
    fn count(&mut self, now: Picos, end: usize, octets: u64) {
        if now < self.window.stop {
            let interval = (now - self.window.start).0 / self.interval.0;
            self.ends[end].intervals[interval as usize].0 += octets;
        }
    }

    pub(crate) fn record(self) -> ExchangeRecord {
        let frames = match &self.carrier {
            Carrier::Streams(_) => [(0, 0); 2],
            // Way i is sent by end i.
            Carrier::Frames(ways) => [&ways[0], &ways[1]].map(|way| (way.came(), way.lost())),
        };
        // Each end waits for a message all the time.
        let elapsed = (self.window.stop - self.window.start).to_nanos();
        let message = self.message;
        let receipts = |end: End, (frames, lost): (u64, u64)| ReceiptRecord {
            messages: end.messages,
            octets: ByteCount(end.messages * message),
            elapsed,
            rounds: end.rounds,
            intervals: end.intervals,
            frames,
            lost,
        };
        let [from, to] = self.ends;
        ExchangeRecord { forward: receipts(to, frames[0]), backward: receipts(from, frames[1]) }
    }
}
