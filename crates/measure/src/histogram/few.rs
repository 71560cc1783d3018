//! Histogram that stores only its non-empty buckets: one that was read, or one with few values.
//!
//! Owns bucket bounds, by `HdrHistogram`'s rule for 3 digits from 1 ns. Three full histograms of a
//! record take 0.8 MB, the buckets that a short trial uses a few kilobytes. Results equal the full
//! histogram's, to the last bit of a mean.

/// Number below which each value has its own bucket; above, the bucket width doubles with each
/// doubling.
const ONE_EACH: u64 = 2048;
/// Buckets per doubling.
const HALF: u64 = ONE_EACH / 2;

/// Number of buckets above which an array with all buckets is faster.
const MOST: usize = 256;

/// Buckets of all values up to an hour.
const PLACES: u64 = 33 * HALF;

/// Reads one number; the caller has rejected any of more than eight octets.
fn number(octets: &mut std::slice::Iter<'_, u8>) -> Result<u64, &'static str> {
    let (mut number, mut bits) = (0, 0);
    for octet in octets {
        number |= u64::from(octet & 0x7f) << bits;
        bits += 7;
        if octet & 0x80 == 0 {
            return Ok(number);
        }
        if bits > 49 {
            return Err("a number is too large");
        }
    }
    Err("it ends within a number")
}

/// Width of the bucket of `value`, as a power of two.
const fn shift(value: u64) -> u32 {
    (value | (ONE_EACH - 1)).ilog2() - (ONE_EACH - 1).ilog2()
}

/// Smallest value in the bucket of `value`.
pub(super) const fn lowest(value: u64) -> u64 {
    value >> shift(value) << shift(value)
}

/// Largest value in the bucket of `value`.
const fn highest(value: u64) -> u64 {
    lowest(value) + ((1 << shift(value)) - 1)
}

/// Largest value of the bucket at this index of the counts.
const fn highest_at(place: u64) -> u64 {
    let doublings = (place / HALF).saturating_sub(1);
    let within = if place < ONE_EACH { place } else { place % HALF + HALF };
    (within << doublings) + ((1 << doublings) - 1)
}

/// Index of the bucket of `value` among the counts.
fn place(value: u64) -> u64 {
    u64::from(shift(value)) * HALF + (value >> shift(value))
}

/// Serialises a V2 histogram's counts, as [`Few::read`] reads them. Buckets come in ascending
/// order, each given by any of its values, with a count above zero.
pub(super) fn write(buckets: impl Iterator<Item = (u64, u64)>) -> Vec<u8> {
    let (mut octets, mut next) = (Vec::new(), 0);
    let mut put = |mut number: u64| {
        for _ in 0..8 {
            if number < 0x80 {
                break;
            }
            octets.push(number as u8 | 0x80);
            number >>= 7;
        }
        octets.push(number as u8);
    };
    for (value, count) in buckets {
        let place = place(value);
        match place - next {
            0 => {}
            1 => put(0),
            empty => put(2 * empty - 1),
        }
        put(2 * count);
        next = place + 1;
    }
    if next == 0 {
        put(0);
    }
    octets
}

/// Non-empty buckets in ascending order.
#[derive(Debug, Clone)]
pub(super) struct Few {
    /// Highest value of each bucket, and its count, which is never zero.
    buckets: Vec<(u64, u64)>,
    total: u64,
}

impl Few {
    /// Creates an empty histogram.
    pub(super) const fn new() -> Self {
        Self { buckets: Vec::new(), total: 0 }
    }

    /// Adds a value `count` times, in any order; false if there are too many buckets.
    pub(super) fn insert(&mut self, value: u64, count: u64) -> bool {
        if count == 0 {
            return true;
        }
        let value = highest(value);
        let at = self.buckets.partition_point(|(bucket, _)| *bucket < value);
        let full = self.buckets.len() >= MOST;
        match self.buckets.get_mut(at) {
            Some((bucket, counted)) if *bucket == value => {
                *counted = counted.saturating_add(count);
            }
            _ if full => return false,
            _ => self.buckets.insert(at, (value, count)),
        }
        self.total = self.total.saturating_add(count);
        true
    }

    /// Frees unused capacity.
    pub(super) fn shrink(&mut self) {
        self.buckets.shrink_to_fit();
    }

    /// Adds to the last bucket or appends one. Values come in ascending order.
    pub(super) fn push(&mut self, value: u64, count: u64) {
        let value = highest(value);
        self.total += count;
        match self.buckets.last_mut() {
            Some((last, counted)) if *last == value => *counted += count,
            _ => self.buckets.push((value, count)),
        }
    }

    /// Reads a V2 histogram's counts in our bounds: zigzag numbers, seven bits per octet; a
    /// negative number is a run of empty buckets. Values above `most` are clamped to it.
    pub(super) fn read(payload: &[u8], most: u64, most_values: u64) -> Result<Self, &'static str> {
        let (mut few, mut octets, mut place) = (Self::new(), payload.iter(), 0_u64);
        while !octets.as_slice().is_empty() {
            let number = number(&mut octets)?;
            let half = number >> 1;
            if number & 1 == 1 {
                // No number exceeds 2^56, so no sum of as many as fit in memory overflows.
                place = place.saturating_add(half + 1);
                continue;
            }
            if half > 0 {
                if place >= PLACES {
                    return Err("a count of no bucket");
                }
                if half > most_values - few.total {
                    return Err("more values than can be counted");
                }
                few.push(highest_at(place).min(most), half);
            }
            place = place.saturating_add(1);
        }
        few.buckets.shrink_to_fit();
        Ok(few)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.buckets.iter().copied()
    }

    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn min(&self) -> u64 {
        self.buckets.first().map_or(0, |(value, _)| lowest(*value))
    }

    pub(super) fn max(&self) -> u64 {
        self.buckets.last().map_or(0, |(value, _)| *value)
    }

    pub(super) fn mean(&self) -> f64 {
        let middle = |value: u64| lowest(value) + ((1_u64 << shift(value)) >> 1);
        let share =
            |(value, count): &(u64, u64)| middle(*value) as f64 * *count as f64 / self.total as f64;
        self.buckets.iter().map(share).fold(0.0, |sum, share| sum + share)
    }

    pub(super) fn quantile(&self, q: f64) -> u64 {
        let rank = ((q.min(1.0) * self.total as f64).ceil() as u64).max(1);
        let mut below = 0;
        let found = self.buckets.iter().find(|(_, count)| {
            below += count;
            below >= rank
        });
        found.map_or(0, |(value, _)| if q == 0.0 { lowest(*value) } else { *value })
    }

    pub(super) fn share_at_or_below(&self, value: u64) -> f64 {
        if self.total == 0 {
            return 1.0;
        }
        let end = self.buckets.partition_point(|(bucket, _)| *bucket <= highest(value));
        let below: u64 = self.buckets[..end].iter().map(|(_, count)| count).sum();
        below as f64 / self.total as f64
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::{Serializer as _, V2Serializer};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// What other tools write of the same values, octet for octet.
        #[test]
        fn it_is_written_as_hdrhistogram_writes_it(
            values in prop::collection::vec((0u32..41, any::<u64>(), 1u64..1 << 40), 0..400),
        ) {
            const HOUR: u64 = 3_600_000_000_000;
            let mut theirs = hdrhistogram::Histogram::<u64>::new_with_bounds(1, HOUR, 3).unwrap();
            let mut ours = Few::new();
            for (bits, value, count) in values {
                let value = (value >> (64 - 1 - bits)).min(HOUR);
                if ours.insert(value, count) {
                    theirs.record_n(value, count).unwrap();
                }
            }
            let mut octets = Vec::new();
            V2Serializer::new().serialize(&theirs, &mut octets).unwrap();
            let written = write(ours.iter());
            prop_assert_eq!(&written[..], &octets[40..]);
            let read = Few::read(&written, HOUR, 1 << 53).unwrap();
            prop_assert!(read.iter().eq(ours.iter()) && read.total() == ours.total());
        }
    }
}
