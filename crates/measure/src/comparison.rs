//! Comparison of two sides: different, equivalent or inconclusive, from blocks and a margin below
//! which a difference does not matter.
//!
//! Owns the decision, its scale and Holm's correction. The block is the sampling unit, never the
//! packet. Never attributes a difference: that takes a bypass, and belongs to the caller.

use serde::{Deserialize, Serialize};

use crate::Interval;
use crate::between_times::between_times;
use crate::quantile::median;
use crate::ranks::Shift;

/// Values of both sides, one per block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Blocks<'a> {
    /// Pairs measured in the same block, in random order: (subject, reference).
    Interleaved(&'a [(f64, f64)]),
    /// Sides measured at different times. Changes in between are part of the difference and need an
    /// allowance ([`between_times`]).
    Apart {
        /// Side under comparison.
        subject: &'a [f64],
        /// Side that it is compared with.
        reference: &'a [f64],
    },
}

/// Arrangement of two sides, and their number of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Number of blocks that hold both sides.
    Interleaved(usize),
    /// Number of blocks per side.
    Apart(usize, usize),
}

impl Blocks<'_> {
    const fn shape(&self) -> Shape {
        match self {
            Self::Interleaved(pairs) => Shape::Interleaved(pairs.len()),
            Self::Apart { subject, reference } => Shape::Apart(subject.len(), reference.len()),
        }
    }
}

/// Smallest two-sided p-value that ranks of this many blocks can give: one outcome of 2^n for
/// pairs, otherwise one of all ways to mix two sides.
pub fn least(shape: Shape) -> f64 {
    let one = match shape {
        Shape::Interleaved(n) => 0.5_f64.powi(n as i32),
        Shape::Apart(m, n) => (1..=m).map(|i| i as f64 / (n + i) as f64).product(),
    };
    (2.0 * one).min(1.0)
}

/// Number of blocks per side needed to decide any of `figures` results with correction.
pub fn blocks_for(figures: usize, interleaved: bool) -> usize {
    let shape = |n| if interleaved { Shape::Interleaved(n) } else { Shape::Apart(n, n) };
    let enough = |n: &usize| least(shape(*n)) * figures.max(1) as f64 <= ERROR;
    // The smallest p-value at least halves with each block: 64 of them decide any number of
    // results.
    (1..=64).find(enough).unwrap_or(64)
}

/// Scale on which two sides are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Subject / reference, by logarithms: if all values are positive.
    Ratio,
    /// Subject - reference in their unit: if any value is zero or below.
    Shift,
}

/// Result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// The interval lies wholly beyond the margin.
    Different,
    /// The interval lies wholly within the margin.
    Equivalent,
    /// Neither: more blocks or less noise might decide.
    Inconclusive,
}

impl Decision {
    /// Name of the decision: `different`, `equivalent`, `inconclusive`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Different => "different",
            Self::Equivalent => "equivalent",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// Subject - reference in the values' own unit, whatever the scale of the decision.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Hodges-Lehmann estimate.
    pub value: f64,
    /// Exact interval for these blocks, with its own confidence.
    pub interval: Interval,
}

/// Comparison of one quantity between two sides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Scale of value, interval and margin.
    pub scale: Scale,
    /// Hodges-Lehmann estimate of subject / reference, or of subject - reference.
    pub value: f64,
    /// Exact interval for these blocks, with its own confidence.
    pub interval: Interval,
    /// Allowance that the interval includes at either end for sides measured at different times. On
    /// the scale of the decision (logarithms, for a ratio); more blocks do not make it smaller.
    pub between: f64,
    /// Result as a difference in the values' unit, such as a ratio of 1.002 in microseconds.
    pub difference: Difference,
    /// Number of blocks of the subject and of the reference.
    pub blocks: (usize, usize),
    /// Margin within which a difference does not matter: a share for a ratio, otherwise in the
    /// values' unit. A ratio is within if it lies between 1/(1 + margin) and 1 + margin.
    pub margin: f64,
    /// Two-sided p-value against a difference within the margin.
    pub p_different: f64,
    /// Value of `p_different` after [`correct`], if several quantities were compared.
    pub p_adjusted: f64,
    /// Smallest p-value that this many blocks can give, however far apart the sides are.
    pub p_least: f64,
    /// P-value against a difference at or beyond the margin: two one-sided tests, doubled to match
    /// the 95 % interval.
    pub p_equivalent: f64,
    /// Cliff's delta, -1…1: how much more often the subject's block is the larger than the smaller.
    /// Within each block if interleaved.
    pub dominance: f64,
    /// Decision of the comparison.
    pub decision: Decision,
}

