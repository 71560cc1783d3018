//! Draws from known distributions, for synthetic campaigns.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// From an exponential distribution of mean 1.
pub fn exponential(random: &mut Pcg64Mcg) -> f64 {
    -(1.0 - random.random::<f64>()).ln()
}

/// From a standard normal distribution (Box and Muller).
pub fn normal(random: &mut Pcg64Mcg) -> f64 {
    let radius = (2.0 * exponential(random)).sqrt();
    radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
}
