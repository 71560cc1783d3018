//! From every output's estimates to the depth study's figures.
//!
//! Owns what several repeats come to, and the words for estimators that disagree. Pure.

use std::collections::BTreeSet;

use measure::Interval;
use measure::quantile::{median, median_interval};

use super::super::super::rows::{CONFIDENCE, Row};
use super::cells::{Cells, Counting};
use super::enough;
use super::filling::{Filling, Reach};
use super::rig::Rig;
use super::sharing::Sharing;
use super::shot::Span;
use super::threshold::{Fit, Parameter};
use crate::verdict::Evidence;
use page::{Caveat, Figure, Key, Metric, Numbered, Unit, Verdict};

/// One estimator over all blocks, in octets.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Estimate {
    name: &'static str,
    value: f64,
    interval: Interval,
    blocks: usize,
}

/// Every figure of the study.
pub(super) fn all(
    rig: &Rig<'_, '_>,
    found: &[Filling],
    cells: Option<&Cells>,
    sharing: Option<&Sharing>,
    direct: Option<bool>,
) -> Vec<Figure> {
    let mut figures = Vec::new();
    for one in found {
        let row = row(rig, one, direct);
        figures.extend(of_output(rig, one, cells, &row));
    }
    let first = found.iter().find(|one| one.is_filled()).unwrap_or(&found[0]);
    let row = row(rig, first, direct);
    figures.extend(cells.map(|cells| cell(cells, &row)));
    figures.extend(sharing.into_iter().flat_map(|sharing| shared(sharing, &row)));
    if rig.spec.tells_more() {
        figures.push(by_class(row));
    }
    figures
}

/// Why there is no estimate for each class of service: nothing says which classes the device tells
/// apart, and all frames are of one.
fn by_class(mut row: Row) -> Figure {
    row.caveats = BTreeSet::from([Caveat::Unsupported]);
    row.verdict = Verdict::Undetermined;
    for (name, text) in [
        (Key::Estimator, "by class"),
        (Key::Of, "each DSCP class"),
        (Key::Reason, "no DSCP classes are configured: all frames have the class 0"),
    ] {
        row.set(name, text);
    }
    row.single(Metric::Buffer, Unit::Bytes, None)
}

fn row(rig: &Rig<'_, '_>, one: &Filling, direct: Option<bool>) -> Row {
    let ways = &rig.session.ways;
    let mut row = Row::of(ways, rig.way, rig.spec.profile);
    (row.n, row.verdict) = (rig.trials, ways.judge(rig.way, &evidence(one, direct)));
    let outlet = &one.outlet;
    let senders: Vec<String> = outlet.senders.iter().map(ToString::to_string).collect();
    for (name, text) in [
        (Key::Test, "depth".to_owned()),
        (Key::From, senders.join(", ")),
        (Key::To, outlet.to.to_string()),
        (Key::Feeding, outlet.feeding_in_words()),
        // RFC 8239 §3 overfills an output by two inputs, and asks for what it holds.
        (Key::Clause, "RFC 8239 §3".to_owned()),
    ] {
        row.set(name, text);
    }
    let marks = [
        (matches!(one.reach, Reach::NoTrial), Caveat::NoValidTrial),
        (matches!(one.reach, Reach::NotOverfilled), Caveat::DeviceNotDriven),
        (matches!(one.reach, Reach::AtLeast(_)), Caveat::NotFilled),
        (matches!(one.reach, Reach::Paused), Caveat::Backpressure),
    ];
    row.caveats.extend(marks.into_iter().filter(|(holds, _)| *holds).map(|(_, caveat)| caveat));
    row
}

/// An output that overflowed, with what a direct cable carries whole as the control.
fn evidence(one: &Filling, direct: Option<bool>) -> Evidence<'static> {
    match one.reach {
        Reach::Filled(_) => Evidence::Sight { seen: true, in_control: direct.map(|whole| !whole) },
        Reach::AtLeast(_) | Reach::NotOverfilled => Evidence::Bound,
        Reach::Paused | Reach::NoTrial => Evidence::Nothing,
    }
}

