//! Samples of one quantity, in bounded memory: individual samples while they are few, then the
//! number of each size.
//!
//! Pure.

use std::collections::BTreeMap;

use measure::quantile;

/// Maximum number of individually kept samples.
const MOST_KEPT: usize = 1 << 17;
/// Bits of a double that are dropped; the rest give its size to 0.1 %.
const SIZE_BITS: u32 = 42;

/// Samples, in order of arrival.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Series {
    pub count: u64,
    pub sum: f64,
    pub min: f64,
    pub max: f64,
    kept: Vec<f64>,
    sizes: BTreeMap<u64, u64>,
}

impl Series {
    /// Adds a sample; one that is not finite is ignored.
    pub(crate) fn push(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        let first = self.count == 0;
        self.min = if first { value } else { self.min.min(value) };
        self.max = if first { value } else { self.max.max(value) };
        self.count += 1;
        self.sum += value;
        if self.sizes.is_empty() {
            self.kept.push(value);
            if self.kept.len() > MOST_KEPT {
                let kept = std::mem::take(&mut self.kept);
                for value in kept {
                    self.size(value);
                }
            }
        } else {
            self.size(value);
        }
    }

    fn size(&mut self, value: f64) {
        *self.sizes.entry(value.max(0.0).to_bits() >> SIZE_BITS).or_insert(0) += 1;
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// Quantiles at each of `qs`.
    pub(crate) fn quantiles(&self, qs: &[f64]) -> Vec<Option<f64>> {
        let mut sorted = self.kept.clone();
        sorted.sort_by(f64::total_cmp);
        let one = |q: f64| match q {
            _ if self.is_empty() => None,
            0.0 => Some(self.min),
            1.0 => Some(self.max),
            _ if self.sizes.is_empty() => quantile::quantile(&sorted, q),
            _ => self.of_sizes(q),
        };
        qs.iter().map(|q| one(*q)).collect()
    }

    fn of_sizes(&self, q: f64) -> Option<f64> {
        let rank = (q * self.count as f64).ceil() as u64;
        let mut below = 0;
        let at = self.sizes.iter().find(|(_, count)| {
            below += **count;
            below >= rank
        });
        // The middle of the values with this size.
        at.map(|(size, _)| f64::from_bits((size << SIZE_BITS) | (1 << (SIZE_BITS - 1))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_samples_take_no_more_memory_than_few() {
        let mut series = Series::default();
        for at in 0..1_000_000_u32 {
            series.push(f64::from(at % 1000) + 1.0);
        }
        assert!(series.kept.is_empty() && series.sizes.len() <= 1000);
        let told = series.quantiles(&[0.0, 0.5, 0.99, 1.0]);
        for (told, expected) in told.iter().zip([1.0, 500.0, 990.0, 1000.0]) {
            assert!((told.unwrap() / expected - 1.0).abs() < 2e-3, "{told:?}, not {expected}");
        }
        assert!((series.mean().unwrap() - 500.5).abs() < 1e-6);
    }
}
