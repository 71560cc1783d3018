//! The watch's time: this machine's clocks, or a model's, in which waiting takes no time.
//!
//! Owns every wait of a watch. Never runs a trial.

use std::time::Duration;

use agents::controller::Stop;
use measure::Nanos;
use nix::time::{ClockId, clock_gettime};
use study::watch::Reading;

/// Interval at which a wait checks for a stop.
const SLICE: Duration = Duration::from_millis(200);

/// Clock of a watch.
#[derive(Debug)]
pub enum Clock {
    /// The machine's clocks.
    Real,
    /// A model's time, in nanoseconds since 1970.
    Model(u64),
}

impl Clock {
    /// Returns this machine's clocks.
    pub const fn real() -> Self {
        Self::Real
    }

    /// Returns a model's clock that begins at this time.
    pub const fn of_model(unix_ns: u64) -> Self {
        Self::Model(unix_ns)
    }

    /// Reads three clocks at one moment.
    pub fn read(&self) -> Reading {
        match self {
            Self::Model(now) => Reading { awake: *now, since_boot: *now, unix: *now },
            Self::Real => Reading {
                awake: read_clock(ClockId::CLOCK_MONOTONIC),
                since_boot: read_clock(ClockId::CLOCK_BOOTTIME),
                unix: read_clock(ClockId::CLOCK_REALTIME),
            },
        }
    }

    /// Returns the moment of a trial that began at `told` by its own record.
    pub const fn moment(&self, told: u64) -> u64 {
        match self {
            Self::Model(now) => *now,
            Self::Real => told,
        }
    }

    /// Advances a model's clock by the time of a trial.
    pub const fn passed(&mut self, time: Nanos) {
        if let Self::Model(now) = self {
            *now += time.0;
        }
    }

    /// Waits until then, on the clock that stands still while the machine sleeps, or until it is
    /// stopped; in slices, so that `hear` is called at least once a second.
    #[expect(clippy::disallowed_methods, reason = "the rest between trials, and no part of one")]
    pub fn wait(&mut self, until_awake: u64, stop: &Stop, mut hear: impl FnMut(&Self)) {
        if let Self::Model(now) = self {
            *now = (*now).max(until_awake);
            return;
        }
        while !stop.is_requested() {
            let left = until_awake.saturating_sub(self.read().awake);
            if left == 0 {
                return;
            }
            hear(self);
            std::thread::sleep(Duration::from_nanos(left).min(SLICE));
        }
    }
}

fn read_clock(clock: ClockId) -> u64 {
    clock_gettime(clock).map_or(0, |time| {
        let (s, ns) = (time.tv_sec().max(0) as u64, time.tv_nsec().max(0) as u64);
        s * 1_000_000_000 + ns
    })
}
