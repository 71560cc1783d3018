//! Each case's first valid trial over time, as iperf3 prints it and plotted. Never averages over
//! trials.

use std::collections::BTreeSet;

use measure::reading::StreamPoint;
use page::{Axis, Block, Image, PALETTE, Picture, Plot, Point, Scale, Series, Unit};
use trial::record::{BulkRecord, FlowRecord};
use trial::{Bulk, FlowKind, Role};
use trial::{Trial, TrialRecord};

use super::super::streams;
use super::super::subject::Who;
use crate::words;

/// No more trials than this are shown.
const MOST_TRIALS: usize = 12;

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
            table: streams::second_by_second(bulk, done),
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
