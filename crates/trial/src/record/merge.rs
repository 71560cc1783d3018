//! Merging of partial records of one flow: from its two ends, or from senders that share its load.
//!
//! Owns which fields add up, and the empty records: fields that a part did not see keep their empty
//! value. Never judges: a flow that lost everything is a record like any other.

use measure::reading::{Rejected, Stamp, Stamps};
use measure::sequence::SequenceCounts;
use measure::{ByteCount, FrameSize, Histogram, Nanos};

use super::{
    BulkRecord, DatagramsRecord, EchoRecord, ExchangeRecord, FlowRecord, OtherKind, ReceiptRecord,
    StreamRecord,
};

impl FlowRecord {
    /// Adds another partial record of the flow; fails if its kind differs.
    pub fn merge(&mut self, other: Self) -> Result<(), OtherKind> {
        match (self, other) {
            (Self::Echo(own), Self::Echo(server)) => {
                own.rejected.merge(&server.rejected);
                own.seen_from = own.seen_from.or(server.seen_from);
                own.remapped += server.remapped;
            }
            (Self::Datagrams(own), Self::Datagrams(other)) => own.merge(&other),
            (Self::Bulk(own), Self::Bulk(other)) => own.merge(other),
            (Self::Exchange(own), Self::Exchange(other)) => own.merge(other),
            (Self::Storage(own), Self::Storage(other)) => own.server = other.server,
            (Self::Sessions(own), Self::Sessions(acceptor)) => own.merge(&acceptor),
            _ => return Err(OtherKind),
        }
        Ok(())
    }
}

impl DatagramsRecord {
    /// Adds another partial record of the flow.
    pub fn merge(&mut self, other: &Self) {
        add_words(&mut self.backend, &other.backend, ", ");
        add_words(&mut self.backend_reason, &other.backend_reason, "; ");
        self.delays = match (self.delays.take(), &other.delays) {
            (Some(mut all), Some(more)) => {
                all.histogram.merge(&more.histogram);
                Some(all)
            }
            // Delays need a measurement from every part that received.
            (one, _) if other.receiver.is_empty() => one,
            (_, other) if self.receiver.is_empty() => other.clone(),
            _ => None,
        };
        add_words(&mut self.receiver, &other.receiver, ", ");
        add_words(&mut self.receiver_reason, &other.receiver_reason, "; ");
        self.ends = self.ends.take().or_else(|| other.ends.clone());
        self.offered += other.offered;
        self.sent += other.sent;
        self.received.merge(&other.received);
        self.at_device = self.at_device.take().or_else(|| other.at_device.clone());
        if self.conversations.is_empty() {
            self.conversations.clone_from(&other.conversations);
        }
        self.rejected.merge(&other.rejected);
        // The longer of the two: a rate over it is never more than was really sustained.
        self.sending = self.sending.max(other.sending);
        self.receiving = self.receiving.max(other.receiving);
        self.quiet = [self.quiet, other.quiet].into_iter().flatten().min();
        self.departures.merge(&other.departures);
        self.arrivals.merge(&other.arrivals);
        self.longest_burst = self.longest_burst.max(other.longest_burst);
        self.late += other.late;
        self.overran = self.overran.max(other.overran);
        self.socket_drops += other.socket_drops;
    }
}

/// Appends text unless it is already listed.
fn add_words(text: &mut String, more: &str, between: &str) {
    if text.is_empty() {
        more.clone_into(text);
    } else if !more.is_empty() && !text.split(between).any(|said| said == more) {
        text.push_str(between);
        text.push_str(more);
    }
}

impl BulkRecord {
    fn merge(&mut self, receiver: Self) {
        self.received.0 += receiver.received.0;
        self.elapsed = self.elapsed.max(receiver.elapsed);
        for (stream, StreamRecord { received, .. }) in self.streams.iter_mut().zip(receiver.streams)
        {
            stream.received = received;
        }
    }
}

impl ExchangeRecord {
    fn merge(&mut self, waiter: Self) {
        self.forward.merge(waiter.forward);
        self.backward.merge(waiter.backward);
    }
}

impl ReceiptRecord {
    /// Adds the other end's record of one direction. One end knows the frames received, the other
    /// the frames it sent, and counts them all as lost.
    fn merge(&mut self, other: Self) {
        self.messages += other.messages;
        self.octets = ByteCount(self.octets.0 + other.octets.0);
        self.elapsed = self.elapsed.max(other.elapsed);
        self.rounds.merge(&other.rounds);
        self.finishes.merge(&other.finishes);
        if self.intervals.is_empty() {
            self.intervals = other.intervals;
        }
        self.frames += other.frames;
        self.lost = (self.lost + other.lost).saturating_sub(self.frames);
    }
}

/// Empty record; its distributions take no memory.
impl Default for EchoRecord {
    fn default() -> Self {
        Self {
            frame_size: FrameSize::MIN,
            sent: 0,
            answers: SequenceCounts::default(),
            rtt: Histogram::growing(),
            ipdv_up: Histogram::growing(),
            ipdv_down: Histogram::growing(),
            effective_samples: 0.0,
            stamps: Stamps { sent: Stamp::User, received: Stamp::User },
            rejected: Rejected::default(),
            elapsed: Nanos::ZERO,
            segment: None,
            seen_from: None,
            remapped: 0,
        }
    }
}

/// Empty record; its distributions take no memory.
impl Default for DatagramsRecord {
    fn default() -> Self {
        Self {
            backend: String::new(),
            backend_reason: String::new(),
            ends: None,
            offered: 0,
            sent: 0,
            receiver: String::new(),
            receiver_reason: String::new(),
            received: SequenceCounts::default(),
            at_device: None,
            conversations: Vec::new(),
            rejected: Rejected::default(),
            sending: Nanos::ZERO,
            receiving: Nanos::ZERO,
            quiet: None,
            departures: Histogram::growing(),
            arrivals: Histogram::growing(),
            delays: None,
            longest_burst: 0,
            late: 0,
            overran: Nanos::ZERO,
            socket_drops: 0,
        }
    }
}

/// Empty record; its distribution takes no memory.
impl Default for ReceiptRecord {
    fn default() -> Self {
        Self {
            messages: 0,
            octets: ByteCount(0),
            elapsed: Nanos::ZERO,
            rounds: Histogram::growing(),
            finishes: Histogram::growing(),
            intervals: Vec::new(),
            frames: 0,
            lost: 0,
        }
    }
}
