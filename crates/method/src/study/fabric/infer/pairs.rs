//! Groups told from pairs, where no sink tells.
//!
//! Owns random rounds among some ports, and what two ports met in them says of both. Never decides
//! whether a device blocks.

use measure::cluster::Likeness;

use super::evidence::Round;
use super::{Flooded, Inference, LEAST_LOSS, mean_share, rounds};
use trial::Result;

/// Random rounds in a batch, and batches.
const ROUNDS_OF_BATCH: usize = 4;
const MOST_BATCHES: usize = 8;

impl Inference<'_> {
    /// Where no sink tells and flows are held up all the same: random rounds among these ports, in
    /// which a flow that is clean beside others that are not stays in its group. Ends when more
    /// rounds that tell change nothing. Where none of them was held up nobody is told from anybody.
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
            let found = Likeness::of(alive.len(), like).groups(0.0);
            let ports = |group: Vec<usize>| group.into_iter().map(|at| alive[at]).collect();
            let found: Vec<Vec<usize>> = found.into_iter().map(ports).collect();
            if found == groups && self.rounds[before..].iter().any(|round| tells(&round)) {
                break;
            }
            groups = found;
        }
        // Of many flows some are held up by chance, of a whole round they are not.
        let clean = |round: &Round| mean_share(&round.flows).is_none_or(|s| s > 1.0 - LEAST_LOSS);
        if self.rounds[first..].iter().all(clean) {
            groups = vec![groups.concat()];
        }
        Ok(groups)
    }

    /// A group in which traffic that stays inside is held up is more than one, which happened to
    /// get the same of the floods of sinks, or something else held it up once: it is told from
    /// pairs.
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
