//! TCP as fast as it goes, over one or several connections at once.
//!
//! Owns the connections, their congestion control, the readings of tcp_info at the sender and the
//! bytes of each interval at the receiver. Never sets a buffer size, so that the kernel tunes it as
//! for any program, and never judges what limited a stream.

mod info;
pub(crate) mod sink;
mod source;

pub use sink::Sink;
pub use source::Source;

use measure::reading::{Rejected, Segment, StreamPoint};
use measure::{ByteCount, Nanos};
use serde::{Deserialize, Serialize};

/// What a sink read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinkReport {
    /// Payload of all streams between the load's start and its end.
    pub received: ByteCount,
    /// That long, by this host's clock; shorter than the load when halted.
    pub elapsed: Nanos,
    /// For each stream, the payload of each interval; their sum is `received`.
    pub intervals: Vec<Vec<ByteCount>>,
    /// For each stream, what came before the load's start and after its end: what was still queued
    /// at the sender or under way.
    pub outside: Vec<ByteCount>,
    /// Connections that were not the flow's: a wrong hello is malformed, a wrong token, flow,
    /// stream or address is foreign.
    pub rejected: Rejected,
}

/// What a source did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceReport {
    /// As the kernel confirms it.
    pub congestion_control: String,
    /// A full segment at the end of the load (first stream).
    pub segment: Option<Segment>,
    /// For each stream, one reading at the end of each interval of the load.
    pub streams: Vec<Vec<StreamPoint>>,
    /// For each stream, the payload acknowledged by the time it was closed.
    pub acked: Vec<ByteCount>,
    /// For each stream, the payload that the kernel took. What of it was never acknowledged was cut
    /// off at the window's close.
    pub written: Vec<ByteCount>,
}