/// Allowed probability of a wrong decision; [`CONFIDENCE`] is the rest.
pub const ERROR: f64 = 0.05;

/// Confidence of the interval.
pub const CONFIDENCE: f64 = 1.0 - ERROR;

/// Compares two sides. `margin` is a share of the reference: 0.01 is 1 %. `None` if a side has no
/// block, or a value is not finite.
pub fn compare(blocks: Blocks<'_>, margin: f64) -> Option<Comparison> {
    let (subject, reference): (Vec<f64>, Vec<f64>) = match blocks {
        Blocks::Interleaved(pairs) => pairs.iter().copied().unzip(),
        Blocks::Apart { subject, reference } => (subject.to_vec(), reference.to_vec()),
    };
    let typical = median(&reference)?;
    let positive = subject.iter().chain(&reference).all(|value| *value > 0.0);
    let (scale, limit) = if positive {
        (Scale::Ratio, margin.ln_1p())
    } else {
        (Scale::Shift, margin * typical.abs())
    };
    let scaled = |values: &[f64]| -> Vec<f64> {
        let on_scale = |value: &f64| if scale == Scale::Ratio { value.ln() } else { *value };
        values.iter().map(on_scale).collect()
    };
    let (a, b) = (scaled(&subject), scaled(&reference));
    let shift = shift_of(blocks, &a, &b)?;
    let dominance = match blocks {
        Blocks::Interleaved(_) => mean_sign(a.iter().zip(&b).map(|(a, b)| a - b)),
        Blocks::Apart { .. } => mean_sign(a.iter().flat_map(|a| b.iter().map(move |b| a - b))),
    };
    let plain = shift_of(blocks, &subject, &reference)?;
    let apart = |a: &[f64], b: &[f64]| match blocks {
        Blocks::Interleaved(_) => 0.0,
        Blocks::Apart { .. } => between_times([a, b]),
    };
    let difference = Difference {
        value: plain.estimate(),
        interval: widened(plain.interval(CONFIDENCE), apart(&subject, &reference)),
    };
    let back = |value: f64| if scale == Scale::Ratio { value.exp() } else { value };
    let between = apart(&a, &b);
    let interval = widened(shift.interval(CONFIDENCE), between);
    let (outer, inner) = (limit + between, limit - between);
    let beyond = shift.chance_if_not_above(outer).min(shift.chance_if_not_below(-outer));
    let within = shift.chance_if_not_below(inner).max(shift.chance_if_not_above(-inner));
    let mut comparison = Comparison {
        scale,
        value: back(shift.estimate()),
        interval: Interval { low: back(interval.low), high: back(interval.high), ..interval },
        between,
        difference,
        blocks: (subject.len(), reference.len()),
        margin: if scale == Scale::Ratio { margin } else { limit },
        p_different: (2.0 * beyond).min(1.0),
        p_adjusted: (2.0 * beyond).min(1.0),
        p_least: least(blocks.shape()),
        p_equivalent: (2.0 * within).min(1.0),
        dominance,
        decision: Decision::Inconclusive,
    };
    // Without any noise, as between equal counts of zero, ties with a margin of zero are equality.
    let same = interval.low >= -limit && interval.high <= limit && interval.low >= interval.high;
    if same && interval.confidence >= CONFIDENCE {
        comparison.p_equivalent = 0.0;
    }
    comparison.decide();
    Some(comparison)
}

impl Comparison {
    /// Estimates the number of blocks per side needed to decide this result among `figures`, with
    /// the noise seen. The interval shrinks with the root of their number and must fit between
    /// estimate and margin. `None` if decided already, or if no sensible number suffices.
    pub fn blocks_needed(&self, figures: usize, interleaved: bool) -> Option<usize> {
        const SENSIBLE: f64 = 1_000.0;
        if self.decision != Decision::Inconclusive {
            return None;
        }
        let have = self.blocks.0.min(self.blocks.1);
        let least = blocks_for(figures, interleaved).max(have + 1);
        // The noise that too few blocks show is no basis for an estimate.
        if self.interval.confidence < CONFIDENCE {
            return Some(least);
        }
        let on_scale = |value: f64| if self.scale == Scale::Ratio { value.ln() } else { value };
        let limit = if self.scale == Scale::Ratio { self.margin.ln_1p() } else { self.margin };
        let width = on_scale(self.interval.high) - on_scale(self.interval.low);
        let half = width / 2.0 - self.between;
        let room = (on_scale(self.value).abs() - limit).abs() - self.between;
        if room <= 0.0 {
            return None;
        }
        let needed = (have as f64 * (half / room).powi(2)).ceil();
        (needed <= SENSIBLE).then(|| least.max(needed as usize))
    }

