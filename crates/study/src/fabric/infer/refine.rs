//! Search for the belief that fits all measurements best.
//!
//! Owns the search: single ports that change groups, and groups that merge. Never runs a flood.

use super::Inference;
use super::evidence::{Belief, NONE};
use super::sinks::Sink;

/// Required gain in log-likelihood for a move, in addition to the logarithm of the number of
/// possible moves: the best of many fits better by chance.
const WORTH_A_MOVE: f64 = 3.0;

impl Inference<'_> {
    /// Negative log-likelihood of all rounds and all floods of sinks.
    pub(super) fn cost(&self, belief: &Belief) -> f64 {
        let groups = belief.groups();
        belief.misfit(&self.rounds, self.noise) + self.cost_of_sinks(&groups)
    }

    pub(super) fn cost_of_sinks(&self, groups: &[Vec<usize>]) -> f64 {
        let scatter = self.scatter();
        self.sinks.values().map(|sink| sink.misfit_of(groups, scatter)).sum()
    }

    /// Moves ports and merges groups as long as the fit improves.
    pub(super) fn refined(&self, mut belief: Belief) -> Belief {
        belief.fit(&self.rounds, self.noise);
        let mut cost = self.cost(&belief);
        for _ in 0..self.ports {
            let Some(moved) =
                self.best_move(&belief, cost).or_else(|| self.best_join(&belief, cost))
            else {
                break;
            };
            belief = moved;
            belief.fit(&self.rounds, self.noise);
            cost = self.cost(&belief);
        }
        belief
    }

    fn best_move(&self, belief: &Belief, cost: f64) -> Option<Belief> {
        let moves = self.moves(belief).map(|(port, to)| {
            let moved = moved(belief, port, to);
            (self.cost(&moved), moved)
        });
        let moves: Vec<(f64, Belief)> = moves.collect();
        let worth = WORTH_A_MOVE + (moves.len().max(1) as f64).ln();
        let best = moves.into_iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
        (best.0 < cost - worth).then(|| compact(&best.1))
    }

    /// Merges the two groups that justify a second one least, if the price of a second exceeds its
    /// gain. Pairs are compared with the other uplinks unchanged; the best is then refitted.
    fn best_join(&self, belief: &Belief, cost: f64) -> Option<Belief> {
        let count = belief.uplinks.len();
        let pairs = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
        let each = self.price_of_a_parameter();
        let groups = belief.groups();
        let joined = pairs.filter_map(|(a, b)| {
            let price = self.price(&groups[a], &groups[b], each);
            let mut joined = belief.clone();
            for group in &mut joined.group_of {
                if *group == b {
                    *group = a;
                }
            }
            let mut joined = compact(&joined);
            // No uplink limit can outweigh the evidence of the sinks alone.
            if self.cost_of_sinks(&joined.groups()) >= cost + price {
                return None;
            }
            joined.fit_one(joined.group_of[groups[a][0]], &self.rounds, self.noise);
            Some((self.cost(&joined) - price, price, joined))
        });
        let (_, price, mut best) = joined.min_by(|a, b| a.0.total_cmp(&b.0))?;
        best.fit(&self.rounds, self.noise);
        (self.cost(&best) - price < cost).then_some(best)
    }

    /// Required gain in log-likelihood for two groups instead of one, as the outermost ports of a
    /// group always fit slightly better alone. Consists of the price of each further parameter and
    /// the logarithm of the number of ways to choose the ports. The parameters are a mean in each
    /// sink that heard both groups, and an uplink.
    pub(super) fn price(&self, one: &[usize], other: &[usize], each: f64) -> f64 {
        let way = |port: usize| ((one.len() + port) as f64 / port as f64).ln();
        let ways: f64 = (1..=other.len()).map(way).sum();
        let heard = |sink: &&Sink, group: &[usize]| group.iter().any(|port| sink.is_sender(*port));
        let means =
            self.sinks.values().filter(|sink| heard(sink, one) && heard(sink, other)).count();
        ways + (means + 1) as f64 * each
    }

    /// Half the logarithm of the number of readings (Schwarz, "Estimating the dimension of a
    /// model", 1978).
    pub(super) fn price_of_a_parameter(&self) -> f64 {
        let of = |sink: &Sink| self.alive.iter().filter(|port| sink.is_sender(**port)).count();
        let readings: usize = self.sinks.values().map(of).sum();
        0.5 * (readings.max(1) as f64).ln()
    }
}

fn moved(belief: &Belief, port: usize, to: usize) -> Belief {
    let mut moved = belief.clone();
    moved.group_of[port] = to;
    moved
}

/// Removes empty groups and sorts the others by their first ports.
pub(super) fn compact(belief: &Belief) -> Belief {
    let mut there: Vec<usize> =
        (0..belief.uplinks.len()).filter(|g| belief.group_of.contains(g)).collect();
    there.sort_by_key(|group| belief.group_of.iter().position(|of| of == group));
    let place = |group: &usize| there.iter().position(|g| g == group).unwrap_or(NONE);
    Belief {
        group_of: belief.group_of.iter().map(place).collect(),
        uplinks: there.iter().map(|group| belief.uplinks[*group]).collect(),
    }
}
