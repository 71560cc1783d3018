//! Each case's first valid trial over time, as iperf3 prints it and plotted. Never averages over
//! trials.

use std::collections::BTreeSet;

use measure::reading::StreamPoint;
use page::{Axis, Block, Cell, Image, PALETTE, Picture, Plot, Point, Scale, Series, Table, Unit};
use trial::record::{BulkRecord, FlowRecord};
use trial::{Bulk, FlowKind, Role};
use trial::{Trial, TrialRecord};

use super::super::streams;
use super::super::subject::Who;
use crate::words;

/// No more trials than this are shown.
const MOST_TRIALS: usize = 12;

/// The table's rows: a second each where the trial is not longer than this.
const MOST_ROWS: u64 = 120;

/// Headings, pictures and folded tables. `rate` is the link's, in bits a second: it turns the time
/// that frames waited into octets.
pub(super) fn blocks(records: &[(Trial, TrialRecord)], rate: Option<f64>) -> Vec<Block> {
    let mut seen = BTreeSet::new();
    let mut blocks = Vec::new();
    for (trial, record) in records.iter().filter(|(_, r)| r.outcome.is_valid()) {
        let Some((bulk, done)) = measured(trial, record) else { continue };
        let who = Who::of_trial(trial);
        if seen.len() == MOST_TRIALS || !seen.insert((trial.label.clone(), who.clone())) {
            continue;
        }
        blocks.push(Block::Subheading(format!("{} ({})", trial.label, who.name())));
        blocks.push(Block::Paragraph(streams::summary(done)));
        let mut pictures = streams::pictures(bulk, done);
        pictures.extend(rate.and_then(|rate| queue(done, rate)));
        blocks.push(Block::Pictures(pictures));
        blocks.push(Block::Folded {
            summary: "Second by second, all streams together".to_owned(),
            table: table(bulk, done),
        });
    }
    blocks
}

/// What waited on the way: by how much the round trip exceeds the shortest, times the link's rate.
fn queue(done: &BulkRecord, rate: f64) -> Option<Picture> {
    let shortest = done.streams.iter().flat_map(|s| &s.points).map(|p| p.min_rtt.0);
    let shortest = shortest.filter(|rtt| *rtt > 0).min()?;
    let series: Vec<Series> = (0..)
        .zip(&done.streams)
        .map(|(at, stream)| {
            let of = |p: &StreamPoint| {
                let waited = p.srtt.0.saturating_sub(shortest) as f64 / 1e9;
                (p.at.as_secs_f64(), waited * rate / 8.0)
            };
            let line: Vec<(f64, f64)> = stream.points.iter().map(of).collect();
            let told = |(x, y): &(f64, f64)| Point {
                x: *x,
                y: *y,
                whisker: None,
                text: format!("at {} s: {}", words::trimmed(*x, 3), words::value(Unit::Bytes, *y)),
            };
            let points = line.iter().map(told).collect();
            let name = format!("stream {}", at + 1);
            Series { name, colour: Some(at), dashed: at >= PALETTE, line, points }
        })
        .collect();
    let all = || series.iter().flat_map(|s| s.line.iter());
    let ends = all().map(|p| p.0).chain([done.elapsed.as_secs_f64()]);
    let x = Axis::exact("seconds since the load began", ends, |v| words::trimmed(v, 3));
    let y = Axis::over("all flows' octets", Scale::Linear, all().map(|p| p.1), |v| {
        words::tick(Unit::Bytes, v)
    });
    let title = "Queue depth by delay".to_owned();
    let caption =
        format!("{title}: the smoothed round trip less the shortest, times the link's rate.");
    let plot = Plot { title, x, y, series };
    Some(Picture { image: Image::Plot(plot), caption })
}

/// The trial's TCP, where it is what was measured.
pub(in crate::report) fn measured<'a>(
    trial: &'a Trial,
    record: &'a TrialRecord,
) -> Option<(&'a Bulk, &'a BulkRecord)> {
    trial.flows.iter().zip(&record.flows).find_map(|(flow, done)| match (&flow.kind, done) {
        (FlowKind::Bulk(bulk), FlowRecord::Bulk(done)) if flow.role == Role::Measured => {
            Some((bulk, done))
        }
        _ => None,
    })
}

fn table(bulk: &Bulk, done: &BulkRecord) -> Table {
    let per_second = (1_000_000_000 / bulk.interval.0.max(1)).max(1);
    let intervals = done.streams.iter().map(|s| s.received.len()).max().unwrap_or(0) as u64;
    let in_row = per_second * intervals.div_ceil(per_second * MOST_ROWS).max(1);
    let length = bulk.interval * in_row;
    let mut again_before = 0;
    let row = |at: u64| {
        let (from, to) = ((at * in_row) as usize, ((at + 1) * in_row) as usize);
        let octets: u64 = done
            .streams
            .iter()
            .flat_map(|s| s.received.get(from..to.min(s.received.len())).unwrap_or_default())
            .map(|octets| octets.0)
            .sum();
        let last = |pick: fn(&StreamPoint) -> u64| -> u64 {
            let readings = done.streams.iter().filter_map(|s| s.points.get(..to)?.last());
            readings.map(pick).sum()
        };
        let again = last(|p| p.retransmits);
        let new = again.saturating_sub(again_before);
        again_before = again;
        let streams = done.streams.len().max(1) as f64;
        let seconds = length.as_secs_f64();
        let begin = at as f64 * seconds;
        vec![
            Cell::text(format!(
                "{}–{}",
                words::trimmed(begin, 3),
                words::trimmed(begin + seconds, 3)
            )),
            Cell::number(words::value(Unit::Bytes, octets as f64)),
            Cell::number(words::bit_rate(octets as f64 * 8.0 / seconds)),
            Cell::number(words::count(new)),
            Cell::number(words::value(Unit::Bytes, last(|p| p.cwnd.0) as f64)),
            Cell::number(words::time(last(|p| p.srtt.0) as f64 / streams)),
            Cell::number(words::bit_rate(last(|p| p.delivery_rate.0) as f64)),
        ]
    };
    let rows = (0..intervals / in_row).map(row);
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
    Table::new(caption, head).with_rows(rows)
}
