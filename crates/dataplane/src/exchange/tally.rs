//! Receipts of one end: whole messages, their rounds, and the payload of each interval.
//!
//! Never reads a clock: every time is passed in. Pure.

use measure::reading::Rejected;
use measure::{ByteCount, Histogram, Nanos};

use trial::Exchange;
use trial::record::ReceiptRecord;

use super::EndReport;
use crate::Window;

/// Counter of one end's receipts.
#[derive(Debug)]
pub(super) struct Tally {
    size: u64,
    interval: Nanos,
    window: Window,
    messages: u64,
    rounds: Histogram,
    intervals: Vec<u64>,
}

impl Tally {
    pub(super) fn new(exchange: &Exchange, window: Window) -> Self {
        let load = window.stop.saturating_sub(window.start);
        Self {
            size: exchange.message.0,
            interval: exchange.interval,
            window,
            messages: 0,
            rounds: Histogram::new(),
            intervals: vec![0; load.0.div_ceil(exchange.interval.0) as usize],
        }
    }

    /// Counts payload that arrived at `now`; payload outside the load is ignored.
    pub(super) fn received(&mut self, octets: u64, now: Nanos) {
        if !(self.window.start..self.window.stop).contains(&now) {
            return;
        }
        let index = (now - self.window.start).0 / self.interval.0;
        if let Some(slot) = self.intervals.get_mut(index as usize) {
            *slot += octets;
        }
    }

    /// Counts the complete message of the round that began at `began`.
    pub(super) fn whole(&mut self, began: Nanos, now: Nanos) {
        if now < self.window.stop {
            self.messages += 1;
            self.rounds.record(now.saturating_sub(began));
        }
    }

    /// Returns all receipts; a load that ended early has only the intervals that began.
    pub(super) fn report(mut self, ended: Nanos) -> EndReport {
        let elapsed = ended.saturating_sub(self.window.start);
        let begun = elapsed.0.div_ceil(self.interval.0) as usize;
        self.intervals.truncate(begun);
        EndReport {
            receipt: ReceiptRecord {
                messages: self.messages,
                octets: ByteCount(self.messages * self.size),
                elapsed,
                rounds: self.rounds,
                intervals: self.intervals.into_iter().map(ByteCount).collect(),
                ..ReceiptRecord::default()
            },
            parts_sent: 0,
            parts_received: 0,
            credits_sent: 0,
            credits_received: 0,
            rejected: Rejected::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trial::Carrier;

    #[test]
    fn receipts_outside_the_load_are_not_counted() {
        let exchange = Exchange {
            message: ByteCount(1000),
            interval: Nanos(100),
            carrier: Carrier::Datagrams { credits: 1 },
            collective: None,
        };
        let window = Window { start: Nanos(1_000), stop: Nanos(1_250), closed: Nanos(2_000) };
        let mut tally = Tally::new(&exchange, window);
        for (octets, at) in [(7, 999), (600, 1_000), (400, 1_199), (50, 1_249), (9, 1_250)] {
            tally.received(octets, Nanos(at));
        }
        tally.whole(Nanos(1_000), Nanos(1_199));
        tally.whole(Nanos(1_199), Nanos(1_250));
        let report = tally.report(window.stop).receipt;
        assert_eq!((report.messages, report.octets), (1, ByteCount(1000)));
        assert_eq!(report.rounds.max(), Nanos(199));
        assert_eq!(report.intervals, [600, 400, 50].map(ByteCount));
        assert_eq!(report.elapsed, Nanos(250));
    }
}
