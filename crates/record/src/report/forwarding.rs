//! Frames a second on the page: by frame size beside the theoretical line, the loss curve, and the
//! tables. A rate is shown in all four conventions, so that none can be taken for another.

use std::collections::{BTreeMap, BTreeSet};

use measure::{FrameRate, FrameSize, Rate, RateConvention};
use method::explain::explain_size;
use method::figure::Unit;
use method::record::FlowRecord;
use method::study::StudySpec;
use method::trial::{FlowKind, Path, Role, Schedule};
use method::{Figure, Metric, Trial, TrialRecord};

use super::latency::{common_confidence, n_cell, narrow_cell, value_cell};
use super::view::{Block, Cell, Picture, Section, Table};
use super::{ReportInput, caveats, reading};
use crate::svg::{Axis, Plot, Point, Scale, Series};
use crate::words;

/// The section; `None` where nothing of the kind was measured.
pub(super) fn section(prefix: &str, run: &ReportInput<'_>) -> Option<Section> {
    let mut rates: Vec<&Figure> = run
        .figures
        .iter()
        .filter(|f| matches!(f.metric, Metric::Throughput | Metric::Received))
        .filter(|f| f.unit == Unit::FramesPerSecond)
        .collect();
    rates.sort_by_key(|f| (f.metric, reading::hosts(f), reading::size(f), reading::is_bypass(f)));
    let link = link_rate(run);
    let mut blocks = Vec::new();
    let mut pictures = Vec::new();
    if rates.iter().any(|f| f.value.is_some() && reading::size(f).is_some()) {
        pictures.push(by_size_picture(&rates, link));
    }
    pictures.extend(loss_picture(run.records));
    if !pictures.is_empty() {
        blocks.push(Block::Pictures(pictures));
    }
    if !rates.is_empty() {
        blocks.push(Block::Table(rate_table(&rates, run.figures, link)));
        blocks.push(Block::Table(conventions_table(&rates)));
    }
    let sizes = reading::sizes(rates.iter().copied());
    blocks.extend(explained(&sizes));
    blocks.extend(counts_table(run.figures).map(Block::Table));
    blocks.extend(
        loss_table(run.figures)
            .map(|table| Block::Folded { summary: "Loss ratio by offered load".to_owned(), table }),
    );
    if blocks.is_empty() {
        return None;
    }
    Some(Section { id: format!("{prefix}-forwarding"), heading: "Forwarding".to_owned(), blocks })
}

/// What the links carry, where anything says so: the plan, the device's ports, or the hosts'.
fn link_rate(run: &ReportInput<'_>) -> Option<Rate> {
    let planned = run.meta.studies.iter().find_map(|s| match s {
        StudySpec::Forwarding(spec) => spec.link_rate,
        StudySpec::Latency(_) => None,
    });
    let topology = &run.meta.topology;
    let device = topology.devices.iter().filter_map(|d| d.port_rate).min();
    let host = topology.hosts.iter().flat_map(|h| &h.ports).filter_map(|p| p.rate).min();
    planned.or(device).or(host)
}

fn frame_size(octets: u64) -> Option<FrameSize> {
    FrameSize::new(u32::try_from(octets).ok()?).ok()
}

