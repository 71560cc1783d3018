//! Rates of floods and searches together, as tables: beside the line rate and the direct cable, and
//! in bits a second by all four conventions.
//!
//! Owns which rates stand beside each other. Never states one without its count.

use std::collections::BTreeMap;

use measure::RateConvention;
use page::{Block, Cell, Column, Table, Unit, words};

use super::super::finding::{ForwardingFinding, Traffic};
use super::rated::{Rated, share_of_line};
use super::{flood, plot, shows_bound, throughput};
use crate::explain::explain_size;
use crate::study::view::Frames;

/// A longer table of the same rates in bits is folded.
const MOST_OPEN: usize = 12;

/// All rates, by kind, hosts, frames and place.
pub(super) fn all(found: &ForwardingFinding) -> Vec<Rated<'_>> {
    let mut all = flood::rates(found);
    all.extend(throughput::rates(found));
    all.sort_by_key(|rated| {
        let Traffic { frames, place, .. } = rated.traffic();
        (rated.kind(), place.hosts(), frames.clone(), place.who.clone(), rated.way.direction)
    });
    all
}

/// The plots, the tables, and what the sizes are.
pub(super) fn blocks(found: &ForwardingFinding) -> Vec<Block> {
    let rates = all(found);
    let mut blocks = Vec::new();
    let pictures = plot::pictures(&rates, found.link);
    if !pictures.is_empty() {
        blocks.push(Block::Pictures(pictures));
    }
    if !rates.is_empty() {
        blocks.push(Block::Table(table(&rates)));
        blocks.extend(throughput::meanings(&rates));
        blocks.extend(throughput::searches(&rates));
        let table = in_bits(&rates);
        let summary = "The same rates in bits a second".to_owned();
        blocks.push(if table.rows.len() > MOST_OPEN {
            Block::Folded { summary, table }
        } else {
            Block::Table(table)
        });
        blocks.extend(sizes(found, &rates));
    }
    blocks.extend(flood::table(found).map(Block::Table));
    blocks
}

/// A row for each rate; the direct cable's stands beside it.
fn table(rates: &[Rated<'_>]) -> Table {
    let rows = rates.iter().filter(|rated| !rated.is_beside).map(|rated| {
        let value = rated.value();
        let rate = Cell::value(value);
        rated.way.row([
            Cell::text(rated.kind().name()),
            if shows_bound(&rated.way.with(value)) { rate.as_bound() } else { rate },
            Cell::number_or_missing(share_of_line(value)),
            Cell::value_or_missing(rated.cable),
            Cell::samples(&[value]),
            Cell::limit(&[value]),
        ])
    });
    let columns =
        ["octets", "device", "what", "frames/s", "of line rate", "direct cable", "n", "limited by"];
    let note = "Under flood: what arrived. Throughput: the highest rate at which its goal held.";
    Table::new("Forwarding rate, frames/s, the same hosts' direct cable beside it", columns)
        .sparing(&["n", "of line rate"])
        .with_note(note)
        .stating(Unit::FramesPerSecond)
        .with_rows(rows)
}

/// One rate is four bit rates: RFC 1242's frame, the wire's, the packet's and the payload's.
fn in_bits(rates: &[Rated<'_>]) -> Table {
    let columns = ["octets", "device", "IP length", "UDP payload", "what"].map(Column::from);
    let conventions = RateConvention::ALL.map(|c| Column::from(c.as_str()));
    let rows = rates.iter().filter(|rated| rated.value().value.is_some()).map(|rated| {
        let lengths = rated.traffic().lengths;
        let octets = |octets: Option<u32>| Cell::number_or_missing(octets.map(|n| n.to_string()));
        let cells = [
            octets(lengths.map(|lengths| lengths.ip)),
            octets(lengths.map(|lengths| lengths.payload)),
            Cell::text(rated.kind().name()),
        ];
        rated.way.row(cells.into_iter().chain(rated.way.found.bits.iter().map(Cell::value)))
    });
    let title = "The same rates in bits a second: L1, L2 with FCS, L3 packets, UDP payload";
    let note = "L1 with preamble and gap, L2 frames with FCS, L3 IP packets, and UDP payload as \
                iperf3 counts.";
    Table::new(title, columns.into_iter().chain(conventions))
        .page_only(&["IP length", "UDP payload"])
        .with_note(note)
        .stating(Unit::FramesPerSecond)
        .with_rows(rows)
}

/// The sentence that keeps payload, IP length and frame size apart, for each size in use.
fn sizes(found: &ForwardingFinding, rates: &[Rated<'_>]) -> Option<Block> {
    let mut lines: BTreeMap<&Frames, String> = BTreeMap::new();
    for traffic in rates.iter().map(Rated::traffic) {
        let frames = &traffic.frames;
        let lengths = traffic.lengths.map(|lengths| {
            let (frame, ip, payload) = (lengths.frame, lengths.ip, lengths.payload);
            format!("{frame}-octet frame = IP length {ip} = UDP payload {payload}")
        });
        let mean = || {
            let octets = words::trimmed(frames.mean_octets(), 1);
            format!("{octets} octets a frame in the mean")
        };
        let plain = frames.plain_size().map(|size| explain_size(size, found.link));
        lines.entry(frames).or_insert_with(|| plain.or(lengths).unwrap_or_else(mean));
    }
    let term = |frames: &Frames| {
        if frames.is_mix() { frames.label() } else { format!("{} octets", frames.label()) }
    };
    let terms: Vec<(String, String)> =
        lines.into_iter().map(|(frames, line)| (term(frames), line)).collect();
    (!terms.is_empty()).then_some(Block::Glossary(terms))
}
