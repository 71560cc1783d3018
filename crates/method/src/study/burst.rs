//! How many frames a late sender may send back to back, the same for every study.
//!
//! Owns the limit only. Whether a sender kept to it is for the validity gates to say.

use measure::FrameSize;

/// 32 KiB worth, 4…256 frames: enough to catch up after a pause of a millisecond or two at the rates
/// that software reaches, and small beside the buffers of common switches. A sender that pauses
/// longer leaves frames out, and the trial is invalid.
pub(super) fn limit(size: FrameSize) -> u32 {
    (32 * 1024 / size.octets()).clamp(4, 256)
}
