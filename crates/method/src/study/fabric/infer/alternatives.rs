//! How sure the groups are: what else would explain the floods, by how much worse, and which floods
//! would tell.
//!
//! Owns the alternatives to a belief (a port elsewhere, two groups that are one, one that is two)
//! and the floods into sinks that tell the likeliest of them from it. Never calls a belief sure
//! that has not been asked.

use rand::seq::SliceRandom as _;

use super::evidence::{Belief, NONE};
use super::refine::compact;
use super::sinks::Sink;
use super::{Flooded, Inference, Length};
use trial::Result;

/// A belief that is right with this chance is asked no further.
const SURE: f64 = 0.998;

/// How often an alternative is asked about before the belief has to do.
const MOST_CHALLENGES: usize = 10;

/// An alternative that explains everything worse by this much, in log-likelihood, is not fitted
/// anew.
const HOPELESS: f64 = 20.0;

/// Another belief, and its chance against the one that is held.
struct Alternative {
    odds: f64,
    belief: Belief,
    /// The ports on whose two sides the two beliefs differ.
    sides: [Vec<usize>; 2],
}

impl Inference<'_> {
    /// That all groups are right: against each port in another group, each two groups as one and
    /// each as two.
    pub(super) fn confidence(&self, belief: &Belief) -> f64 {
        let odds: f64 = self.alternatives(belief).iter().map(|other| other.odds).sum();
        1.0 / (1.0 + odds)
    }

    /// Floods sinks on both sides of the likeliest alternative until the belief is sure, and fits
    /// again what then fits better. A sink hears who is near it and who is not, so each side has
    /// its own.
    pub(super) fn challenged(&mut self, mut belief: Belief) -> Result<Belief> {
        for _ in 0..MOST_CHALLENGES {
            let others = self.alternatives(&belief);
            if 1.0 / (1.0 + others.iter().map(|other| other.odds).sum::<f64>()) >= SURE {
                break;
            }
            let Some(likeliest) = others.into_iter().max_by(|a, b| a.odds.total_cmp(&b.odds))
            else {
                break;
            };
            for side in likeliest.sides {
                self.flood_side(&side)?;
            }
            let held = if likeliest.odds > 1.0 { compact(&likeliest.belief) } else { belief };
            belief = self.refined(held);
        }
        Ok(belief)
    }

    /// One flood into a port of these that was a sink least often.
    fn flood_side(&mut self, side: &[usize]) -> Result<()> {
        let there = side.iter().copied().filter(|port| self.alive.contains(port));
        let often = |port: &usize| self.sinks.get(port).map_or(0, Sink::count);
        let Some(port) = there.min_by_key(often) else { return Ok(()) };
        let seen = self.flood_into(port)?;
        self.take_into(port, &seen);
        Ok(())
    }

    /// Everybody else floods this port.
    pub(super) fn flood_into(&mut self, port: usize) -> Result<Vec<Flooded>> {
        // In another order each time: who begins or ends last may get more, and is to be seen as
        // scatter.
        let mut senders: Vec<usize> = self.alive.iter().copied().filter(|p| *p != port).collect();
        senders.shuffle(&mut self.chance);
        let flows: Vec<(usize, usize)> = senders.iter().map(|from| (*from, port)).collect();
        let seen = self.flood("sink", &flows, Length::Sink(senders.len()))?;
        let heard: u64 = seen.iter().map(|flow| flow.came).sum();
        if seen.iter().any(|flow| flow.came == 0) && heard > 20 * seen.len() as u64 {
            self.look_again(&[])?;
        }
        Ok(seen.into_iter().filter(|flow| self.alive.contains(&flow.from)).collect())
    }

    fn alternatives(&self, belief: &Belief) -> Vec<Alternative> {
        let cost = self.cost(belief);
        let mut all = self.elsewhere(belief, cost);
        all.extend(self.joined(belief, cost));
        all.extend(self.parted(belief, cost));
        all
    }

    /// Each port in each other group, whose uplinks are then fitted anew.
    fn elsewhere(&self, belief: &Belief, cost: f64) -> Vec<Alternative> {
        let groups = belief.groups();
        let moves: Vec<(usize, usize)> = self.moves(belief).collect();
        let other = |(port, to): (usize, usize)| {
            let own = belief.group_of[port];
            let mut moved = belief.clone();
            moved.group_of[port] = to;
            let worse = self.refitted(&mut moved, &[own, to], cost);
            let near = groups[own].iter().copied().filter(|p| *p != port).collect();
            let sides = [near, groups[to].clone()];
            Alternative { odds: (-worse).exp(), belief: moved, sides }
        };
        moves.into_iter().map(other).collect()
    }

    /// Each two groups as one, which is cheaper by what a second one costs.
    fn joined(&self, belief: &Belief, cost: f64) -> Vec<Alternative> {
        let groups = belief.groups();
        let each = self.price_of_a_parameter();
        let count = groups.len();
        let pairs = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
        let other = |(a, b): (usize, usize)| {
            let mut one = belief.clone();
            for group in one.group_of.iter_mut().filter(|group| **group == b) {
                *group = a;
            }
            let mut one = compact(&one);
            let at = one.group_of[groups[a][0]];
            let price = self.price(&groups[a], &groups[b], each);
            let worse = self.refitted(&mut one, &[at], cost) - price;
            let sides = [groups[a].clone(), groups[b].clone()];
            Alternative { odds: (-worse).exp(), belief: one, sides }
        };
        pairs.map(other).collect()
    }

    /// Each group in two, as each sink would have it.
    fn parted(&self, belief: &Belief, cost: f64) -> Vec<Alternative> {
        let each = self.price_of_a_parameter();
        let scatter = self.scatter();
        let mut all = Vec::new();
        for (at, group) in belief.groups().iter().enumerate().filter(|(_, g)| g.len() > 3) {
            let cuts = self.sinks.values().filter_map(|sink| sink.cut(group, scatter));
            for sides in cuts {
                let mut two = belief.clone();
                two.uplinks.push(f64::INFINITY);
                for port in &sides[1] {
                    two.group_of[*port] = two.uplinks.len() - 1;
                }
                let new = two.uplinks.len() - 1;
                let price = self.price(&sides[0], &sides[1], each);
                let worse = self.refitted(&mut two, &[at, new], cost) + price;
                all.push(Alternative { odds: (-worse).exp(), belief: two, sides });
            }
        }
        all
    }

    /// By how much worse an alternative explains everything, once the uplinks in question fit it.
    fn refitted(&self, other: &mut Belief, uplinks: &[usize], cost: f64) -> f64 {
        let by_sinks = self.cost_of_sinks(&other.groups()) - cost;
        if by_sinks > HOPELESS {
            return by_sinks;
        }
        for group in uplinks {
            other.fit_one(*group, &self.rounds, self.noise);
        }
        self.cost(other) - cost
    }

    pub(super) fn moves<'b>(
        &'b self,
        belief: &'b Belief,
    ) -> impl Iterator<Item = (usize, usize)> + 'b {
        let there = self.alive.iter().filter(|port| belief.group_of[**port] != NONE);
        there.flat_map(|port| {
            let others = (0..belief.uplinks.len()).filter(|to| belief.group_of[*port] != *to);
            others.map(|to| (*port, to))
        })
    }
}
