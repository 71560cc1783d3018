//! Histogram of the programs inside the kernel, and its conversion.
//!
//! It has 64 buckets per octave and one for each value below 64 ns, so a value is known to within
//! 1/64 of itself. The middle of its bucket, which represents it, is off by at most 0.8 %. Values
//! above 69 s count as 69 s.

use measure::{Histogram, Nanos};

const BITS: u32 = 6;
const LONGEST_BITS: u32 = 36;

/// Number of buckets; `program.h` has the same number.
pub(super) const BUCKETS: usize = ((LONGEST_BITS - BITS + 1) << BITS) as usize;

/// Value that represents a bucket: its middle.
fn value(bucket: usize) -> Nanos {
    let bucket = bucket as u64;
    let (octave, place) = (bucket >> BITS, bucket & ((1 << BITS) - 1));
    let Some(shift) = octave.checked_sub(1) else { return Nanos(bucket) };
    let lowest = (place | 1 << BITS) << shift;
    Nanos(lowest + ((1_u64 << shift) >> 1))
}

/// Converts bucket counts to a histogram.
///
/// Adds the counts bit by bit: doubles the histogram, then adds the buckets whose count has the
/// next bit. This costs two merges per bit, whatever the counts are.
pub(super) fn histogram(counts: &[u64]) -> Histogram {
    let highest = counts.iter().copied().max().unwrap_or(0);
    let mut histogram = Histogram::new();
    for bit in (0..u64::BITS - highest.leading_zeros()).rev() {
        histogram.merge(&histogram.clone());
        for (bucket, _) in counts.iter().enumerate().filter(|(_, count)| *count >> bit & 1 == 1) {
            histogram.record(value(bucket));
        }
    }
    histogram
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `bucket_of` in `program.h`.
    fn bucket_of(value: u64) -> usize {
        if value < 1 << BITS {
            return value as usize;
        }
        if value >> LONGEST_BITS != 0 {
            return BUCKETS - 1;
        }
        let shift = value.ilog2() - BITS;
        ((u64::from(shift) << BITS) + (value >> shift)) as usize
    }

    #[test]
    fn a_bucket_stands_for_its_values_within_a_hundredth() {
        for value_ns in (0..200).chain((0..36).flat_map(|bit| {
            let base = 1_u64 << bit;
            [base - 1, base, base + 1, base + base / 3, base + base / 2]
        })) {
            let told = value(bucket_of(value_ns)).0;
            assert!(
                told.abs_diff(value_ns) as f64 <= 0.008 * value_ns as f64,
                "{value_ns}: {told}"
            );
        }
        assert_eq!(bucket_of((1 << LONGEST_BITS) - 1), BUCKETS - 1);
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
        assert!((0..BUCKETS).all(|bucket| bucket_of(value(bucket).0) == bucket));
    }

    #[test]
    fn counts_are_kept_however_large() {
        let mut counts = vec![0; BUCKETS];
        (counts[0], counts[5], counts[700]) = (1, 3_000_000_007, 12);
        let histogram = histogram(&counts);
        assert_eq!(histogram.count(), 3_000_000_020);
        assert_eq!(histogram.quantile(0.5), Nanos(5));
        let buckets: Vec<u64> = histogram.buckets().map(|(_, count)| count).collect();
        assert_eq!(buckets, [1, 3_000_000_007, 12]);
        assert!(super::histogram(&[]).is_empty());
    }
}
