//! The histogram that programs inside the kernel keep, and what it means outside.
//!
//! 64 buckets an octave and one each below 64 ns: a value is known to within 1/64 of itself, and
//! the middle of its bucket, which stands for it, is off by at most 0.8 %. What exceeds 69 s counts
//! as 69 s.

use measure::{Histogram, Nanos};

const BITS: u32 = 6;
const LONGEST_BITS: u32 = 36;

/// How many there are; the same number is in `program.h`.
pub(super) const BUCKETS: usize = ((LONGEST_BITS - BITS + 1) << BITS) as usize;

/// The value that stands for a bucket: its middle.
fn value(bucket: usize) -> Nanos {
    let bucket = bucket as u64;
    let (octave, place) = (bucket >> BITS, bucket & ((1 << BITS) - 1));
    let Some(shift) = octave.checked_sub(1) else { return Nanos(bucket) };
    let lowest = (place | 1 << BITS) << shift;
    Nanos(lowest + ((1_u64 << shift) >> 1))
}

/// As a histogram of ours.
///
/// A count is added bit by bit: doubling what is there and adding those buckets whose count has the
/// next bit costs two merges a bit, whatever the counts are.
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
