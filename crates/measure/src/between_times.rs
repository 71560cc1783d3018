//! Allowance for the difference between two times that were each measured once. Pure.

/// Differences of two draws from the standard normal law: 95 in 100 are below the first value, 75
/// in 100 below the second.
const NEARLY_ALWAYS: f64 = 1.96 * std::f64::consts::SQRT_2;
const USUALLY: f64 = 1.150 * std::f64::consts::SQRT_2;

/// Returns the allowance for the difference between two times measured once each. It is the
/// difference between two repetitions of one time, at 95 %. It follows from the upper quartile of
/// these differences, which one bad repetition hardly moves. More repetitions of the same time do
/// not make it smaller. Zero without a second repetition.
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