fn by_size_picture(rates: &[&Figure], link: Option<Rate>) -> Picture {
    let sizes: Vec<u64> = reading::sizes(rates.iter().copied()).into_iter().collect();
    let place = |size: u64| sizes.iter().position(|s| *s == size).unwrap_or(0) as f64;
    let mut series = Vec::new();
    if let Some(link) = link {
        series.push(theoretical(&sizes, link));
    }
    let kinds: BTreeSet<(Metric, String)> =
        rates.iter().map(|f| (f.metric, reading::hosts(f))).collect();
    let ways = kinds.iter().map(|(_, hosts)| hosts).collect::<BTreeSet<_>>().len();
    for (colour, (metric, hosts)) in kinds.iter().enumerate() {
        for bypass in [false, true] {
            let mut of: Vec<&&Figure> = rates
                .iter()
                .filter(|f| f.metric == *metric && reading::hosts(f) == *hosts)
                .filter(|f| reading::is_bypass(f) == bypass && f.value.is_some())
                .collect();
            of.sort_by_key(|f| reading::size(f));
            if of.is_empty() {
                continue;
            }
            let what = if *metric == Metric::Throughput { "without loss" } else { "under flood" };
            let path = if bypass { ", direct cable" } else { "" };
            let points: Vec<Point> = of.iter().filter_map(|f| point(f, &place)).collect();
            series.push(Series {
                name: if ways > 1 {
                    format!("{hosts} {what}{path}")
                } else {
                    format!("{what}{path}")
                },
                colour: Some(colour),
                dashed: bypass,
                line: points.iter().map(|p| (p.x, p.y)).collect(),
                points,
            });
        }
    }
    let ends = series.iter().flat_map(|s| s.points.iter().map(|p| p.y));
    let y = Axis::over("frames/s, log scale", Scale::Log, ends, |v| {
        words::tick(Unit::FramesPerSecond, v)
    });
    let names: Vec<String> = sizes.iter().map(u64::to_string).collect();
    let x = Axis::names("frame size in octets, FCS included", &names);
    let title = "Frames a second by frame size".to_owned();
    let line = link.map_or_else(
        || "The link's rate is not known, so there is no theoretical line.".to_owned(),
        |l| format!("The thin line is what a {l} link carries: rate / (8 · (size + 20))."),
    );
    let caption =
        format!("{title}. Dashed and hollow: the same hosts over the direct cable. {line}");
    Picture { svg: Plot { title, x, y, series }.draw(), caption }
}

fn theoretical(sizes: &[u64], link: Rate) -> Series {
    let points: Vec<Point> = sizes
        .iter()
        .enumerate()
        .filter_map(|(i, size)| {
            let y = link.line_rate(frame_size(*size)?).0;
            let text = format!("{size} octets {}", words::value(Unit::FramesPerSecond, y));
            Some(Point { x: i as f64, y, whisker: None, text })
        })
        .collect();
    Series {
        name: format!("line rate at {link}"),
        colour: None,
        dashed: false,
        line: points.iter().map(|p| (p.x, p.y)).collect(),
        points,
    }
}

fn point(figure: &Figure, place: &impl Fn(u64) -> f64) -> Option<Point> {
    let size = reading::size(figure)?;
    let whisker = figure.low.zip(figure.high).filter(|(low, _)| *low > 0.0);
    let text = format!("{size} octets {}", words::with_interval(figure));
    Some(Point { x: place(size), y: figure.value?, whisker, text })
}

/// Rate asked for, in whole frames a second -> frames sent, frames lost, trials.
type Curve = BTreeMap<u64, (u64, u64, u32)>;

/// Loss by the rate asked for, over every valid trial: what a search and a loss curve saw alike.
fn loss_picture(records: &[(Trial, TrialRecord)]) -> Option<Picture> {
    let mut cases: BTreeMap<(u32, Path), Curve> = BTreeMap::new();
    for (trial, record) in records.iter().filter(|(_, r)| r.outcome.is_valid()) {
        for (flow, done) in trial.flows.iter().zip(&record.flows) {
            if let (Role::Measured, FlowKind::Datagrams(d), FlowRecord::Datagrams(done)) =
                (flow.role, &flow.kind, done)
                && let Schedule::Paced(rate) = d.schedule
            {
                let curve = cases.entry((d.frames.largest().octets(), trial.path)).or_default();
                let at = curve.entry(rate.0.round() as u64).or_default();
                at.0 += done.sent;
                at.1 += done.received.lost(done.sent);
                at.2 += 1;
            }
        }
    }
    if cases.is_empty() {
        return None;
    }
    let sizes: BTreeSet<u32> = cases.keys().map(|(s, _)| *s).collect();
    let series: Vec<Series> = cases
        .iter()
        .map(|((size, path), curve)| {
            let points: Vec<Point> =
                curve.iter().map(|(rate, at)| loss_point(*rate, *at)).collect();
            let bypass = *path == Path::Bypass;
            Series {
                name: format!("{size}{}", if bypass { ", direct cable" } else { "" }),
                colour: sizes.iter().position(|s| s == size),
                dashed: bypass,
                line: points.iter().map(|p| (p.x, p.y)).collect(),
                points,
            }
        })
        .collect();
    let points = || series.iter().flat_map(|s| &s.points);
    let x = Axis::over("frames/s asked for", Scale::Linear, points().map(|p| p.x), |v| {
        words::tick(Unit::FramesPerSecond, v)
    });
    let y =
        Axis::over("frames lost", Scale::Linear, points().map(|p| p.y).chain([0.0, 0.01]), |v| {
            words::tick(Unit::Ratio, v)
        });
    let title = "Loss by offered load".to_owned();
    let caption = format!(
        "{title}. One colour for each frame size in octets; every valid paced trial, those of searches \
         included, repeats at one rate taken together."
    );
    Some(Picture { svg: Plot { title, x, y, series }.draw(), caption })
}

