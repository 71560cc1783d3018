//! Shares of the variance by factor: NIC, switch, cable, or mere repetition.
//!
//! Owns the variance components of a campaign whose cells are combinations of levels, measured in
//! blocks; combinations may be missing. Never takes logarithms: the caller chooses the scale.

mod fit;

use std::collections::BTreeMap;

use crate::Interval;
use crate::comparison::CONFIDENCE;
use fit::{Design, Fitted};

/// Largest number of factors: every subset of them is fitted.
pub const MOST_FACTORS: usize = 6;

/// Value of one cell in one block.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// Level of each factor, from 0.
    pub levels: Vec<usize>,
    /// Index of the block, from 0.
    pub block: usize,
    /// Value on the scale on which effects add up: logarithms if factors multiply.
    pub value: f64,
}

/// Component of the variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Share of the total, 0…1.
    pub share: f64,
    /// Interval from leaving out each block in turn, with Student's t; within 0…1.
    pub interval: Interval,
}

/// All components; shares add up to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Shares {
    /// Shares of the factors, in order.
    pub factors: Vec<Share>,
    /// Share of combinations beyond their factors; `None` with one factor.
    pub interaction: Option<Share>,
    /// Share common to whole blocks: drift, and the state of the hosts.
    pub block: Share,
    /// Remainder: one cell measured again in the same block.
    pub repetition: Share,
}

/// Splits the variance into components. A factor's sum of squares is its mean over all orders of
/// entering the factors (Lindeman, Merenda & Gold 1980), which is the classical one with complete
/// data. Noise is subtracted by degrees of freedom, so that a factor without effect has a share of
/// zero on average. `None` with fewer than three blocks, fewer than two cells, no factor or more
/// than [`MOST_FACTORS`], a value that is not finite, or equal values throughout.
pub fn shares(observations: &[Observation], factors: usize) -> Option<Shares> {
    let mut blocks: Vec<usize> = observations.iter().map(|one| one.block).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let finite =
        observations.iter().all(|one| one.value.is_finite() && one.levels.len() == factors);
    if blocks.len() < 3 || factors == 0 || factors > MOST_FACTORS || !finite {
        return None;
    }
    let whole = components(&observations.iter().collect::<Vec<_>>(), factors)?;
    let without: Vec<Vec<f64>> = blocks
        .iter()
        .filter_map(|left_out| {
            let kept: Vec<&Observation> =
                observations.iter().filter(|one| one.block != *left_out).collect();
            components(&kept, factors)
        })
        .collect();
    let mut all = whole.iter().enumerate().map(|(at, value)| {
        let others: Vec<f64> = without.iter().map(|values| values[at]).collect();
        Share { share: value.clamp(0.0, 1.0), interval: jackknifed(*value, &others) }
    });
    let own: Vec<Share> = all.by_ref().take(factors).collect();
    let (interaction, block, repetition) = (all.next()?, all.next()?, all.next()?);
    let interaction = (factors > 1).then_some(interaction);
    Some(Shares { factors: own, interaction, block, repetition })
}

/// Shares of the factors, their interaction, the blocks and the rest; not yet clamped to 0…1.
fn components(observations: &[&Observation], factors: usize) -> Option<Vec<f64>> {
    let design = Design::from_observations(observations, factors);
    if design.cells() < 2 {
        return None;
    }
    let n = observations.len() as f64;
    let all = design.fit(&(0..factors).collect::<Vec<_>>(), true, false);
    let full = design.fit(&(0..factors).collect::<Vec<_>>(), true, true);
    let freedom = n - full.rank as f64;
    if freedom < 1.0 || design.total() <= 0.0 {
        return None;
    }
    let noise = full.rest / freedom;
    let mut parts: Vec<f64> =
        entered(&design, factors).iter().map(|own| (own.rest - own.rank * noise) / n).collect();
    parts.push((all.rest - full.rest - (full.rank - all.rank) as f64 * noise) / n);
    // Blocks are a random sample; the levels of the factors are complete.
    let alone = design.fit(&(0..factors).collect::<Vec<_>>(), false, false);
    let between = (all.rank - alone.rank) as f64;
    let blocks = between + 1.0;
    let of_blocks = alone.rest - all.rest - between * noise;
    parts.push(of_blocks * blocks / (n * between));
    parts.push(noise);
    let whole: f64 = parts.iter().map(|part| part.max(0.0)).sum();
    Some(parts.iter().map(|part| part / whole).collect())
}

