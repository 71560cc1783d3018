//! Tables of rates from floods and searches: with line rate and the direct cable, and in bits a
//! second in all four conventions.
//!
//! Owns the choice of rates to list together. Never states one without its count.

use std::collections::BTreeMap;

use measure::RateConvention;
use page::{Block, Cell, Table, Unit, words};

use super::super::finding::{ForwardingFinding, Lengths, Traffic};
use super::rated::Rated;
use super::{bounded, flood, listing, plot, throughput};
use crate::explain::explain_size;
use crate::line_share::share_in_words;
use crate::view::Frames;
use trial::Headers;

/// Number of rows above which a table of the same rates in bits is folded.
const MOST_OPEN: usize = 12;

/// Rates by kind, hosts, frames and place.
pub(super) fn all(found: &ForwardingFinding) -> Vec<Rated<'_>> {
    let mut all = flood::rates(found);
    all.extend(throughput::rates(found));
    all.sort_by_key(|rated| {
        let Traffic { frames, place, .. } = rated.traffic();
        (rated.kind(), place.hosts(), frames.clone(), place.who.clone(), rated.way.direction)
    });
    all
}

/// Blocks of the plots, the tables, and the explanation of sizes.
pub(super) fn blocks(found: &ForwardingFinding) -> Vec<Block> {
    let rates = all(found);
    let pictures = Block::pictures(plot::pictures(&rates, found.link));
    let mut blocks: Vec<Block> = pictures.into_iter().collect();
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

/// Table with a row for each rate, next to the direct cable's.
fn table(rates: &[Rated<'_>]) -> Table {
    let title = "Forwarding rate, frames/s, the same hosts' direct cable beside it";
    let note = "Under flood: what arrived. Throughput: the highest rate at which its goal held.";
    listing(title, rates.iter().filter(|rated| !rated.is_beside), |rated| rated.way)
        .column("what", |rated| Cell::text(rated.kind().name()))
        .column("frames/s", |rated| bounded(&rated.way.with(rated.value())))
        .column("of line rate", |rated| Cell::number_or_missing(share_in_words(rated.value())))
        .value_or_missing("direct cable", |rated| rated.cable)
        .samples("n", |rated| vec![rated.value()])
        .limit(|rated| vec![rated.value()])
        .table()
        .sparing(&["n", "of line rate"])
        .with_note(note)
        .stating(Unit::FramesPerSecond)
}

/// Table of bit rates, four for each rate: RFC 1242's frame, the wire's, the packet's and the
/// payload's.
fn in_bits(rates: &[Rated<'_>]) -> Table {
    let title = "The same rates in bits a second: L1, L2 with FCS, L3 packets, UDP payload";
    let note = "L1 with preamble and gap, L2 frames with FCS, L3 IP packets, and UDP payload as \
                iperf3 counts.";
    let octets = |rated: &Rated<'_>, pick: fn(Lengths) -> u32| {
        Cell::number_or_missing(rated.traffic().lengths.map(|lengths| pick(lengths).to_string()))
    };
    let known = rates.iter().filter(|rated| rated.value().value.is_some());
    listing(title, known, |rated| rated.way)
        .column("IP length", |rated| octets(rated, |lengths| lengths.ip))
        .column("UDP payload", |rated| octets(rated, |lengths| lengths.payload))
        .column("what", |rated| Cell::text(rated.kind().name()))
        .columns(RateConvention::ALL.map(RateConvention::as_str), |rated, at| {
            Cell::value(&rated.way.found.bits[at])
        })
        .table()
        .page_only(&["IP length", "UDP payload"])
        .with_note(note)
        .stating(Unit::FramesPerSecond)
}

/// Sentence that distinguishes payload, IP length and frame size, for each size in use.
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
        let plain =
            frames.plain_size().map(|size| explain_size(size, found.link, Headers::default()));
        lines.entry(frames).or_insert_with(|| plain.or(lengths).unwrap_or_else(mean));
    }
    let term = |frames: &Frames| {
        if frames.is_mix() { frames.label() } else { format!("{} octets", frames.label()) }
    };
    let terms: Vec<(String, String)> =
        lines.into_iter().map(|(frames, line)| (term(frames), line)).collect();
    (!terms.is_empty()).then_some(Block::Glossary(terms))
}
