//! The bounds of every histogram's buckets, from 1 µs to 10 s.
//!
//! Two series in one: 1, 2, 5 a decade, which people write into rules, and the bounds of
//! Prometheus' native histograms of schema 2, powers of 2^(1/4) of a second. The text format has
//! no native histograms; with these bounds nothing that it has is lost on the way into one: a
//! reader that takes every bucket as it is (`convert_classic_histograms_to_nhcb`) keeps all, one
//! that wants schema 2 leaves the others out. Never counts.

use std::sync::LazyLock;

/// Native histograms of this schema have 2^2 buckets for each doubling. A bucket is at most 18.9 %
/// wide, and so is the error of a quantile within it.
#[cfg(test)]
const SCHEMA: u32 = 2;

/// A bucket's upper end.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// In seconds.
    pub seconds: f64,
    /// Value of the label `le`: the shortest decimal that parses to this very number.
    pub le: String,
}

const LOWEST_S: f64 = 1e-6;
const HIGHEST_S: f64 = 10.0;
/// Bounds within a doubling, as in Prometheus: 2^(i/4 - 1) (`nativeHistogramBounds` of
/// client_golang). The third is one unit in the last place below the nearest number.
const OF_A_DOUBLING: [f64; 4] =
    [0.5, 0.594_603_557_501_360_5, 0.707_106_781_186_547_5, 0.840_896_415_253_714_4];
const OF_A_DECADE: [f64; 3] = [1.0, 2.0, 5.0];

/// All, ascending.
pub static BOUNDS: LazyLock<Vec<Bound>> = LazyLock::new(|| {
    let mut all: Vec<f64> = native();
    // A quotient of whole numbers is the nearest number to the decimal.
    for below in 0..=6_i32 {
        let one = 10_f64.powi(below);
        all.extend(OF_A_DECADE.map(|step| step / one));
    }
    all.push(HIGHEST_S);
    all.sort_by(f64::total_cmp);
    all.dedup();
    all.into_iter().map(|seconds| Bound { seconds, le: seconds.to_string() }).collect()
});

/// Returns the bounds of the native schema alone.
fn native() -> Vec<f64> {
    let doubling = |power: i32| OF_A_DOUBLING.map(move |of| of * 2_f64.powi(power));
    let all = (-19..=4).flat_map(doubling);
    all.filter(|bound| (LOWEST_S..=HIGHEST_S).contains(bound)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_both_series_and_nothing_else() {
        let all: Vec<&str> = BOUNDS.iter().map(|bound| bound.le.as_str()).collect();
        for le in ["0.000001", "0.000002", "0.000005", "0.001", "0.05", "1", "2", "5", "10"] {
            assert!(all.contains(&le), "{le} in {all:?}");
        }
        // 93 of the schema, 22 of the decades; 0.5 s, 1 s and 2 s are both.
        assert_eq!((native().len(), all.len()), (93, 112));
        assert_eq!((all[0], all[111]), ("0.000001", "10"));
        assert!(BOUNDS.windows(2).all(|two| two[0].seconds < two[1].seconds));
        for bound in BOUNDS.iter() {
            assert_eq!(bound.le.parse(), Ok(bound.seconds));
        }
    }

    #[test]
    fn the_schema_is_powers_of_the_fourth_root_of_two() {
        let factor = 2_f64.powf(0.5_f64.powi(SCHEMA as i32));
        for two in native().windows(2) {
            assert!((two[1] / two[0] / factor - 1.0).abs() < 1e-15, "{two:?}");
        }
        assert!(native().contains(&1.0) && native().contains(&2_f64.powi(-10)));
    }
}
