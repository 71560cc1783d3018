//! Cases over time: their first valid trials in one plot, and each in the form of iperf3's output.
//! Never averages over trials.

use measure::reading::StreamPoint;
use page::{Block, Picture, Unit};

use crate::view::Who;
use crate::view::streams::{self, Case};

/// All cases over time, one line each; then each case's sums and folded table. `rate` is the
/// link's, in bits a second, and converts queueing delay to octets.
pub(super) fn blocks(cases: &[Case<'_>], rate: f64) -> Vec<Block> {
    if cases.is_empty() {
        return Vec::new();
    }
    let mut pictures = streams::overlay(cases);
    pictures.push(queue(cases, rate));
    let mut blocks = vec![
        Block::Subheading("All cases over time: the first valid trial of each".to_owned()),
        Block::Pictures(pictures),
    ];
    for case in cases {
        let (label, who) = (&case.trial.label, Who::from_trial(case.trial).name());
        blocks.extend(streams::sums(case, format!("{label} ({who})")));
        blocks.push(Block::Folded {
            summary: "Second by second, all streams together".to_owned(),
            table: streams::second_by_second(case.bulk, case.done),
        });
    }
    blocks
}

/// Queued octets on the path: the RTT less the shortest, times the link's rate.
fn queue(cases: &[Case<'_>], rate: f64) -> Picture {
    let line = |case: &Case<'_>| -> Vec<(f64, f64)> {
        let streams = &case.done.streams;
        let shortest = streams.iter().flat_map(|s| &s.points).map(|p| p.min_rtt.0);
        let shortest = shortest.filter(|rtt| *rtt > 0).min().unwrap_or(u64::MAX);
        // With several streams, each shows the same queue.
        let points = streams.first().map_or(&[][..], |stream| &stream.points);
        let waiting = |p: &StreamPoint| {
            let waited = p.srtt.0.saturating_sub(shortest) as f64 / 1e9;
            (p.at.as_secs_f64(), waited * rate / 8.0)
        };
        points.iter().map(waiting).collect()
    };
    let note = " All flows' octets: the smoothed RTT less the shortest, times the link's rate.";
    streams::overlaid("Queue depth by delay", Unit::Bytes, note, cases, line)
}
