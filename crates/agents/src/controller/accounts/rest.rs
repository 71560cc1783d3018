//! Frames that leave a device's ports while no load runs: other traffic, which its counters add to
//! the load.
//!
//! Pure. Owns the number of such frames that a trial may have included. Never reads a counter.

use std::collections::BTreeMap;

use management::Changes;
use measure::Nanos;
use trial::counters::TX_PACKETS;

/// Standard deviations above the mean for the upper bound of random arrivals (a Poisson process).
const DEVIATIONS: f64 = 3.0;

/// Traffic observed at rest so far.
#[derive(Debug, Default)]
pub(super) struct Rest {
    /// Transmitted frames by the device's own name of the port.
    frames: BTreeMap<String, u64>,
    time: Nanos,
}

impl Rest {
    /// True if nothing was observed yet.
    pub(super) const fn is_unknown(&self) -> bool {
        matches!(self.time, Nanos::ZERO)
    }

    /// Adds the changes within a time. Ignores a reading with doubts, because the device may not
    /// have counted throughout.
    pub(super) fn add(&mut self, changes: &Changes, time: Nanos) {
        if !changes.doubts.is_empty() {
            return;
        }
        self.time += time;
        for (port, counters) in &changes.ports {
            let left = counters.get(TX_PACKETS).copied().unwrap_or(0);
            *self.frames.entry(port.clone()).or_default() += left;
        }
    }

    /// Upper bound of the frames that leave a port within a time; zero for a port that was silent.
    /// Traffic that is rarer than the observation time is missed.
    pub(super) fn most(&self, port: &str, within: Nanos) -> u64 {
        let seen = self.frames.get(port).copied().unwrap_or(0) as f64;
        let mean = seen * within.as_secs_f64() / self.time.as_secs_f64().max(f64::MIN_POSITIVE);
        if seen == 0.0 { 0 } else { (mean + DEVIATIONS * mean.sqrt()).ceil() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(frames: u64) -> Changes {
        let counters = BTreeMap::from([(TX_PACKETS.to_owned(), frames)]);
        Changes { ports: BTreeMap::from([("swp2".to_owned(), counters)]), doubts: Vec::new() }
    }

    #[test]
    fn a_silent_port_stays_silent_and_a_busy_one_is_bounded() {
        let second = Nanos::from_secs(1);
        let mut rest = Rest::default();
        assert!(rest.is_unknown());
        rest.add(&left(0), second);
        assert!(!rest.is_unknown());
        assert_eq!(rest.most("swp2", second), 0);
        rest.add(&left(200), second);
        // 100 a second: 100 + 3 * 10.
        assert_eq!(rest.most("swp2", second), 130);
        assert_eq!(rest.most("swp2", Nanos::from_millis(10)), 4);
        assert_eq!(rest.most("swp3", second), 0);
        let gone = management::Doubt::Gone { port: "swp2".to_owned() };
        rest.add(&Changes { doubts: vec![gone], ..left(5_000) }, second);
        assert_eq!(rest.most("swp2", second), 130);
    }
}
