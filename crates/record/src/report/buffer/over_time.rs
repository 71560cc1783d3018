//! Each case's first valid trial over time, as iperf3 prints it and plotted. Never averages over
//! trials.

use std::collections::BTreeSet;

use measure::reading::StreamPoint;
use method::figure::Unit;
use method::record::{BulkRecord, FlowRecord};
use method::trial::{Bulk, FlowKind, Role};
use method::{Trial, TrialRecord};

use super::super::streams;
use super::super::subject::Who;
use super::super::view::{Block, Cell, Table};
use crate::words;

/// No more trials than this are shown.
const MOST_TRIALS: usize = 12;

/// The table's rows: a second each where the trial is not longer than this.
const MOST_ROWS: u64 = 120;

/// Headings, pictures and folded tables.
pub(super) fn blocks(records: &[(Trial, TrialRecord)]) -> Vec<Block> {
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
        blocks.push(Block::Pictures(streams::pictures(bulk, done)));
        blocks.push(Block::Folded {
            summary: "Second by second, all streams together".to_owned(),
            table: table(bulk, done),
        });
    }
    blocks
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
    let rows = (0..intervals / in_row).map(row).collect();
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
    Table { caption, head: head.map(str::to_owned).into(), rows }
}
