//! Controls of a *no*: pairs of the worst round one at a time, beside the whole round in the same
//! repetition.
//!
//! Owns the trials, the choice of the pairs and their ratio. A difference between hosts is in both,
//! so that only the other traffic differs. Never says what the ratio means.

use std::collections::BTreeMap;

use measure::blocks::{BlockEstimate, paired_ratio};
use measure::quantile::median;
use trial::{Gate, PortRef, Result};

use super::cell::{Got, RoundData};
use super::rounds::Data;
use super::scene::{Round, Scene};
use super::{FabricSpec, Place};
use crate::rows::CONFIDENCE;
use crate::{Ask, Session};

/// Controls by scene.
pub(super) type Controls = BTreeMap<usize, Control>;

/// Maximum number of pairs that are measured one at a time.
const MOST_ALONE: usize = 8;

/// Number of pairs measured one at a time, of a round of so many.
pub(super) fn singles(pairs: usize) -> u64 {
    pairs.min(MOST_ALONE) as u64
}

/// Whole round, and pairs of it one at a time.
#[derive(Debug)]
pub(super) struct Control {
    pub(super) place: Place,
    /// Number of the round's pairs.
    of: usize,
    together: RoundData,
    alone: Vec<Alone>,
}

/// One pair of the round.
#[derive(Debug)]
struct Alone {
    /// Its place in the round.
    at: usize,
    ports: [PortRef; 2],
    /// Rate of the slower of its links.
    link: f64,
    data: RoundData,
}

/// Runs the controls of a round in every block.
pub(super) fn run(
    spec: &FabricSpec,
    session: &mut Session<'_>,
    scenes: &[Scene],
    data: &Data,
    place: Place,
) -> Result<Control> {
    let (scene, cell, round) = (&scenes[place.0], place.1, place.2);
    let round = &scene.cells[cell].rounds[round];
    let alone = slowest(round, data.get(&place)).into_iter().map(|at| {
        let pair = &round.pairs[at];
        let ports = [pair.from.clone(), pair.to.clone()];
        Alone { at, ports, link: round.links[at], data: RoundData::default() }
    });
    let together = RoundData::default();
    let mut control = Control { place, of: round.pairs.len(), together, alone: alone.collect() };
    for block in 0..spec.blocks.get() {
        control.run(spec, session, scene, block)?;
    }
    Ok(control)
}

/// Pairs with the smallest shares of their links, by the median over the blocks.
fn slowest(round: &Round, data: Option<&RoundData>) -> Vec<usize> {
    let share = |at: usize| {
        let samples = data.into_iter().flat_map(|data| &data.samples);
        let shares =
            samples.filter_map(|sample| Some(sample.pairs.get(at).copied().flatten()?.share));
        median(&shares.collect::<Vec<_>>()).unwrap_or(f64::INFINITY)
    };
    let mut pairs: Vec<(f64, usize)> = (0..round.pairs.len()).map(|at| (share(at), at)).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    pairs.into_iter().map(|(_, at)| at).take(MOST_ALONE).collect()
}

impl Control {
    /// Runs one block: the whole round between its pairs, at another place in each block.
    fn run(
        &mut self,
        spec: &FabricSpec,
        session: &mut Session<'_>,
        scene: &Scene,
        block: u32,
    ) -> Result<()> {
        let cell = &scene.cells[self.place.1];
        let whole = &cell.rounds[self.place.2];
        let place = block as usize % (self.alone.len() + 1);
        let singles: Vec<Round> = self.alone.iter().map(|one| single(whole, one.at)).collect();
        for turn in 0..=self.alone.len() {
            let (round, into, words) = if turn == place {
                (whole, &mut self.together, cell.label(whole) + " again")
            } else {
                let at = if turn < place { turn } else { turn - 1 };
                let one = &mut self.alone[at];
                let words = format!(
                    "exchange {} {} and {} alone",
                    cell.message, one.ports[0], one.ports[1]
                );
                (&singles[at], &mut one.data, words)
            };
            let tried = session.run(Ask {
                label: words + &session.ways.label(scene.way),
                way: scene.way,
                block,
                duration: spec.duration,
                gate: Gate::Strict,
                flows: round.flows(cell.message, spec),
                events: Vec::new(),
            })?;
            into.take(block, round, &tried, spec);
        }
        Ok(())
    }

