//! Congestion window: its growth, and its reduction after a loss.
//!
//! Owns the window, the slow-start threshold and the algorithm's state. Arithmetic is whole numbers
//! and + - * / of floats, so that every machine gets the same window. Never decides that something
//! is lost.

mod cubic;
mod htcp;
mod hystart;

use measure::Picos;

use super::config::{Algorithm, Config};
use cubic::Cubic;
use htcp::Htcp;
use hystart::{HyStart, Pace};

/// Information from an acknowledgement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    pub(super) now: Picos,
    /// Octets that arrived, in order or not.
    pub(super) delivered: u64,
    /// Lowest unacknowledged octet: all below have arrived.
    pub(super) una: u64,
    /// Next octet to be sent.
    pub(super) next: u64,
    /// Round-trip time of this acknowledgement; `None` if ambiguous.
    pub(super) rtt: Option<Picos>,
    pub(super) smoothed: Picos,
    pub(super) least: Picos,
    /// True if the window limited the sender (RFC 7661).
    pub(super) limited: bool,
}

/// Congestion window, in octets.
#[derive(Debug, Clone)]
pub(super) struct Control {
    mss: f64,
    initial: f64,
    window: f64,
    threshold: f64,
    rule: Rule,
    /// State of HyStart until the first slow start ends (RFC 9406 §4.3).
    hystart: Option<HyStart>,
}

#[derive(Debug, Clone)]
enum Rule {
    Reno,
    Cubic(Cubic),
    Htcp(Htcp),
}

impl Control {
    pub(super) fn new(config: &Config) -> Self {
        let mss = f64::from(config.mss);
        let initial = mss * f64::from(config.initial_window.max(1));
        let rule = match config.algorithm {
            Algorithm::Reno => Rule::Reno,
            Algorithm::Cubic => Rule::Cubic(Cubic::default()),
            Algorithm::Htcp => Rule::Htcp(Htcp::default()),
        };
        let hystart = config.hystart.then(|| HyStart::new(config.paced));
        Self { mss, initial, window: initial, threshold: f64::INFINITY, rule, hystart }
    }

    /// Window in whole octets.
    pub(super) fn window(&self) -> u64 {
        self.window as u64
    }

    /// Window after a loss; the largest number before the first.
    pub(super) fn threshold(&self) -> u64 {
        self.threshold as u64
    }

    pub(super) fn slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// Handles an acknowledgement while nothing is being repaired, or only the first segments after
    /// a time-out are.
    pub(super) fn acknowledged(&mut self, progress: &Progress) {
        if let Rule::Htcp(htcp) = &mut self.rule {
            htcp.measure(progress, self.window);
        }
        if !progress.limited {
            if let Rule::Cubic(cubic) = &mut self.rule {
                cubic.pause(progress.now);
            }
            return;
        }
        let mut delivered = progress.delivered as f64;
        if self.slow_start() {
            delivered = self.start_slowly(progress, delivered);
        }
        if delivered > 0.0 {
            self.avoid_congestion(progress, delivered);
        }
    }

    /// Grows by RFC 5681 §3.1 with RFC 9406 §4.2; returns the rest of `delivered` once the
    /// threshold is reached.
    fn start_slowly(&mut self, progress: &Progress, delivered: f64) -> f64 {
        let mut growth = delivered;
        if let Some(hystart) = &mut self.hystart {
            match hystart.acknowledged(progress) {
                Pace::Double { limit } => growth = growth.min(limit * self.mss),
                Pace::Conservative { limit, divisor } => {
                    growth = growth.min(limit * self.mss) / divisor;
                }
                Pace::Done => {
                    self.threshold = self.window;
                    self.hystart = None;
                    return delivered;
                }
            }
        }
        let room = self.threshold - self.window;
        self.window += growth.min(room);
        if growth > room { growth - room } else { 0.0 }
    }

    fn avoid_congestion(&mut self, progress: &Progress, delivered: f64) {
        match &mut self.rule {
            // RFC 5681 §3.1 (3), counting octets (RFC 3465): a segment a round trip.
            Rule::Reno => self.window += self.mss * delivered / self.window,
            Rule::Cubic(cubic) => {
                let window = self.window / self.mss;
                self.window = self.mss * cubic.grown(progress, window, delivered / self.mss);
            }
            Rule::Htcp(htcp) => {
                self.window += htcp.increase(progress) * self.mss * delivered / self.window;
            }
        }
    }

    /// Handles a loss while `flight` octets were outstanding: sets the threshold; the window
    /// follows in recovery.
    pub(super) fn lost(&mut self, now: Picos, flight: u64) {
        self.hystart = None;
        // RFC 5681 §3.1 (4): the outstanding octets count, not the allowed ones.
        let flight = self.window.min(flight as f64);
        let kept = match &mut self.rule {
            Rule::Reno => 0.5,
            Rule::Cubic(cubic) => cubic.lost(self.window / self.mss),
            Rule::Htcp(htcp) => htcp.lost(now),
        };
        self.threshold = (flight * kept).max(2.0 * self.mss);
    }

    /// Handles the expiry of the timer; `first` unless it expired again before anything arrived.
    /// The window becomes one segment.
    pub(super) fn timed_out(&mut self, now: Picos, flight: u64, first: bool) {
        if first {
            self.lost(now, flight);
            if let Rule::Cubic(cubic) = &mut self.rule {
                cubic.timed_out();
            }
        }
        self.window = self.mss;
    }

    /// Sets the window that recovery allows now.
    pub(super) fn allow(&mut self, octets: u64) {
        self.window = octets as f64;
    }

    /// Ends recovery (RFC 9937 §6.4).
    pub(super) fn recovered(&mut self) {
        self.window = self.threshold;
    }

    /// Handles an idle time of `timeouts` retransmission time-outs. The window halves with each,
    /// down to the first one, and the threshold keeps three quarters of it (RFC 2861, as Linux
    /// does).
    pub(super) fn rested(&mut self, now: Picos, timeouts: u64) {
        self.threshold = self.threshold.max(0.75 * self.window);
        let least = self.initial.min(self.window);
        for _ in 0..timeouts.min(64) {
            self.window = (self.window / 2.0).max(least);
        }
        if let Rule::Cubic(cubic) = &mut self.rule {
            cubic.pause(now);
        }
    }
}
