//! Forwarding rates as tables: beside the line rate and the direct cable, how each was searched, in
//! bits a second by all four conventions, and every frame of a flood. Never states a rate without
//! its count.

use std::collections::BTreeMap;

use measure::{FrameRate, FrameSize, Rate, RateConvention};
use method::explain::explain_size;
use page::{Block, Cell, Column, Figure, Key, Metric, Table, Unit};

use super::super::frames::{self, Frames};
use super::super::subject::{self, Who};
use super::super::{among, reading};
use super::goal::Kind;
use page::words;

/// A row for each rate; what the direct cable did stands beside it, or in a row of its own where no
/// device figure matches it.
pub(super) fn table(rates: &[&Figure], all: &[Figure]) -> Table {
    let beside =
        |f: &Figure| rates.iter().any(|r| !r.is_bypass() && same(among::bypass_of(r, all), f));
    let rows = rates.iter().filter(|f| !(f.is_bypass() && beside(f))).map(|f| {
        // The link rate is the device's: a direct cable need not have it.
        let of_line = f
            .number(Key::OfLineRate)
            .filter(|_| !f.is_bypass())
            .map(|share| words::share_of_line(share, method::verdict::LINE_RATE));
        let bypass = if f.is_bypass() { None } else { among::bypass_of(f, all) };
        vec![
            frames::cell(f),
            subject::cell(f),
            Cell::text(Kind::of(f).name()),
            Cell::value(f),
            Cell::number_or_missing(of_line),
            Cell::value_or_missing(bypass),
            Cell::samples(&[f]),
            Cell::limit(&[f]),
        ]
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

fn same(a: Option<&Figure>, b: &Figure) -> bool {
    a.is_some_and(|a| std::ptr::eq(a, b))
}

/// How each throughput was found: bracket, final trial, traffic, and the conditional throughput of
/// RFC 9971 where the goal allows loss.
pub(super) fn searches(rates: &[&Figure]) -> Option<Block> {
    let time = |f: &Figure, name: Key| Cell::number_or_missing(f.number(name).map(words::time));
    let rows: Vec<Vec<Cell>> = rates
        .iter()
        .filter(|f| f.metric == Metric::Throughput && reading::is_whole(f))
        .map(|f| {
            let rate = |rate: Option<f64>| match rate {
                Some(_) => Cell::quantity(Unit::FramesPerSecond, rate),
                None => Cell::Missing,
            };
            let allowed = f.number(Key::LossRatioAllowed).map(words::percent);
            vec![
                frames::cell(f),
                subject::cell(f),
                Cell::text(reading::text(f, Key::Goal).unwrap_or_default()),
                Cell::text(reading::text(f, Key::Search).unwrap_or_default()),
                rate(f.low),
                rate(f.high),
                rate(f.number(Key::ConditionalThroughput)),
                Cell::number(allowed.unwrap_or_else(|| "none".to_owned())),
                Cell::number(words::count(f.n)),
                time(f, Key::FinalDuration),
                time(f, Key::TrafficTime),
            ]
        })
        .collect();
    let head = [
        "octets",
        "device",
        "goal",
        "search",
        "passed at",
        "failed at",
        "forwarded there",
        "loss allowed",
        "trials",
        "full trial",
        "traffic in all",
    ];
    let note = "The bracket between the highest load that passed and the lowest that failed, and \
                what was forwarded at the load that passed (conditional throughput, RFC 9971) where \
                the goal allows loss.";
    let table = Table::new("How each throughput was found, frames/s", head)
        .with_note(note)
        .stating(Unit::FramesPerSecond)
        .with_rows(rows);
    let summary = "The searches".to_owned();
    (!table.rows.is_empty()).then_some(Block::Folded { summary, table })
}

/// One rate is four bit rates: RFC 1242's frame, the wire's, the packet's and the payload's.
pub(super) fn conventions(rates: &[&Figure], all: &[Figure]) -> Table {
    let mut columns: Vec<Column> = vec!["octets".into()];
    let columns_of = ["IP length", "UDP payload", "device", "what", "frames/s"];
    columns.extend(columns_of.map(Column::from));
    columns.extend(RateConvention::ALL.map(|c| Column::from(c.as_str())));
    let rows = rates.iter().filter_map(|f| {
        f.value?;
        let size = Frames::of_figure(f).and_then(|frames| frames.plain_size());
        let inside = |name, of_size: Option<u32>| {
            let told = reading::text(f, name).or_else(|| of_size.map(|n| n.to_string()));
            Cell::number_or_missing(told)
        };
        let mut cells = vec![
            frames::cell(f),
            inside(Key::IpLength, size.map(FrameSize::ip_length)),
            inside(Key::UdpPayload, size.map(FrameSize::udp_payload_v4)),
            subject::cell(f),
            Cell::text(Kind::of(f).name()),
            Cell::quantity(Unit::FramesPerSecond, f.value),
        ];
        let in_bits = |c| Cell::quantity(Unit::BitsPerSecond, in_bits(f, all, c));
        cells.extend(RateConvention::ALL.map(in_bits));
        Some(cells)
    });
    let title = "The same rates in bits a second: L1, L2 with FCS, L3 packets, UDP payload";
    let note = "L1 with preamble and gap, L2 frames with FCS, L3 IP packets, and UDP payload as \
                iperf3 counts.";
    Table::new(title, columns)
        .page_only(&["IP length", "UDP payload", "frames/s"])
        .with_note(note)
        .stating(Unit::FramesPerSecond)
        .with_rows(rows)
}

/// The study's own figure, which knows the headers; else by the size.
fn in_bits(figure: &Figure, all: &[Figure], convention: RateConvention) -> Option<f64> {
    let mut like = figure.conditions.clone();
    like.remove(&Key::OfLineRate);
    like.insert(Key::RateConvention, convention.as_str().into());
    let told = all.iter().find(|f| {
        f.metric == figure.metric && f.unit == Unit::BitsPerSecond && f.conditions == like
    });
    told.and_then(|f| f.value).or_else(|| {
        let size = Frames::of_figure(figure)?.plain_size()?;
        Some(FrameRate(figure.value?).bits_per_second(size, convention))
    })
}

/// Offered, sent, received, lost, duplicated and reordered of a flood.
pub(super) fn counts(figures: &[Figure]) -> Option<Table> {
    const METRICS: [Metric; 6] = [
        Metric::Offered,
        Metric::Sent,
        Metric::Received,
        Metric::Lost,
        Metric::Duplicated,
        Metric::Reordered,
    ];
    let mut rows: BTreeMap<_, Vec<&Figure>> = BTreeMap::new();
    for figure in figures {
        if METRICS.contains(&figure.metric) && figure.unit == Unit::FramesPerSecond {
            let way = (reading::way(figure), reading::direction(figure));
            let key = (Frames::of_figure(figure), Who::of_figure(figure), way);
            rows.entry(key).or_default().push(figure);
        }
    }
    let mut columns: Vec<Column> = vec!["octets".into(), "device".into()];
    columns.extend(METRICS.map(|metric| Column::from(metric.as_str())));
    columns.push("n".into());
    let rows = rows.into_values().map(|row| {
        let mut cells = vec![frames::cell(row[0]), subject::cell(row[0])];
        cells.extend(METRICS.map(|metric| {
            let found = row.iter().find(|f| f.metric == metric);
            Cell::value_or_missing(found.copied())
        }));
        cells.push(Cell::samples(&row));
        cells
    });
    Table::new("Every frame of a flood, frames/s", columns)
        .sparing(&["n", Metric::Reordered.as_str(), Metric::Duplicated.as_str()])
        .stating(Unit::FramesPerSecond)
        .with_rows(rows)
        .unless_empty()
}

/// The sentence that keeps payload, IP length and frame size apart, for each size in use.
pub(super) fn explained(rates: &[&Figure], link: Option<Rate>) -> Option<Block> {
    let mut lines: BTreeMap<Frames, String> = BTreeMap::new();
    for figure in rates {
        let Some(frames) = Frames::of_figure(figure) else { continue };
        let sent = reading::text(figure, Key::FrameSizeSent);
        let inside = || {
            let ip = reading::text(figure, Key::IpLength)?;
            let payload = reading::text(figure, Key::UdpPayload)?;
            let frame = sent.clone().or_else(|| reading::text(figure, Key::FrameSize))?;
            Some(format!("{frame}-octet frame = IP length {ip} = UDP payload {payload}"))
        };
        let mean = || {
            let octets = words::trimmed(frames.mean_octets(), 1);
            frames.is_mix().then(|| format!("{octets} octets a frame in the mean"))
        };
        let plain = frames.plain_size().map(|size| explain_size(size, link));
        let line = plain.or_else(inside).or_else(mean);
        if let Some(line) = line {
            lines.entry(frames).or_insert(line);
        }
    }
    let term = |frames: &Frames| {
        if frames.is_mix() { frames.label() } else { format!("{} octets", frames.label()) }
    };
    let terms: Vec<(String, String)> =
        lines.iter().map(|(frames, line)| (term(frames), line.clone())).collect();
    (!terms.is_empty()).then_some(Block::Glossary(terms))
}
