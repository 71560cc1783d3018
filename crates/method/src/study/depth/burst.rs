//! A burst that is to overflow an output: how many frames, and for how long they come.
//!
//! Never sends one.

/// The longest burst against the one that just fills: for most of it the queue is full.
const BEYOND: f64 = 2.5;
/// The same where many outputs or many sizes are gone through.
const WELL_BEYOND: f64 = 1.6;

/// An overflowing burst.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Burst {
    pub(super) frames: u64,
    /// Until the last of it has come through.
    pub(super) seconds: f64,
    share: f64,
}

impl Burst {
    /// Of `frames` against an output of `rate`.
    pub(super) fn new(frames: u64, rate: f64, share: f64) -> Self {
        Self { frames, seconds: frames as f64 / rate.max(1.0), share }
    }

    /// One that is full for long, where `waiting` frames can wait.
    pub(super) fn beyond(waiting: f64, rate: f64, share: f64) -> Self {
        Self::longer(BEYOND, waiting, rate, share)
    }

    /// A shorter one, for where there are many to send.
    pub(super) fn well_beyond(waiting: f64, rate: f64, share: f64) -> Self {
        Self::longer(WELL_BEYOND, waiting, rate, share)
    }

    fn longer(times: f64, waiting: f64, rate: f64, share: f64) -> Self {
        let frames = (times * waiting.max(8.0) / (1.0 - share)).ceil() as u64;
        Self::new(frames, rate, share)
    }

    /// The output's rate against what comes in.
    pub(super) const fn share(self) -> f64 {
        self.share
    }
}