fn of_output(rig: &Rig<'_, '_>, one: &Filling, cells: Option<&Cells>, row: &Row) -> Vec<Figure> {
    let mut row = row.clone();
    let size = one.size;
    let taken = cells.map_or_else(|| f64::from(size.octets()), |cells| cells.taken(size));
    let may_take = cells.map_or((taken, taken), |cells| cells.may_take(size));
    let octets = u64::from(size.octets());
    row.set(Key::FrameSize, octets);
    row.set(Key::TakenByAFrame, taken);
    if let Some(queue) = waits_elsewhere(rig, one) {
        row.set(Key::Waits, queue);
        if queue == BOTH {
            // Of two queues one after the other nothing tells each one's part.
            row.verdict = Verdict::Undetermined;
        }
    }
    if let Some(limit) = rig.limit {
        row.set(Key::PacketLimit, limit);
    }
    if let Some(drain) = one.drain {
        row.set(Key::OutputRate, drain.rate);
    }
    let estimates: Vec<Estimate> =
        [("one-shot", &one.one_shot), ("burst", &one.burst), ("delay", &one.delay)]
            .into_iter()
            .filter_map(|(name, spans)| over_blocks(name, spans, (taken, may_take)))
            .collect();
    if estimates.is_empty() {
        return without_estimate(one, &row, taken);
    }
    let reason = disagreement(&estimates);
    let mut figures: Vec<Figure> = estimates
        .iter()
        .map(|estimate| {
            let mut figure = row.single(Metric::Buffer, Unit::Bytes, Some(estimate.value));
            figure.set_interval(Some(estimate.interval));
            figure.blocks = estimate.blocks as u32;
            if estimate.interval.confidence < CONFIDENCE {
                figure.caveats.push(Caveat::FewBlocks);
                figure.caveats.sort();
            }
            figure.set(Key::Estimator, estimate.name);
            if estimate.name == "burst" && is_apart(&estimates[0], estimate) {
                // Something else decided how long a burst comes whole.
                figure.verdict = Verdict::Undetermined;
            }
            if let Some(reason) = reason {
                figure.set(Key::Disagreement, reason);
            }
            figure
        })
        .collect();
    let rate = bits_per_second(one).filter(|_| waits_elsewhere(rig, one).is_none());
    if let (Some(rate), Some(best)) = (rate, estimates.first()) {
        let Interval { low, high, .. } = best.interval;
        figures.extend(path_figures(&row, rate, (best.value, low, Some(high))));
    }
    figures
}

/// Where the frames of a device wait whose packet limit is just above an output's rate.
const BOTH: &str = "before the device decides on them, and at the output";

fn is_apart(one: &Estimate, other: &Estimate) -> bool {
    !one.interval.overlaps(&other.interval)
}

/// Where frames wait, if not at the output alone: a device that runs out of frames a second has a
/// queue before that.
fn waits_elsewhere(rig: &Rig<'_, '_>, one: &Filling) -> Option<&'static str> {
    let (limit, link) = (rig.limit?, one.outlet.link?);
    if limit < link.line_rate(one.size).0 {
        Some("before the device decides on them")
    } else if rig.keeps_up(&one.outlet, 1, one.size) {
        None
    } else {
        Some(BOTH)
    }
}

/// A lower bound, or nothing and why.
fn without_estimate(one: &Filling, row: &Row, taken: f64) -> Vec<Figure> {
    let Reach::AtLeast(span) = one.reach else {
        let mut figure = row.single(Metric::Buffer, Unit::Bytes, None);
        figure.set(Key::Estimator, "one-shot");
        return vec![figure];
    };
    let least = (span.low * taken).max(0.0);
    let mut figure = row.single(Metric::Buffer, Unit::Bytes, Some(least));
    figure.low = Some(least);
    figure.set(Key::Estimator, "one-shot");
    figure.set(Key::Bound, "at least");
    let mut figures = vec![figure];
    if let Some(rate) = bits_per_second(one) {
        figures.extend(path_figures(row, rate, (least, least, None)));
    }
    figures
}

/// What the output carries with preamble and gap, or, where its cable's rate is not known, without.
fn bits_per_second(one: &Filling) -> Option<f64> {
    let frames = f64::from(one.size.octets()) * 8.0;
    one.outlet
        .link
        .map(measure::Rate::bits_per_second)
        .or_else(|| one.drain.map(|drain| drain.rate * frames))
}

/// One value a block: the median's interval of the lower ends, and that of the upper ones.
fn over_blocks(
    name: &'static str,
    spans: &[Span],
    (taken, (least, most)): (f64, (f64, f64)),
) -> Option<Estimate> {
    let each = |pick: fn(&Span) -> f64| -> Vec<f64> { spans.iter().map(pick).collect() };
    let value = median(&each(|span| span.value))?;
    let low = median_interval(&each(|span| span.low), CONFIDENCE)?;
    let high = median_interval(&each(|span| span.high), CONFIDENCE)?;
    // So many frames wait, and less than one more would: half a frame is what may be left over.
    let interval = Interval {
        low: (low.low * least).max(0.0),
        high: (high.high + 1.0) * most,
        confidence: low.confidence,
    };
    let value = ((value + 0.5) * taken).clamp(interval.low, interval.high);
    Some(Estimate { name, value, interval, blocks: spans.len() })
}

/// Why estimators don't agree, where they don't.
fn disagreement(estimates: &[Estimate]) -> Option<&'static str> {
    let by = |name: &str| estimates.iter().find(|estimate| estimate.name == name);
    let (shot, delay, burst) = (by("one-shot")?, by("delay"), by("burst"));
    if let Some(delay) = delay.filter(|delay| is_apart(shot, delay)) {
        return Some(if delay.value < shot.value {
            "more went in than waited: something lets a part through at once (a token bucket), or \
             frames waited that were not stamped"
        } else {
            "frames waited longer than the queue that drops them: another queue is on the way (a \
             host's own port, or an uplink)"
        });
    }
    burst.filter(|burst| is_apart(shot, burst)).map(|burst| {
        if burst.value < shot.value {
            "single frames were lost before the queue was full: the senders did not keep an even \
             pace, or something else lost them"
        } else {
            "the longest burst that came through whole held more than an overflowing one: a sender \
             paused, or was made to (PAUSE)"
        }
    })
}

