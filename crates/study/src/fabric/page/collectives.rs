//! Collectives on a page: a table of all, and an answer for each at its largest size.
//!
//! Never computes a value.

use page::{Answer, Cell, Table};

use super::super::finding::{CollectiveFinding, FabricFinding, SceneFinding};
use crate::view::stated;

const COLUMNS: [&str; 11] = [
    "device",
    "collective",
    "ranks",
    "size",
    "time",
    "algorithm bandwidth",
    "bus bandwidth",
    "share of the links",
    "step max/mean",
    "Jain's index",
    "last rank",
];

/// Table with a row for each collective and size.
pub(super) fn table(found: &FabricFinding) -> Option<Table> {
    let rows = found
        .devices()
        .into_iter()
        .flat_map(|scene| scene.collectives.iter().map(|collective| row(scene, collective)));
    Table::new("Collectives", COLUMNS).with_rows(rows).unless_empty().map(|table| {
        table.sparing(&["algorithm bandwidth", "step max/mean"]).page_only(&["Jain's index"])
    })
}

fn row(scene: &SceneFinding, found: &CollectiveFinding) -> Vec<Cell> {
    vec![
        Cell::path(scene.who.name()),
        Cell::text(found.collective.as_str()),
        Cell::number(found.ranks.to_string()),
        Cell::number(found.size.to_string()),
        Cell::value(&found.time),
        Cell::value(&found.algorithm_bandwidth),
        Cell::value(&found.bus_bandwidth),
        Cell::value_or_missing(found.share.as_ref()),
        Cell::value(&found.spread),
        Cell::value(&found.jain),
        found.last.as_ref().map_or(Cell::Blank, Cell::text),
    ]
}

/// Bus bandwidth of each collective at its largest size and with the most ranks.
pub(super) fn answers(found: &FabricFinding) -> Vec<Answer> {
    found.devices().into_iter().flat_map(of_scene).collect()
}

fn of_scene(scene: &SceneFinding) -> Vec<Answer> {
    let is_largest = |one: &&CollectiveFinding| {
        let alike = scene.collectives.iter().filter(|other| other.collective == one.collective);
        alike.map(|other| (other.ranks, other.size)).max() == Some((one.ranks, one.size))
    };
    scene.collectives.iter().filter(is_largest).map(answer).collect()
}

fn answer(found: &CollectiveFinding) -> Answer {
    let text = match &found.last {
        Some(last) => format!(
            "Bus bandwidth of {} with {} among {} ranks; {last} was last.",
            found.collective, found.size, found.ranks
        ),
        None => "No repetition was completed.".to_owned(),
    };
    stated(text, &found.bus_bandwidth)
        .led_by(&found.bus_bandwidth)
        .stating(&found.share)
        .with_question(format!("Collective {}", found.collective))
}

#[cfg(test)]
mod tests {
    use measure::ByteCount;
    use page::{Figure, Metric, Unit};
    use trial::{Collective, Subject};

    use super::*;
    use crate::view::Who;
    use crate::view::streams::Firsts;

    fn collective(collective: Collective, size: u64) -> CollectiveFinding {
        let figure = |metric, unit, value| Figure::new(metric, unit, Some(value));
        let rate = |metric, value| figure(metric, Unit::BitsPerSecond, value);
        CollectiveFinding {
            collective,
            size: ByteCount(size),
            ranks: 8,
            time: figure(Metric::CollectiveTime, Unit::Nanoseconds, 2e6),
            algorithm_bandwidth: rate(Metric::AlgorithmBandwidth, 5.4e8),
            bus_bandwidth: rate(Metric::BusBandwidth, 9.4e8),
            share: Some(figure(Metric::LinkShare, Unit::Ratio, 0.99)),
            spread: figure(Metric::StepSpread, Unit::Ratio, 1.01),
            jain: figure(Metric::JainIndex, Unit::Ratio, 1.0),
            last: Some("h5/eth1".to_owned()),
        }
    }

    fn found(collectives: Vec<CollectiveFinding>) -> FabricFinding {
        let scene = SceneFinding {
            met: Vec::new(),
            who: Who::Named(Subject { device: "sw1".to_owned(), variant: None }),
            ports: Vec::new(),
            exchanges: Vec::new(),
            collectives,
            slow: Vec::new(),
            evenness: None,
            groups: None,
            nonblocking: None,
        };
        let (message, streams) = (ByteCount(65_536), Firsts::default());
        FabricFinding { message, scenes: vec![scene], streams }
    }

    #[test]
    fn each_collective_answers_at_its_largest_size() {
        let (ring, all) = (Collective::AllReduceRing, Collective::AllToAll);
        let sizes = [(ring, 8), (ring, 1 << 20), (all, 1024), (all, 8)];
        let found = found(sizes.iter().map(|(which, size)| collective(*which, *size)).collect());
        let answers = answers(&found);
        let texts: Vec<&str> = answers.iter().map(|answer| answer.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "Bus bandwidth of allreduce:ring with 1MiB among 8 ranks; h5/eth1 was last.",
                "Bus bandwidth of alltoall with 1KiB among 8 ranks; h5/eth1 was last.",
            ]
        );
        let headline = answers[0].headline.as_ref().expect("a number");
        assert_eq!(headline.value.replace('\u{a0}', " "), "940 Mbit/s");
        assert_eq!(table(&found).expect("a table").rows.len(), sizes.len());
        assert_eq!(table(&self::found(Vec::new())), None);
    }
}
