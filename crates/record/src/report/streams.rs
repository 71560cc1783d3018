//! TCP streams on the page: goodput, congestion window, smoothed round-trip time and retransmits
//! over time, of the first valid trials that had streams. Never averages over trials.

use std::collections::BTreeSet;

use measure::Nanos;
use measure::reading::StreamPoint;
use page::{
    Axis, Block, Cell, Figure, Image, Key, Metric, PALETTE, Picture, Plot, Point, Scale, Section,
    Series, Table, Unit,
};
use trial::record::{BulkRecord, FlowRecord, StreamRecord};
use trial::{Bulk, FlowKind, Role};
use trial::{Trial, TrialRecord};

use super::subject::{self, Who};
use super::{latency, reading};
use crate::seconds::{Second, seconds};
use crate::words;

/// One of each label and path is shown, and no more trials than this.
const MOST_TRIALS: usize = 4;

/// The table's rows: a second each where the trial is not longer than this.
const MOST_ROWS: u64 = 120;

/// The section; `None` where no trial had streams.
pub(super) fn section(
    prefix: &str,
    figures: &[Figure],
    records: &[(Trial, TrialRecord)],
) -> Option<Section> {
    let mut seen = BTreeSet::new();
    // The buffer study's own streams are shown with its figures.
    let elsewhere = figures.iter().any(|f| f.is_of("buffer"));
    let mut blocks: Vec<Block> = figures_table(figures).map(Block::Table).into_iter().collect();
    for (trial, record) in records.iter().filter(|(_, r)| r.outcome.is_valid()) {
        for (flow, done) in trial.flows.iter().zip(&record.flows) {
            if let (FlowKind::Bulk(bulk), FlowRecord::Bulk(done)) = (&flow.kind, done)
                && !(elsewhere && flow.role == Role::Measured)
                && seen.len() < MOST_TRIALS
                && seen.insert((trial.label.clone(), Who::of_trial(trial)))
            {
                let path = Who::of_trial(trial).name();
                let role = if flow.role == Role::Load { "as load, " } else { "" };
                blocks.push(Block::Subheading(format!("{} ({role}{path})", trial.label)));
                blocks.push(Block::Paragraph(summary(done)));
                blocks.push(Block::Pictures(pictures(bulk, done)));
            }
        }
    }
    (!blocks.is_empty()).then(|| Section {
        id: format!("{prefix}-streams"),
        heading: "TCP over time".to_owned(),
        blocks,
    })
}

/// Goodput and retransmits as the studies state them.
fn figures_table(figures: &[Figure]) -> Option<Table> {
    let shown = |f: &&Figure| matches!(f.metric, Metric::Goodput | Metric::Retransmits);
    let of = figures.iter().filter(shown).filter(|f| !f.is_of("buffer"));
    let rows: Vec<Vec<Cell>> = of
        .map(|f| {
            let protocol = reading::text(f, Key::Protocol).unwrap_or_default().to_uppercase();
            let size = reading::text(f, Key::FrameSize).unwrap_or_default();
            vec![
                Cell::text(f.metric.as_str()),
                Cell::text(latency::short_load(&reading::load(f))),
                Cell::text(format!("{protocol} {size}").trim()),
                subject::cell(f),
                Cell::value(f),
                Cell::samples(&[f]),
                Cell::limit(&[f]),
            ]
        })
        .collect();
    let head = ["metric", "load", "beside", "device", "value", "n", "limited by"];
    Table::new("The load beside the round trips", head)
        .sparing(&["n"])
        .with_note("TCP payload a second at the receiver, and retransmits, per trial.")
        .with_rows(rows)
        .unless_empty()
}

pub(super) fn summary(done: &BulkRecord) -> String {
    let seconds = done.elapsed.as_secs_f64();
    let goodput = if seconds > 0.0 { done.received.0 as f64 * 8.0 / seconds } else { 0.0 };
    let last = |pick: fn(&StreamPoint) -> u64| -> u64 {
        done.streams.iter().filter_map(|s| s.points.last()).map(pick).sum()
    };
    let busy = last(|p| p.busy.0).max(1) as f64;
    format!(
        "{} with {}: {} of payload in {}, goodput {}, {} segments sent again. Of the busy time \
         {} was spent waiting for the receiver's window and {} for the sender's own buffer.",
        words::streams(done.streams.len()),
        done.congestion_control,
        words::value(Unit::Bytes, done.received.0 as f64),
        words::time(done.elapsed.0 as f64),
        words::bit_rate(goodput),
        words::count(last(|p| p.retransmits)),
        words::percent(last(|p| p.rwnd_limited.0) as f64 / busy),
        words::percent(last(|p| p.sndbuf_limited.0) as f64 / busy),
    )
}

