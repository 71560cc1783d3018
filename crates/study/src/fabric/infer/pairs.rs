//! Groups from pairs of ports, for devices on which sinks show nothing.
//!
//! Owns random rounds among some ports, and the likeness of two ports from them. Never decides
//! whether a device blocks.

use measure::cluster::Likeness;

use super::evidence::Round;
use super::{Flooded, Inference, LEAST_LOSS, mean_share, rounds};
use trial::Result;

/// Random rounds per batch, and maximum number of batches.
const ROUNDS_OF_BATCH: usize = 4;
const MOST_BATCHES: usize = 8;

impl Inference<'_> {
    /// Groups these ports by random rounds, for limited flows that sinks do not explain. An
    /// unlimited flow among limited ones stays inside its group. Ends when another informative
    /// batch changes nothing. If no flow was limited, all ports are one group.
    pub(super) fn by_pairs(&mut self, among: &[usize]) -> Result<Vec<Vec<usize>>> {
        let mut groups = Vec::new();
        let first = self.rounds.len();
        for _ in 0..MOST_BATCHES {
            let before = self.rounds.len();
            for _ in 0..ROUNDS_OF_BATCH {
                let flows = rounds::random(among, &mut self.chance);
                self.round("pairs", &flows)?;
            }
            let there = |port: &usize| self.alive.contains(port);
            let alive: Vec<usize> = among.iter().copied().filter(there).collect();
            let mut met = vec![(0.0, 0.0); self.ports * self.ports];
            let held_up = |flow: &Flooded| flow.share() <= 1.0 - LEAST_LOSS - self.noise;
            let tells = |round: &&Round| round.flows.iter().any(held_up);
            for flow in self.rounds.iter().filter(tells).flat_map(|round| &round.flows) {
                let said = if held_up(flow) { -1.0 } else { 1.0 };
                for at in [flow.from * self.ports + flow.to, flow.to * self.ports + flow.from] {
                    met[at] = (met[at].0 + said, met[at].1 + 1.0);
                }
            }
            let like = |a: usize, b: usize| {
                let (said, times): (f64, f64) = met[alive[a] * self.ports + alive[b]];
                if times > 0.0 { said / times } else { 0.0 }
            };
            let found = Likeness::from_similarity(alive.len(), like).groups(0.0);
            let ports = |group: Vec<usize>| group.into_iter().map(|at| alive[at]).collect();
            let found: Vec<Vec<usize>> = found.into_iter().map(ports).collect();
            if found == groups && self.rounds[before..].iter().any(|round| tells(&round)) {
                break;
            }
            groups = found;
        }
        // Among many flows, chance limits some, but never a whole round.
        let clean = |round: &Round| mean_share(&round.flows).is_none_or(|s| s > 1.0 - LEAST_LOSS);
        if self.rounds[first..].iter().all(clean) {
            groups = vec![groups.concat()];
        }
        Ok(groups)
    }

    /// Splits groups with limited traffic inside, using pairs. Such a group is several that got
    /// equal shares of the floods of sinks, or was disturbed once.
    pub(super) fn split(
        &mut self,
        groups: &[Vec<usize>],
        inside: &[Flooded],
    ) -> Result<Vec<Vec<usize>>> {
        let mut split = Vec::new();
        for group in groups {
            let own: Vec<Flooded> =
                inside.iter().filter(|flow| group.contains(&flow.from)).copied().collect();
            if mean_share(&own).is_none_or(|share| share > 1.0 - 2.0 * LEAST_LOSS) {
                split.push(group.clone());
                continue;
            }
            split.extend(self.by_pairs(group)?);
        }
        Ok(split)
    }
}