fn loss_point(rate: u64, (sent, lost, trials): (u64, u64, u32)) -> Point {
    let share = if sent == 0 { 0.0 } else { lost as f64 / sent as f64 };
    let text = format!(
        "{} frames/s asked for, {} of {} frames lost ({}), {trials} trials",
        words::count(rate),
        words::count(lost),
        words::count(sent),
        words::percent(share)
    );
    Point { x: rate as f64, y: share, whisker: None, text }
}

/// A row for each rate; what the direct cable did stands beside it, or in a row of its own where no
/// device figure matches it.
fn rate_table(rates: &[&Figure], all: &[Figure], link: Option<Rate>) -> Table {
    let beside = |f: &Figure| {
        rates.iter().any(|r| !reading::is_bypass(r) && same(reading::bypass_of(r, all), f))
    };
    let rows = rates.iter().filter(|f| !(reading::is_bypass(f) && beside(f))).map(|f| {
        let size = reading::size(f).and_then(frame_size);
        let of_line = || Some(words::percent(f.value? / link?.line_rate(size?).0));
        // The link rate is the device's: a direct cable need not have it.
        let of_line = if reading::is_bypass(f) { None } else { of_line() };
        let bypass = if reading::is_bypass(f) { None } else { reading::bypass_of(f, all) };
        vec![
            Cell::number(octets(f)),
            Cell::text(what(f)).with_note(reading::way(f)),
            frames_cell(f),
            Cell::number(of_line.unwrap_or_else(|| "–".to_owned())),
            bypass.map_or_else(|| Cell::number("–"), frames_cell),
            n_cell(&[f], None),
            caveats::verdict_cell(&[f]),
            caveats::names(&[f]),
        ]
    });
    let rows = rows.collect();
    let head =
        ["octets", "what", "frames/s", "of line rate", "direct cable", "n", "verdict", "caveats"]
            .map(str::to_owned)
            .into();
    let caption = "Forwarding rate in frames a second by frame size, the same hosts' direct cable \
                   beside it. Received: what arrived under a flood. Throughput: the highest rate at \
                   which its goal held."
        .to_owned();
    Table { caption, head, rows }
}

fn same(a: Option<&Figure>, b: &Figure) -> bool {
    a.is_some_and(|a| std::ptr::eq(a, b))
}

fn octets(figure: &Figure) -> String {
    reading::size(figure).map_or_else(|| "–".to_owned(), |s| s.to_string())
}

fn what(figure: &Figure) -> String {
    let path = if reading::is_bypass(figure) { ", direct cable" } else { "" };
    match reading::text(figure, "goal") {
        Some(goal) => format!("throughput ({goal}){path}"),
        None => format!("{}{path}", reading::metric(figure.metric)),
    }
}

/// As [`value_cell`], without the unit that the column's head already says.
fn frames_cell(figure: &Figure) -> Cell {
    bare(value_cell(figure), figure)
}

fn bare(mut cell: Cell, figure: &Figure) -> Cell {
    if figure.unit == Unit::FramesPerSecond {
        for text in [&mut cell.text, &mut cell.note] {
            *text = text.replace("\u{a0}frames/s", "");
        }
    }
    cell
}

