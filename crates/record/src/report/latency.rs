//! Round trips on the page: a percentile plot and a CDF for each protocol and load, and the table
//! of quantiles. Histograms are merged over valid trials; intervals come from the figures, never
//! from here.

use std::collections::{BTreeMap, BTreeSet};

use measure::Histogram;
use page::{
    Axis, Block, Cell, Column, Figure, Image, Key, Metric, Picture, Plot, Point, Room, Scale,
    Section, Series, Table, Unit,
};
use trial::record::FlowRecord;
use trial::{FlowKind, Protocol, Role, Schedule};
use trial::{Trial, TrialRecord};

use super::frames::{self, Frames};
use super::reading;
use super::subject::{self, Who};
use page::numbers;
use page::words;

/// The points of a percentile plot that a pointer can find.
const MARKED: [f64; 9] = [0.0, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999_999];

/// Which round trips belong in one distribution: protocol, load, size asked, device or cable.
type Case = (Protocol, String, u32, Who);

/// Round trips of one size through one device, or over the cable.
type Trips<'a> = (u32, &'a Who, &'a Histogram);

/// The section; `None` where nothing of the kind was measured.
pub(super) fn section(prefix: &str, figures: &[Figure], merged: &Merged) -> Option<Section> {
    let merged = &merged.0;
    let mut blocks = Vec::new();
    let plots: BTreeSet<(Protocol, String)> =
        merged.keys().map(|(p, load, ..)| (*p, load.clone())).collect();
    for (protocol, load) in plots {
        let cases: Vec<Trips<'_>> = merged
            .iter()
            .filter(|((p, l, ..), _)| *p == protocol && *l == load)
            .map(|((.., size, who), histogram)| (*size, who, histogram))
            .collect();
        let name = protocol.as_str().to_uppercase();
        blocks.push(Block::Subheading(format!("{name} RTT, {load}")));
        blocks.push(Block::Pictures(pictures(&name, &load, &cases)));
    }
    blocks.extend(added_table(figures).map(Block::Table));
    blocks.extend(drift_table(figures).map(Block::Table));
    blocks.extend(rtt_table(figures).map(Block::Table));
    blocks.extend(pdv_table(figures).map(Block::Table));
    blocks.extend(ipdv_table(figures).map(Block::Table));
    (!blocks.is_empty()).then(|| Section {
        id: format!("{prefix}-latency"),
        heading: "Latency".to_owned(),
        blocks,
    })
}

/// Round trips of each case, merged over its valid trials.
#[derive(Debug, Default)]
pub(super) struct Merged(BTreeMap<Case, Histogram>);

impl Merged {
    /// Adds a valid trial's.
    pub(super) fn take(&mut self, trial: &Trial, record: &TrialRecord) {
        let mut load = None;
        for (flow, done) in trial.flows.iter().zip(&record.flows) {
            if let (Role::Measured, FlowKind::Echo(echo), FlowRecord::Echo(done)) =
                (flow.role, &flow.kind, done)
                && !done.rtt.is_empty()
            {
                let who = Who::of_trial(trial);
                let load = load.get_or_insert_with(|| load_of(trial)).clone();
                let case = (echo.protocol, load, echo.frame_size.octets(), who);
                self.0.entry(case).or_default().merge(&done.rtt);
            }
        }
    }
}

/// What kept the path busy beside the measured flows, in words.
fn load_of(trial: &Trial) -> String {
    let loads: Vec<String> = trial
        .flows
        .iter()
        .filter(|f| f.role == Role::Load)
        .map(|f| match &f.kind {
            FlowKind::Datagrams(d) => match d.schedule {
                Schedule::Paced(rate) => format!(
                    "under load of {} of {} octets",
                    words::value(Unit::FramesPerSecond, rate.0),
                    d.frames
                ),
                Schedule::Greedy | Schedule::Burst(_) | Schedule::Falling { .. } => {
                    format!("under a flood of {} octets", d.frames)
                }
            },
            FlowKind::Bulk(b) => {
                format!(
                    "under load of {} ({})",
                    words::streams(b.streams.into()),
                    b.congestion_control
                )
            }
            FlowKind::Echo(_) => "beside other RTT probes".to_owned(),
            FlowKind::Exchange(e) => format!("beside an exchange of messages of {}", e.message),
            FlowKind::Storage(s) => format!("beside reads and writes of {}", s.bs),
        })
        .collect();
    if loads.is_empty() { "idle".to_owned() } else { loads.join(", ") }
}

