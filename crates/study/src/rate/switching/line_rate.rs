//! Tests with every port at (almost) line rate: pairs of ports, then all to all (RFC 8239 §2).
//!
//! Owns the load: 99.98 % of line rate, because two ports' clocks may differ by 100 ppm each. A
//! loss at that load is a figure, not a failure.

use measure::{FrameRate, FrameSize, Histogram};

use super::super::counts::{Count, flooded};
use super::congestion::LINE_SHARE;
use super::finding::{Delays, LineRateCase, Rates};
use super::rig::{Offer, Rig};
use super::throughput::share;
use super::{Pattern, SwitchTest};
use crate::Row;
use crate::verdict::Driven;
use page::{Caveat, Key, Metric, Unit};
use trial::{Destination, Flow, Gate, Result};

const TEST: SwitchTest = SwitchTest::LineRate;

/// Runs every pattern and size.
pub(super) fn run(rig: &mut Rig<'_, '_>) -> Result<Vec<LineRateCase>> {
    let mut cases = Vec::new();
    for pattern in [Pattern::Pairs, Pattern::Mesh] {
        for size in rig.spec.frames.clone() {
            cases.push(measure(rig, pattern, size)?);
        }
    }
    Ok(cases)
}

fn measure(rig: &mut Rig<'_, '_>, pattern: Pattern, size: FrameSize) -> Result<LineRateCase> {
    let ports = rig.ports.len();
    let mut row = rig.row(TEST, Some(size));
    row.set(Key::Pattern, pattern.as_str());
    let Some(line) = rig.line_rate(size) else {
        row.caveats.insert(Caveat::MediaRateUnknown);
        return Ok(without_trial(pattern, size, &row));
    };
    let rate = FrameRate(line.0 * LINE_SHARE);
    row.set(Key::LoadShare, LINE_SHARE);
    let kind = rig.frames(size, share(rig, pattern, rate), Destination::Receiver);
    let offer = Offer {
        label: format!("{} {} {size}", TEST.as_str(), pattern.as_str()),
        flows: Flow::each_measured(&rig.pairs(pattern), &kind),
        duration: rig.spec.final_duration.max(rig.spec.duration),
        gate: Gate::Strict,
    };
    let tried = rig.offer(offer)?;
    if tried.valid().is_none() {
        row.caveats.insert(Caveat::NoValidTrial);
        if tried.beyond_tester() {
            row.caveats.insert(Caveat::LoadBelowAsked);
        }
        return Ok(without_trial(pattern, size, &row));
    }
    let count = Count::from_flows(tried.measured());
    let (senders, _) = pattern.senders(ports);
    row.n = count.sent;
    let each = count.received / senders as f64;
    row.verdict = rig.verdict(size, Some(each), Driven::if_lost(count.lost > 0));
    let astray = flooded(&tried.record) as f64;
    let mut delays: Option<Histogram> = None;
    for seen in tried.measured().filter_map(|flow| flow.delays.as_ref()) {
        delays.get_or_insert_with(Histogram::growing).merge(&seen.histogram);
    }
    // RFC 8239 §2.3 asks for latency and its variation in addition to the loss.
    let spread = |delays: &Histogram| {
        let spread = delays.max().saturating_sub(delays.min()).0 as f64;
        row.single(Metric::Pdv, Unit::Nanoseconds, Some(spread))
    };
    let Rates { offered, received, lost } = Rates::new(Some(count), &row);
    Ok(LineRateCase {
        pattern,
        size,
        offered: Some(offered),
        received: Some(received),
        lost,
        flooded: Some(row.single(Metric::Flooded, Unit::Count, Some(astray))),
        spread: delays.as_ref().map(spread),
        delays: Some(Delays::new(delays.as_ref(), row)),
    })
}

fn without_trial(pattern: Pattern, size: FrameSize, row: &Row) -> LineRateCase {
    let lost = row.single(Metric::LossRatio, Unit::Ratio, None);
    let (offered, received, flooded, spread, delays) = (None, None, None, None, None);
    LineRateCase { pattern, size, offered, received, lost, flooded, spread, delays }
}
