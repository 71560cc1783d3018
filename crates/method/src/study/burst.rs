//! How many frames a late sender may send back to back, the same for every study, and plain
//! datagrams with that limit.
//!
//! Owns the limit only. Whether a sender kept to it is for the validity gates to say.

use measure::FrameSize;
use trial::{Backend, Datagrams, FlowKind, Schedule};

/// What a sender may be late by and still be called paced, in seconds.
const WORTH: f64 = 50e-6;

/// 50 µs worth of the load, 2…256 frames: what a system call for each frame costs must be caught up
/// with at high rates, and a switch's shallow buffer must not be put to the test at low ones. A
/// sender that was held up for longer catches up at no more than this a slot. What is due at no
/// time is not caught up with.
pub(super) fn limit(schedule: Schedule) -> u32 {
    match schedule {
        Schedule::Greedy | Schedule::Burst(_) => 0,
        Schedule::Paced(rate) | Schedule::Falling { from: rate, .. } => {
            ((rate.0 * WORTH).ceil() as u32).clamp(2, 256)
        }
    }
}

/// Frames of one size, from one thread, without anything special about them.
pub(super) fn plain(size: FrameSize, schedule: Schedule) -> FlowKind {
    FlowKind::Datagrams(Datagrams::plain(size, schedule, Backend::Auto, limit(schedule)))
}
