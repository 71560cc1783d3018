//! Rates of floods and searches together, as tables: beside the line rate and the direct cable, and
//! in bits a second by all four conventions.
//!
//! Owns what a rate is called, and which of them is only a bound. Never states one without its
//! count.

use std::collections::BTreeMap;

use measure::RateConvention;
use page::{Block, Caveat, Cell, Column, Figure, Table, Unit, Verdict, words};

use super::super::finding::{
    FloodCounts, ForwardingFinding, GoalCase, OneWay, RateValue, Traffic, has_caveat,
};
use super::{flood, plot, shows_bound, throughput};
use crate::explain::explain_size;
use crate::search::GoalName;
use crate::study::line_share;
use crate::study::view::Frames;
use crate::verdict::{LINE_RATE, TESTER_SHARE};

/// A longer table of the same rates in bits is folded.
const MOST_OPEN: usize = 12;

/// A kind of rate. Two goals are two quantities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Flood,
    Goal(GoalName),
}

impl Kind {
    pub(super) fn name(self) -> String {
        match self {
            Self::Flood => "under flood".to_owned(),
            Self::Goal(goal) => format!("throughput ({})", goal.as_str()),
        }
    }
}

/// The test behind a rate.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin<'a> {
    Flood(&'a FloodCounts),
    Search(&'a GoalCase),
}

/// A rate one way, and that of the same procedure over the direct cable beside it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rated<'a> {
    pub(super) way: OneWay<'a, RateValue>,
    pub(super) origin: Origin<'a>,
    pub(super) cable: Option<&'a Figure>,
    /// True if it is a cable's, and stands beside a device's.
    pub(super) is_beside: bool,
}

impl<'a> Rated<'a> {
    pub(super) const fn kind(&self) -> Kind {
        match self.origin {
            Origin::Flood(_) => Kind::Flood,
            Origin::Search(goal) => Kind::Goal(goal.goal),
        }
    }

    pub(super) const fn value(&self) -> &'a Figure {
        &self.way.found.frames
    }

    pub(super) const fn traffic(&self) -> &'a Traffic {
        self.way.traffic
    }

    /// True if it is a device's, of all of a load.
    pub(super) fn is_whole_of_device(&self) -> bool {
        let place = self.way.place();
        !place.is_cable() && place.is_whole()
    }

    /// True if the device may do more than the value says. Line rate is nobody's bound.
    pub(super) fn is_bound(&self) -> bool {
        let value = self.value();
        value.verdict == Verdict::TesterLimited
            || value.verdict != Verdict::LinkLimited && has_caveat(value, Caveat::SearchCeiling)
    }

    /// The reason why it is only a bound, where the tester was the limit.
    pub(super) fn bound(&self) -> Option<String> {
        bound(&self.way.with(self.value()), self.cable)
    }

    /// ` = 97.3 % of line rate`; nothing where the link's rate is not known.
    pub(super) fn of_line(&self) -> String {
        let share = share_of_line(self.value());
        share.map_or_else(String::new, |share| format!(" = {share} of line rate"))
    }

    /// The cable's rate for a sentence.
    pub(super) fn over_cable(&self) -> String {
        let Some((cable, value)) = self.cable.and_then(|cable| Some((cable, cable.value?))) else {
            return String::new();
        };
        // The cable is searched no further than the verdict needs.
        let least = if has_caveat(cable, Caveat::SearchCeiling) { "at least " } else { "" };
        format!("; the direct cable carried {least}{}", words::value(cable.unit, value))
    }
}

/// The reason why a value that the tester limited is only a bound. `None` where it shows the
/// device's own limit, or where there is no device to be bounded.
pub(super) fn bound(way: &OneWay<'_, Figure>, cable: Option<&Figure>) -> Option<String> {
    let OneWay { traffic, found, .. } = way;
    if !traffic.has_device || found.verdict != Verdict::TesterLimited {
        return None;
    }
    // Where the tester did more over the cable, its limit alone does not explain the value.
    let more = cable.and_then(|cable| Some(cable.value? * TESTER_SHARE > found.value?));
    Some(if more == Some(true) {
        "the traffic generator was the bottleneck on this path".to_owned()
    } else {
        format!("the test hosts were the limit, not {}", traffic.place.who.in_words())
    })
}

fn share_of_line(value: &Figure) -> Option<String> {
    line_share::share(value).map(|share| words::share_of_line(share, LINE_RATE))
}

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
