//! Offset between two clocks from exchanged timestamps, with guaranteed bounds.
//!
//! Owns the set of straight lines that the exchanges allow (Zhang, Liu and Xia, *Clock
//! Synchronization Algorithms for Network Measurements*, 2002). A message cannot arrive before it
//! was sent, so each exchange bounds the offset from both sides, the fastest exchange tightest.
//! Nothing is assumed about the split of a round trip between its two directions. Never reads a
//! clock, and never guesses if no line fits: then a clock jumped.

use crate::Nanos;

/// Largest drift between two clocks: no crystal, and no NTP daemon that slews one, is further off
/// (Linux slews by at most 500 ppm).
const STEEPEST: f64 = 600e-6;
/// Tolerance for rounding, in nanoseconds: timestamps are whole nanoseconds, lines are floats.
const SLACK_NS: f64 = 1.0;
/// Largest number of exchanges used, because all pairs of bounds are tested against all bounds. Of
/// more exchanges, the fastest of each stretch of time are taken.
const MOST: usize = 48;

/// Message and reply between two hosts, with four timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// Departure of the message, by our clock.
    pub asked: Nanos,
    /// Arrival of the message, by their clock.
    pub received: Nanos,
    /// Departure of the reply, by their clock; equal to `received` if only one stamp was taken.
    pub replied: Nanos,
    /// Arrival of the reply, by our clock.
    pub answered: Nanos,
}

impl Exchange {
    /// Time in transit, both directions together.
    pub fn on_the_way(&self) -> Nanos {
        let there = self.replied.saturating_sub(self.received);
        self.answered.saturating_sub(self.asked).saturating_sub(there)
    }
}

/// Bounds of the offset between their clock and ours, over some time.
#[derive(Debug, Clone, PartialEq)]
pub struct ClockBounds {
    /// Reference time, by our clock.
    origin: Nanos,
    /// Rough offset at the origin, in nanoseconds; keeps the floats small.
    base_ns: i64,
    /// Corners of the set of lines: offset beyond `base_ns` at `origin`, and drift per nanosecond.
    corners: Vec<(f64, f64)>,
}

/// Their clock minus ours, in nanoseconds: between `low` and `high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ahead {
    /// Lower bound.
    pub low_ns: i64,
    /// Upper bound.
    pub high_ns: i64,
}

impl Ahead {
    /// Middle of the bounds.
    pub const fn estimate_ns(self) -> i64 {
        self.low_ns + (self.high_ns - self.low_ns) / 2
    }

    /// Largest error of the middle.
    pub const fn uncertainty(self) -> Nanos {
        Nanos((self.high_ns - self.low_ns).unsigned_abs().div_ceil(2))
    }

    /// Offset of `other` from this clock, where each is known relative to a third clock.
    #[must_use]
    pub const fn to(self, other: Self) -> Self {
        Self { low_ns: other.low_ns - self.high_ns, high_ns: other.high_ns - self.low_ns }
    }
}

/// Upper or lower bound of the offset at a time of our clock, relative to the origin.
#[derive(Debug, Clone, Copy)]
struct Bound {
    at: f64,
    ahead: f64,
    is_upper: bool,
}

impl ClockBounds {
    /// Bounds from every straight line that the exchanges allow. `None` without exchanges or
    /// without such a line: a clock jumped or was slewed.
    pub fn from_exchanges(exchanges: &[Exchange]) -> Option<Self> {
        Self::within(exchanges, STEEPEST)
    }

    /// Bounds for a clock that runs exactly as fast as ours and may be set differently.
    pub fn of_one_rate(exchanges: &[Exchange]) -> Option<Self> {
        Self::within(exchanges, 0.0)
    }

    fn within(exchanges: &[Exchange], steepest: f64) -> Option<Self> {
        let chosen = shortest(exchanges);
        let first = chosen.first()?;
        let (origin, base_ns) = (first.asked, difference(first.received, first.asked));
        let bounds: Vec<Bound> = chosen
            .iter()
            .flat_map(|exchange| {
                let at = |ours: Nanos| difference(ours, origin) as f64;
                let ahead = |theirs, ours| (difference(theirs, ours) - base_ns) as f64;
                let Exchange { asked, received, replied, answered } = *exchange;
                [
                    Bound { at: at(asked), ahead: ahead(received, asked), is_upper: true },
                    Bound { at: at(answered), ahead: ahead(replied, answered), is_upper: false },
                ]
            })
            .collect();
        let corners: Vec<(f64, f64)> = candidates(&bounds, steepest)
            .into_iter()
            .filter(|&(ahead, drift)| holds(ahead, drift, &bounds))
            .collect();
        (!corners.is_empty()).then_some(Self { origin, base_ns, corners })
    }

