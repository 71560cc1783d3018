//! Receipts of one end: whole messages or parts, their rounds, and the payload of each interval.
//!
//! Never reads a clock: every time is passed in. Pure.

use measure::reading::Rejected;
use measure::{ByteCount, Histogram, Nanos};

use trial::Exchange;
use trial::record::ReceiptRecord;

use super::EndReport;
use crate::Window;

/// Most connections of a rank whose distributions of times have all their memory from the
/// beginning: half a megabyte each. With more of them memory grows as values arrive.
const ROOMY: usize = 32;

/// Counter of one end's receipts.
#[derive(Debug)]
pub(super) struct Tally {
    size: u64,
    interval: Nanos,
    window: Window,
    messages: u64,
    octets: u64,
    rounds: Histogram,
    finishes: Histogram,
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
            octets: 0,
            rounds: Histogram::new(),
            finishes: Histogram::growing(),
            intervals: vec![0; load.0.div_ceil(exchange.interval.0) as usize],
        }
    }

    /// Creates a counter of a collective's parts, for one of `connections` of a rank.
    pub(super) fn of_parts(exchange: &Exchange, window: Window, connections: usize) -> Self {
        let times = || if connections > ROOMY { Histogram::growing() } else { Histogram::new() };
        Self { rounds: times(), finishes: times(), ..Self::new(exchange, window) }
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
            self.octets += self.size;
            self.rounds.record(now.saturating_sub(began));
        }
    }

    /// Counts a part of a collective that a step awaited, `took` after the step's begin.
    pub(super) fn part(&mut self, octets: u64, took: Nanos) {
        self.messages += 1;
        self.octets += octets;
        self.rounds.record(took);
    }

    /// Counts a repetition of a collective whose last part came over this connection.
    pub(super) fn finish(&mut self, took: Nanos) {
        self.finishes.record(took);
    }

    /// Returns all receipts; a load that ended early has only the intervals that began.
    pub(super) fn report(mut self, ended: Nanos) -> EndReport {
        let elapsed = ended.saturating_sub(self.window.start);
        let begun = elapsed.0.div_ceil(self.interval.0) as usize;
        self.intervals.truncate(begun);
        EndReport {
            receipt: ReceiptRecord {
                messages: self.messages,
                octets: ByteCount(self.octets),
                elapsed,
                rounds: self.rounds,
                finishes: self.finishes,
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

    #[test]
    fn parts_have_their_own_sizes() {
        let (message, interval) = (ByteCount(1000), Nanos(100));
        let exchange = Exchange { message, interval, carrier: Carrier::Tcp, collective: None };
        let window = Window { start: Nanos(0), stop: Nanos(200), closed: Nanos(300) };
        let mut tally = Tally::of_parts(&exchange, window, ROOMY + 1);
        tally.part(125, Nanos(40));
        tally.part(126, Nanos(60));
        tally.finish(Nanos(100));
        let report = tally.report(window.stop).receipt;
        assert_eq!((report.messages, report.octets), (2, ByteCount(251)));
        assert_eq!((report.rounds.max(), report.finishes.count()), (Nanos(60), 1));
    }
}