/// One rate is four bit rates: RFC 1242's frame, the wire's, the packet's and the payload's.
fn conventions_table(rates: &[&Figure]) -> Table {
    let mut head: Vec<String> =
        ["octets", "IP length", "UDP payload", "what", "frames/s"].map(str::to_owned).into();
    head.extend(RateConvention::ALL.map(|c| c.as_str().to_owned()));
    let rows = rates.iter().filter_map(|f| {
        let (size, value) = (reading::size(f).and_then(frame_size)?, f.value?);
        let mut cells = vec![
            Cell::number(size.to_string()),
            Cell::number(size.ip_length().to_string()),
            Cell::number(size.udp_payload_v4().to_string()),
            Cell::text(what(f)),
            Cell { note: String::new(), ..frames_cell(f) },
        ];
        cells.extend(RateConvention::ALL.map(|convention| {
            Cell::number(words::bit_rate(FrameRate(value).bits_per_second(size, convention)))
        }));
        Some(cells)
    });
    let rows = rows.collect();
    let caption =
        "The same rates in bits a second, in all four conventions: L1 with preamble and gap, \
                   L2 frames with FCS, L3 IP packets, and UDP payload as iperf3 counts."
            .to_owned();
    Table { caption, head, rows }
}

/// Offered, sent, received, lost, duplicated and reordered of a flood.
fn counts_table(figures: &[Figure]) -> Option<Table> {
    const METRICS: [Metric; 6] = [
        Metric::Offered,
        Metric::Sent,
        Metric::Received,
        Metric::Lost,
        Metric::Duplicated,
        Metric::Reordered,
    ];
    let mut rows: BTreeMap<(u64, bool, String), Vec<&Figure>> = BTreeMap::new();
    for figure in figures {
        if METRICS.contains(&figure.metric) && figure.unit == Unit::FramesPerSecond {
            let key = (
                reading::size(figure).unwrap_or(0),
                reading::is_bypass(figure),
                reading::way(figure),
            );
            rows.entry(key).or_default().push(figure);
        }
    }
    if rows.is_empty() {
        return None;
    }
    let mut head: Vec<String> = ["octets", "path"].map(str::to_owned).into();
    head.extend(METRICS.map(|m| reading::metric(m).to_owned()));
    head.push("n".to_owned());
    let rows = rows.into_iter().map(|((size, bypass, way), row)| {
        let path = if bypass { "direct cable" } else { "device" };
        let mut cells = vec![Cell::number(size.to_string()), Cell::path(path).with_note(way)];
        let confidence = common_confidence(&row);
        cells.extend(METRICS.map(|metric| {
            let found = row.iter().find(|f| f.metric == metric);
            let cell = found.map(|f| bare(narrow_cell(f, confidence.as_deref()), f));
            cell.unwrap_or_else(|| Cell::number("–"))
        }));
        cells.push(n_cell(&row, confidence.as_deref()));
        cells
    });
    let rows = rows.collect();
    let caption = "Every frame accounted for under a flood, in frames a second.".to_owned();
    Some(Table { caption, head, rows })
}

fn loss_table(figures: &[Figure]) -> Option<Table> {
    let mut of: Vec<&Figure> = reading::of(figures, Metric::LossRatio).collect();
    if of.is_empty() {
        return None;
    }
    of.sort_by_key(|f| (reading::size(f), reading::is_bypass(f), reading::text(f, "test")));
    let rows = of.into_iter().map(|f| {
        let path = if reading::is_bypass(f) { "direct cable" } else { "device" };
        let load = reading::text(f, "load_percent")
            .map_or_else(|| reading::text(f, "test"), |p| Some(format!("{p}\u{a0}%")));
        let offered = reading::number(f, "offered_frames_per_s");
        let offered = offered.map(|rate| words::value(Unit::FramesPerSecond, rate));
        vec![
            Cell::number(reading::size(f).unwrap_or(0).to_string()),
            Cell::path(path).with_note(reading::way(f)),
            Cell::text(load.unwrap_or_default()),
            Cell::number(offered.unwrap_or_else(|| "–".to_owned())),
            value_cell(f),
            Cell::number(words::count(f.n)),
            caveats::names(&[f]),
        ]
    });
    let rows = rows.collect();
    let head =
        ["octets", "path", "load", "offered", "lost", "n", "caveats"].map(str::to_owned).into();
    Some(Table { caption: "Loss ratio by offered load, in percent of the highest rate (RFC 2544 §26.3), and under \
                   flood."
        .to_owned(), head, rows })
}

/// The sentence that keeps payload, IP length and frame size apart, for each size in use.
fn explained(sizes: &BTreeSet<u64>) -> Option<Block> {
    let lines: Vec<(String, String)> = sizes
        .iter()
        .filter_map(|s| Some((format!("{s} octets"), explain_size(frame_size(*s)?))))
        .collect();
    (!lines.is_empty()).then_some(Block::Glossary(lines))
}
