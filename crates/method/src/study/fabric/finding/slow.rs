//! Ports that are slow with every partner.
//!
//! Owns the rule: in every round a port has another partner, so that its best round is its own rate
//! (a slow partner must not make a good port look bad). From outside a slow host, NIC, cable or
//! switch port look the same, so that the verdict is undetermined and nothing of it is the device's
//! sharing.

use std::collections::{BTreeMap, BTreeSet};

use measure::blocks::paired_ratio;
use measure::quantile::median;
use page::{Condition, Figure, Key, Metric, Unit};
use trial::PortRef;

use super::super::cell::Got;
use super::super::rounds::{CellPlace, Rounds, most};
use super::super::scene::{Cell, Scene};
use super::Measured;
use crate::study::rows::CONFIDENCE;

/// A port that gets less than the others, whichever its partner.
#[derive(Debug)]
pub(in super::super) struct SlowPort {
    pub(in super::super) port: PortRef,
    /// Number of partners that it had.
    pub(in super::super) partners: usize,
    /// Best rate of the port as a share of the other ports' median.
    pub(in super::super) value: Figure,
}

/// With fewer partners a port's best round may still be a slow partner's.
const FEWEST_PARTNERS: usize = 3;
/// With fewer ports there is no median to be compared with.
const FEWEST_PORTS: usize = 5;

/// Best rate of a port in each block, and its partners.
#[derive(Debug, Default)]
struct Best {
    by_block: BTreeMap<u32, f64>,
    partners: BTreeSet<PortRef>,
}

/// Finds the slow ports of a scene; none if half of the ports are slow, as then the two halves
/// differ and neither is the odd one.
pub(super) fn slow_ports(measured: Measured<'_>, at: usize) -> Vec<SlowPort> {
    let scene = &measured.scenes[at];
    let all = best_rates(measured, at);
    let compared: Vec<(&PortRef, &Best)> =
        all.iter().filter(|(_, best)| best.partners.len() >= FEWEST_PARTNERS).collect();
    if compared.len() < FEWEST_PORTS {
        return Vec::new();
    }
    let slow: Vec<SlowPort> = compared
        .iter()
        .filter_map(|(port, best)| {
            let others = compared.iter().filter(|(other, _)| other != port).map(|(_, best)| *best);
            slow_port(measured, scene, port, best, &others.collect::<Vec<_>>())
        })
        .collect();
    if slow.len() * 2 < compared.len() { slow } else { Vec::new() }
}

fn slow_port(
    measured: Measured<'_>,
    scene: &Scene,
    port: &PortRef,
    best: &Best,
    others: &[&Best],
) -> Option<SlowPort> {
    let beside = |(block, own): (&u32, &f64)| {
        let rates: Vec<f64> =
            others.iter().filter_map(|other| other.by_block.get(block).copied()).collect();
        Some((*own, median(&rates)?))
    };
    let pairs: Vec<(f64, f64)> = best.by_block.iter().filter_map(beside).collect();
    let ratio = paired_ratio(&pairs, CONFIDENCE, measured.seed)?;
    let is_certain = ratio.interval.confidence >= CONFIDENCE;
    if !is_certain || ratio.interval.high >= 1.0 - measured.spec.margin {
        return None;
    }
    let mut row = measured.row(scene);
    row.conditions.remove(&Key::RateConvention);
    row.set(Key::Message, measured.spec.message.0);
    row.set(Key::SlowPort, Condition::Text(port.to_string()));
    row.set(Key::Partners, best.partners.len() as u64);
    row.n = ratio.blocks as u64;
    let value = row.of_estimate(Metric::PortShare, Unit::Ratio, Some(ratio));
    Some(SlowPort { port: port.clone(), partners: best.partners.len(), value })
}

/// Best rate of each port over the rounds with the most nodes, relative to the pair's link.
fn best_rates(measured: Measured<'_>, at: usize) -> BTreeMap<PortRef, Best> {
    let scene = &measured.scenes[at];
    let is_in = |cell: &Cell| {
        cell.message == measured.spec.message
            && Some(cell.nodes) == most(scene)
            && super::nonblocking::is_matching(cell)
    };
    let mut all: BTreeMap<PortRef, Best> = BTreeMap::new();
    for (index, cell) in scene.cells.iter().enumerate().filter(|(_, cell)| is_in(cell)) {
        let rounds = Rounds::from_cell(measured.data, CellPlace { scene: at, cell: index });
        for (round, data) in cell.rounds.iter().zip(rounds.rounds()) {
            for sample in &data.samples {
                for (pair, got) in round.pairs.iter().zip(&sample.pairs) {
                    let Some(rate) = got.as_ref().map(slower_share) else { continue };
                    for (own, partner) in [(&pair.from, &pair.to), (&pair.to, &pair.from)] {
                        let best = all.entry(own.clone()).or_default();
                        best.partners.insert(partner.clone());
                        let known = best.by_block.entry(sample.block).or_insert(rate);
                        *known = known.max(rate);
                    }
                }
            }
        }
    }
    all
}

/// Share of the link that the slower direction gets.
fn slower_share(got: &Got) -> f64 {
    if got.mean > 0.0 { got.share * got.slower / got.mean } else { 0.0 }
}
