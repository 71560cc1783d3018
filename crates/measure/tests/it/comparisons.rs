//! Does a comparison of equal sides find a difference no more often than it may? Simulated; the
//! seed is fixed and printed on failure. `SWITCHMARK_TESTS=full` takes twenty times the runs.

use crate::draws::normal;
use measure::comparison::{Blocks, Comparison, Decision, compare, correct};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

const SEED: u64 = 20_261_122;

/// In how many of so many comparisons of equal sides some figure came out different.
fn false_differences(runs: u32, (figures, count): (usize, usize), interleaved: bool) -> u32 {
    let mut random = Pcg64Mcg::seed_from_u64(SEED + count as u64);
    let mut wrong = 0;
    for _ in 0..runs {
        let mut figure = || -> Comparison {
            // No margin at all: the strictest case.
            let mut one = || (0.05 * normal(&mut random)).exp();
            let pairs: Vec<(f64, f64)> = (0..count).map(|_| (one(), one())).collect();
            let (subject, reference): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
            let apart = Blocks::Apart { subject: &subject, reference: &reference };
            let blocks = if interleaved { Blocks::Interleaved(&pairs) } else { apart };
            compare(blocks, 0.0).expect("finite")
        };
        let mut all: Vec<Comparison> = (0..figures).map(|_| figure()).collect();
        correct(&mut all, 0);
        wrong += u32::from(all.iter().any(|one| one.decision == Decision::Different));
    }
    wrong
}

#[test]
fn equal_sides_differ_in_one_of_twenty_comparisons_at_most() {
    let full = std::env::var("SWITCHMARK_TESTS").is_ok_and(|profile| profile == "full");
    let runs = if full { 40_000 } else { 2_000 };
    for interleaved in [true, false] {
        for figures in [1, 2, 4, 12] {
            for count in [5, 6, 7, 10, 15] {
                let wrong = false_differences(runs, (figures, count), interleaved);
                let share = 100.0 * f64::from(wrong) / f64::from(runs);
                println!("{figures} figures, {count} blocks, {interleaved}: {share:.2} %");
                // Four standard errors of 5 % over so many runs.
                let noise = 400.0 * (0.05 * 0.95 / f64::from(runs)).sqrt();
                assert!(share <= 5.0 + noise, "seed {SEED}, {figures} of {count}: {share} %");
            }
        }
    }
}
