//! Goodput of the pairs of each cell: the mean and the worst over its pairs, its worst round, and
//! each pair alone.
//!
//! Owns the rows of exchanges. Never decides whether a device blocks.

use std::collections::BTreeMap;

use measure::ByteCount;
use measure::quantile::median;

use super::super::cell::{Got, Sample};
use super::super::payload::wire_limit;
use super::super::rounds::{
    ByBlock, CellPlace, Rounds, Statistic, cables, lost, mean, minimum, most, worst_interval,
};
use super::super::scene::{Cell, Round, Scene, UNKNOWN};
use super::super::{Arrangement, FabricSpec};
use super::Measured;
use crate::Row;
use crate::verdict::{Driven, Evidence, RateEvidence, Rates};
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};
use trial::Carrier;
use trial::topology::PortRef;

/// Exchange of messages of one size between the nodes of an arrangement.
#[derive(Debug)]
pub(in super::super) struct Exchange {
    /// Arrangement; `None` over the direct cables.
    pub(in super::super) arrangement: Option<Arrangement>,
    pub(in super::super) nodes: usize,
    pub(in super::super) message: ByteCount,
    /// Mean over all pairs.
    pub(in super::super) mean: Goodput,
    /// Goodput of the slowest pair.
    pub(in super::super) minimum: Goodput,
    worst_interval: Goodput,
    /// Mean of the worst of several rounds; `None` for one round or if none was valid.
    pub(in super::super) worst_round: Option<Goodput>,
    /// Goodput of each pair; empty if pairs occur in several rounds.
    pub(in super::super) pairs: Vec<PairCase>,
    lost: Option<Figure>,
    /// Place of the direct cables' exchange that belongs to it.
    pub(in super::super) cables: Option<CellPlace>,
}

/// Goodput of pairs, per direction.
#[derive(Debug)]
pub(in super::super) struct Goodput {
    pub(in super::super) value: Figure,
    /// Payload that the pairs' links carry; `None` if their rates are unknown.
    pub(in super::super) wire: Option<f64>,
    /// Name of the round among several; empty for one round.
    pub(in super::super) round: String,
}

/// Goodput of one pair.
#[derive(Debug)]
pub(in super::super) struct PairCase {
    /// Indices of its ports in the device's order.
    pub(in super::super) ports: [usize; 2],
    /// True if the second port sent nothing.
    pub(in super::super) is_one_way: bool,
    pub(in super::super) goodput: Goodput,
}

impl Exchange {
    /// All values, in the order of their rows.
    pub(super) fn values(&mut self) -> Vec<&mut Figure> {
        let statistics = [&mut self.mean, &mut self.minimum, &mut self.worst_interval];
        let pairs = self.pairs.iter_mut().map(|pair| &mut pair.goodput);
        let goodputs = statistics.into_iter().chain(&mut self.worst_round).chain(pairs);
        goodputs.map(|goodput| &mut goodput.value).chain(&mut self.lost).collect()
    }

    /// True for one matching, one pattern or direct cables.
    pub(in super::super) fn has_one_round(&self) -> bool {
        !self.arrangement.is_some_and(Arrangement::has_rounds)
    }

    /// Mean over pairs; with several rounds, that of the worst.
    pub(in super::super) fn worst_mean(&self) -> Option<&Goodput> {
        if self.has_one_round() { Some(&self.mean) } else { self.worst_round.as_ref() }
    }
}

/// Exchanges of every cell of one scene.
pub(super) fn all(measured: Measured<'_>, at: usize) -> Vec<Exchange> {
    let scene = &measured.scenes[at];
    let cells = scene.cells.iter().enumerate();
    cells.map(|(index, cell)| Kept::new(measured, at, index).exchange(cell)).collect()
}

/// Pair in one round of an arrangement of several, for the picture of all pairs.
#[derive(Debug)]
pub(in super::super) struct Met {
    /// Indices of its ports in the device's order.
    pub(in super::super) ports: [usize; 2],
    /// Median goodput over the repetitions, in bits a second.
    pub(in super::super) bits: f64,
    /// Name of the round.
    pub(in super::super) round: String,
}

