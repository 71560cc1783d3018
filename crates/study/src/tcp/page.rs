//! The tcp study on a page: payload per direction, its share of the link's capacity, retransmits
//! and the hosts' limits; and each case's first valid trial over time.
//!
//! Computes only shares.

mod answers;
mod over_time;

use page::{Block, Cell, Figure, Listing, Table, words};

use super::cell::HostLimit;
use super::finding::{HostBusy, Part, TcpCase, TcpFinding};
use crate::rows::Direction;
use crate::view::{Finding, StudyPage, Topic};

impl Finding for TcpFinding {
    fn page(&self) -> StudyPage {
        let mut blocks = vec![
            Block::Table(goodput_table(self)),
            Block::Folded {
                summary: "What the hosts waited for, and how busy they were".to_owned(),
                table: hosts_table(self),
            },
            Block::Folded {
                summary: "What waits under the load, and round trips a minute".to_owned(),
                table: queue_table(self),
            },
        ];
        blocks.extend(over_time::blocks(self));
        StudyPage::new("tcp", "TCP goodput", blocks)
            .with_answers(Topic::Goodput, answers::answers(self))
    }
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

fn goodput_table<'a>(found: &'a TcpFinding) -> Table {
    let values = |part: &'a Part| {
        let again = part.retransmits.iter().flat_map(|it| [&it.count, &it.per_gigabyte]);
        let trips = part.sender.iter().flat_map(|it| [&it.smoothed_rtt, &it.smallest_rtt]);
        [&part.goodput].into_iter().chain(again).chain(trips).collect::<Vec<&Figure>>()
    };
    let note = "Of link: the share of what the link carries as TCP payload in full segments, \
                one way and without anything else. RTT: the smoothed round trip of the connections \
                under this load, and the smallest that they saw.";
    // Both flows together have no RTT.
    Listing::new("TCP payload at the receiver", found.cases.iter().flat_map(TcpCase::parts))
        .column("TCP", |part| name(found, part))
        .column("device", |part| Cell::text(part.place.who.name()))
        .value("goodput", |part| &part.goodput)
        .column("of link", |part| share(part))
        .optional("retransmits", |part| Some(&part.retransmits.as_ref()?.count))
        .optional("per GB", |part| Some(&part.retransmits.as_ref()?.per_gigabyte))
        .optional("RTT", |part| Some(&part.sender.as_ref()?.smoothed_rtt))
        .optional("smallest", |part| Some(&part.sender.as_ref()?.smallest_rtt))
        .samples("n", |part| vec![&part.goodput])
        .column("limited by", |part| Cell::limit_of(&part.goodput, &values(part)))
        .table()
        .sparing(&["n", "per GB", "smallest"])
        .with_note(note)
}

/// Share of the link's capacity, with that capacity.
fn share(part: &Part) -> Cell {
    let (Some(share), Some(ceiling)) = (part.share(), part.ceiling) else {
        return Cell::Missing;
    };
    Cell::number(percent(share)).with_note(rate(ceiling.payload))
}

/// Table of the hosts' share in each flow with a sender that was read.
fn hosts_table(found: &TcpFinding) -> Table {
    let parts = found.cases.iter().flat_map(|case| case.parts().map(move |part| (case, part)));
    let read = parts.filter_map(|(case, part)| Some((case, part, part.sender.as_ref()?)));
    let note = "Window and buffer: the share of the time in which the sender waited for the \
                receiver's window, and for its own socket buffer. Processors: the busiest host's, \
                all of them together.";
    Listing::new("What held the hosts up", read)
        .column("TCP", |(_, part, _)| name(found, part))
        .column("device", |(_, part, _)| Cell::text(part.place.who.name()))
        .value("cwnd", |(.., sender)| &sender.cwnd)
        .value("window", |(.., sender)| &sender.window)
        .value("buffer", |(.., sender)| &sender.buffer)
        .column("processors", |(case, ..)| {
            let value = |it: &HostBusy| Cell::value(&it.share).with_note(&it.host);
            case.busiest().map_or(Cell::Blank, value)
        })
        .column("the hosts' limit", |(_, part, _)| {
            Cell::text(part.host_limit.map_or_else(String::new, HostLimit::to_words))
        })
        .table()
        .sparing(&["buffer", "cwnd"])
        .with_note(note)
}

/// Table of the queue behind each flow with a sender that was read.
fn queue_table(found: &TcpFinding) -> Table {
    let parts = found.cases.iter().flat_map(TcpCase::parts);
    let read = parts.filter_map(|part| Some((part, part.sender.as_ref()?)));
    let note = "Waiting: octets of frames on the way, the RTT under this load less the smallest, \
                times the rate; RPM: round trips of the connections a minute, the network's part \
                only, without TLS and HTTP.";
    Listing::new("What waits under the load", read)
        .column("TCP", |(part, _)| name(found, part))
        .column("device", |(part, _)| Cell::text(part.place.who.name()))
        .optional("waiting, median", |(_, sender)| sender.waiting.first())
        .optional("waiting, p99", |(_, sender)| sender.waiting.get(1))
        .value("RPM", |(_, sender)| &sender.rpm)
        .table()
        .with_note(note)
}

/// Share with two decimals, as line rate differs from nearly that only in the second.
fn percent(share: f64) -> String {
    format!("{}\u{a0}%", words::trimmed(share * 100.0, 2))
}

/// Rate with one digit more than values have, as it follows from arithmetic alone: `941.5 Mbit/s`.
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
