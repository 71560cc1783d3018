//! Totals of a path's visits over an hour, or over a day in the past: they remain when visits are
//! deleted.

use measure::Histogram;
use serde::{Deserialize, Serialize};

use super::visit::{Came, Counted, Visit};

/// Totals over a period.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hour {
    /// Index of the path in the watch.
    pub way: usize,
    /// Start of the period, in seconds since 1970.
    pub began_unix_s: u64,
    /// Length of the period: 3600, or a day's 86400.
    pub seconds: u64,
    /// Visits with figures.
    pub valid: u64,
    /// Visits without an answer.
    pub nothing: u64,
    /// Visits with a broken gate: the tester's fault.
    pub invalid: u64,
    /// Visits that did not complete.
    pub failed: u64,
    /// Time of the latest visit, in nanoseconds since 1970; 0 if there was none.
    pub latest_unix_ns: u64,
    /// Frames from the first port to the second.
    pub there: Counted,
    /// Frames in the other direction.
    pub back: Counted,
    /// Sum of bit rates over `goodputs` visits.
    pub goodput_sum: f64,
    /// Visits with TCP.
    pub goodputs: u64,
    /// All round trips.
    pub rtt: Histogram,
}

impl Hour {
    /// Length of an hour in seconds.
    pub const LONG: u64 = 3600;
    /// Length of a day in seconds.
    pub const DAY: u64 = 86_400;

    /// Creates empty totals for the period of that length around a moment.
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

    /// Adds a visit with its round trips.
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

    /// Adds the totals of another period of the same path.
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

    /// Quantile of RTT, in nanoseconds; `None` without round trips.
    pub fn rtt_quantile(&self, q: f64) -> Option<u64> {
        (!self.rtt.is_empty()).then(|| self.rtt.quantile(q).0)
    }

    /// Mean goodput in bit/s; `None` without TCP.
    pub fn goodput(&self) -> Option<f64> {
        (self.goodputs > 0).then(|| self.goodput_sum / self.goodputs as f64)
    }
}

impl Counted {
    /// Adds frames of the same direction.
    pub const fn add(&mut self, more: Self) {
        self.sent += more.sent;
        self.lost += more.lost;
        self.reordered += more.reordered;
    }

    /// Loss ratio; `None` if nothing was sent.
    pub fn loss(&self) -> Option<f64> {
        (self.sent > 0).then(|| self.lost as f64 / self.sent as f64)
    }
}
