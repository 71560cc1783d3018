//! TCP of a trial second by second, as iperf3 prints it.
//!
//! Owns the sums of a flow's streams over each second, for the page and for the terminal. Never
//! averages over trials.

use std::borrow::Cow;
use std::fmt::Write as _;

use measure::reading::StreamPoint;
use measure::{ByteCount, Nanos};
use page::Unit;
use trial::record::BulkRecord;
use trial::{Bulk, FlowKind, Path, Role, Trial, TrialRecord};

use page::numbers;

/// All streams of a flow over one second, or over several if there are too many.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Second {
    /// Start, after the load's start.
    pub from: Nanos,
    /// End, after the load's start.
    pub to: Nanos,
    /// Payload received.
    pub received: ByteCount,
    /// Retransmitted segments.
    pub retransmits: u64,
    /// Sum of the congestion windows at the end.
    pub cwnd: ByteCount,
    /// Smoothed round trip at the end, mean over the streams.
    pub srtt: Nanos,
    /// Sum of the delivery rates at the end, in bits per second.
    pub delivery_rate: u64,
}

impl Second {
    /// Payload in bits per second.
    pub fn goodput(&self) -> f64 {
        let length = self.to.saturating_sub(self.from).as_secs_f64();
        if length > 0.0 { self.received.0 as f64 * 8.0 / length } else { 0.0 }
    }
}

/// Returns the seconds in order; each is longer than a second if there would be more than `most`.
pub fn seconds(bulk: &Bulk, done: &BulkRecord, most: u64) -> Vec<Second> {
    let per_second = (1_000_000_000 / bulk.interval.0.max(1)).max(1);
    let arrived: Vec<Cow<'_, [ByteCount]>> = done.streams.iter().map(|s| s.arrived()).collect();
    let intervals = arrived.iter().map(|of| of.len()).max().unwrap_or(0) as u64;
    let in_row = per_second * intervals.div_ceil(per_second * most.max(1)).max(1);
    let mut again_before = 0;
    let row = |at: u64| {
        let (from, to) = ((at * in_row) as usize, ((at + 1) * in_row) as usize);
        let octets = arrived
            .iter()
            .flat_map(|of| of.get(from..to.min(of.len())).unwrap_or_default())
            .map(|octets| octets.0)
            .sum();
        let last = |pick: fn(&StreamPoint) -> u64| -> u64 {
            let readings = done.streams.iter().filter_map(|s| s.points.get(..to)?.last());
            readings.map(pick).sum()
        };
        let again = last(|p| p.retransmits);
        let new = again.saturating_sub(again_before);
        again_before = again;
        Second {
            from: bulk.interval * (at * in_row),
            to: bulk.interval * ((at + 1) * in_row),
            received: ByteCount(octets),
            retransmits: new,
            cwnd: ByteCount(last(|p| p.cwnd.0)),
            srtt: Nanos(last(|p| p.srtt.0) / done.streams.len().max(1) as u64),
            delivery_rate: last(|p| p.delivery_rate.0),
        }
    };
    (0..intervals / in_row).map(row).collect()
}

/// Formats a trial's measured streams for a terminal, one line per second; seconds before `omit`
/// are marked. `None` for a trial without TCP, or that went wrong.
pub fn lines(trial: &Trial, record: &TrialRecord, omit: Nanos) -> Option<String> {
    /// A day.
    const MOST: u64 = 86_400;
    let path = match trial.path {
        Path::Device => "",
        Path::Bypass => ", direct cable",
    };
    let mut out = String::new();
    for (flow, done) in trial.flows.iter().zip(&record.flows) {
        let (Role::Measured, FlowKind::Bulk(bulk), Some(done)) =
            (flow.role, &flow.kind, done.bulk())
        else {
            continue;
        };
        let (from, to, number) = (&flow.from, &flow.to, trial.block + 1);
        let _ = writeln!(out, "[{from} -> {to}{path}] {}, repetition {number}", trial.label);
        let _ = writeln!(out, "  interval, s    transfer       bitrate  retr      cwnd       RTT");
        for second in seconds(bulk, done, MOST) {
            let span = format!("{:.2}-{:.2}", second.from.as_secs_f64(), second.to.as_secs_f64());
            let _ = writeln!(
                out,
                "{span:>13} {:>11} {:>13} {:>5} {:>9} {:>9}{}",
                numbers::value(Unit::Bytes, second.received.0 as f64),
                numbers::value(Unit::BitsPerSecond, second.goodput()),
                second.retransmits,
                numbers::value(Unit::Bytes, second.cwnd.0 as f64),
                numbers::value(Unit::Nanoseconds, second.srtt.0 as f64),
                if second.to <= omit { "  (omitted)" } else { "" },
            );
        }
    }
    (record.outcome.is_valid() && !out.is_empty()).then_some(out)
}
