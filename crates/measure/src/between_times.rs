//! By how much two times differ of which each was measured once.
//!
//! Owns the allowance for it. Pure.

/// Of two draws from a normal law of deviation 1, 95 in 100 differ by less than the first, and 75
/// in 100 by less than the second.
const NEARLY_ALWAYS: f64 = 1.96 * std::f64::consts::SQRT_2;
const USUALLY: f64 = 1.150 * std::f64::consts::SQRT_2;

/// By how much two times may differ of which each was measured but once: as much as two repetitions
/// of one time do, at 95 %, told by the upper quartile of their differences: a repetition that went
/// wrong moves it little. More repetitions of the same time make it no smaller. Nothing without a
/// second repetition.
pub fn between_times<'a>(times: impl IntoIterator<Item = &'a [f64]>) -> f64 {
    let apart = |values: &[f64]| -> Vec<f64> {
        let others = |(at, one): (usize, &f64)| {
            values[at + 1..].iter().map(move |other| (one - other).abs()).collect::<Vec<f64>>()
        };
        values.iter().enumerate().flat_map(others).collect()
    };
    let mut differences: Vec<f64> = times.into_iter().flat_map(apart).collect();
    differences.sort_by(f64::total_cmp);
    let usually = differences.get(differences.len() * 3 / 4).copied().unwrap_or(0.0);
    usually / USUALLY * NEARLY_ALWAYS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_repetition_says_nothing_of_other_times_and_a_wrong_one_little() {
        assert!(between_times([&[1.0][..], &[7.0]]).abs() < f64::EPSILON);
        let [calm, wrong] = [[1.0, 1.1, 1.2, 1.3, 1.4, 1.5], [1.0, 1.1, 1.2, 1.3, 1.4, 900.0]];
        let both = |other: &[f64]| between_times([&calm[..], other]);
        assert!(both(&wrong) < 1.5 * both(&calm), "{} {}", both(&wrong), both(&calm));
    }
}