/// For how long a path that is enough.
fn path_figures(row: &Row, rate: f64, (value, low, high): (f64, f64, Option<f64>)) -> Vec<Figure> {
    let mut figures = Vec::new();
    for flows in [1_u32, 100] {
        let longest = |octets| enough::longest(rate, octets, flows);
        let mut figure =
            row.single(Metric::LongestRoundTrip, Unit::Nanoseconds, Some(longest(value)));
        if let Some(high) = high {
            let (low, high) = (longest(low), longest(high));
            figure.set_interval(Some(Interval { low, high, confidence: CONFIDENCE }));
        } else {
            figure.low = Some(longest(low));
            figure.set(Key::Bound, "at least");
        }
        name_rule(&mut figure, rate, flows);
        figures.push(figure);
    }
    for answer in enough::table(rate, low, high) {
        let value = answer.enough.map(|enough| f64::from(u8::from(enough)));
        let mut figure = row.single(Metric::Enough, Unit::Flag, value);
        name_rule(&mut figure, rate, answer.flows);
        figure.set(Key::Rtt, answer.rtt.0);
        figure.set(Key::NeededBytes, answer.needed);
        figures.push(figure);
    }
    figures
}

fn name_rule(figure: &mut Figure, rate: f64, flows: u32) {
    let rule = if flows == 1 { "rate x RTT" } else { "rate x RTT / sqrt(flows)" };
    figure.set(Key::Rule, rule);
    figure.set(Key::Flows, u64::from(flows));
    figure.set(Key::RateBits, rate);
}

fn cell(cells: &Cells, row: &Row) -> Figure {
    let (value, low, high, limit) = match cells.counting {
        Counting::Bytes => (Some(1.0), None, None, "bytes"),
        Counting::Cells(least, most) => (
            Some(f64::from(u32::midpoint(least, most))),
            Some(f64::from(least)),
            Some(f64::from(most)),
            "cells",
        ),
        Counting::Descriptors => (None, None, None, "descriptors"),
        Counting::Unclear => (None, None, None, "unclear"),
    };
    let mut figure = row.single(Metric::Cell, Unit::Bytes, value);
    (figure.low, figure.high) = (low, high);
    figure.set(Key::Limit, limit);
    for (size, span) in &cells.points {
        figure.set(Numbered::FRAMES_OF.key(size.octets()), span.value.round());
    }
    figure
}

fn shared(sharing: &Sharing, row: &Row) -> Vec<Figure> {
    let mut row = row.clone();
    let octets = u64::from(sharing.size.octets());
    row.set(Key::FrameSize, octets);
    for point in &sharing.points {
        row.set(Numbered::HELD_BY_EACH_OF.key(point.outputs), point.held.value.round());
    }
    let value = sharing.shared.map(|shared| f64::from(u8::from(shared)));
    let mut flag = row.single(Metric::BufferShared, Unit::Flag, value);
    if value.is_none() {
        flag.verdict = Verdict::Undetermined;
    }
    let mut figures = vec![flag];
    if let Some(fit) = &sharing.fit {
        figures.extend(parameters(fit, sharing.queues, &row));
    }
    for figure in &mut figures {
        figure.blocks = sharing.blocks;
    }
    figures
}

/// Total, alpha and reserve. None is the device's where the points contradict the model, or could
/// not have; nor one that they leave open.
fn parameters(fit: &Fit, queues: u32, row: &Row) -> [Figure; 3] {
    let mut row = row.clone();
    if fit.contradicted {
        row.caveats.insert(Caveat::LackOfFit);
    }
    let figure = |metric, unit, parameter: Parameter| {
        let mut figure = row.single(metric, unit, Some(parameter.value));
        (figure.low, figure.high) = (Some(parameter.low), parameter.high);
        figure.confidence = Some(CONFIDENCE);
        if !fit.checked || !parameter.is_told() {
            figure.caveats.push(Caveat::Confounded);
            figure.caveats.sort();
        }
        if fit.contradicted || !fit.checked || !parameter.is_told() {
            figure.verdict = Verdict::Undetermined;
        }
        figure
    };
    let mut total = figure(Metric::Buffer, Unit::Bytes, fit.total);
    total.set(Key::Estimator, "sharing");
    total.set(Key::Of, "all outputs");
    total.set(Key::Outputs, u64::from(queues));
    let alpha = figure(Metric::Alpha, Unit::Ratio, fit.alpha);
    let mut reserve = figure(Metric::BufferReserve, Unit::Bytes, fit.reserve);
    if fit.reserve.value <= 0.0 {
        // None is as likely: no more is known than how large it is at most.
        (reserve.value, reserve.low) = (None, None);
        reserve.set(Key::Bound, "at most");
    }
    [total, alpha, reserve]
}
