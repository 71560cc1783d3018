//! Limit on frames that a late sender may send back to back, the same for every study, and plain
//! datagrams with that limit.
//!
//! Owns the limit only. The validity gates check that a sender kept to it.

use measure::FrameSize;
use trial::{Backend, Datagrams, FlowKind, Schedule};

/// Delay in seconds that a sender may catch up with and still count as paced.
const WORTH: f64 = 50e-6;

/// Limits a burst to 50 µs of the load, 2 to 256 frames. At high rates, the cost of a system call
/// per frame must be caught up with. At low rates, a burst must not test a switch's shallow buffer.
///
/// A sender delayed for longer catches up by at most this much per slot. A schedule without due
/// times has nothing to catch up with.
pub(super) fn limit(schedule: Schedule) -> u32 {
    match schedule {
        Schedule::Greedy | Schedule::Burst(_) => 0,
        Schedule::Paced(rate) | Schedule::Falling { from: rate, .. } => {
            ((rate.0 * WORTH).ceil() as u32).clamp(2, 256)
        }
    }
}

/// Creates frames of one size from one thread, with default options.
pub(super) fn plain(size: FrameSize, schedule: Schedule) -> FlowKind {
    FlowKind::Datagrams(Datagrams::plain(size, schedule, Backend::Auto, limit(schedule)))
}
