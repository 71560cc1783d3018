//! A way's visits of one hour, or of a day that is long past: what stays when the visits go.

use measure::Histogram;
use serde::{Deserialize, Serialize};

use super::visit::{Came, Counted, Visit};

/// Sums over a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hour {
    /// By its place among the watch's ways.
    pub way: usize,
    /// Seconds since 1970.
    pub began_unix_s: u64,
    /// How long a time: 3600, or a day's 86400.
    pub seconds: u64,
    /// Visits with figures.
    pub valid: u64,
    /// Visits that nothing answered.
    pub nothing: u64,
    /// Visits that a gate left out: the tester's doing.
    pub invalid: u64,
    /// Visits that did not run to their end.
    pub failed: u64,
    /// Of the latest visit, nanoseconds since 1970; 0 where there was none.
    pub latest_unix_ns: u64,
    /// Frames from the first port to the second.
    pub there: Counted,
    /// Frames the other way.
    pub back: Counted,
    /// Bit/s, added up over `goodputs` visits.
    pub goodput_sum: f64,
    /// Visits with TCP.
    pub goodputs: u64,
    /// All round trips.
    pub rtt: Histogram,
}

impl Hour {
    /// An hour's length in seconds.
    pub const LONG: u64 = 3600;
    /// A day's.
    pub const DAY: u64 = 86_400;

    /// Of nothing yet: the time of that length that a moment lies in.
    pub fn around(way: usize, unix_ns: u64, seconds: u64) -> Self {
        let unix_s = unix_ns / 1_000_000_000;
        let none = Counted { sent: 0, lost: 0, reordered: 0 };
        Self {
            way,
            began_unix_s: unix_s - unix_s % seconds,
            seconds,
            valid: 0,
            nothing: 0,
            invalid: 0,
            failed: 0,
            latest_unix_ns: 0,
            there: none,
            back: none,
            goodput_sum: 0.0,
            goodputs: 0,
            rtt: Histogram::growing(),
        }
    }

    /// One visit more, with its round trips.
    pub fn take(&mut self, visit: &Visit, trips: &Histogram) {
        match visit.came {
            Came::Valid => self.valid += 1,
            Came::Nothing => self.nothing += 1,
            Came::Invalid(_) => self.invalid += 1,
            Came::Failed(_) => self.failed += 1,
        }
        self.latest_unix_ns = self.latest_unix_ns.max(visit.at_unix_ns);
        if visit.came != Came::Valid {
            return;
        }
        for (own, seen) in [(&mut self.there, visit.there), (&mut self.back, visit.back)] {
            if let Some(seen) = seen {
                own.add(seen);
            }
        }
        if let Some(goodput) = visit.goodput {
            self.goodput_sum += goodput;
            self.goodputs += 1;
        }
        self.rtt.merge(trips);
    }

    /// All of another time of the same way.
    pub fn merge(&mut self, other: &Self) {
        self.valid += other.valid;
        self.nothing += other.nothing;
        self.invalid += other.invalid;
        self.failed += other.failed;
        self.latest_unix_ns = self.latest_unix_ns.max(other.latest_unix_ns);
        self.there.add(other.there);
        self.back.add(other.back);
        self.goodput_sum += other.goodput_sum;
        self.goodputs += other.goodputs;
        self.rtt.merge(&other.rtt);
    }

    /// The mean, bit/s.
    pub fn goodput(&self) -> Option<f64> {
        (self.goodputs > 0).then(|| self.goodput_sum / self.goodputs as f64)
    }
}

impl Counted {
    /// More frames of the same way.
    pub const fn add(&mut self, more: Self) {
        self.sent += more.sent;
        self.lost += more.lost;
        self.reordered += more.reordered;
    }

    /// Of those sent, those lost.
    pub fn loss(&self) -> Option<f64> {
        (self.sent > 0).then(|| self.lost as f64 / self.sent as f64)
    }
}
