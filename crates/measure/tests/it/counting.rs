//! Histograms and sequence accounting against naive models.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use measure::sequence::{SequenceCounts, SequenceTracker};
use measure::{Histogram, Nanos};
use proptest::prelude::*;

fn histogram(values: &[u64]) -> Histogram {
    of(Histogram::new(), values)
}

fn of(mut histogram: Histogram, values: &[u64]) -> Histogram {
    for value in values {
        histogram.record(Nanos(*value));
    }
    histogram
}

fn merged(parts: &[&Histogram]) -> Histogram {
    let mut all = Histogram::new();
    for part in parts {
        all.merge(part);
    }
    all
}

fn durations() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(prop_oneof![0u64..100, 0u64..1_000_000, 0u64..7_200_000_000_000], 0..80)
}

/// Also of more buckets than are counted without a place for each.
fn many_durations() -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![durations(), prop::collection::vec(0u64..1_000_000, 250..500)]
}

proptest! {
    #[test]
    fn merging_is_free_of_order(a in durations(), b in durations(), c in durations()) {
        let together: Vec<u64> = [&a[..], &b, &c].concat();
        let (a, b, c) = (histogram(&a), histogram(&b), histogram(&c));
        let expected = histogram(&together);
        prop_assert_eq!(&merged(&[&a, &b, &c]), &expected);
        prop_assert_eq!(&merged(&[&c, &a, &b]), &expected);
        prop_assert_eq!(&merged(&[&a, &merged(&[&b, &c])]), &expected);
        prop_assert_eq!(&merged(&[&merged(&[&a, &b]), &c]), &expected);
    }

    #[test]
    fn room_makes_no_difference(a in many_durations(), b in many_durations(), q in 0.0..1.0f64) {
        let (grown, whole) = (of(Histogram::growing(), &a), histogram(&a));
        prop_assert_eq!(&grown, &whole);
        prop_assert_eq!(&whole, &grown);
        prop_assert_eq!(grown.to_base64(), whole.to_base64());
        let told = |h: &Histogram| {
            let value = h.quantile(q);
            let floats = [h.mean(), h.share_at_or_below(value)].map(f64::to_bits);
            (h.min(), h.max(), value, floats)
        };
        prop_assert_eq!(told(&grown), told(&whole));
        let (more, expected) = (of(Histogram::growing(), &b), histogram(&[&a[..], &b].concat()));
        for mut one in [grown, whole] {
            one.merge(&more);
            prop_assert_eq!(&one, &expected);
            prop_assert_eq!(told(&one), told(&expected));
            let compact = one.compact();
            prop_assert_eq!(&compact, &expected);
            prop_assert_eq!(told(&compact), told(&expected));
        }
    }

    #[test]
    fn base64_gives_it_back(values in durations()) {
        let before = histogram(&values);
        let after = Histogram::from_base64(&before.to_base64()).expect("our own text");
        prop_assert_eq!(&after, &before);
        prop_assert_eq!(after.to_base64(), before.to_base64());
    }

    #[test]
    fn what_was_read_tells_the_same(a in durations(), b in durations(), q in 0.0..=1.0f64) {
        let mut whole = histogram(&a);
        let mut read = Histogram::from_base64(&whole.to_base64()).expect("our own text");
        let told = |h: &Histogram| {
            let (quantile, ranks) = (h.quantile(q), [0, 1, 7].map(|rank| h.value_at_rank(rank)));
            let shares = b.iter().map(|value| h.share_at_or_below(Nanos(*value)).to_bits());
            let shares: Vec<u64> = shares.collect();
            (h.count(), h.min(), h.max(), h.mean().to_bits(), quantile, ranks, shares)
        };
        prop_assert_eq!(told(&read), told(&whole));
        prop_assert_eq!(read.quantile(0.0), whole.quantile(0.0));
        let other = Histogram::from_base64(&histogram(&b).to_base64()).expect("our own text");
        read.merge(&other);
        whole.merge(&histogram(&b));
        prop_assert_eq!(&read, &whole);
        prop_assert_eq!(told(&read), told(&whole));
    }

    #[test]
    fn no_text_panics(text in ".{0,60}") {
        let _ = Histogram::from_base64(&text);
    }

    /// Behind a true header, so that the decoder is reached; seeds are printed by proptest.
    #[test]
    fn no_damaged_histogram_panics(
        values in durations(), at in prop::collection::vec((0usize..80, any::<u8>()), 0..6),
        digits in 0u8..9, length in 0usize..90,
    ) {
        let mut octets = BASE64.decode(histogram(&values).to_base64()).expect("our own text");
        for (at, value) in at {
            if let Some(octet) = octets.get_mut(at) {
                *octet = value;
            }
        }
        octets[15] = digits;
        if length < octets.len() {
            octets.truncate(length.max(16));
        }
        let _ = Histogram::from_base64(&BASE64.encode(octets));
    }

    #[test]
    fn ranks_are_the_sorted_values(values in prop::collection::vec(0u64..5_000_000, 1..100)) {
        let histogram = histogram(&values);
        let mut sorted = values.clone();
        sorted.sort_unstable();
        for (rank, value) in (1..).zip(sorted) {
            let found = histogram.value_at_rank(rank).expect("within").0;
            prop_assert!(found >= value && found as f64 <= value as f64 * 1.001 + 1.0);
            prop_assert!(histogram.lowest_equivalent(Nanos(found)).0 <= value);
            // Half a rank below, so that no rounding carries the share past it.
            let share = (rank as f64 - 0.5) / values.len() as f64;
            prop_assert_eq!(histogram.quantile(share).0, found);
        }
        prop_assert_eq!(histogram.value_at_rank(0), None);
        prop_assert_eq!(histogram.value_at_rank(values.len() as u64 + 1), None);
    }

    #[test]
    fn sequences_against_a_set(arrivals in prop::collection::vec(0u64..140, 0..300)) {
        let sent = 120;
        let mut tracker = SequenceTracker::new(sent);
        let (mut seen, mut naive, mut highest) = (HashSet::new(), SequenceCounts::default(), None);
        for number in arrivals {
            let first = number < sent && !seen.contains(&number);
            prop_assert_eq!(tracker.arrive(number), first);
            if number >= sent {
                naive.beyond_limit += 1;
            } else if !seen.insert(number) {
                naive.duplicated += 1;
            } else {
                // RFC 4737 §3.3: reordered when below one more than the highest that came before.
                naive.reordered += u64::from(highest.is_some_and(|highest| number < highest));
                highest = highest.max(Some(number));
            }
        }
        naive.unique = seen.len() as u64;
        naive.highest = highest;
        naive.last_missing = (0..highest.unwrap_or(0)).rev().find(|number| !seen.contains(number));
        prop_assert_eq!(tracker.counts(), naive);
        // Tail loss included, duplicates hide none.
        let never_came = (0..sent).filter(|number| !seen.contains(number)).count() as u64;
        prop_assert_eq!(tracker.counts().lost(sent), never_came);
        let last = (0..sent).rev().find(|number| !seen.contains(number));
        prop_assert_eq!(tracker.counts().last_lost(sent), last);
    }

    #[test]
    fn in_order_without_loss_nothing_is_counted(sent in 0u64..1_000) {
        let mut tracker = SequenceTracker::new(sent);
        for number in 0..sent {
            prop_assert!(tracker.arrive(number));
        }
        let highest = sent.checked_sub(1);
        let expected = SequenceCounts { unique: sent, highest, ..SequenceCounts::default() };
        prop_assert_eq!(tracker.counts(), expected);
    }
}

#[test]
fn a_claimed_length_is_not_believed() {
    let mut octets = BASE64.decode(Histogram::new().to_base64()).expect("our own text");
    octets[4..8].fill(0xff);
    let error = Histogram::from_base64(&BASE64.encode(&octets)).expect_err("4 GiB of nothing");
    assert_eq!(error.to_string(), "read a base64 HdrHistogram: shorter than its header says");
    octets[3] = 0x14;
    let error = Histogram::from_base64(&BASE64.encode(&octets)).expect_err("compressed");
    assert_eq!(error.to_string(), "read a base64 HdrHistogram: not an uncompressed V2 histogram");
    octets[3] = 0x13;
    octets[4..8].copy_from_slice(&9u32.to_be_bytes());
    octets.truncate(40);
    octets.extend([0xff; 9]);
    let error = Histogram::from_base64(&BASE64.encode(&octets)).expect_err("the most negative");
    assert_eq!(error.to_string(), "read a base64 HdrHistogram: a number is too large");
}