/// Pairs of all rounds of a scene's arrangements of several.
pub(super) fn met(measured: Measured<'_>, at: usize) -> Vec<Met> {
    let scene = &measured.scenes[at];
    let has_rounds = |cell: &Cell| cell.arrangement.is_some_and(Arrangement::has_rounds);
    let places: BTreeMap<&PortRef, usize> = scene.ports.iter().zip(0..).collect();
    let place = |port: &PortRef| places.get(port).copied();
    let mut all = Vec::new();
    for (index, cell) in scene.cells.iter().enumerate().filter(|(_, cell)| has_rounds(cell)) {
        let rounds = Rounds::from_cell(measured.data, CellPlace { scene: at, cell: index });
        for (round, data) in cell.rounds.iter().zip(rounds.rounds()) {
            for (number, pair) in round.pairs.iter().enumerate() {
                let got = |sample: &Sample| sample.pairs.get(number).copied().flatten();
                let rates: Vec<f64> =
                    data.samples.iter().filter_map(got).map(|got| got.mean).collect();
                let ports = place(&pair.from).zip(place(&pair.to));
                let met = ports.zip(median(&rates));
                all.extend(met.map(|((from, to), bits)| Met {
                    ports: [from, to],
                    bits,
                    round: round.to_words(),
                }));
            }
        }
    }
    all
}

/// Records of one cell, and of the direct cables that belong to it.
struct Kept<'a> {
    measured: Measured<'a>,
    scene: &'a Scene,
    own: Rounds<'a>,
    cables: Option<CellPlace>,
    over_cables: Rounds<'a>,
}

impl<'a> Kept<'a> {
    fn new(measured: Measured<'a>, scene: usize, cell: usize) -> Self {
        let Measured { scenes, data, ways, .. } = measured;
        let cables = cables(scenes, &scenes[scene], &scenes[scene].cells[cell], ways);
        Self {
            measured,
            scene: &scenes[scene],
            own: Rounds::from_cell(data, CellPlace { scene, cell }),
            cables,
            over_cables: cables.map_or_else(Rounds::none, |place| Rounds::from_cell(data, place)),
        }
    }

    fn exchange(&self, cell: &Cell) -> Exchange {
        let spec = self.measured.spec;
        let row = self.row(cell);
        let links: Vec<f64> = cell.rounds.iter().flat_map(|round| &round.links).copied().collect();
        // The minimum over pairs is compared with the slowest link.
        let (average, least) = (mean_of(&links), least_of(&links));
        let over_pairs = |name, statistic, link| {
            let row = named(&row, name, self.judge(statistic));
            Goodput::new(row, spec, link, &self.own.values(statistic))
        };
        let are_told_singly = cell.message == spec.message && Some(cell.nodes) == most(self.scene);
        let is_counted = matches!(spec.carrier, Carrier::Datagrams { .. });
        let lost = || row.over_blocks(Metric::Lost, Unit::FramesPerSecond, &self.own.values(lost));
        Exchange {
            arrangement: cell.arrangement,
            nodes: cell.nodes,
            message: cell.message,
            mean: over_pairs("mean", mean, average),
            minimum: over_pairs("minimum", minimum, least),
            worst_interval: over_pairs("worst-interval", worst_interval, least),
            worst_round: self.worst_round(&row, cell),
            pairs: if are_told_singly { self.pairs(&row, cell) } else { Vec::new() },
            lost: is_counted.then(lost),
            cables: self.cables,
        }
    }

    fn row(&self, cell: &Cell) -> Row {
        let mut row = self.measured.row(self.scene);
        let arrangement = cell.arrangement.map_or("direct-cables".to_owned(), |a| a.to_string());
        let ByteCount(message) = cell.message;
        let talking = cell.rounds.iter().map(|round| 2 * round.pairs.len()).min().unwrap_or(0);
        let shared = cell.rounds.iter().map(Round::pairs_of_a_port).max().unwrap_or(1);
        row.conditions.extend([
            (Key::Arrangement, arrangement.into()),
            (Key::Nodes, (cell.nodes as u64).into()),
            (Key::Message, message.into()),
        ]);
        if shared > 1 {
            row.set(Key::PairsOfAPort, shared as u64);
        }
        if talking < cell.nodes && shared == 1 {
            row.set(Key::NodesIdle, (cell.nodes - talking) as u64);
        }
        row.note(&self.own.noted());
        row.n = self.own.all().map(|got| got.messages).sum();
        row
    }

    /// Judges the limiting component of a statistic over all pairs.
    fn judge(&self, statistic: Statistic) -> Verdict {
        self.judge_blocks(&self.own.by_block(statistic), &self.over_cables.by_block(statistic))
    }

