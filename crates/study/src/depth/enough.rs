//! Table of RTTs, and whether a buffer is large enough for each.
//!
//! Owns the two rules, which figures name. One flow needs the bandwidth-delay product (Villamizar
//! and Song, 1994): a window cut by half then still fills the path. With n flows that are not
//! synchronised, divide that by the square root of n (Appenzeller, Keslassy and McKeown, 2004).
//! Pure.

use measure::Nanos;

/// RTTs of the table, in milliseconds: a campus, a country, a continent, the world.
const ROUND_TRIPS_MS: [u64; 10] = [1, 2, 5, 10, 20, 30, 50, 100, 150, 200];
/// Numbers of flows that share the output.
pub(super) const FLOWS: [u32; 2] = [1, 100];

/// Octets known to fit; without `high`, there may be more room.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Held {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: Option<f64>,
}

/// One cell of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Answer {
    pub(super) rtt: Nanos,
    /// Octets that the flows need.
    pub(super) needed: f64,
    /// True if the buffer is large enough; `None` if its interval contains `needed`.
    pub(super) enough: Option<bool>,
}

/// Octets that `flows` need at `rate` bits a second.
pub(super) fn needed(rate: f64, rtt: Nanos, flows: u32) -> f64 {
    rate / 8.0 * rtt.as_secs_f64() / f64::from(flows).sqrt()
}

/// Answers for every RTT, for `flows` flows.
pub(super) fn table(rate: f64, held: Held, flows: u32) -> Vec<Answer> {
    let answer = |milliseconds| {
        let rtt = Nanos::from_millis(milliseconds);
        let needed = needed(rate, rtt, flows);
        let enough = if needed <= held.low {
            Some(true)
        } else {
            held.high.filter(|high| needed > *high).map(|_| false)
        };
        Answer { rtt, needed, enough }
    };
    ROUND_TRIPS_MS.map(answer).into()
}

/// Longest RTT that `octets` are enough for, in nanoseconds.
pub(super) fn longest(rate: f64, octets: f64, flows: u32) -> f64 {
    octets * 8.0 / rate * f64::from(flows).sqrt() * 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_two_buffers() {
        // Seed 004: 64 MB hold 10 Gbit/s at 50 ms, 36 MB do not.
        let answer = |low, high, milliseconds, flows| {
            let all = table(1e10, Held { value: low, low, high }, flows);
            let rtt = Nanos::from_millis(milliseconds);
            all.into_iter().find(|answer| answer.rtt == rtt).expect("a round trip").enough
        };
        assert_eq!(answer(63.9e6, Some(64.1e6), 50, 1), Some(true));
        assert_eq!(answer(35.9e6, Some(36.1e6), 50, 1), Some(false));
        assert_eq!(answer(35.9e6, Some(36.1e6), 20, 1), Some(true));
        assert_eq!(answer(35.9e6, Some(36.1e6), 200, 100), Some(true));
        assert_eq!(answer(62.4e6, Some(62.6e6), 50, 1), None);
        assert_eq!(answer(36e6, None, 50, 1), None);
        assert!((longest(1e10, 64e6, 1) - 51.2e6).abs() < 1.0);
    }
}
