//! The tcp study on a page: how much payload each way, of how much the link can carry, the segments
//! sent again and the hosts' limits; and each case's first valid trial over time.
//!
//! Computes nothing but shares.

mod answers;
mod over_time;

use page::{Block, Cell, Figure, Table, words};

use super::cell::HostLimit;
use super::finding::{Part, TcpCase, TcpFinding};
use crate::study::rows::Direction;
use crate::study::view::{Finding, StudyPage, Topic};

impl Finding for TcpFinding {
    fn values(&mut self) -> Vec<&mut Figure> {
        self.values_mut()
    }

    fn page(&self) -> StudyPage {
        page(self)
    }
}

fn page(found: &TcpFinding) -> StudyPage {
    let mut blocks = vec![
        Block::Table(goodput_table(found)),
        Block::Folded {
            summary: "What the hosts waited for, and how busy they were".to_owned(),
            table: hosts_table(found),
        },
    ];
    blocks.extend(over_time::blocks(found));
    StudyPage::new("tcp", "TCP goodput", blocks)
        .with_answers(Topic::Goodput, answers::answers(found))
}

/// `both: h1 → h2`, and its streams.
fn name(found: &TcpFinding, part: &Part) -> Cell {
    let name = match part.place.direction {
        None => part.place.hosts(),
        Some(Direction::Forward | Direction::Reverse) => format!("both: {}", part.place.hosts()),
        Some(Direction::Total) => "both: together".to_owned(),
    };
    Cell::text(name).with_note(load(found))
}

/// `2 streams of cubic`
fn load(found: &TcpFinding) -> String {
    let streams = if found.streams == 1 { "stream" } else { "streams" };
    format!("{} {streams} of {}", found.streams, found.congestion_control)
}

fn goodput_table(found: &TcpFinding) -> Table {
    let row = |part: &Part| {
        let (again, sender) = (part.retransmits.as_ref(), part.sender.as_ref());
        let values = [
            again.map(|again| &again.count),
            again.map(|again| &again.per_gigabyte),
            sender.map(|sender| &sender.smoothed_rtt),
            sender.map(|sender| &sender.smallest_rtt),
        ];
        let behind: Vec<&Figure> =
            [&part.goodput].into_iter().chain(values.into_iter().flatten()).collect();
        let [count, per_gigabyte, smoothed, smallest] = values.map(value);
        vec![
            name(found, part),
            Cell::text(part.place.who.name()),
            Cell::value(&part.goodput),
            share(part),
            count,
            per_gigabyte,
            smoothed,
            smallest,
            Cell::samples(&[&part.goodput]),
            Cell::limit_of(&part.goodput, &behind),
        ]
    };
    let head = [
        "TCP",
        "device",
        "goodput",
        "of link",
        "retransmits",
        "per GB",
        "RTT",
        "smallest",
        "n",
        "limited by",
    ];
    let note = "Of link: the share of what the link carries as TCP payload in full segments, \
                one way and without anything else. RTT: the smoothed round trip of the connections \
                under this load, and the smallest that they saw.";
    Table::new("TCP payload at the receiver", head)
        .sparing(&["n", "per GB", "smallest"])
        .with_note(note)
        .with_rows(found.cases.iter().flat_map(TcpCase::parts).map(row))
}

/// A value, or nothing where there is none: both flows together have no round trip.
fn value(figure: Option<&Figure>) -> Cell {
    figure.map_or_else(Cell::default, Cell::value)
}

/// The share of what the link carries, and how much that is.
fn share(part: &Part) -> Cell {
    let (Some(share), Some(ceiling)) = (part.share(), part.ceiling) else {
        return Cell::Missing;
    };
    Cell::number(percent(share)).with_note(rate(ceiling.payload))
}

/// The hosts' share in each flow whose sender was read.
fn hosts_table(found: &TcpFinding) -> Table {
    let parts = found.cases.iter().flat_map(|case| case.parts().map(move |part| (case, part)));
    let row = |(case, part): (&TcpCase, &Part)| {
        let sender = part.sender.as_ref()?;
        let busiest = case.busiest().map_or_else(Cell::default, |busiest| {
            Cell::value(&busiest.share).with_note(&busiest.host)
        });
        Some(vec![
            name(found, part),
            Cell::text(part.place.who.name()),
            Cell::value(&sender.cwnd),
            Cell::value(&sender.window),
            Cell::value(&sender.buffer),
            busiest,
            Cell::text(part.host_limit.map_or_else(String::new, HostLimit::in_words)),
        ])
    };
    let head = ["TCP", "device", "cwnd", "window", "buffer", "processors", "the hosts' limit"];
    let note = "Window and buffer: the share of the time in which the sender waited for the \
                receiver's window, and for its own socket buffer. Processors: the busiest host's, \
                all of them together.";
    Table::new("What held the hosts up", head)
        .sparing(&["buffer", "cwnd"])
        .with_note(note)
        .with_rows(parts.filter_map(row))
}

/// Two decimals: line rate differs from nearly that by the second.
fn percent(share: f64) -> String {
    format!("{}\u{a0}%", words::trimmed(share * 100.0, 2))
}

/// With a digit more than values have, for a rate that follows from arithmetic alone:
/// `941.5 Mbit/s`.
fn rate(bits: f64) -> String {
    let (divisor, unit, decimals) = match bits {
        bits if bits >= 1e9 => (1e9, "Gbit/s", 3),
        bits if bits >= 1e6 => (1e6, "Mbit/s", 1),
        _ => return words::bit_rate(bits),
    };
    format!("{}\u{a0}{unit}", words::trimmed(bits / divisor, decimals))
}

#[cfg(test)]
mod tests;
