//! What each port reaches by itself, whoever its partner is: its best round.
//!
//! Owns the reference of slow ports, and which exchanges they are judged by. A slow partner must
//! not make a good port look bad, so that only the best round of several partners counts. Nor must
//! a slow port look good beside a partner with a slower link, whose link it fills.

use std::collections::{BTreeMap, BTreeSet};

use measure::Rate;
use measure::quantile::median;
use trial::PortRef;
use trial::topology::Pair;

use super::super::cell::Got;
use super::super::rounds::{CellPlace, Rounds, most};
use super::super::scene::{Cell, FEWEST_PORTS, Scene};
use super::Measured;

/// With fewer partners a port's best round may still be a slow partner's.
const FEWEST_PARTNERS: usize = 3;

/// Number of partners with links as fast from which on only those count. Two that are slow are
/// themselves named.
const FEWEST_EQUALS: usize = 2;

/// Best rates of a scene's ports, with all of them active.
#[derive(Debug, Default)]
pub(super) struct OwnRates(BTreeMap<PortRef, Best>);

/// Best rate of a port in each block, and its partners.
#[derive(Debug, Default)]
pub(super) struct Best {
    /// Share of the pair's link that the slower direction gets.
    shares: BTreeMap<u32, f64>,
    /// The same with the partners of `equals`.
    shares_of_own: BTreeMap<u32, f64>,
    /// Partners whose links are as fast as the port's, or faster.
    equals: BTreeSet<PortRef>,
    /// Goodput of the slower direction, in bits a second.
    bits: BTreeMap<u32, f64>,
    partners: BTreeSet<PortRef>,
}

/// Unit of a port's best rate.
#[derive(Debug, Clone, Copy)]
pub(super) enum Of {
    /// Share of the pair's own link.
    Link,
    /// Bits a second.
    Bits,
}

/// True if a scene's ports are judged by this cell: one partner each, all of them active, messages
/// of the study's size.
pub(super) fn is_judged(measured: Measured<'_>, scene: &Scene, cell: &Cell) -> bool {
    cell.message == measured.spec.message && Some(cell.nodes) == most(scene) && cell.is_matching()
}

/// Number of partners that a port needs, of so many ports. A sweep of the fewest leaves some of
/// them two only.
pub(super) const fn fewest_partners(ports: usize) -> usize {
    if ports > FEWEST_PORTS { FEWEST_PARTNERS } else { FEWEST_PARTNERS - 1 }
}

impl OwnRates {
    /// Finds the best round of each port of a scene.
    pub(super) fn new(measured: Measured<'_>, at: usize) -> Self {
        let scene = &measured.scenes[at];
        let is_in = |cell: &Cell| is_judged(measured, scene, cell);
        let links: BTreeMap<&PortRef, Option<Rate>> =
            scene.ports.iter().zip(scene.rates.iter().copied()).collect();
        let mut all = Self::default();
        for (index, cell) in scene.cells.iter().enumerate().filter(|(_, cell)| is_in(cell)) {
            let rounds = Rounds::from_cell(measured.data, CellPlace { scene: at, cell: index });
            for (round, data) in cell.rounds.iter().zip(rounds.rounds()) {
                for sample in &data.samples {
                    for (pair, got) in round.pairs.iter().zip(&sample.pairs) {
                        all.take(sample.block, pair, got.as_ref(), &links);
                    }
                }
            }
        }
        all
    }

    fn take(
        &mut self,
        block: u32,
        pair: &Pair,
        got: Option<&Got>,
        links: &BTreeMap<&PortRef, Option<Rate>>,
    ) {
        let Some(got) = got.filter(|got| got.mean > 0.0) else { return };
        let share = got.share * got.slower / got.mean;
        for (own, partner) in [(&pair.from, &pair.to), (&pair.to, &pair.from)] {
            let is_equal = links.get(partner) >= links.get(own);
            let best = self.0.entry(own.clone()).or_default();
            best.partners.insert(partner.clone());
            keep(&mut best.shares, block, share);
            keep(&mut best.bits, block, got.slower);
            if is_equal {
                best.equals.insert(partner.clone());
                keep(&mut best.shares_of_own, block, share);
            }
        }
    }

    /// Ports with enough partners for a rate of their own.
    pub(super) fn measured_ports(&self) -> impl Iterator<Item = (&PortRef, &Best)> {
        self.0.iter().filter(|(_, best)| best.partners.len() >= fewest_partners(self.0.len()))
    }

    /// Those of the ports that have a rate of their own, in the order given.
    pub(super) fn compared<'a>(&self, ports: &'a [PortRef]) -> Vec<&'a PortRef> {
        let is_measured = |port: &&PortRef| self.measured_ports().any(|(known, _)| known == *port);
        ports.iter().filter(is_measured).collect()
    }

    /// Partners of a port.
    pub(super) fn partners_of(&self, port: &PortRef) -> impl Iterator<Item = &PortRef> {
        self.0.get(port).into_iter().flat_map(|best| &best.partners)
    }

    /// Best rates of a port, each with the median of the other ports' in the same block.
    pub(super) fn beside_others(&self, port: &PortRef, of: Of) -> Vec<(f64, f64)> {
        let Some(own) = self.0.get(port) else { return Vec::new() };
        let others: Vec<&Best> = self
            .measured_ports()
            .filter(|(other, _)| *other != port)
            .map(|(_, best)| best)
            .collect();
        let beside = |(block, own): (&u32, &f64)| {
            let rates: Vec<f64> =
                others.iter().filter_map(|other| other.rates(of).get(block).copied()).collect();
            Some((*own, median(&rates)?))
        };
        own.rates(of).iter().filter_map(beside).collect()
    }
}

impl Best {
    fn rates(&self, of: Of) -> &BTreeMap<u32, f64> {
        match of {
            Of::Link if self.equals.len() >= FEWEST_EQUALS => &self.shares_of_own,
            Of::Link => &self.shares,
            Of::Bits => &self.bits,
        }
    }
}

/// Keeps the best value of a block.
fn keep(best: &mut BTreeMap<u32, f64>, block: u32, value: f64) {
    let known = best.entry(block).or_insert(value);
    *known = known.max(value);
}
