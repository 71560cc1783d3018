//! Rate that a pair is expected to reach: the lower of what its two ports reach in their best
//! rounds.
//!
//! Owns the reference of the non-blocking answer, so that a slow host is no blocked pair. The best
//! round of a port is chosen by the other repetitions, so that chance does not raise it. Never
//! judges.

use std::collections::{BTreeMap, BTreeSet};

use measure::quantile::median;
use trial::PortRef;
use trial::topology::Pair;

use super::super::cell::{Got, RoundData};
use super::super::rounds::{ByBlock, CellPlace, Rounds};
use super::super::scene::Round;
use super::Measured;
use super::own::{fewest_partners, is_judged};

/// Rate of each of a scene's ports in its best round with all of them active, by block, in bits a
/// second.
#[derive(Debug)]
pub(super) struct Expected(BTreeMap<PortRef, ByBlock>);

/// Rates of one port in all rounds.
#[derive(Debug, Default)]
struct PortRates {
    partners: BTreeSet<PortRef>,
    rounds: Vec<ByBlock>,
}

impl Expected {
    /// Finds the best rounds of a scene's ports; `None` if one of them had so few partners that its
    /// best round may still be a slow partner's.
    pub(super) fn new(measured: Measured<'_>, at: usize) -> Option<Self> {
        let scene = &measured.scenes[at];
        let mut all: BTreeMap<PortRef, PortRates> = BTreeMap::new();
        let cells = scene.cells.iter().enumerate();
        for (index, cell) in cells.filter(|(_, cell)| is_judged(measured, scene, cell)) {
            let rounds = Rounds::from_cell(measured.data, CellPlace { scene: at, cell: index });
            for (round, data) in cell.rounds.iter().zip(rounds.rounds()) {
                take(&mut all, round, data);
            }
        }
        let fewest = fewest_partners(all.len());
        let is_known = |rates: &PortRates| rates.partners.len() >= fewest;
        let best = |(port, rates): (PortRef, PortRates)| (port, rates.best());
        let is_whole = !all.is_empty() && all.values().all(is_known);
        is_whole.then(|| Self(all.into_iter().map(best).collect()))
    }

    /// Share of its link that a pair is expected to get in a block; `None` if one of its ports got
    /// nothing there.
    fn share(&self, pair: &Pair, link: f64, block: u32) -> Option<f64> {
        let [from, to] = [&pair.from, &pair.to].map(|port| self.0.get(port)?.get(&block).copied());
        Some(from?.min(to?) / link)
    }
}

/// Adds the rates of a round's ports.
fn take(all: &mut BTreeMap<PortRef, PortRates>, round: &Round, data: &RoundData) {
    for (at, (pair, link)) in round.pairs.iter().zip(&round.links).enumerate() {
        let got = data.samples.iter().filter_map(|sample| {
            let got = sample.pairs.get(at).copied().flatten()?;
            Some((sample.block, got.share * link))
        });
        let rates: ByBlock = got.collect();
        if rates.is_empty() {
            continue;
        }
        for (own, partner) in [(&pair.from, &pair.to), (&pair.to, &pair.from)] {
            let own = all.entry(own.clone()).or_default();
            own.partners.insert(partner.clone());
            own.rounds.push(rates.clone());
        }
    }
}

impl PortRates {
    /// Rate in each block, in the round that is the best by the other blocks.
    fn best(&self) -> ByBlock {
        let blocks: BTreeSet<u32> = self.rounds.iter().flat_map(BTreeMap::keys).copied().collect();
        let best_in = |block: u32| {
            let rates = self
                .rounds
                .iter()
                .filter_map(|round| Some((usual_beside(round, block)?, *round.get(&block)?)));
            let (_, rate) = rates.max_by(|a, b| a.0.total_cmp(&b.0))?;
            Some((block, rate))
        };
        blocks.into_iter().filter_map(best_in).collect()
    }
}

/// Median of a round in the other blocks; of a single block its own rate.
fn usual_beside(round: &ByBlock, block: u32) -> Option<f64> {
    let others = round.iter().filter(|(other, _)| **other != block);
    let others: Vec<f64> = others.map(|(_, rate)| *rate).collect();
    median(&others).or_else(|| round.get(&block).copied())
}

/// Mean share that a round's pairs get, by block: of what they are expected to reach, or of their
/// links where that is unknown.
pub(super) fn shares(expected: Option<&Expected>, round: &Round, data: &RoundData) -> ByBlock {
    let of_block = |block: u32, pairs: &[Option<Got>]| {
        let (mut got, mut reach) = (0.0, 0.0);
        for ((pair, link), own) in round.pairs.iter().zip(&round.links).zip(pairs) {
            let Some(own) = own else { continue };
            let share = match expected {
                Some(expected) => expected.share(pair, *link, block),
                None => Some(1.0),
            };
            let Some(share) = share else { continue };
            got += own.share;
            reach += share;
        }
        (reach > 0.0).then(|| got / reach)
    };
    let samples = data.samples.iter();
    samples.filter_map(|s| Some((s.block, of_block(s.block, &s.pairs)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rounds alike but for chance: a port's rate is no maximum of the two.
    #[test]
    fn chance_does_not_raise_a_ports_rate() {
        let rounds = [[1.0, 1.1, 0.9, 1.0], [1.05, 0.95, 1.1, 0.9]];
        let by_block = |rates: [f64; 4]| (0..).zip(rates).collect::<ByBlock>();
        let partners = BTreeSet::new();
        let port = PortRates { partners, rounds: rounds.map(by_block).to_vec() };
        let best = port.best();
        let mean = best.values().sum::<f64>() / 4.0;
        assert!(mean < 1.01, "{best:?}");
        // A round that is better in every repetition is chosen in each.
        let rounds = [[0.5; 4], [1.0; 4]].map(by_block).to_vec();
        let port = PortRates { partners: BTreeSet::new(), rounds };
        assert!(port.best().values().all(|rate| *rate > 0.99), "{port:?}");
    }
}
