//! The threshold's fit held against buffers of known parameters, and against one that is none.

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;

use super::*;

struct Truth {
    shared: f64,
    alpha: f64,
    reserve: f64,
}

const FRAME: f64 = 64.0;
const QUEUES: f64 = 12.0;

impl Truth {
    fn total(&self) -> f64 {
        self.shared + QUEUES * self.reserve
    }

    /// As a buffer that compares before it counts holds whole frames, told to half a frame.
    fn measured(&self, most: u32) -> Measured {
        let level = |outputs: u32| {
            let n = f64::from(outputs);
            let h = self.alpha / (1.0 + n * self.alpha);
            let held = self.reserve + (self.shared + f64::midpoint(n, 1.0) * FRAME) * h;
            let held = ((held / FRAME).floor() + 0.5) * FRAME;
            Level { outputs: n, held, error: FRAME / 12.0_f64.sqrt() }
        };
        let levels = (1..=most).map(level).collect();
        let (freedom, doubt) = (f64::INFINITY, 0.0);
        Measured { levels, frame: FRAME, freedom, doubt, queues: QUEUES }
    }
}

fn holds(parameter: Parameter, truth: f64) -> bool {
    parameter.low <= truth * 1.000_001 && parameter.high.is_none_or(|high| truth <= high)
}

#[test]
fn total_alpha_and_reserve_come_back() {
    let mut missed = 0;
    for total in [1e6, 12e6] {
        for alpha in [0.25, 0.5, 1.0, 2.0, 8.0] {
            for reserve in [0.0, 20_000.0] {
                let truth = Truth { shared: total - QUEUES * reserve, alpha, reserve };
                let fit = fit(&truth.measured(6)).expect("a fit");
                let what = format!("{total} {alpha} {reserve}: {fit:?}");
                assert!((fit.total.value / total - 1.0).abs() < 0.02, "{what}");
                assert!((fit.alpha.value / alpha - 1.0).abs() < 0.05, "{what}");
                assert!((fit.reserve.value - reserve).abs() < 2000.0, "{what}");
                assert_eq!(fit.reserve.value > 0.0, reserve > 0.0, "{what}");
                assert!(!fit.contradicted, "{what}");
                let each = [(fit.total, total), (fit.alpha, alpha), (fit.reserve, reserve)];
                missed += each.into_iter().filter(|(told, truth)| !holds(*told, *truth)).count();
            }
        }
    }
    // Of 60 intervals of 95 %.
    assert!(missed <= 3, "{missed} of 60");
}

/// 2 MB, alpha 0.25 and 20 kB for each queue were once 2.100 MB (2.093…2.107) and 0.2264.
#[test]
fn a_reserve_is_not_taken_for_a_larger_total() {
    let truth = Truth { shared: 2e6 - QUEUES * 20_000.0, alpha: 0.25, reserve: 20_000.0 };
    let fit = fit(&truth.measured(4)).expect("a fit");
    assert!(holds(fit.total, 2e6) && holds(fit.alpha, 0.25), "{fit:?}");
    assert!(holds(fit.reserve, 20_000.0) && fit.checked && !fit.contradicted, "{fit:?}");
}

#[test]
fn three_points_or_two_leave_it_open() {
    let truth = Truth { shared: 2e6, alpha: 0.25, reserve: 20_000.0 };
    for most in [2, 3] {
        let fit = fit(&truth.measured(most)).expect("a fit");
        assert!(!fit.checked, "{fit:?}");
        assert!(holds(fit.total, truth.total()) && holds(fit.alpha, 0.25), "{fit:?}");
        assert!(holds(fit.reserve, 20_000.0), "{fit:?}");
    }
    let fit = fit(&truth.measured(2)).expect("a fit");
    assert!(!fit.total.is_told() && !fit.alpha.is_told(), "{fit:?}");
}

/// Two outputs share one memory and the others another: no threshold has that.
#[test]
fn what_is_no_threshold_lacks_fit() {
    let truth = Truth { shared: 2e6, alpha: 1.0, reserve: 0.0 };
    let mut measured = truth.measured(6);
    for level in &mut measured.levels[2..] {
        level.held *= 1.2;
    }
    let fit = fit(&measured).expect("a fit");
    assert!(fit.contradicted, "{fit:?}");
}

#[test]
fn intervals_cover_as_often_as_they_say() {
    let mut random = Pcg64::seed_from_u64(16);
    let (mut all, mut covered, mut lacking) = (0_u32, [0_u32; 3], 0_u32);
    for _ in 0..400 {
        let alpha = 128.0_f64.powf(random.random::<f64>()) / 16.0;
        let reserve = random.random_range(0.0..60_000.0);
        let truth = Truth { shared: random.random_range(1e6..8e6), alpha, reserve };
        let mut measured = truth.measured(6);
        // A known error of a thousandth of what is held, of which each point has its own.
        for level in &mut measured.levels {
            let error = 1e-3 * level.held;
            let drawn: f64 = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
            level.held += drawn * error;
            level.error = level.error.hypot(error);
        }
        let Some(fit) = fit(&measured) else { continue };
        all += 1;
        lacking += u32::from(fit.contradicted);
        let truths = [truth.total(), alpha, reserve];
        for ((parameter, truth), count) in
            [fit.total, fit.alpha, fit.reserve].into_iter().zip(truths).zip(&mut covered)
        {
            *count += u32::from(holds(parameter, truth));
        }
    }
    println!("{covered:?} of {all} covered, {lacking} lacked fit");
    assert!(all >= 390, "{all}");
    // Below 370 of 400 at a chance of 0.95 comes about once in 80 runs; the seed is fixed.
    assert!(covered.iter().all(|count| f64::from(*count) >= 0.925 * f64::from(all)), "{covered:?}");
    assert!(f64::from(lacking) <= 0.025 * f64::from(all), "{lacking}");
}