    /// Offset at an instant of our clock. Before the first exchange and after the last the bounds
    /// widen with the unknown drift.
    pub fn ahead(&self, ours: Nanos) -> Ahead {
        let at = difference(ours, self.origin) as f64;
        let values = self.corners.iter().map(|(ahead, drift)| ahead + drift * at);
        let (low, high) = values
            .fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = ((low - SLACK_NS).floor() as i64, (high + SLACK_NS).ceil() as i64);
        Ahead { low_ns: self.base_ns + low, high_ns: self.base_ns + high }
    }

    /// Largest uncertainty between two instants: bounds from lines are widest at an end.
    pub fn uncertainty(&self, from: Nanos, to: Nanos) -> Nanos {
        self.ahead(from).uncertainty().max(self.ahead(to).uncertainty())
    }
}

fn difference(a: Nanos, b: Nanos) -> i64 {
    (a.0 as i64).wrapping_sub(b.0 as i64)
}

/// Returns all exchanges, or the fastest of each stretch of time, in order.
fn shortest(exchanges: &[Exchange]) -> Vec<Exchange> {
    if exchanges.len() <= MOST {
        return exchanges.to_vec();
    }
    let stretch = exchanges.len().div_ceil(MOST);
    let best = |part: &[Exchange]| part.iter().copied().min_by_key(Exchange::on_the_way);
    exchanges.chunks(stretch).filter_map(best).collect()
}

/// Lines through two bounds, and the steepest lines through one: the corners are among them.
fn candidates(bounds: &[Bound], steepest: f64) -> Vec<(f64, f64)> {
    let through = |bound: &Bound, drift: f64| (bound.ahead - drift * bound.at, drift);
    let mut all = Vec::new();
    for (number, one) in bounds.iter().enumerate() {
        all.extend([steepest, -steepest].map(|drift| through(one, drift)));
        let others = bounds[number + 1..].iter().filter(|other| (other.at - one.at).abs() >= 1.0);
        let drifts = others.map(|other| (other.ahead - one.ahead) / (other.at - one.at));
        all.extend(drifts.filter(|drift| drift.abs() <= steepest).map(|drift| through(one, drift)));
    }
    all
}

