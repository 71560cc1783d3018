//! From blocks to the fabric study's figures: the mean and the worst over the pairs of each cell.
//!
//! Owns how rounds and pairs are put together within a block. Pure.

use std::collections::{BTreeMap, BTreeSet};

use measure::ByteCount;
use measure::quantile::median;

use super::super::rows::Row;
use super::super::ways::Ways;
use super::cell::{Got, RoundData, Sample};
use super::nonblocking;
use super::reconcile;
use super::scene::{Cell, Round, Scene, wire_limit};
use super::structure::{self, Structures};
use super::{Arrangement, FabricSpec, Place};
use crate::study::Profile;
use crate::verdict::{Driven, Evidence, RateEvidence, Rates};
use page::{Caveat, Figure, Metric, Unit, Verdict};
use trial::Carrier;

/// All rounds of a study.
pub(super) type Data = BTreeMap<Place, RoundData>;

/// A number over all pairs of one block.
type Statistic = fn(&[&Got]) -> Option<f64>;

const STATISTICS: [(&str, Statistic); 3] =
    [("mean", mean), ("minimum", minimum), ("worst-interval", worst_interval)];

fn mean(pairs: &[&Got]) -> Option<f64> {
    (!pairs.is_empty()).then(|| pairs.iter().map(|got| got.mean).sum::<f64>() / pairs.len() as f64)
}

fn share(pairs: &[&Got]) -> Option<f64> {
    (!pairs.is_empty()).then(|| pairs.iter().map(|got| got.share).sum::<f64>() / pairs.len() as f64)
}

/// The error of a share, where each of these pairs waits for a message in the middle of it.
fn of_one_message(pairs: &[&Got]) -> Option<f64> {
    let of = |got: &&Got| 1.0 / got.resolution.max(1e-9);
    (!pairs.is_empty()).then(|| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64)
}

fn minimum(pairs: &[&Got]) -> Option<f64> {
    pairs.iter().map(|got| got.slower).min_by(f64::total_cmp)
}

fn worst_interval(pairs: &[&Got]) -> Option<f64> {
    pairs.iter().map(|got| got.worst_interval).min_by(f64::total_cmp)
}

fn lost(pairs: &[&Got]) -> Option<f64> {
    (!pairs.is_empty()).then(|| pairs.iter().map(|got| got.lost).sum())
}

/// A value of each block.
type ByBlock = BTreeMap<u32, f64>;

/// One cell's records, round by round.
#[derive(Debug, Clone)]
pub(super) struct Rounds<'a>(Vec<&'a RoundData>);

impl<'a> Rounds<'a> {
    /// Of the cell at that place.
    pub(super) fn of(data: &'a Data, scene: usize, cell: usize) -> Self {
        let from = (scene, cell, 0)..=(scene, cell, usize::MAX);
        Self(data.range(from).map(|(_, round)| round).collect())
    }

    /// One value a block, over all its rounds' pairs.
    pub(super) fn by_block(&self, statistic: Statistic) -> BTreeMap<u32, f64> {
        let mut blocks: BTreeMap<u32, Vec<&Got>> = BTreeMap::new();
        for sample in self.0.iter().flat_map(|round| &round.samples) {
            blocks.entry(sample.block).or_default().extend(sample.pairs.iter().flatten());
        }
        let value = |(block, pairs): (u32, Vec<&Got>)| Some((block, statistic(&pairs)?));
        blocks.into_iter().filter_map(value).collect()
    }

    /// The mean of one round by block.
    fn means_of(&self, round: usize) -> BTreeMap<u32, f64> {
        Self(vec![self.0[round]]).by_block(mean)
    }

    /// The same as a share of the pairs' own links: ports of several speeds then weigh alike.
    pub(super) fn shares_of(&self, round: usize) -> BTreeMap<u32, f64> {
        Self(vec![self.0[round]]).by_block(share)
    }

    /// How far a share of one round is off for want of messages, in its worst block.
    pub(super) fn error_of(&self, round: usize) -> f64 {
        let blocks = Self(vec![self.0[round]]).by_block(of_one_message);
        blocks.into_values().fold(0.0, f64::max)
    }

