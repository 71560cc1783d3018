//! nuttcp's text: a line of its sum, and with `-i` lines of intervals before it.
//!
//! Never takes an interval for the run: intervals are reported only if the sum is missing, and as
//! cut off.

use page::{Caveat, Key, Metric, Unit};

use crate::checks::Counts;
use crate::found::{Found, Row};
use crate::numbers::Printed;
use crate::reader::Reader;
use crate::shapes::Values;

const MEGA: f64 = 8.0 * 1024.0 * 1024.0;

/// Reader of nuttcp's text.
#[derive(Debug, Default)]
pub(crate) struct Nuttcp {
    intervals: Option<Moved>,
}

/// Data moved according to one line, or to several.
#[derive(Debug, Clone, Copy)]
struct Moved {
    bits: Printed,
    seconds: f64,
    bits_per_second: Printed,
    counts: Option<Counts>,
    again: Option<f64>,
    rtt: Option<f64>,
}

impl Reader for Nuttcp {
    fn line(&mut self, line: &str, found: &mut Found) -> bool {
        if let Some(own) = Moved::parse("nuttcp.interval", line) {
            self.intervals = Some(self.intervals.map_or(own, |sum| sum.and(own)));
            return true;
        }
        let Some(line) = Moved::parse("nuttcp.sum", line) else {
            return self.intervals.is_some() && line.starts_with("nuttcp");
        };
        let own = self.intervals.take();
        // The end of the run is in no interval.
        let own = own.map(|own| own.bits.plus_step(0.05 * own.bits.value).times(0.125));
        let row = Row::new("nuttcp");
        line.add_to(&row.unless_same("octets-of-intervals", line.bits.times(0.125), own), found);
        true
    }

    fn end(&mut self, found: &mut Found) {
        if let Some(own) = self.intervals.take() {
            own.add_to(&Row::new("nuttcp").doubting(Caveat::CutOff), found);
        }
    }
}

impl Moved {
    /// Parses `1599.1875 MB /   2.01 sec = 6689.3571 Mbps 19 %TX 19 %RX 0 retrans 0.12 msRTT`.
    fn parse(part: &str, line: &str) -> Option<Self> {
        let values = Values::read(part, line)?;
        let counts = values.number("lost").zip(values.number("all"));
        let percent = values.number("percent");
        Some(Self {
            bits: values.printed("mega")?.times(MEGA),
            seconds: values.number("seconds")?,
            bits_per_second: values.printed("rate")?.times(1e6),
            counts: counts.map(|(lost, all)| Counts { lost, all, percent }),
            again: values.number("again"),
            rtt: values.number("rtt"),
        })
    }

    /// Merges consecutive intervals.
    fn and(self, next: Self) -> Self {
        let bits = self.bits.plus(next.bits);
        let seconds = self.seconds + next.seconds;
        let counts = self.counts.zip(next.counts).map(|(a, b)| Counts::sum(&[a, b]));
        let again = self.again.zip(next.again).map(|(a, b)| a + b);
        Self { bits, seconds, bits_per_second: bits.times(1.0 / seconds), counts, again, rtt: None }
    }

    fn add_to(&self, row: &Row, found: &mut Found) {
        let counted = self.bits.times(1.0 / self.seconds);
        let rate = counted.plus_step(counted.value * 0.011 / self.seconds);
        let udp = self.counts.is_some();
        let row = row
            .clone()
            .with(Key::Protocol, if udp { "udp" } else { "tcp" })
            .unless_same("rate-of-octets", self.bits_per_second, rate)
            .contradicted(self.counts.and_then(|counts| counts.contradiction()))
            .doubting_if(udp, Caveat::GapLoss);
        found.goodput(&row, self.bits_per_second.value);
        if let Some(counts) = self.counts {
            counts.add_to(&row, self.seconds, found);
        }
        if let Some(again) = self.again {
            found.add(&row, Metric::Retransmits, Unit::Count, again);
        }
        if let Some(ms) = self.rtt {
            // Measured at the connection's beginning; a single sample.
            let row = row.with(Key::Test, "connect").doubting(Caveat::SoftwareTimestamps);
            found.mean(&row, Metric::Rtt, Unit::Nanoseconds, ms * 1e6);
        }
    }
}