    /// Decides by the adjusted p-value.
    fn decide(&mut self) {
        self.decision = if self.p_adjusted <= ERROR {
            Decision::Different
        } else if self.p_equivalent <= ERROR {
            Decision::Equivalent
        } else {
            Decision::Inconclusive
        };
    }
}

/// Shift by ranks, as the two sides were measured.
fn shift_of(blocks: Blocks<'_>, a: &[f64], b: &[f64]) -> Option<Shift> {
    match blocks {
        Blocks::Interleaved(_) => {
            Shift::of_pairs(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f64>>())
        }
        Blocks::Apart { .. } => Shift::of_sides(a, b),
    }
}

fn widened(interval: Interval, by: f64) -> Interval {
    Interval { low: interval.low - by, high: interval.high + by, ..interval }
}

fn mean_sign(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += if value == 0.0 { 0.0 } else { value.signum() };
        count += 1.0;
    }
    if count > 0.0 { sum / count } else { 0.0 }
}

/// Applies Holm's step-down correction (Scand. J. Statist. 6, 1979) to all differences tested at
/// once, and decides again. Equivalence is not a discovery among many and needs no correction.
pub fn holm(comparisons: &mut [Comparison]) {
    let mut order: Vec<usize> = (0..comparisons.len()).collect();
    order.sort_by(|a, b| comparisons[*a].p_different.total_cmp(&comparisons[*b].p_different));
    let mut least = 0.0_f64;
    for (rank, at) in order.iter().enumerate() {
        let left = (comparisons.len() - rank) as f64;
        least = least.max((comparisons[*at].p_different * left).min(1.0));
        comparisons[*at].p_adjusted = least;
        comparisons[*at].decide();
    }
}

/// Corrects all differences tested at once, with [`holm`] if this many blocks can decide this many
/// results. Otherwise the result at `primary` is tested at the full error, and the others by Holm
/// only once it differs (a gate: Westfall & Krishen, J. Stat. Plan. Inference 99, 2001).
///
/// The choice depends on the numbers of blocks and results, never on the values. Either way a false
/// difference is found in at most 5 % of comparisons. Results with too few blocks to be decided at
/// all are left out.
pub fn correct(comparisons: &mut [Comparison], primary: usize) {
    let able: Vec<usize> =
        (0..comparisons.len()).filter(|at| comparisons[*at].p_least <= ERROR).collect();
    let mut family: Vec<Comparison> = able.iter().map(|at| comparisons[*at]).collect();
    let least = family.iter().map(|one| one.p_least).fold(0.0, f64::max);
    let few = least * family.len() as f64 > ERROR;
    match able.iter().position(|at| *at == primary).filter(|_| few) {
        None => holm(&mut family),
        Some(gate) => {
            let first = family.remove(gate);
            holm(&mut family);
            for other in &mut family {
                other.p_adjusted = other.p_adjusted.max(first.p_different);
                other.decide();
            }
            family.insert(gate, first);
        }
    }
    for (at, corrected) in able.into_iter().zip(family) {
        comparisons[at] = corrected;
    }
}

