//! Durations on their way into a histogram: a buffer of them, recorded many at a time.
//!
//! Owns the buffer. A flow's gaps lie kilobytes apart in its histogram, so with a thousand flows in
//! turn each record would wait for memory. A buffer takes sixteen to a cache line, and those waits
//! overlap. Never changes the resulting histogram: order does not matter there.

use measure::{Histogram, Nanos};

/// Number of durations recorded at once: in most loads several for each cache line of the
/// histogram.
const ROW: usize = 256;

/// Histogram with its pending durations. Takes no memory of its own until the first duration.
#[derive(Debug)]
pub(crate) struct Durations {
    row: Vec<u32>,
    into: Option<Box<Histogram>>,
    is_read: bool,
}

impl Durations {
    /// Creates an empty set. Durations that nobody reads are not kept.
    pub(crate) const fn new(is_read: bool) -> Self {
        Self { row: Vec::new(), into: None, is_read }
    }

    /// Counts one duration.
    #[inline]
    pub(crate) fn record(&mut self, value: Nanos) {
        if !self.is_read {
            return;
        }
        match u32::try_from(value.0) {
            Ok(short) => {
                if self.row.len() == ROW {
                    self.put_in();
                }
                self.row.push(short);
            }
            // Four seconds or more: few occur in any load.
            Err(_) => self.into.get_or_insert_with(|| Box::new(Histogram::growing())).record(value),
        }
    }

    fn put_in(&mut self) {
        let into = self.into.get_or_insert_with(|| Box::new(Histogram::growing()));
        for short in self.row.drain(..) {
            into.record(Nanos(u64::from(short)));
        }
    }

    /// True if the durations are read.
    pub(crate) const fn is_read(&self) -> bool {
        self.is_read
    }

    /// Returns the histogram of all durations.
    pub(crate) fn histogram(mut self) -> Histogram {
        if !self.row.is_empty() {
            self.put_in();
        }
        self.into.map_or_else(Histogram::growing, |into| into.compact())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_histogram_is_that_of_each_by_itself() {
        let mut plain = Histogram::new();
        let mut durations = Durations::new(true);
        let long = [u64::from(u32::MAX), 1 << 32, 7_200_000_000_000];
        for value in (0..3 * ROW as u64 + 5).map(|i| i * i).chain(long) {
            plain.record(Nanos(value));
            durations.record(Nanos(value));
        }
        assert_eq!(durations.histogram(), plain);
    }
}