/// Reduction of the remaining sum of squares by a factor, and its degrees of freedom.
struct Entered {
    rest: f64,
    rank: f64,
}

/// Means per factor over all orders in which factors may enter, with blocks first.
fn entered(design: &Design, factors: usize) -> Vec<Entered> {
    let members = |set: usize| (0..factors).filter(|at| set >> at & 1 == 1).collect::<Vec<_>>();
    let fits: BTreeMap<usize, Fitted> =
        (0..1 << factors).map(|set| (set, design.fit(&members(set), true, false))).collect();
    let ways = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
    let one = |factor: usize| {
        let mut sum = Entered { rest: 0.0, rank: 0.0 };
        for set in (0..1_usize << factors).filter(|set| set >> factor & 1 == 0) {
            let before = set.count_ones() as usize;
            let weight = ways(before) * ways(factors - 1 - before) / ways(factors);
            let (old, new) = (&fits[&set], &fits[&(set | 1 << factor)]);
            sum.rest += weight * (old.rest - new.rest);
            sum.rank += weight * (new.rank - old.rank) as f64;
        }
        sum
    };
    (0..factors).map(one).collect()
}

/// Tukey's interval from the values without one block each.
fn jackknifed(value: f64, without: &[f64]) -> Interval {
    let n = without.len() as f64;
    if n < 3.0 {
        return Interval { low: 0.0, high: 1.0, confidence: CONFIDENCE };
    }
    let mean = without.iter().sum::<f64>() / n;
    let spread = without.iter().map(|one| (one - mean).powi(2)).sum::<f64>();
    let reach = student(without.len() - 1) * (spread * (n - 1.0) / n).sqrt();
    let within = |end: f64| end.clamp(0.0, 1.0);
    Interval { low: within(value - reach), high: within(value + reach), confidence: CONFIDENCE }
}

/// The 97.5 % point of Student's t by degrees of freedom.
pub(crate) fn student(freedom: usize) -> f64 {
    const POINTS: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    // Beyond the table, within 0.002 of the true value.
    POINTS.get(freedom.max(1) - 1).copied().unwrap_or(1.96 + 2.46 / freedom as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(blocks: usize, keep: impl Fn(usize, usize) -> bool) -> Vec<Observation> {
        let mut all = Vec::new();
        for block in 0..blocks {
            for (a, b) in
                (0..2).flat_map(|a| (0..3).map(move |b| (a, b))).filter(|&(a, b)| keep(a, b))
            {
                // A deterministic scatter that is nobody's.
                let scatter = ((block * 7 + a * 3 + b * 5) % 11) as f64 - 5.0;
                let value = 3.0 * a as f64 + f64::from(u8::from(b == 2)) + 0.01 * scatter;
                all.push(Observation { levels: vec![a, b], block, value });
            }
        }
        all
    }

    /// Effects of 2.25 and 2/9 of variance.
    #[test]
    fn known_effects_are_found() {
        for keep in [|_: usize, _: usize| true, |a: usize, b: usize| (a, b) != (1, 2)] {
            let found = shares(&table(8, keep), 2).expect("eight blocks");
            let [a, b] = [found.factors[0].share, found.factors[1].share];
            let sum = a
                + b
                + found.interaction.expect("two").share
                + found.block.share
                + found.repetition.share;
            assert!((sum - 1.0).abs() < 0.01, "{found:?}");
            assert!(found.factors[0].interval.low <= a && a <= found.factors[0].interval.high);
            assert!(found.repetition.share < 0.01 && found.block.share < 0.01, "{found:?}");
            if keep(1, 2) {
                assert!((a - 2.25 / (2.25 + 2.0 / 9.0)).abs() < 0.01, "{found:?}");
            } else {
                assert!(a > 0.8 && b > 0.03, "{found:?}");
            }
        }
    }

    #[test]
    fn what_can_not_be_taken_apart_is_not() {
        assert!(shares(&table(2, |_, _| true), 2).is_none());
        assert!(shares(&table(8, |a, b| a + b == 0), 2).is_none());
        assert!(shares(&[], 1).is_none());
        let mut wrong = table(8, |_, _| true);
        wrong[0].value = f64::NAN;
        assert!(shares(&wrong, 2).is_none());
    }
}