/// Both distributions of all cases, or, where there are several devices, of each size by itself.
fn pictures(name: &str, load: &str, cases: &[Trips<'_>]) -> Vec<Picture> {
    if !several_devices(cases) {
        return vec![percentile_picture(name, load, cases), cdf_picture(name, load, cases)];
    }
    let sizes: BTreeSet<u32> = cases.iter().map(|(size, ..)| *size).collect();
    let of_size = |size: u32| {
        let own: Vec<Trips<'_>> = cases.iter().copied().filter(|(s, ..)| *s == size).collect();
        let name = format!("{size}-octet {name}");
        [percentile_picture(&name, load, &own), cdf_picture(&name, load, &own)]
    };
    sizes.into_iter().flat_map(of_size).collect()
}

/// What a picture's colours tell apart: sizes, or devices where there are several.
const fn coloured(several: bool) -> &'static str {
    if several { "One colour for each device" } else { "One colour for each frame size in octets" }
}

fn several_devices(cases: &[Trips<'_>]) -> bool {
    let devices: BTreeSet<&Who> =
        cases.iter().map(|(_, who, _)| *who).filter(|who| !who.is_cable()).collect();
    devices.len() > 1
}

/// The series' name, colour and dash: the bypass dashed and hollow.
fn style(size: u32, who: &Who, cases: &[Trips<'_>]) -> (String, usize, bool) {
    if several_devices(cases) {
        let whos: BTreeSet<&Who> = cases.iter().map(|(_, who, _)| *who).collect();
        let colour = whos.iter().position(|other| *other == who).unwrap_or(0);
        return (who.name(), colour, who.is_cable());
    }
    let sizes: BTreeSet<u32> = cases.iter().map(|(s, ..)| *s).collect();
    let colour = sizes.iter().position(|s| *s == size).unwrap_or(0);
    let cable = if who.is_cable() { ", direct cable" } else { "" };
    (format!("{size}{cable}"), colour, who.is_cable())
}

fn percentile_picture(name: &str, load: &str, cases: &[Trips<'_>]) -> Picture {
    let last = |h: &Histogram| (1.0 - 1.0 / h.count().max(1) as f64).clamp(0.0, 0.999_999);
    let highest = cases.iter().map(|(.., h)| last(h)).fold(0.9, f64::max);
    let series: Vec<Series> = cases
        .iter()
        .map(|(size, who, h)| {
            let (name, colour, dashed) = style(*size, who, cases);
            let at = |q: f64| (q, h.quantile(q).0 as f64);
            // Evenly along the axis, which is logarithmic in 1 - q.
            let end = -(1.0 - last(h)).log10();
            let line = (0..=120).map(|i| at(1.0 - 10f64.powf(-end * f64::from(i) / 120.0)));
            let points = MARKED.iter().filter(|q| **q <= last(h)).map(|q| {
                let (x, y) = at(*q);
                let text = format!("{} {}", words::quantile(*q), words::time(y));
                Point { x, y, whisker: None, text, row: None }
            });
            Series {
                name,
                colour: Some(colour),
                dashed,
                line: line.collect(),
                points: points.collect(),
            }
        })
        .collect();
    let values = series.iter().flat_map(|s| s.line.iter().map(|(_, y)| *y));
    let y = Axis::over("round-trip time, log scale", Scale::Log, values, |v| {
        words::tick(Unit::Nanoseconds, v)
    });
    let x = Axis::percentiles("percentile (each further nine as wide as the last)", highest);
    let title = format!("{name} round-trip time by percentile, {load}");
    let n: u64 = cases.iter().map(|(.., h)| h.count()).sum();
    let caption = format!(
        "{title}. {}; solid through the device, dashed over the direct cable. All valid trials together, \
         {} round trips.",
        coloured(several_devices(cases)),
        words::count(n)
    );
    Picture { image: Image::Plot(Plot { title, x, y, series }), caption }
}

fn cdf_picture(name: &str, load: &str, cases: &[Trips<'_>]) -> Picture {
    let series: Vec<Series> = cases
        .iter()
        .map(|(size, who, h)| {
            let (name, colour, dashed) = style(*size, who, cases);
            let at = |q: f64| (h.quantile(q).0 as f64, q);
            let line = (0..=199).map(|i| at(f64::from(i) / 200.0)).chain([at(0.999)]);
            let points = [0.1, 0.25, 0.5, 0.75, 0.9, 0.99].map(|q| {
                let (x, y) = at(q);
                let text =
                    format!("{} of round trips take at most {}", words::percent(q), words::time(x));
                Point { x, y, whisker: None, text, row: None }
            });
            Series {
                name,
                colour: Some(colour),
                dashed,
                line: line.collect(),
                points: points.into(),
            }
        })
        .collect();
    let values = series.iter().flat_map(|s| s.line.iter().map(|(x, _)| *x));
    let x = Axis::over("round-trip time, log scale, up to p99.9", Scale::Log, values, |v| {
        words::tick(Unit::Nanoseconds, v)
    });
    let y = Axis::over("share of round trips", Scale::Linear, [0.0, 1.0].into_iter(), |v| {
        words::tick(Unit::Ratio, v)
    });
    let title = format!("Cumulative distribution of the {name} round-trip time, {load}");
    let caption = format!("{title}. Steeper and further left is better.");
    Picture { image: Image::Plot(Plot { title, x, y, series }), caption }
}

/// One row for each case, one column for each quantile of the metric.
fn quantile_table(figures: &[Figure], metric: Metric, title: &str) -> Option<Table> {
    // The forwarding study's own delays stand in its section.
    let of: Vec<&Figure> = reading::of(figures, metric).filter(|f| f.is_of("latency")).collect();
    let mut quantiles: Vec<f64> = of.iter().filter_map(|f| f.quantile).collect();
    quantiles.sort_by(f64::total_cmp);
    quantiles.dedup();
    let key = |f: &Figure| {
        (
            reading::text(f, Key::Protocol).unwrap_or_default(),
            reading::load(f),
            Frames::of_figure(f),
            Who::of_figure(f),
            reading::way(f),
        )
    };
    let mut rows: BTreeMap<_, Vec<&Figure>> = BTreeMap::new();
    for figure in &of {
        rows.entry(key(figure)).or_default().push(figure);
    }
    let mut columns: Vec<Column> =
        ["protocol", "octets", "load", "device"].map(Column::from).into();
    columns.extend(quantiles.iter().map(|q| Column { name: words::quantile(*q), room: room(*q) }));
    columns.extend(["n", "limited by"].map(Column::from));
    let rows = rows.into_iter().map(|((protocol, load, ..), row)| {
        let mut cells = vec![
            Cell::text(protocol.to_uppercase()),
            frames::cell(row[0]),
            Cell::text(short_load(&load)),
            subject::cell(row[0]),
        ];
        cells.extend(quantiles.iter().map(|q| {
            let found = row.iter().find(|f| f.quantile.is_some_and(|x| x.total_cmp(q).is_eq()));
            Cell::value_or_missing(found.copied())
        }));
        cells.extend([Cell::samples(&row), Cell::limit(&row)]);
        cells
    });
    Table::new(title, columns).sparing(&["n"]).with_rows(rows).unless_empty()
}

/// `idle`, `tcp x4`, `udp 50 k/s`, and `@512` behind it where the frames are not the smallest.
pub(super) fn short_load(load: &str) -> String {
    let words: Vec<&str> = load.split(' ').collect();
    match words.as_slice() {
        ["tcp", streams, _, "cubic"] => format!("tcp x{streams}"),
        ["tcp", streams, _, control] => format!("tcp x{streams} {control}"),
        ["udp", rate, "frames/s", "of", size] => match rate.parse() {
            Ok(rate) if *size == "64" => format!("udp {}/s", numbers::short(rate)),
            Ok(rate) => format!("udp {}/s@{size}", numbers::short(rate)),
            Err(_) => load.to_owned(),
        },
        _ => load.to_owned(),
    }
}

/// Medians and tails stay; extremes and what lies between go first.
fn room(quantile: f64) -> Room {
    match quantile {
        q if q <= 0.0 => Room::Spare(32),
        q if q < 0.5 => Room::Always,
        q if q >= 1.0 => Room::Spare(20),
        q if (0.6..0.95).contains(&q) => Room::Spare(31),
        _ => Room::Always,
    }
}

fn rtt_table(figures: &[Figure]) -> Option<Table> {
    let table = quantile_table(figures, Metric::Rtt, "Round-trip time")?;
    Some(table.with_note("Under each value its interval."))
}

fn added_table(figures: &[Figure]) -> Option<Table> {
    let title = "Added by the device to the round trip: through it less over the direct cable";
    let table = quantile_table(figures, Metric::RttAdded, title)?;
    let apart = figures.iter().any(|figure| {
        figure.metric == Metric::RttAdded && figure.conditions.contains_key(&Key::BypassRounds)
    });
    Some(table.with_note(if apart {
        "The direct cable was measured at another time: the interval holds what rounds of it differ by."
    } else {
        "Block by block."
    }))
}

fn drift_table(figures: &[Figure]) -> Option<Table> {
    let title = "Drift of the direct cable alone: its last round less its first";
    let table = quantile_table(figures, Metric::BypassDrift, title)?;
    Some(table.with_note("An added latency that is no larger than this is undetermined."))
}

fn pdv_table(figures: &[Figure]) -> Option<Table> {
    let table = quantile_table(figures, Metric::Pdv, "Delay variation, PDV (RFC 5481)")?;
    Some(table.with_note("Each round trip less the smallest."))
}

fn ipdv_table(figures: &[Figure]) -> Option<Table> {
    let table = quantile_table(figures, Metric::Ipdv, "Delay variation, IPDV (RFC 5481)")?;
    Some(table.with_note("Each round trip less the one before it, signed."))
}
