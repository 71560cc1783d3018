//! The binomial distribution, exactly enough for ranks: how many of n independent samples fall
//! below a quantile. Never approximated by a normal distribution.
//!
//! Private to the crate: ranks leave it, distributions do not.

/// Weights this far below the mode's add nothing to a double.
const NEGLIGIBLE: f64 = 1e-18;

/// Cumulative shares of Bin(n, p) for every count that matters.
pub struct Binomial {
    trials: u64,
    first: u64,
    cumulative: Vec<f64>,
}

impl Binomial {
    /// `trials` of at least 1 and `p` strictly between 0 and 1. Takes about 20 standard deviations'
    /// worth of steps and memory: 200,000 for a billion trials.
    ///
    /// The weights follow from their ratios, outwards from the mode where the largest is, so that
    /// nothing under- or overflows, and are normalised by their sum.
    pub fn new(trials: u64, p: f64) -> Self {
        let odds = p / (1.0 - p);
        let mode = (((trials + 1) as f64 * p) as u64).min(trials);
        let mut below = Vec::new();
        let (mut weight, mut k) = (1.0, mode);
        while k > 0 && weight > NEGLIGIBLE {
            weight *= k as f64 / ((trials - k + 1) as f64 * odds);
            k -= 1;
            below.push(weight);
        }
        let mut cumulative: Vec<f64> = below.into_iter().rev().collect();
        cumulative.push(1.0);
        (weight, k) = (1.0, mode);
        while k < trials && weight > NEGLIGIBLE {
            weight *= (trials - k) as f64 * odds / (k + 1) as f64;
            k += 1;
            cumulative.push(weight);
        }
        let first = k + 1 - cumulative.len() as u64;
        let mut sum = 0.0;
        for share in &mut cumulative {
            sum += *share;
            *share = sum;
        }
        for share in &mut cumulative {
            *share /= sum;
        }
        Self { trials, first, cumulative }
    }

    /// P(count <= k).
    pub fn at_most(&self, k: u64) -> f64 {
        if k >= self.trials {
            return 1.0;
        }
        match k.checked_sub(self.first) {
            None => 0.0,
            Some(index) => self.cumulative.get(index as usize).copied().unwrap_or(1.0),
        }
    }

    /// The largest k with P(count <= k - 1) <= `tail`: 0 where there is no such tail.
    pub fn lower_rank(&self, tail: f64) -> u64 {
        if tail <= 0.0 {
            return 0;
        }
        let steps = self.cumulative.partition_point(|share| *share <= tail) as u64;
        // Counts below `first` have no weight at all, so they are within any tail.
        self.first + steps
    }

    /// The smallest k with P(count >= k) <= `tail`; n + 1 where there is no such tail.
    pub fn upper_rank(&self, tail: f64) -> u64 {
        if tail <= 0.0 {
            return self.trials + 1;
        }
        let steps = self.cumulative.partition_point(|share| 1.0 - *share > tail) as u64;
        self.first + steps + 1
    }
}