    /// Judges rates whose pairs send as fast as they can, without evidence of lost frames.
    fn judge_blocks(&self, own: &ByBlock, cables: &ByBlock) -> Verdict {
        let pairs: Vec<(f64, Option<f64>)> =
            own.iter().map(|(block, value)| (*value, cables.get(block).copied())).collect();
        let rate = RateEvidence::new(Rates::Paired(&pairs), Driven::HeldBack);
        self.measured.ways.judge(self.scene.way, &Evidence::Rate(rate))
    }

    /// Goodput of the worst of several rounds; never averaged over the worst rounds of blocks.
    fn worst_round(&self, row: &Row, cell: &Cell) -> Option<Goodput> {
        cell.arrangement.filter(|arrangement| arrangement.has_rounds())?;
        let worst = self.own.worst()?;
        let means = self.own.means_of(worst);
        let judged = self.judge_blocks(&means, &self.over_cables.by_block(mean));
        let Round { name, links, .. } = &cell.rounds[worst];
        let mut row = named(row, "worst-round", judged);
        row.set(Key::Round, name.clone());
        let values: Vec<f64> = means.into_values().collect();
        let mean = Goodput::new(row, self.measured.spec, mean_of(links), &values);
        Some(Goodput { round: cell.rounds[worst].to_words(), ..mean })
    }

    /// Goodput of each pair, if no pair occurs twice.
    fn pairs(&self, row: &Row, cell: &Cell) -> Vec<PairCase> {
        let is_once =
            cell.arrangement.is_none_or(|a| !a.has_rounds() || a == Arrangement::Tournament);
        let rounds = cell.rounds.iter().zip(self.own.rounds()).filter(|_| is_once);
        let pairs = rounds.flat_map(|(round, data)| {
            (0..round.pairs.len()).map(move |at| (round, at, &data.samples[..]))
        });
        pairs.map(|(round, at, samples)| self.pair(row, round, at, samples)).collect()
    }

    fn pair(&self, row: &Row, round: &Round, at: usize, samples: &[Sample]) -> PairCase {
        let pair = &round.pairs[at];
        let got = |sample: &Sample| sample.pairs.get(at).copied().flatten();
        let values: Vec<f64> = samples.iter().filter_map(got).map(|got: Got| got.mean).collect();
        let mut row = named(row, "pair", Verdict::Undetermined);
        row.n = values.len() as u64;
        if !values.is_empty() {
            row.caveats.remove(&Caveat::SilentPairs);
        }
        row.set(Key::From, pair.from.to_string());
        row.set(Key::To, pair.to.to_string());
        let place = |end: &PortRef| self.scene.ports.iter().position(|port| port == end);
        PairCase {
            ports: [&pair.from, &pair.to].map(|end| place(end).unwrap_or(0)),
            is_one_way: round.one_way,
            goodput: Goodput::new(row, self.measured.spec, round.links[at], &values),
        }
    }
}

impl Goodput {
    /// Computes the median over blocks. The wire limit is stated with it if the links' rates are
    /// known.
    fn new(mut row: Row, spec: &FabricSpec, link: f64, values: &[f64]) -> Self {
        let is_known = link.is_finite() && link > UNKNOWN;
        let wire = is_known.then(|| wire_limit(link, spec.carrier));
        if let Some(wire) = wire {
            row.set(Key::WireLimit, wire);
        }
        let value = row.over_blocks(Metric::PairGoodput, Unit::BitsPerSecond, values);
        Self { value, wire, round: String::new() }
    }
}

fn mean_of(links: &[f64]) -> f64 {
    links.iter().sum::<f64>() / links.len().max(1) as f64
}

fn least_of(links: &[f64]) -> f64 {
    links.iter().copied().fold(f64::INFINITY, f64::min)
}

fn named(row: &Row, statistic: &str, verdict: Verdict) -> Row {
    let mut row = Row { verdict, ..row.clone() };
    row.set(Key::Statistic, statistic);
    row
}

#[cfg(test)]
impl Exchange {
    /// Creates an exchange of 64 KiB, without pairs.
    pub(in super::super) fn of_one_round(
        arrangement: Option<Arrangement>,
        nodes: usize,
        [mean, minimum, worst_interval]: [Goodput; 3],
    ) -> Self {
        let message = ByteCount(65_536);
        let (worst_round, lost, cables, pairs) = (None, None, None, Vec::new());
        Self {
            arrangement,
            nodes,
            message,
            mean,
            minimum,
            worst_interval,
            worst_round,
            pairs,
            lost,
            cables,
        }
    }
}
