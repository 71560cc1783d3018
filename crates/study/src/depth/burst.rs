//! Burst that overflows an output: number of frames and duration.
//!
//! Never sends one.

/// Length of the longest burst relative to the one that just fills the queue, which is then full
/// for most of it.
const BEYOND: f64 = 2.5;
/// Shorter factor, for many outputs or many sizes.
const WELL_BEYOND: f64 = 1.6;

/// Burst that overflows an output.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Burst {
    pub(super) frames: u64,
    /// Time until the last frame has left the output.
    pub(super) seconds: f64,
    share: f64,
}

impl Burst {
    /// Creates a burst of `frames` into an output of `rate` frames a second.
    pub(super) fn new(frames: u64, rate: f64, share: f64) -> Self {
        Self { frames, seconds: frames as f64 / rate.max(1.0), share }
    }

    /// Creates a burst that keeps a queue of `waiting` frames full for long.
    pub(super) fn beyond(waiting: f64, rate: f64, share: f64) -> Self {
        Self::longer(BEYOND, waiting, rate, share)
    }

    /// Creates a shorter overflowing burst, for many bursts in a row.
    pub(super) fn well_beyond(waiting: f64, rate: f64, share: f64) -> Self {
        Self::longer(WELL_BEYOND, waiting, rate, share)
    }

    fn longer(times: f64, waiting: f64, rate: f64, share: f64) -> Self {
        let frames = (times * waiting.max(8.0) / (1.0 - share)).ceil() as u64;
        Self::new(frames, rate, share)
    }

    /// Ratio of the output's rate to the offered rate.
    pub(super) const fn share(self) -> f64 {
        self.share
    }
}
