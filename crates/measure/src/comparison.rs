//! Is one better than the other: different, equivalent or inconclusive, from blocks and a margin
//! below which a difference does not matter.
//!
//! Owns the decision, the scale it is made on and Holm's correction. The block is the sampling
//! unit, never the packet. Never says whose doing a difference is: that takes a bypass, and belongs
//! to whoever knows of one.

use serde::{Deserialize, Serialize};

use crate::Interval;
use crate::between_times::between_times;
use crate::quantile::median;
use crate::ranks::Shift;

/// One value a block from each side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Blocks<'a> {
    /// Both sides were measured in each block, in random order: (subject, reference).
    Interleaved(&'a [(f64, f64)]),
    /// Each side was measured at a time of its own: what changed between is in the difference, and
    /// has to be allowed for ([`between_times`]).
    Apart {
        /// What is compared.
        subject: &'a [f64],
        /// With what.
        reference: &'a [f64],
    },
}

/// How two sides were measured, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// So many blocks that hold both.
    Interleaved(usize),
    /// So many blocks of either.
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

/// The smallest two-sided chance that ranks of so many blocks can have: one outcome of 2^n for
/// pairs, of all the ways to mix two sides otherwise.
pub fn least(shape: Shape) -> f64 {
    let one = match shape {
        Shape::Interleaved(n) => 0.5_f64.powi(n as i32),
        Shape::Apart(m, n) => (1..=m).map(|i| i as f64 / (n + i) as f64).product(),
    };
    (2.0 * one).min(1.0)
}

/// How many blocks a side it takes that one of so many figures can be decided with all of them
/// corrected.
pub fn blocks_for(figures: usize, interleaved: bool) -> usize {
    let shape = |n| if interleaved { Shape::Interleaved(n) } else { Shape::Apart(n, n) };
    let enough = |n: &usize| least(shape(*n)) * figures.max(1) as f64 <= ERROR;
    // A chance halves with each block, at least: 64 of them decide any number of figures.
    (1..=64).find(enough).unwrap_or(64)
}

/// On which scale two sides are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Subject / reference, by logarithms: where all values are positive.
    Ratio,
    /// Subject - reference in their unit: where one is zero or below.
    Shift,
}

/// What may be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// The interval lies wholly beyond the margin.
    Different,
    /// The interval lies wholly within the margin.
    Equivalent,
    /// Neither: more blocks, or less noise, might tell.
    Inconclusive,
}

impl Decision {
    /// As it is written: `different`, `equivalent`, `inconclusive`.
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
    /// Hodges and Lehmann's estimate.
    pub value: f64,
    /// Exact for the blocks there are, with its own confidence.
    pub interval: Interval,
}

/// One quantity of two sides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Of value, interval and margin.
    pub scale: Scale,
    /// Hodges and Lehmann's estimate of subject / reference, or of subject - reference.
    pub value: f64,
    /// Exact for the blocks there are, with its own confidence.
    pub interval: Interval,
    /// What is in the interval at either end for sides that were measured at times of their own, on
    /// the scale of the decision (logarithms, for a ratio): no number of blocks makes it smaller.
    pub between: f64,
    /// The same as a difference: what a ratio of 1.002 is in microseconds.
    pub difference: Difference,
    /// Blocks of the subject and of the reference.
    pub blocks: (usize, usize),
    /// What is within it does not matter: a share for a ratio, else in the values' unit. A ratio is
    /// within where it lies between 1/(1 + margin) and 1 + margin.
    pub margin: f64,
    /// The chance of such blocks were the difference within the margin; two-sided.
    pub p_different: f64,
    /// The same after [`correct`]'s correction, where several were compared.
    pub p_adjusted: f64,
    /// The smallest chance that so many blocks can speak of, however far apart the sides are.
    pub p_least: f64,
    /// The chance of such blocks were the difference at or beyond the margin; two one-sided tests,
    /// doubled, so that it speaks as the 95 % interval does.
    pub p_equivalent: f64,
    /// Cliff's delta, -1…1: how much more often the subject's block is the larger than the smaller;
    /// of interleaved blocks, within each block.
    pub dominance: f64,
    /// What may be said.
    pub decision: Decision,
}

/// The chance of error that a decision may have; [`CONFIDENCE`] is the rest.
pub const ERROR: f64 = 0.05;

/// Of the interval.
pub const CONFIDENCE: f64 = 1.0 - ERROR;

/// Compares. `margin` is a share of the reference: 0.01 for one in a hundred. `None` where a side
/// has no block, or a value is not finite.
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
    // Without any noise at all, as between two equal counts of zero, ties with a margin of zero are
    // equality.
    let same = interval.low >= -limit && interval.high <= limit && interval.low >= interval.high;
    if same && interval.confidence >= CONFIDENCE {
        comparison.p_equivalent = 0.0;
    }
    comparison.decide();
    Some(comparison)
}

impl Comparison {
    /// About how many blocks a side it would take to decide this figure among so many, of noise
    /// like that seen: the interval shrinks with the root of their number, and has to fit between
    /// what was found and the margin. `None` where it was decided, or where no sensible number
    /// would do.
    pub fn blocks_needed(&self, figures: usize, interleaved: bool) -> Option<usize> {
        const SENSIBLE: f64 = 1_000.0;
        if self.decision != Decision::Inconclusive {
            return None;
        }
        let have = self.blocks.0.min(self.blocks.1);
        let least = blocks_for(figures, interleaved).max(have + 1);
        // What too few blocks say of their noise is nothing to count on.
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

    /// Decides by the adjusted chance.
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

/// By ranks, as the two sides were measured.
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

/// Holm's step-down correction (Scand. J. Statist. 6, 1979) of all differences that were looked for
/// at once, and the decisions that are left. Equivalence is not a discovery among many and needs
/// none.
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

/// The correction of all differences that were looked for at once: [`holm`]'s where so many blocks
/// can decide so many figures; else the figure at `primary` alone at the full error, and the others
/// by Holm behind it, only once it differs (a gate: Westfall & Krishen, J. Stat. Plan. Inference
/// 99, 2001). Which of the two it is depends on the numbers of blocks and of figures, never on what
/// was measured, so that either way some difference is found where there is none in 5 % of
/// comparisons at most. Figures with so few blocks that nothing could decide them are no part of
/// it.
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

/// How well a value repeats from block to block: half the width of the interval for its typical
/// value, as a share of that value. What two sides differ by below it, the tester could make alone.
/// `None` where the blocks don't tell, or a value is not positive.
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
