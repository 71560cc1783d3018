//! TCP at full speed: the readings at the sender and the sums at the receiver.
//!
//! Owns the intervals. Never changes a stream's state machines.

use measure::reading::{Segment, StreamPoint};
use measure::{ByteCount, Nanos, Picos, Rate};
use trial::record::{BulkRecord, StreamRecord};

use crate::shared_state::{SharedState, Window};
use crate::stream::Stream;

/// Octets offered: more than any stream sends.
const ENDLESS: u64 = u64::MAX / 2;

/// Bulk flow.
#[derive(Debug)]
pub(crate) struct Bulk {
    congestion_control: String,
    segment: Segment,
    /// Place of its first stream among all streams.
    first: u32,
    window: Window,
    interval: Picos,
    alarm: u32,
    looked: Picos,
    begun: bool,
    streams: Vec<StreamRecord>,
}

impl Bulk {
    /// Creates streams whose segments carry the given payload, from the `first` of all streams on.
    pub(crate) fn new(
        asked: &trial::Bulk,
        mss: u32,
        first: u32,
        alarm: u32,
        window: Window,
    ) -> Self {
        let interval = Picos::from(asked.interval);
        let intervals = (window.stop - window.start).0.div_ceil(interval.0);
        let empty = || StreamRecord {
            points: Vec::new(),
            received: vec![ByteCount(0); intervals as usize],
        };
        Self {
            congestion_control: asked.preferred_control().to_owned(),
            segment: Segment { mss, timestamps: true },
            first,
            window,
            interval,
            alarm,
            looked: window.start,
            begun: false,
            streams: (0..asked.streams).map(|_| empty()).collect(),
        }
    }

    /// Handles the load's start, and then the end of each interval.
    pub(crate) fn alarm(&mut self, ground: &mut SharedState, streams: &mut [Stream]) {
        let own = &mut streams[self.first as usize..][..self.streams.len()];
        if self.begun {
            let at = (ground.now - self.window.start).to_nanos();
            for (record, stream) in self.streams.iter_mut().zip(own.iter()) {
                record.points.push(point(stream, at, ground.now));
            }
        } else {
            self.begun = true;
            for stream in own {
                stream.offer(ground, ENDLESS);
            }
        }
        let next = (self.looked + self.interval).min(self.window.stop);
        ground.set_alarm(self.alarm, if next > self.looked { next } else { Picos::MAX });
        self.looked = next;
    }

    /// Counts payload that arrived in order on one of its streams.
    #[inline]
    pub(crate) fn arrive(&mut self, now: Picos, stream: u16, octets: u64) {
        if now >= self.window.stop {
            return;
        }
        let interval = (now - self.window.start).0 / self.interval.0;
        self.streams[usize::from(stream)].received[interval as usize].0 += octets;
    }

    pub(crate) fn record(self) -> BulkRecord {
        let received = self.streams.iter().flat_map(|s| &s.received).map(|octets| octets.0).sum();
        BulkRecord {
            congestion_control: self.congestion_control,
            segment: Some(self.segment),
            received: ByteCount(received),
            elapsed: (self.window.stop - self.window.start).to_nanos(),
            streams: self.streams,
            far_end: None,
        }
    }
}

fn point(stream: &Stream, at: Nanos, now: Picos) -> StreamPoint {
    let reading = stream.sender().reading(now);
    StreamPoint {
        at,
        acked: reading.acked,
        retransmits: reading.retransmits,
        cwnd: reading.cwnd,
        srtt: reading.srtt.to_nanos(),
        min_rtt: reading.min_rtt.to_nanos(),
        delivery_rate: Rate(reading.delivery_bits_per_second),
        busy: reading.busy.to_nanos(),
        rwnd_limited: reading.rwnd_limited.to_nanos(),
        sndbuf_limited: Nanos::ZERO,
    }
}
