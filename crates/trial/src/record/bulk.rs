//! Records of TCP streams: octets sent and received per connection. Never judges what limited a
//! stream.

use std::borrow::Cow;

use measure::reading::{Segment, StreamPoint};
use measure::{ByteCount, Nanos};
use serde::{Deserialize, Serialize};

/// Record of TCP streams.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BulkRecord {
    /// Congestion control that the kernel confirmed; empty if the sender does not report it.
    pub congestion_control: String,
    /// Full-sized segment, if the sender's host reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<Segment>,
    /// Payload received over the load phase.
    pub received: ByteCount,
    /// Duration of reception, by the receiver's clock.
    pub elapsed: Nanos,
    /// Time series, one per stream.
    pub streams: Vec<StreamRecord>,
    /// Counts of the far end, if it is an iperf3 server instead of our agent. If that server
    /// received, `received` and `elapsed` are its own: the observation point is its program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far_end: Option<FarEndRecord>,
}

impl BulkRecord {
    /// Payload in bits per second over the whole load phase; 0 if it took no time.
    pub fn goodput(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 { self.received.0 as f64 * 8.0 / seconds } else { 0.0 }
    }

    /// Segments that the sender's kernel retransmitted, as far as known.
    pub fn retransmits(&self) -> u64 {
        let last = self.streams.iter().filter_map(|stream| stream.points.last());
        let seen: u64 = last.map(|point| point.retransmits).sum();
        seen + self.far_end.as_ref().and_then(|far| far.retransmits).unwrap_or(0)
    }
}

/// Counts of an iperf3 server at the far end of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FarEndRecord {
    /// Payload per stream: octets that the server read, or, if it sent, that its kernel accepted.
    pub streams: Vec<ByteCount>,
    /// Duration of its test, by its own clock.
    pub elapsed: Nanos,
    /// Retransmitted segments; `None` if it received, or if its kernel does not report them.
    pub retransmits: Option<u64>,
}

/// One TCP connection over time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StreamRecord {
    /// Readings at the sender at the end of each interval; empty if an iperf3 server sent.
    pub points: Vec<StreamPoint>,
    /// Payload received per interval of the receiver's clock; empty if an iperf3 server received,
    /// which reports only its sum.
    pub received: Vec<ByteCount>,
}

impl StreamRecord {
    /// Payload that arrived per interval, as the receiver counted it. If an iperf3 server received,
    /// the acknowledgements at the sender are used.
    pub fn arrived(&self) -> Cow<'_, [ByteCount]> {
        if !self.received.is_empty() {
            return Cow::Borrowed(&self.received);
        }
        let mut before = 0;
        let new = |point: &StreamPoint| {
            let new = point.acked.0.saturating_sub(before);
            before = point.acked.0;
            ByteCount(new)
        };
        Cow::Owned(self.points.iter().map(new).collect())
    }
}