/// Repeatability of a value from block to block: half the width of the interval of its typical
/// value, relative to that value. The tester alone can cause smaller differences between two sides.
/// `None` if there are too few blocks, or if a value is not positive.
pub fn repeatability(blocks: &[f64]) -> Option<f64> {
    if blocks.len() < 2 || !blocks.iter().all(|value| *value > 0.0) {
        return None;
    }
    let logs: Vec<f64> = blocks.iter().map(|value| value.ln()).collect();
    let interval = Shift::of_pairs(&logs)?.interval(CONFIDENCE);
    Some(((interval.high - interval.low) / 2.0).exp_m1())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(pairs: &[(f64, f64)], margin: f64) -> Decision {
        compare(Blocks::Interleaved(pairs), margin).expect("finite").decision
    }

    #[test]
    fn decisions() {
        let around = |ratio: f64| -> Vec<(f64, f64)> {
            (0..10).map(|at| (100.0 * ratio * (1.0 + f64::from(at) * 1e-4), 100.0)).collect()
        };
        for (ratio, margin, expected) in [
            (1.03, 0.01, Decision::Different),
            (0.97, 0.01, Decision::Different),
            (1.03, 0.05, Decision::Equivalent),
            (1.0, 0.01, Decision::Equivalent),
            (1.0095, 0.01, Decision::Inconclusive),
        ] {
            assert_eq!(decision(&around(ratio), margin), expected, "{ratio} {margin}");
        }
        // Five blocks never reach 95 %, however clear they look.
        assert_eq!(decision(&around(2.0)[..5], 0.01), Decision::Inconclusive);
    }

    #[test]
    fn zeros_are_compared_by_their_difference() {
        let zeros = [(0.0, 0.0); 8];
        assert_eq!(decision(&zeros, 0.01), Decision::Equivalent);
        let some = [(0.0, 0.2), (0.0, 0.21), (0.0, 0.19), (0.0, 0.2), (0.0, 0.22), (0.0, 0.18)];
        let compared = compare(Blocks::Interleaved(&some), 0.01).expect("finite");
        assert_eq!((compared.scale, compared.decision), (Scale::Shift, Decision::Different));
        assert!((compared.value + 0.2).abs() < 1e-9 && compared.dominance < -0.999);
    }

    #[test]
    fn one_block_a_side_decides_nothing() {
        let one =
            compare(Blocks::Apart { subject: &[2.0], reference: &[1.0] }, 0.01).expect("finite");
        assert!((one.value - 2.0).abs() < 1e-12 && one.decision == Decision::Inconclusive);
        assert!(one.interval.confidence < 1e-9);
        assert!(compare(Blocks::Apart { subject: &[], reference: &[1.0] }, 0.01).is_none());
        assert!(compare(Blocks::Interleaved(&[(f64::NAN, 1.0)]), 0.01).is_none());
    }

    #[test]
    fn so_many_blocks_for_so_many_figures() {
        for (figures, interleaved, apart) in [(1, 6, 4), (2, 7, 5), (4, 8, 5), (25, 10, 7)] {
            let found = (blocks_for(figures, true), blocks_for(figures, false));
            assert_eq!(found, (interleaved, apart), "{figures}");
        }
        assert!((least(Shape::Interleaved(6)) - 0.031_25).abs() < 1e-12);
        assert!((least(Shape::Apart(6, 6)) - 2.0 / 924.0).abs() < 1e-12);
        assert!((least(Shape::Apart(1, 0)) - 1.0).abs() < 1e-12);
    }

    /// Four figures of a device a thousand times slower: six blocks decide the first, ten all.
    #[test]
    fn the_primary_figure_is_decided_by_few_blocks() {
        let slow = |count: usize| -> Vec<Comparison> {
            let noise = |at: usize, by: usize| 1.0 + ((at * 7 + by * 3) % 5) as f64 * 1e-2;
            let pairs = |by: usize| -> Vec<(f64, f64)> {
                (0..count).map(|at| (5_200.0 * noise(at, by), 6.1e6 * noise(at, by + 1))).collect()
            };
            let of = |by| compare(Blocks::Interleaved(&pairs(by)), 0.01).expect("finite");
            let mut all: Vec<Comparison> = (0..4).map(of).collect();
            correct(&mut all, 2);
            all
        };
        let decided = |count| -> Vec<bool> {
            slow(count).iter().map(|one| one.decision == Decision::Different).collect()
        };
        assert_eq!(decided(5), [false; 4]);
        assert_eq!(decided(6), [false, false, true, false]);
        assert_eq!(decided(8), [true; 4]);
        assert_eq!(decided(10), [true; 4]);
        assert_eq!(slow(6)[0].blocks_needed(4, true), Some(8));
        assert_eq!(slow(10)[0].blocks_needed(4, true), None);
    }

    /// Holm's own arithmetic: 0.01, 0.02, 0.03, 0.04 become 0.04, 0.06, 0.06, 0.06.
    #[test]
    fn many_are_corrected() {
        let blank =
            compare(Blocks::Apart { subject: &[2.0], reference: &[1.0] }, 0.01).expect("finite");
        let mut many = [0.04, 0.01, 0.03, 0.02].map(|p| Comparison { p_different: p, ..blank });
        holm(&mut many);
        let adjusted: Vec<f64> = many.iter().map(|one| (one.p_adjusted * 100.0).round()).collect();
        assert_eq!(adjusted, [6.0, 4.0, 6.0, 6.0]);
        assert_eq!(
            many.map(|one| one.decision == Decision::Different),
            [false, true, false, false]
        );
    }
}