fn holds(ahead: f64, drift: f64, bounds: &[Bound]) -> bool {
    bounds.iter().all(|bound| {
        let line = ahead + drift * bound.at;
        if bound.is_upper { line <= bound.ahead + SLACK_NS } else { line >= bound.ahead - SLACK_NS }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng as _;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    /// A clock that is `ahead_ns` ahead at our time zero and gains `drift` each nanosecond; ways of
    /// at least `there` and `back`, each with an exponential tail of that mean.
    struct World {
        ahead_ns: i64,
        drift: f64,
        there: f64,
        back: f64,
        tail: f64,
    }

    impl World {
        fn theirs(&self, ours: f64) -> Nanos {
            Nanos(((ours + self.drift * ours) as u64).saturating_add_signed(self.ahead_ns))
        }

        fn exchange(&self, at: f64, random: &mut Pcg64Mcg) -> Exchange {
            let mut way = |least: f64| least - self.tail * (1.0 - random.random::<f64>()).ln();
            let arrived = at + way(self.there);
            let left = arrived + 5_000.0;
            let answered = left + way(self.back);
            Exchange {
                asked: Nanos(at as u64),
                received: self.theirs(arrived),
                replied: self.theirs(left),
                answered: Nanos(answered.ceil() as u64),
            }
        }

        fn truth(&self, ours: f64) -> f64 {
            self.ahead_ns as f64 + self.drift * ours
        }

        /// Some before a trial and some after it.
        fn around(&self, each: usize, seed: u64) -> Vec<Exchange> {
            let mut random = Pcg64Mcg::seed_from_u64(seed);
            let before = (0..each).map(|i| 1e9 + 1e6 * i as f64);
            let after = (0..each).map(|i| 11e9 + 1e6 * i as f64);
            before.chain(after).map(|at| self.exchange(at, &mut random)).collect()
        }
    }

    #[test]
    fn one_exchange_tells_half_its_round_trip() {
        let one = Exchange {
            asked: Nanos(1_000),
            received: Nanos(501_400),
            replied: Nanos(501_500),
            answered: Nanos(2_100),
        };
        assert_eq!(one.on_the_way(), Nanos(1_000));
        let ahead = ClockBounds::from_exchanges(&[one]).unwrap().ahead(Nanos(1_500));
        // From 499,400 (it came back at once) to 500,400 (it got there at once), and the slack.
        assert!((499_397..=499_400).contains(&ahead.low_ns), "{ahead:?}");
        assert!((500_400..=500_403).contains(&ahead.high_ns), "{ahead:?}");
        assert!(ahead.uncertainty().0 <= 503, "{ahead:?}");
    }

    #[test]
    fn a_jump_is_no_line() {
        assert_eq!(ClockBounds::from_exchanges(&[]), None);
        let world = World { ahead_ns: 5_000_000, drift: 0.0, there: 2e4, back: 2e4, tail: 1e4 };
        let mut all = world.around(8, 1);
        assert!(ClockBounds::from_exchanges(&all).is_some());
        for exchange in &mut all[4..8] {
            exchange.received += Nanos(200_000);
            exchange.replied += Nanos(200_000);
        }
        assert_eq!(ClockBounds::from_exchanges(&all), None, "ahead by 200 µs for a while");
    }

    /// Offsets, drifts and lopsided ways of known truth: how often the bound holds, and how wide it
    /// is.
    #[test]
    fn the_bound_holds() {
        for (there, back) in [(20e3, 20e3), (20e3, 120e3), (120e3, 20e3)] {
            for drift in [0.0, 40e-6, -200e-6] {
                let world = World { ahead_ns: 3_600_000_000_000, drift, there, back, tail: 50e3 };
                let (mut held, mut widths) = (0, Vec::new());
                for seed in 0..200 {
                    let bounds =
                        ClockBounds::from_exchanges(&world.around(16, seed)).expect("a line");
                    let inside = [1.1e9, 3e9, 6e9, 10.9e9].iter().all(|at| {
                        let ahead = bounds.ahead(Nanos(*at as u64));
                        let truth = world.truth(*at);
                        (ahead.low_ns as f64) <= truth && truth <= ahead.high_ns as f64
                    });
                    held += u32::from(inside);
                    widths.push(bounds.uncertainty(Nanos(1_100_000_000), Nanos(10_900_000_000)).0);
                }
                widths.sort_unstable();
                let median_us = widths[100] as f64 / 1e3;
                println!(
                    "ways {there:6.0} {back:6.0} ns, drift {drift:8.1e}: held {held}/200, ± {median_us:.1} µs"
                );
                assert_eq!(held, 200);
                // Half of the shortest round trip, and little more.
                let least = f64::midpoint(there, back) / 1e3;
                assert!(
                    median_us > 0.9 * least && median_us < least + 25.0,
                    "{median_us}: {least}"
                );
            }
        }
    }

    proptest! {
        /// Whatever share of the round trips each way took, the truth lies within the bounds.
        #[test]
        fn the_truth_is_within_the_bounds(
            ahead_ns in 0_i64..1 << 50,
            drift in -500e-6..500e-6_f64,
            ways in (0.0..1e6_f64, 0.0..1e6_f64, 0.0..1e6_f64),
            each in 1_usize..40,
            seed in any::<u64>(),
        ) {
            let world = World { ahead_ns, drift, there: ways.0, back: ways.1, tail: ways.2 };
            let bounds = ClockBounds::from_exchanges(&world.around(each, seed)).expect("a line");
            for at in [1e9, 2e9, 6e9, 11e9, 20e9] {
                let (ahead, truth) = (bounds.ahead(Nanos(at as u64)), world.truth(at));
                prop_assert!((ahead.low_ns as f64) <= truth + 1.0, "{ahead:?} {truth}");
                prop_assert!((ahead.high_ns as f64) >= truth - 1.0, "{ahead:?} {truth}");
            }
        }
    }
}
