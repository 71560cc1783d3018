//! From blocks to the fabric study's figures: the mean and the worst over the pairs of each cell.
//!
//! Owns how rounds and pairs are put together within a block. Pure.

use measure::ByteCount;

use super::super::rows::Row;
use super::super::ways::Ways;
use super::cell::Sample;
use super::nonblocking;
use super::reconcile;
use super::rounds::{ByBlock, Data, Rounds, STATISTICS, cables, lost, mean, most, plain_row};
use super::scene::{Cell, Round, Scene, UNKNOWN, wire_limit};
use super::structure::{self, Structures};
use super::{Arrangement, FabricSpec};
use crate::verdict::{Driven, Evidence, RateEvidence, Rates};
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};
use trial::Carrier;

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
                .map_or_else(Rounds::none, |(s, c)| Rounds::of(data, s, c));
            let row = row(spec, scene, cell, &own, ways);
            for (name, statistic) in STATISTICS {
                let both = (own.by_block(statistic), beside.by_block(statistic));
                let mut row = named(&row, name, judge(scene, both, ways));
                let all = cell.rounds.iter().flat_map(|round| &round.links).copied();
                // The least of all pairs is held against the slowest of them.
                let of = if name == "mean" { mean_of } else { least_of };
                set_wire(&mut row, of(&all.collect::<Vec<f64>>()), spec);
                figures.push(goodput(&row, &own.values(statistic)));
            }
            if let Some(figure) = worst_round(spec, &row, (scene, cell), (&own, &beside), ways) {
                figures.push(figure);
            }
            if cell.message == spec.message && Some(cell.nodes) == most(scene) {
                figures.extend(pairs(spec, &row, cell, &own));
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
            found.map_or_else(Vec::new, |found| structure::figures(found, scene, ways, row()));
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

fn row(spec: &FabricSpec, scene: &Scene, cell: &Cell, own: &Rounds<'_>, ways: &Ways) -> Row {
    let mut row = plain_row(spec, scene, ways);
    let arrangement = cell.arrangement.map_or("direct cables".to_owned(), |a| a.to_string());
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
    row.note(&own.noted());
    row.n = own.all().map(|got| got.messages).sum();
    row
}

fn mean_of(links: &[f64]) -> f64 {
    links.iter().sum::<f64>() / links.len().max(1) as f64
}

fn least_of(links: &[f64]) -> f64 {
    links.iter().copied().fold(f64::INFINITY, f64::min)
}

/// What the wire carries where the pairs' links carry so much: each pair has its own.
fn set_wire(row: &mut Row, link: f64, spec: &FabricSpec) {
    if link.is_finite() && link > UNKNOWN {
        row.set(Key::WireLimit, wire_limit(link, spec.carrier));
    }
}

fn named(row: &Row, statistic: &str, verdict: Verdict) -> Row {
    let mut row = Row { verdict, ..row.clone() };
    row.set(Key::Statistic, statistic);
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
    spec: &FabricSpec,
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
    row.set(Key::Round, cell.rounds[worst].name.clone());
    set_wire(&mut row, mean_of(&cell.rounds[worst].links), spec);
    Some(goodput(&row, &means.into_values().collect::<Vec<f64>>()))
}

/// A row for each pair, where no pair comes twice.
fn pairs(spec: &FabricSpec, row: &Row, cell: &Cell, own: &Rounds<'_>) -> Vec<Figure> {
    let once = cell.arrangement.is_none_or(|a| !a.has_rounds() || a == Arrangement::Tournament);
    if !once {
        return Vec::new();
    }
    let mut figures = Vec::new();
    for (round, data) in cell.rounds.iter().zip(own.rounds()) {
        for (at, pair) in round.pairs.iter().enumerate() {
            let of_block = |sample: &Sample| sample.pairs.get(at)?.as_ref().map(|got| got.mean);
            let values: Vec<f64> = data.samples.iter().filter_map(of_block).collect();
            let mut row = named(row, "pair", Verdict::Undetermined);
            row.n = values.len() as u64;
            if !values.is_empty() {
                row.caveats.remove(&Caveat::SilentPairs);
            }
            set_wire(&mut row, round.links[at], spec);
            row.set(Key::From, pair.from.to_string());
            row.set(Key::To, pair.to.to_string());
            figures.push(goodput(&row, &values));
        }
    }
    figures
}
