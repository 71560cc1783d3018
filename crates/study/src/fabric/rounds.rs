//! Rounds of a cell, and statistics over the pairs of each block.
//!
//! Pure, and shared by a cell's own figures and the non-blocking answer.

use std::collections::BTreeMap;

use measure::quantile::median;

use super::Place;
use super::cell::{Got, RoundData};
use super::scene::{Cell, Scene};
use crate::{Noted, Ways};

/// All rounds of a study.
pub(super) type Data = BTreeMap<Place, RoundData>;

/// Statistic over all pairs of one block.
pub(super) type Statistic = fn(&[&Got]) -> Option<f64>;

pub(super) fn mean(pairs: &[&Got]) -> Option<f64> {
    (!pairs.is_empty()).then(|| pairs.iter().map(|got| got.mean).sum::<f64>() / pairs.len() as f64)
}

fn share(pairs: &[&Got]) -> Option<f64> {
    (!pairs.is_empty()).then(|| pairs.iter().map(|got| got.share).sum::<f64>() / pairs.len() as f64)
}

/// Error of a share, as each pair may wait for a message in progress.
fn of_one_message(pairs: &[&Got]) -> Option<f64> {
    let of = |got: &&Got| 1.0 / got.resolution.max(1e-9);
    (!pairs.is_empty()).then(|| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64)
}

pub(super) fn minimum(pairs: &[&Got]) -> Option<f64> {
    pairs.iter().map(|got| got.slower).min_by(f64::total_cmp)
}

pub(super) fn worst_interval(pairs: &[&Got]) -> Option<f64> {
    pairs.iter().map(|got| got.worst_interval).min_by(f64::total_cmp)
}

pub(super) fn lost(pairs: &[&Got]) -> Option<f64> {
    (!pairs.is_empty()).then(|| pairs.iter().map(|got| got.lost).sum())
}

/// Values by block.
pub(super) type ByBlock = BTreeMap<u32, f64>;

/// Records of one cell, by round.
#[derive(Debug, Clone)]
pub(super) struct Rounds<'a>(Vec<&'a RoundData>);

impl<'a> Rounds<'a> {
    /// Creates an empty set, for a missing cell.
    pub(super) const fn none() -> Self {
        Self(Vec::new())
    }

    /// Records of the rounds, in order.
    pub(super) fn rounds(&self) -> &[&'a RoundData] {
        &self.0
    }

    /// Collects the rounds of a cell.
    pub(super) fn from_cell(data: &'a Data, CellPlace { scene, cell }: CellPlace) -> Self {
        let from = (scene, cell, 0)..=(scene, cell, usize::MAX);
        Self(data.range(from).map(|(_, round)| round).collect())
    }

    /// Computes one value per block, over the pairs of all rounds.
    pub(super) fn by_block(&self, statistic: Statistic) -> BTreeMap<u32, f64> {
        let mut blocks: BTreeMap<u32, Vec<&Got>> = BTreeMap::new();
        for sample in self.0.iter().flat_map(|round| &round.samples) {
            blocks.entry(sample.block).or_default().extend(sample.pairs.iter().flatten());
        }
        let value = |(block, pairs): (u32, Vec<&Got>)| Some((block, statistic(&pairs)?));
        blocks.into_iter().filter_map(value).collect()
    }

    /// Mean goodput of one round, by block.
    pub(super) fn means_of(&self, round: usize) -> BTreeMap<u32, f64> {
        Self(vec![self.0[round]]).by_block(mean)
    }

    /// Mean share of the pairs' own links in one round, by block. Ports of different speeds thus
    /// have equal weight.
    pub(super) fn shares_of(&self, round: usize) -> BTreeMap<u32, f64> {
        Self(vec![self.0[round]]).by_block(share)
    }

    /// Error of one round's share because of its few messages, in its worst block.
    pub(super) fn error_of(&self, round: usize) -> f64 {
        let blocks = Self(vec![self.0[round]]).by_block(of_one_message);
        blocks.into_values().fold(0.0, f64::max)
    }

    /// Index of the round with the lowest mean share of its links, by the median over blocks. Of
    /// rounds that differ by less than a millionth, the first.
    pub(super) fn worst(&self) -> Option<usize> {
        const ALIKE: f64 = 1e6;
        let middle = |at: usize| {
            let shares: Vec<f64> = self.shares_of(at).into_values().collect();
            Some((at, (ALIKE * median(&shares)?).round()))
        };
        let all = (0..self.0.len()).filter_map(middle);
        all.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
    }

    pub(super) fn values(&self, statistic: Statistic) -> Vec<f64> {
        self.by_block(statistic).into_values().collect()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &'a Got> {
        self.0.iter().flat_map(|round| round.samples.iter().flat_map(|s| s.pairs.iter().flatten()))
    }

    pub(super) fn noted(&self) -> Noted {
        let mut all = Noted::default();
        self.0.iter().for_each(|round| all.extend(&round.noted));
        all
    }

    /// Mean share of their own links over all pairs, by block.
    pub(super) fn shares(&self) -> BTreeMap<u32, f64> {
        self.by_block(share)
    }
}

/// Position of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CellPlace {
    pub(super) scene: usize,
    pub(super) cell: usize,
}

/// Position of the direct cables' cell that belongs to a subject's.
pub(super) fn cables(
    scenes: &[Scene],
    scene: &Scene,
    cell: &Cell,
    ways: &Ways,
) -> Option<CellPlace> {
    let way = ways.bypass_of(scene.way)?;
    let at = scenes.iter().position(|other| other.way == way)?;
    Some(CellPlace { scene: at, cell: scenes[at].alike(cell)? })
}

/// Largest number of nodes.
pub(super) fn most(scene: &Scene) -> Option<usize> {
    scene.cells.iter().map(|cell| cell.nodes).max()
}
