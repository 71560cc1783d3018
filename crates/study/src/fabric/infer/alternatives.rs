//! Confidence in the groups: other explanations of the floods, their likelihood, and the floods
//! that rule them out.
//!
//! Owns the alternatives to a belief (a port in another group, two groups as one, one as two) and
//! the floods into sinks that distinguish them. Never reports a confidence without testing
//! alternatives.

use rand::seq::SliceRandom as _;

use super::evidence::{Belief, NONE};
use super::refine::compact;
use super::sinks::Sink;
use super::{Flooded, Inference, Length};
use trial::Result;

/// Probability of a belief above which no more alternatives are tested.
const SURE: f64 = 0.998;

/// Maximum number of tests of alternatives.
const MOST_CHALLENGES: usize = 10;

/// Loss of log-likelihood above which an alternative is not refitted.
const HOPELESS: f64 = 20.0;

/// Alternative belief, with its odds against the current one.
struct Alternative {
    odds: f64,
    belief: Belief,
    /// Ports on the two sides of the difference between both beliefs.
    sides: [Vec<usize>; 2],
}

impl Inference<'_> {
    /// Probability that all groups are right, against each port in another group, any two groups as
    /// one, and any group as two.
    pub(super) fn confidence(&self, belief: &Belief) -> f64 {
        let odds: f64 = self.alternatives(belief).iter().map(|other| other.odds).sum();
        1.0 / (1.0 + odds)
    }

    /// Floods sinks on both sides of the likeliest alternative until the belief is certain, and
    /// refits. A sink distinguishes near senders from others, so both sides need one.
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

    /// Floods the port of a side that has been a sink least often.
    fn flood_side(&mut self, side: &[usize]) -> Result<()> {
        let there = side.iter().copied().filter(|port| self.alive.contains(port));
        let often = |port: &usize| self.sinks.get(port).map_or(0, Sink::count);
        let Some(port) = there.min_by_key(often) else { return Ok(()) };
        let seen = self.flood_into(port)?;
        self.take_into(port, &seen);
        Ok(())
    }

    /// Floods one port from all others.
    pub(super) fn flood_into(&mut self, port: usize) -> Result<Vec<Flooded>> {
        // The order is random, so that an advantage of the first or last sender shows as scatter.
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

    /// Alternatives with a port in another group, and the uplinks of both groups refitted.
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

    /// Alternatives with two groups as one, which saves the price of the second.
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

    /// Alternatives with a group in two, at the best cut of any sink.
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

    /// Loss of log-likelihood of an alternative, once the affected uplinks are refitted.
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