    /// Number of pairs that were measured one at a time.
    pub(super) fn pairs(&self) -> usize {
        self.alone.len()
    }

    /// True if all pairs of the round were measured one at a time.
    pub(super) fn is_whole(&self) -> bool {
        self.alone.len() == self.of
    }

    /// Share that a port's pair gets alone of what the other pairs do, by their median; `None` if
    /// its pair or the others were not measured alone, or its partner's link is slower than its
    /// own: then a slow port fills that.
    pub(super) fn alone_beside_others(
        &self,
        port: &PortRef,
        link: f64,
        seed: u64,
    ) -> Option<BlockEstimate> {
        let is_own = |one: &&Alone| one.ports.contains(port) && one.link >= link;
        let own = self.alone.iter().find(is_own)?;
        let beside = |block: u32| {
            let others = self.alone.iter().filter(|one| one.at != own.at);
            let shares: Vec<f64> = others.filter_map(|one| one.share(block)).collect();
            Some((own.share(block)?, median(&shares)?))
        };
        let blocks = self.together.samples.iter().map(|sample| sample.block);
        paired_ratio(&blocks.filter_map(beside).collect::<Vec<_>>(), CONFIDENCE, seed)
    }

    /// Share that the pairs get in the whole round of what the same pairs get one at a time.
    pub(super) fn ratio(&self, seed: u64) -> Option<BlockEstimate> {
        /// Share of a pair that got nothing beside the others.
        const NOTHING: f64 = 1e-9;
        let ratios: Vec<(f64, f64)> = self
            .together
            .samples
            .iter()
            .filter_map(|sample| {
                let (mut together, mut alone) = (NOTHING, 0.0);
                for one in &self.alone {
                    let Some(share) = one.share(sample.block) else { continue };
                    let whole = sample.pairs.get(one.at).copied().flatten();
                    together += whole.map_or(0.0, |got: Got| got.share);
                    alone += share;
                }
                (alone > 0.0).then_some((together, alone))
            })
            .collect();
        paired_ratio(&ratios, CONFIDENCE, seed)
    }

    /// Error of the ratio in its worst block, as each pair may wait for a message in progress.
    pub(super) fn error(&self) -> f64 {
        let of_one_message = |pairs: &[Got]| {
            let messages: f64 = pairs.iter().map(|got| got.resolution).sum();
            pairs.len() as f64 / messages.max(1e-9)
        };
        let errors = self.together.samples.iter().flat_map(|sample| {
            let together = self.alone.iter().filter_map(|one| *sample.pairs.get(one.at)?);
            let alone = self.alone.iter().filter_map(|one| one.got(sample.block));
            [together.collect::<Vec<Got>>(), alone.collect()]
        });
        errors.filter(|pairs| !pairs.is_empty()).map(|p| of_one_message(&p)).fold(0.0, f64::max)
    }
}

impl Alone {
    fn got(&self, block: u32) -> Option<Got> {
        let sample = self.data.samples.iter().find(|sample| sample.block == block)?;
        sample.pairs.first().copied().flatten()
    }

    /// Share of its link in a block.
    fn share(&self, block: u32) -> Option<f64> {
        Some(self.got(block)?.share)
    }
}

/// Round of one pair of a whole round.
fn single(whole: &Round, at: usize) -> Round {
    Round {
        name: whole.name.clone(),
        pairs: vec![whole.pairs[at].clone()],
        one_way: whole.one_way,
        links: vec![whole.links[at]],
    }
}
