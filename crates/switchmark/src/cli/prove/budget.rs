//! Budget of a self-test: a time, or a number of devices.
//!
//! Reads the clock; everything else here is arithmetic.

use jiff::{SignedDuration, Timestamp};
use measure::Nanos;

/// Share of the time by which a device that was begun within it may exceed it.
const GRACE: f64 = 0.15;

/// Start, time limit and number of devices.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    began: Timestamp,
    time: Option<Nanos>,
    devices: Option<u64>,
}

impl Budget {
    /// Starts a budget of so many devices, or else of so long.
    pub fn new(time: Nanos, devices: Option<u64>) -> Self {
        let time = devices.is_none().then_some(time);
        Self { began: Timestamp::now(), time, devices }
    }

    /// Number of devices; `None` if the time decides.
    pub const fn devices(&self) -> Option<u64> {
        self.devices
    }

    /// True if no further device is begun.
    pub fn is_over(&self) -> bool {
        self.share_of_time() >= 1.0
    }

    /// True if devices under way are no longer waited for.
    pub fn is_overdrawn(&self) -> bool {
        self.share_of_time() >= 1.0 + GRACE
    }

    /// Share that is done after `done` devices, 0…1.
    pub fn share(&self, done: u64) -> f64 {
        let of_devices = self.devices.map_or(0.0, |all| done as f64 / all.max(1) as f64);
        self.share_of_time().max(of_devices).min(1.0)
    }

    /// Estimates the time left.
    pub fn remaining(&self, done: u64) -> Nanos {
        let passed = self.passed().as_secs_f64();
        let left = match (self.time, self.share(done)) {
            (Some(time), _) => time.as_secs_f64() - passed,
            (None, share) if share > 0.0 => passed / share - passed,
            (None, _) => 0.0,
        };
        Nanos::from_secs_f64(left.max(0.0))
    }

    fn share_of_time(&self) -> f64 {
        let of = |time: Nanos| self.passed().as_secs_f64() / time.as_secs_f64().max(1e-9);
        self.time.map_or(0.0, of)
    }

    fn passed(&self) -> SignedDuration {
        Timestamp::now().duration_since(self.began)
    }
}
