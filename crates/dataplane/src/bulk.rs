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

use measure::ByteCount;
use measure::reading::Rejected;
use trial::record::BulkRecord;

/// What a sink read.
#[derive(Debug, Clone, PartialEq)]
pub struct SinkReport {
    /// The receiver's half of the record.
    pub record: BulkRecord,
    /// For each stream, what came before the load's start and after its end: what was still queued
    /// at the sender or under way.
    pub outside: Vec<ByteCount>,
    /// Connections that were not the flow's: a wrong hello is malformed, a wrong token, flow,
    /// stream or address is foreign.
    pub rejected: Rejected,
}

/// What a source did.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceReport {
    /// The sender's half of the record, a reading of each stream at the end of each interval.
    pub record: BulkRecord,
    /// For each stream, the payload acknowledged by the time it was closed.
    pub acked: Vec<ByteCount>,
    /// For each stream, the payload that the kernel took. What of it was never acknowledged was cut
    /// off at the window's close.
    pub written: Vec<ByteCount>,
}
