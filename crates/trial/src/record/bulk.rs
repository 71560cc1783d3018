//! What came of TCP streams: what was sent and received, connection by connection.
//! Never judges what held a stream up.

use std::borrow::Cow;

use measure::reading::{Segment, StreamPoint};
use measure::{ByteCount, Nanos};
use serde::{Deserialize, Serialize};

/// TCP streams.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BulkRecord {
    /// The algorithm that the kernel confirmed; empty where the sender does not tell.
    pub congestion_control: String,
    /// A full segment, where the sender's host told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<Segment>,
    /// Payload received over the load phase.
    pub received: ByteCount,
    /// Over this long, by the receiver's clock.
    pub elapsed: Nanos,
    /// One series for each stream.
    pub streams: Vec<StreamRecord>,
    /// What the far end counted, where it is an iperf3 server and no agent of ours. Where it
    /// received, `received` and `elapsed` are its own: the observation point is its program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far_end: Option<FarEndRecord>,
}

impl BulkRecord {
    /// Payload over all of the load phase, bits a second; 0 where it took no time.
    pub fn goodput(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 { self.received.0 as f64 * 8.0 / seconds } else { 0.0 }
    }

    /// Segments that the sender's kernel sent again, as far as it told.
    pub fn retransmits(&self) -> u64 {
        let last = self.streams.iter().filter_map(|stream| stream.points.last());
        let seen: u64 = last.map(|point| point.retransmits).sum();
        seen + self.far_end.as_ref().and_then(|far| far.retransmits).unwrap_or(0)
    }
}

/// An iperf3 server's own word on a flow whose far end it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FarEndRecord {
    /// For each stream, the payload that it read, or, where it sent, that its kernel took.
    pub streams: Vec<ByteCount>,
    /// From the start of its test to the end, by its own clock.
    pub elapsed: Nanos,
    /// Segments sent again; none where it received, or its kernel does not tell.
    pub retransmits: Option<u64>,
}

/// One TCP connection over time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StreamRecord {
    /// Read at the sender at the end of each interval; empty where an iperf3 server sent.
    pub points: Vec<StreamPoint>,
    /// Payload that the receiver took in each interval of its own clock; empty where an iperf3
    /// server received, which tells its sum only.
    pub received: Vec<ByteCount>,
}

impl StreamRecord {
    /// Payload that arrived in each interval: as the receiver counted it, or, where an iperf3
    /// server received, as its acknowledgements came in at the sender.
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