    /// The round with the lowest mean share of its links, by the median of its blocks; of such as
    /// differ by less than a millionth the first.
    pub(super) fn worst(&self) -> Option<usize> {
        const ALIKE: f64 = 1e6;
        let middle = |at: usize| {
            let shares: Vec<f64> = self.shares_of(at).into_values().collect();
            Some((at, (ALIKE * median(&shares)?).round()))
        };
        let all = (0..self.0.len()).filter_map(middle);
        all.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
    }

    fn values(&self, statistic: Statistic) -> Vec<f64> {
        self.by_block(statistic).into_values().collect()
    }

    fn all(&self) -> impl Iterator<Item = &'a Got> {
        self.0.iter().flat_map(|round| round.samples.iter().flat_map(|s| s.pairs.iter().flatten()))
    }

    fn troubles(&self) -> BTreeSet<Caveat> {
        self.0.iter().flat_map(|round| round.troubles.iter().copied()).collect()
    }

    /// The mean share of their own links over the pairs of every block.
    pub(super) fn shares(&self) -> BTreeMap<u32, f64> {
        self.by_block(share)
    }
}

/// Every figure of the study, way by way and cell by cell.
pub(super) fn all(
    spec: &FabricSpec,
    scenes: &[Scene],
    (data, structures): (&Data, &Structures),
    ways: &Ways,
    seed: u64,
) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (at, scene) in scenes.iter().enumerate() {
        for (index, cell) in scene.cells.iter().enumerate() {
            let own = Rounds::of(data, at, index);
            let beside = cables(scenes, scene, cell, ways)
                .map_or_else(|| Rounds(Vec::new()), |(s, c)| Rounds::of(data, s, c));
            let row = row(spec, scene, cell, &own, ways);
            for (name, statistic) in STATISTICS {
                let both = (own.by_block(statistic), beside.by_block(statistic));
                let row = named(&row, name, judge(scene, both, ways));
                figures.push(goodput(&row, &own.values(statistic)));
            }
            if let Some(figure) = worst_round(&row, (scene, cell), (&own, &beside), ways) {
                figures.push(figure);
            }
            if cell.message == spec.message && Some(cell.nodes) == most(scene) {
                figures.extend(pairs(&row, cell, &own));
            }
            if matches!(spec.carrier, Carrier::Datagrams { .. }) {
                let unit = Unit::FramesPerSecond;
                figures.push(row.over_blocks(Metric::Lost, unit, &own.values(lost)));
            }
        }
    }
    let mut floods: Vec<Figure> = Vec::new();
    let mut answers: Vec<Figure> = Vec::new();
    for (at, scene) in scenes.iter().enumerate() {
        let row = || plain_row(spec, scene, ways);
        let found = structures.get(&at);
        let mut groups =
            found.map_or_else(Vec::new, |found| structure::figures(found, scene, row()));
        let mut answer = nonblocking::of(spec, scenes, at, data, ways, seed);
        if let Some(answer) = &mut answer {
            reconcile::reconcile(&mut groups, answer);
        }
        floods.extend(groups);
        answers.extend(answer);
    }
    figures.extend(floods);
    figures.extend(answers);
    figures
}

/// The place of the direct cables' cell beside a subject's.
pub(super) fn cables(
    scenes: &[Scene],
    scene: &Scene,
    cell: &Cell,
    ways: &Ways,
) -> Option<(usize, usize)> {
    let way = ways.bypass_of(scene.way)?;
    let at = scenes.iter().position(|other| other.way == way)?;
    Some((at, scenes[at].alike(cell)?))
}

/// The largest number of nodes.
pub(super) fn most(scene: &Scene) -> Option<usize> {
    scene.cells.iter().map(|cell| cell.nodes).max()
}

/// What all rows of a subject share.
pub(super) fn plain_row(spec: &FabricSpec, scene: &Scene, ways: &Ways) -> Row {
    let mut row = Row {
        conditions: ways.conditions(scene.way),
        caveats: ways.caveats(scene.way).into_iter().collect(),
        n: 0,
        verdict: Verdict::Undetermined,
    };
    // Many pairs stand behind a row.
    row.conditions.remove("from");
    row.conditions.remove("to");
    let carrier = match spec.carrier {
        Carrier::Tcp => "tcp".to_owned(),
        Carrier::Datagrams { credits } => format!("datagrams, {credits} credits"),
    };
    row.conditions.insert("carrier".to_owned(), carrier.into());
    row.conditions.insert("ports".to_owned(), (scene.ports.len() as u64).into());
    row.conditions.insert("rate_convention".to_owned(), "payload".into());
    if let Some(link) = scene.link {
        let limit = wire_limit(link, spec.carrier);
        row.conditions.insert("wire_limit_bits_per_s".to_owned(), limit.into());
    }
    if spec.profile == Profile::Quick {
        row.caveats.insert(Caveat::QuickProfile);
    }
    row
}

