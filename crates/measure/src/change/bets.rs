//! Bets on ranks, and the sum of bets since any moment: the e-detector.
//!
//! A bet of stake 1 on a repetition pays at most 1 on average if nothing changed: its rank among
//! earlier ones is then uniform, and the payoff is a density of the rank. Owns payoffs and sums.
//! Never knows a value, only its rank.

use std::collections::VecDeque;

use crate::change::Direction;
use crate::normal::point_at_share;

/// Shifts of the ranks that bets are placed on, in standard deviations: a small one and a large
/// one.
const STRENGTHS: [f64; 2] = [1.0, 1.5];

/// Part of the stake that is kept whatever the rank: no single repetition, however far on the other
/// side, cancels the evidence of the others.
const KEPT: f64 = 0.2;

/// Largest payoff of one repetition: a short burst of bad repetitions is no change.
const MOST: f64 = 6.0;

/// Number of repetitions after which a bet no longer counts: a slow change is a drift.
const WINDOW: usize = 30;

/// Payoffs of one repetition, by strength.
type Paid = [f64; STRENGTHS.len()];

/// Payoffs of the latest repetitions, upwards and downwards: the terms of Roberts' sum.
#[derive(Debug, Clone, Default)]
pub struct Bets {
    up: VecDeque<Paid>,
    down: VecDeque<Paid>,
}

impl Bets {
    /// Places the bets on the next repetition. `above` is the chance of a rank at least this high
    /// if nothing changed by more than the margin, `below` that of one at least this low.
    pub fn place(&mut self, above: f64, below: f64) {
        for (paid, chance) in [(&mut self.up, above), (&mut self.down, below)] {
            let point = point_at_share(1.0 - chance);
            paid.push_back(STRENGTHS.map(|strength| pays(strength, point)));
            if paid.len() > WINDOW {
                paid.pop_front();
            }
        }
    }

    /// Direction of the change once the mean of the four sums reaches the run length; `None`
    /// before. Without a change, the mean minus the number of repetitions never rises on average. A
    /// false alarm therefore takes at least `run_length` repetitions on average (Shin et al.,
    /// theorem 2.1).
    pub fn alarm(&self, run_length: f64) -> Option<Direction> {
        let (up, down) = (sum(&self.up), sum(&self.down));
        let mean = (up + down) / (2 * STRENGTHS.len()) as f64;
        let direction = if up >= down { Direction::Up } else { Direction::Down };
        (mean >= run_length).then_some(direction)
    }
}

/// Sums, over every moment of the window, what a stake of 1 on each repetition since has become.
fn sum(paid: &VecDeque<Paid>) -> f64 {
    let of = |at: usize| paid.iter().fold(0.0, |sum, paid| (sum + 1.0) * paid[at]);
    (0..STRENGTHS.len()).map(of).sum()
}

/// Likelihood ratio of a rank's normal score for a shift of `strength` standard deviations, mixed
/// with the stake itself. It falls with the chance, whose values are the right ends of equal steps
/// from 0 to 1, so its mean over all ranks is at most 1.
fn pays(strength: f64, point: f64) -> f64 {
    let ratio = (strength * point - strength * strength / 2.0).exp();
    (1.0 - KEPT).mul_add(ratio, KEPT).min(MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_bet_pays_more_than_its_stake_on_average() {
        for among in [1, 5, 20, 126, 1_000_u32] {
            for strength in STRENGTHS {
                let steps = f64::from(among + 1);
                let chance = |rank: u32| f64::from(rank) / steps;
                let paid = |rank| pays(strength, point_at_share(1.0 - chance(rank)));
                let mean = (1..=among + 1).map(paid).sum::<f64>() / steps;
                assert!(mean <= 1.0, "{among} {strength}: {mean}");
            }
        }
    }

    #[test]
    fn the_same_rank_over_and_over_is_an_alarm_on_its_side() {
        let mut bets = Bets::default();
        let mut placed = 0;
        while bets.alarm(1e5).is_none() {
            bets.place(1.0, 0.01);
            placed += 1;
        }
        assert_eq!((bets.alarm(1e5), placed < 10), (Some(Direction::Down), true), "{placed}");
    }
}
