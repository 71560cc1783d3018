//! nuttcp's text: a line of its sum, and with `-i` lines of intervals before it.
//!
//! Never takes an interval for the run: intervals are reported only if the sum is missing, and as
//! cut off.

use page::{Caveat, Key, Metric, Unit};

use crate::checks::Counts;
use crate::found::{Found, Row};
use crate::moved::Moved;
use crate::reader::Reader;
use crate::shapes::Values;

/// Reader of nuttcp's text.
#[derive(Debug, Default)]
pub(crate) struct Nuttcp {
    intervals: Option<Moved>,
}

impl Reader for Nuttcp {
    fn line(&mut self, line: &str, found: &mut Found) -> bool {
        if let Some(own) = Values::read("nuttcp.interval", line).as_ref().and_then(moved) {
            self.intervals = Some(self.intervals.map_or(own, |sum| sum.followed_by(own)));
            return true;
        }
        let values = Values::read("nuttcp.sum", line);
        let Some((sum, values)) = values.and_then(|values| Some((moved(&values)?, values))) else {
            return self.intervals.is_some() && line.starts_with("nuttcp");
        };
        // The end of the run is in no interval.
        let own = self.intervals.take().map(|own| own.bytes.plus_step(0.05 * own.bytes.value));
        let row = Row::new("nuttcp").unless_same("octets-of-intervals", sum.bytes, own);
        let row = add(row, &sum, found);
        if let Some(ms) = values.number("rtt") {
            // Measured at the connection's beginning; a single sample.
            let row = row.with(Key::Test, "connect").doubting(Caveat::SoftwareTimestamps);
            found.mean(&row, Metric::Rtt, Unit::Nanoseconds, ms * 1e6);
        }
        true
    }

    fn end(&mut self, found: &mut Found) {
        if let Some(own) = self.intervals.take() {
            add(Row::new("nuttcp").doubting(Caveat::CutOff), &own, found);
        }
    }
}

/// Data moved according to `1599.1875 MB /   2.01 sec = 6689.3571 Mbps 19 %TX 19 %RX 0 retrans`.
fn moved(values: &Values) -> Option<Moved> {
    let percent = values.number("percent");
    let counts = values.number("lost").zip(values.number("all"));
    Some(Moved {
        bytes: values.printed("mega")?.times(1024.0 * 1024.0),
        seconds: values.number("seconds")?,
        bits_per_second: values.printed("rate")?.times(1e6),
        counts: counts.map(|(lost, all)| Counts { lost, all, percent }),
        retransmits: values.number("again"),
        ..Moved::default()
    })
}

/// Adds the data's figures, and returns their row.
fn add(row: Row, moved: &Moved, found: &mut Found) -> Row {
    let udp = moved.counts.is_some();
    let row = row
        .with(Key::Protocol, if udp { "udp" } else { "tcp" })
        .contradicted(moved.contradiction(0.011))
        .contradicted(moved.counts.and_then(|counts| counts.contradiction()))
        .doubting_if(udp, Caveat::GapLoss);
    moved.add_to(&row, found);
    row
}