/// All streams together.
pub(super) fn second_by_second(bulk: &Bulk, done: &BulkRecord) -> Table {
    let row = |second: Second| {
        let seconds = |at: Nanos| words::trimmed(at.as_secs_f64(), 3);
        vec![
            Cell::text(format!("{}–{}", seconds(second.from), seconds(second.to))),
            Cell::number(words::value(Unit::Bytes, second.received.0 as f64)),
            Cell::number(words::bit_rate(second.goodput())),
            Cell::number(words::count(second.retransmits)),
            Cell::number(words::value(Unit::Bytes, second.cwnd.0 as f64)),
            Cell::number(words::time(second.srtt.0 as f64)),
            Cell::number(words::bit_rate(second.delivery_rate as f64)),
        ]
    };
    let head = [
        "interval, s",
        "received",
        "goodput",
        "sent again",
        "window",
        "smoothed round trip",
        "delivery rate",
    ];
    let caption = "Payload received, segments sent again, and at each interval's end the windows \
                   and delivery rates summed and the smoothed round trip averaged over the streams."
        .to_owned();
    Table::new(caption, head).with_rows(seconds(bulk, done, MOST_ROWS).into_iter().map(row))
}

pub(super) fn pictures(bulk: &Bulk, done: &BulkRecord) -> Vec<Picture> {
    let per_second = 1.0 / bulk.interval.as_secs_f64().max(1e-9);
    let interval = bulk.interval.as_secs_f64();
    let goodput = |s: &StreamRecord| -> Vec<(f64, f64)> {
        let ends = s.received.iter().enumerate();
        ends.map(|(i, b)| ((i + 1) as f64 * interval, b.0 as f64 * 8.0 * per_second)).collect()
    };
    let reading = |pick: fn(&StreamPoint) -> f64| {
        move |s: &StreamRecord| -> Vec<(f64, f64)> {
            s.points.iter().map(|p| (p.at.as_secs_f64(), pick(p))).collect()
        }
    };
    let retransmits = |s: &StreamRecord| -> Vec<(f64, f64)> {
        let mut before = 0;
        let each = |p: &StreamPoint| {
            let new = p.retransmits.saturating_sub(before);
            before = p.retransmits;
            (p.at.as_secs_f64(), new as f64)
        };
        s.points.iter().map(each).collect()
    };
    let cwnd = reading(|p| p.cwnd.0 as f64);
    let srtt = reading(|p| p.srtt.0 as f64);
    vec![
        picture("Goodput at the receiver", Unit::BitsPerSecond, done, goodput),
        picture("Congestion window", Unit::Bytes, done, cwnd),
        picture("Smoothed round-trip time", Unit::Nanoseconds, done, srtt),
        picture("Segments sent again in each interval", Unit::Count, done, retransmits),
    ]
}

fn picture(
    title: &str,
    unit: Unit,
    done: &BulkRecord,
    mut values: impl FnMut(&StreamRecord) -> Vec<(f64, f64)>,
) -> Picture {
    let series: Vec<Series> = done
        .streams
        .iter()
        .enumerate()
        .map(|(i, stream)| {
            let line = values(stream);
            let points = line.iter().map(|(x, y)| Point {
                x: *x,
                y: *y,
                whisker: None,
                text: format!("at {} s: {}", words::trimmed(*x, 3), words::value(unit, *y)),
            });
            let points = points.collect();
            Series {
                name: format!("stream {}", i + 1),
                colour: Some(i),
                dashed: i >= PALETTE,
                line,
                points,
            }
        })
        .collect();
    let all = || series.iter().flat_map(|s| s.line.iter());
    let seconds = |v| words::trimmed(v, 3);
    // It ends where the load ends, not at the next round number.
    let ends = all().map(|p| p.0).chain([done.elapsed.as_secs_f64()]);
    let x = Axis::exact("seconds since the load began", ends, seconds);
    let label = match unit {
        Unit::Count => "segments",
        _ => "each stream",
    };
    let y = Axis::over(label, Scale::Linear, all().map(|p| p.1), |v| words::tick(unit, v));
    let plot = Plot { title: title.to_owned(), x, y, series };
    Picture { image: Image::Plot(plot), caption: format!("{title}, for each stream.") }
}