fn row(spec: &FabricSpec, scene: &Scene, cell: &Cell, own: &Rounds<'_>, ways: &Ways) -> Row {
    let mut row = plain_row(spec, scene, ways);
    let arrangement = cell.arrangement.map_or("direct cables".to_owned(), |a| a.to_string());
    let ByteCount(message) = cell.message;
    let talking = cell.rounds.iter().map(|round| 2 * round.pairs.len()).min().unwrap_or(0);
    let shared = cell.rounds.iter().map(Round::pairs_of_a_port).max().unwrap_or(1);
    row.conditions.extend([
        ("arrangement".to_owned(), arrangement.into()),
        ("nodes".to_owned(), (cell.nodes as u64).into()),
        ("message".to_owned(), message.into()),
    ]);
    if shared > 1 {
        row.conditions.insert("pairs_of_a_port".to_owned(), (shared as u64).into());
    }
    if talking < cell.nodes && shared == 1 {
        row.conditions.insert("nodes_idle".to_owned(), ((cell.nodes - talking) as u64).into());
    }
    row.caveats.extend(own.troubles());
    row.n = own.all().map(|got| got.messages).sum();
    row
}

fn named(row: &Row, statistic: &str, verdict: Verdict) -> Row {
    let mut row = Row { verdict, ..row.clone() };
    row.conditions.insert("statistic".to_owned(), statistic.into());
    row
}

fn goodput(row: &Row, values: &[f64]) -> Figure {
    row.over_blocks(Metric::PairGoodput, Unit::BitsPerSecond, values)
}

/// A pair sends more until something gives, and nothing tells whether frames were lost meanwhile.
fn judge(scene: &Scene, (own, cables): (ByBlock, ByBlock), ways: &Ways) -> Verdict {
    let pairs: Vec<(f64, Option<f64>)> =
        own.iter().map(|(block, value)| (*value, cables.get(block).copied())).collect();
    let rate = RateEvidence::of(Rates::Paired(&pairs), Driven::HeldBack);
    ways.judge(scene.way, &Evidence::Rate(rate))
}

/// Of an arrangement of several rounds: never a mean over them alone.
fn worst_round(
    row: &Row,
    (scene, cell): (&Scene, &Cell),
    (own, beside): (&Rounds<'_>, &Rounds<'_>),
    ways: &Ways,
) -> Option<Figure> {
    cell.arrangement.filter(|arrangement| arrangement.has_rounds())?;
    let worst = own.worst()?;
    let means = own.means_of(worst);
    let judged = judge(scene, (means.clone(), beside.by_block(mean)), ways);
    let mut row = named(row, "worst-round", judged);
    row.conditions.insert("round".to_owned(), cell.rounds[worst].name.clone().into());
    Some(goodput(&row, &means.into_values().collect::<Vec<f64>>()))
}

/// A row for each pair, where no pair comes twice.
fn pairs(row: &Row, cell: &Cell, own: &Rounds<'_>) -> Vec<Figure> {
    let once = cell.arrangement.is_none_or(|a| !a.has_rounds() || a == Arrangement::Tournament);
    if !once {
        return Vec::new();
    }
    let mut figures = Vec::new();
    for (round, data) in cell.rounds.iter().zip(&own.0) {
        for (at, pair) in round.pairs.iter().enumerate() {
            let of_block = |sample: &Sample| sample.pairs.get(at)?.as_ref().map(|got| got.mean);
            let values: Vec<f64> = data.samples.iter().filter_map(of_block).collect();
            let mut row = named(row, "pair", Verdict::Undetermined);
            row.n = values.len() as u64;
            if !values.is_empty() {
                row.caveats.remove(&Caveat::SilentPairs);
            }
            row.conditions.insert("from".to_owned(), pair.from.to_string().into());
            row.conditions.insert("to".to_owned(), pair.to.to_string().into());
            figures.push(goodput(&row, &values));
        }
    }
    figures
}
