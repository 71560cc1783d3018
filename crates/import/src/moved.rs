//! Data that was moved in some time, as tools of throughput print it, and its figures.
//!
//! Owns the check of a rate against its octets. Never reads a line.

use page::{Metric, Unit};

use crate::checks::Counts;
use crate::contradiction::Contradiction;
use crate::found::{Found, Row};
use crate::numbers::Printed;

/// Data that was moved, according to a line or to several together.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moved {
    /// Number of the line, if it is one.
    pub number: Option<usize>,
    pub seconds: f64,
    pub bits_per_second: Printed,
    pub bytes: Printed,
    pub counts: Option<Counts>,
    pub retransmits: Option<f64>,
    pub cwnd: Option<f64>,
    pub round_trips: Option<RoundTrips>,
    /// Number of datagrams that their sender counts.
    pub datagrams: Option<f64>,
    /// Datagrams that arrived in a second.
    pub per_second: Option<f64>,
    /// True if a sender of datagrams prints these counts.
    pub sends_datagrams: bool,
}

/// Round trips of a bounceback.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundTrips {
    pub count: f64,
    /// Minimum, mean and maximum in milliseconds.
    pub ends: [f64; 3],
    pub deviation: f64,
    pub per_second: f64,
}

impl Moved {
    /// Contradiction if its rate is not its octets over its time, which may be wrong by so many
    /// seconds.
    pub(crate) fn contradiction(&self, time_step: f64) -> Option<Contradiction> {
        let counted = self.bytes.times(8.0 / self.seconds);
        let counted = counted.plus_step(counted.value * time_step / self.seconds);
        Contradiction::unless_same("rate-of-octets", self.bits_per_second, counted)
    }

    /// Sums up the counts of two, whose rates and times are others' matter.
    pub(crate) fn and(self, other: Self) -> Self {
        let sum = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
        let counts = self.counts.zip(other.counts);
        Self {
            bytes: self.bytes.plus(other.bytes),
            counts: counts.map(|(a, b)| Counts::sum(&[a, b])),
            retransmits: sum(self.retransmits, other.retransmits),
            datagrams: sum(self.datagrams, other.datagrams),
            cwnd: self.cwnd.into_iter().chain(other.cwnd).reduce(f64::max),
            ..Self::default()
        }
    }

    /// Merges two consecutive intervals.
    pub(crate) fn followed_by(self, next: Self) -> Self {
        let seconds = self.seconds + next.seconds;
        let sum = self.and(next);
        Self { seconds, bits_per_second: sum.bytes.times(8.0 / seconds), ..sum }
    }

    /// Adds its goodput, its datagrams and its retransmits.
    pub(crate) fn add_to(&self, row: &Row, found: &mut Found) {
        found.goodput(row, self.bits_per_second.value);
        if let Some(counts) = self.counts {
            counts.add_to(row, self.seconds, found);
        }
        if let Some(again) = self.retransmits {
            found.add(row, Metric::Retransmits, Unit::Count, again);
        }
    }
}
