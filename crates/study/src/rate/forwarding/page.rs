//! Page of RFC 2544's tests, each in the form of the RFC: throughput by frame size next to the
//! theoretical line, latency, loss, bursts, recovery and reset, and the making of the load.
//!
//! Owns their order and common parts: sentences at the smallest frames, and the lines of a plot.
//! Never computes a value.

mod bounds;
mod bursts;
mod flood;
mod interruptions;
mod latency;
mod loss;
mod pacing;
mod plot;
mod rated;
mod rates;
mod smallest;
mod throughput;

use page::{Block, Cell, Figure, Listing, Unit, Verdict, words};

use super::finding::{ForwardingFinding, OneWay};
use crate::view::{Finding, StudyPage, Topic};
use measure::FrameRate;

impl Finding for ForwardingFinding {
    fn page(&self) -> StudyPage {
        let others =
            [latency::answers, bursts::answers, interruptions::recoveries, interruptions::resets];
        StudyPage::new("forwarding", "Forwarding", blocks(self))
            .with_answers(Topic::Throughput, throughput::answers(self))
            .with_answers(Topic::Flood, flood::answers(self))
            .with_answers(Topic::Others, others.into_iter().flat_map(|answers| answers(self)))
    }
}

fn blocks(found: &ForwardingFinding) -> Vec<Block> {
    let parts: [(&str, Vec<Block>); 7] = [
        ("Throughput", rates::blocks(found)),
        ("Figures that are only bounds", bounds::blocks(found)),
        ("Latency at the throughput", latency::blocks(found)),
        ("Frame loss by load", loss::blocks(found)),
        ("Bursts", bursts::table(found).map(Block::Table).into_iter().collect()),
        ("Recovery and reset", interruptions::blocks(found)),
        ("How the load was made", pacing::blocks(found)),
    ];
    let parts = parts.into_iter().filter(|(_, blocks)| !blocks.is_empty());
    let headed = |(heading, blocks): (&str, Vec<Block>)| {
        [Block::Subheading(heading.to_owned())].into_iter().chain(blocks)
    };
    parts.flat_map(headed).collect()
}

/// True if the value is the tester's limit: the device does at least that.
fn shows_bound(way: &OneWay<'_, Figure>) -> bool {
    way.found.verdict == Verdict::TesterLimited
        && way.found.value.is_some()
        && !way.traffic.place.is_cable()
}

/// Table with a row for each item, which starts with frames and place.
fn listing<R, T: 'static>(
    title: &str,
    rows: impl IntoIterator<Item = R>,
    way: impl Fn(&R) -> OneWay<'_, T>,
) -> Listing<R> {
    Listing::new(title, rows)
        .column("octets", |row| way(row).traffic.frames.cell())
        .column("device", |row| way(row).place().cell())
}

/// Cell of a value, marked if it is only a bound on the device.
fn bounded(way: &OneWay<'_, Figure>) -> Cell {
    let value = Cell::value(way.found);
    if shows_bound(way) { value.as_bound() } else { value }
}

/// Cell of a rate in whole frames a second.
fn rate_cell(rate: Option<FrameRate>) -> Cell {
    Cell::number_or_missing(rate.map(|rate| words::count(rate.0.round() as u64)))
}

/// Rate in frames a second, formatted like values.
fn quantity(rate: Option<f64>) -> Cell {
    rate.map_or(Cell::Missing, |rate| Cell::quantity(Unit::FramesPerSecond, Some(rate)))
}
