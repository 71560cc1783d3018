//! The delay recorder against a plain list of delays.

use measure::delay::{DelayRecorder, ipdv_quantile, pdv_quantile};
use measure::{Histogram, Nanos};
use proptest::prelude::*;

fn record(delays: &[(u64, u64)]) -> measure::delay::DelaySummary {
    let mut recorder = DelayRecorder::new(1_000);
    for (sequence, rtt) in delays {
        recorder.record(*sequence, Nanos(*rtt));
    }
    recorder.finish()
}

#[test]
fn a_lost_answer_makes_no_difference() {
    // 2 is lost, 5 and 4 change places: only 0-1 and 6-7 are neighbours that came one after
    // another.
    let summary = record(&[(0, 100), (1, 130), (3, 900), (5, 100), (4, 500), (6, 200), (7, 150)]);
    assert_eq!(summary.rtt.count(), 7);
    assert_eq!((summary.ipdv_up.count(), summary.ipdv_up.max()), (1, Nanos(30)));
    assert_eq!((summary.ipdv_down.count(), summary.ipdv_down.max()), (1, Nanos(50)));
}

#[test]
fn equal_delays_are_differences_of_zero() {
    let summary = record(&[(0, 100), (1, 100), (2, 100)]);
    assert_eq!((summary.ipdv_up.count(), summary.ipdv_down.count()), (2, 0));
    assert_eq!(ipdv_quantile(&summary.ipdv_up, &summary.ipdv_down, 1.0), 0);
    assert!((summary.effective_samples - 3.0).abs() < 1e-12);
}

#[test]
fn nothing_came() {
    let summary = DelayRecorder::new(10).finish();
    assert!(summary.rtt.is_empty() && summary.effective_samples == 0.0);
    assert_eq!(ipdv_quantile(&summary.ipdv_up, &summary.ipdv_down, 0.5), 0);
    assert_eq!(pdv_quantile(&summary.rtt, 0.5), Nanos::ZERO);
}

#[test]
fn more_than_is_kept() {
    let mut recorder = DelayRecorder::new(100);
    for sequence in 0..1_000 {
        recorder.record(sequence, Nanos(1_000 + sequence * 7_919 % 97));
    }
    let summary = recorder.finish();
    assert!(summary.effective_samples > 500.0, "{}", summary.effective_samples);
    assert!(summary.effective_samples <= 1_000.0);
    let mut nothing_kept = DelayRecorder::new(0);
    nothing_kept.record(0, Nanos(5));
    nothing_kept.record(1, Nanos(5));
    assert!((nothing_kept.finish().effective_samples - 1.0).abs() < 1e-12);
}

#[test]
fn the_last_sequence_number_has_no_next() {
    assert!(record(&[(u64::MAX, 1), (0, 2)]).ipdv_up.is_empty());
}

#[test]
fn pdv_starts_at_the_smallest() {
    let summary = record(&[(0, 1_000), (1, 1_500), (2, 1_200)]);
    assert_eq!(pdv_quantile(&summary.rtt, 0.0), Nanos::ZERO);
    let (largest, exact) = (pdv_quantile(&summary.rtt, 1.0), Nanos(500));
    assert!(largest >= exact && largest <= exact + Nanos(2), "{largest}");
}

proptest! {
    /// Below 2,048 ns the histogram is exact, so the signed quantile is the sorted list's.
    #[test]
    fn signed_quantiles(differences in prop::collection::vec(-1_000i64..1_000, 1..80), q in 0.0f64..=1.0) {
        let (mut up, mut down) = (Histogram::new(), Histogram::new());
        for difference in &differences {
            let side = if *difference >= 0 { &mut up } else { &mut down };
            side.record(Nanos(difference.unsigned_abs()));
        }
        let mut sorted = differences.clone();
        sorted.sort_unstable();
        let rank = ((q * sorted.len() as f64).ceil() as usize).max(1);
        prop_assert_eq!(ipdv_quantile(&up, &down, q), sorted[rank - 1]);
    }

    #[test]
    fn differences_sum_to_last_minus_first(delays in prop::collection::vec(0u64..1_000, 2..80)) {
        let numbered: Vec<_> = (0..).zip(delays.iter().copied()).collect();
        let summary = record(&numbered);
        let sum = |histogram: &Histogram| -> i64 {
            histogram.buckets().map(|(value, count)| (value.0 * count) as i64).sum()
        };
        let expected = *delays.last().expect("two") as i64 - delays[0] as i64;
        prop_assert_eq!(sum(&summary.ipdv_up) - sum(&summary.ipdv_down), expected);
    }
}
