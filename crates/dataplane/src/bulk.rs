//! TCP at full speed, over one or several connections at once.
//!
//! Owns the connections, their congestion control, the readings of tcp_info at the sender and the
//! bytes of each interval at the receiver. Never sets a buffer size, so that the kernel tunes it as
//! for any program, and never decides what limited a stream.

mod answering;
mod info;
pub(crate) mod sink;
mod source;

pub use answering::{CalledSource, CallingSink};
pub use sink::Sink;
pub use source::Source;

use measure::ByteCount;
use measure::reading::Rejected;
use trial::record::BulkRecord;

/// Results of a sink.
#[derive(Debug, Clone, PartialEq)]
pub struct SinkReport {
    /// The receiver's half of the record.
    pub record: BulkRecord,
    /// Bytes received before the load's start and after its end, per stream: queued at the sender
    /// or in flight then.
    pub outside: Vec<ByteCount>,
    /// Rejected connections: a wrong hello is malformed; a wrong token, flow, stream or address is
    /// foreign.
    pub rejected: Rejected,
}

/// Results of a source.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceReport {
    /// Sender's half of the record, with a reading of each stream at the end of each interval.
    pub record: BulkRecord,
    /// Payload acknowledged by the time the stream was closed, per stream.
    pub acked: Vec<ByteCount>,
    /// Payload that the kernel took, per stream. Any part never acknowledged was cut off at the
    /// window's close.
    pub written: Vec<ByteCount>,
}
