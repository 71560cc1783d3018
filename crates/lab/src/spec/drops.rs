//! Deliberate drops of a bridge, as data: at random, and beyond a rate. Never drops anything.

use measure::FrameRate;
use serde::{Deserialize, Serialize};

/// Deliberate drops among the frames that a bridge forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Drops {
    /// Random loss at any load, before the policer; `None` for no such loss.
    pub loss: Option<RandomLoss>,
    /// Policer at each egress port; `None` for no policer.
    pub police: Option<Policer>,
}

/// Random loss: each frame is dropped with the same probability, independently of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RandomLoss {
    /// Dropped frames per million.
    pub frames_per_million: u32,
}

/// A rate beyond which frames are dropped at once, without a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policer {
    /// Rate in frames a second, as requested.
    pub frames_per_second: u32,
    /// Frames that may pass at once after a pause.
    pub burst_frames: u32,
}

const MILLION: f64 = 1e6;
const NS: u64 = 1_000_000_000;
/// Length of the burst, equal to bucket and queue of a [`crate::PortLimit`] together, to outlast a
/// sender's pause.
const BURST_NS: u64 = 3_000_000;
/// Minimum burst in frames: nftables' own default.
const LEAST_BURST: u64 = 5;

impl RandomLoss {
    /// Maximum share: a device that loses more is broken.
    pub const MOST: f64 = 0.5;

    /// Creates a loss of this share, rounded to a millionth; `None` if out of range.
    pub fn of_share(share: f64) -> Option<Self> {
        let frames = (share * MILLION).round();
        let fits = (1.0..=Self::MOST * MILLION).contains(&frames);
        fits.then_some(Self { frames_per_million: frames as u32 })
    }

    /// Share of frames dropped.
    pub fn share(self) -> f64 {
        f64::from(self.frames_per_million) / MILLION
    }
}

impl Policer {
    /// Maximum rate: above it a frame's price in whole nanoseconds is no longer exact to 0.1 %.
    pub const MOST: f64 = 1e6;

    /// Creates a policer of this rate in whole frames, with a burst of 3 ms, at least five frames;
    /// `None` if the rate is out of range.
    pub fn of_rate(rate: FrameRate) -> Option<Self> {
        let frames = rate.0.round();
        (1.0..=Self::MOST).contains(&frames).then(|| {
            let burst = (frames as u64 * BURST_NS / NS).max(LEAST_BURST);
            Self { frames_per_second: frames as u32, burst_frames: burst as u32 }
        })
    }

    /// Long-term rate that it passes; the kernel prices a frame in whole nanoseconds.
    pub fn passes(self) -> FrameRate {
        FrameRate(NS as f64 / (NS / u64::from(self.frames_per_second)) as f64)
    }
}

impl Drops {
    /// True if nothing is dropped.
    pub const fn is_none(self) -> bool {
        self.loss.is_none() && self.police.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policer_passes_what_the_kernel_prices() {
        let check = |asked: f64, burst, passes: f64| {
            let policer = Policer::of_rate(FrameRate(asked)).unwrap();
            assert_eq!(policer.burst_frames, burst, "{asked}");
            assert!((policer.passes().0 - passes).abs() < 0.01, "{asked}: {:?}", policer.passes());
        };
        check(1.0, 5, 1.0);
        check(1_000.0, 5, 1_000.0);
        check(10_000.0, 30, 10_000.0);
        // 3,333 ns a frame.
        check(300_000.0, 900, 300_030.0);
        assert_eq!(Policer::of_rate(FrameRate(1_000_001.0)), None);
        assert_eq!(Policer::of_rate(FrameRate(0.4)), None);
    }

    #[test]
    fn a_share_is_told_in_millionths() {
        let check = |share: f64, expect: Option<u32>| {
            let loss = RandomLoss::of_share(share).map(|loss| loss.frames_per_million);
            assert_eq!(loss, expect, "{share}");
        };
        check(0.001, Some(1000));
        check(1e-6, Some(1));
        check(1e-7, None);
        check(0.5, Some(500_000));
        check(0.51, None);
        check(f64::NAN, None);
    }
}
