//! Values of the depth study, one row each, from every output's spans.
//!
//! Owns the combination of repetitions, and the reasons why estimators disagree. Pure.

use std::collections::{BTreeMap, BTreeSet};

use measure::blocks::BlockEstimate;
use measure::quantile::{median, median_interval};
use measure::{FrameSize, Interval};

use super::cells::{Cells, Counting};
use super::enough::{self, Answer, Held};
use super::filling::{Filling, Reach};
use super::finding::{
    BufferUnits, DepthFinding, FlowsPaths, LongPaths, NO_CLASSES, OutputDepth, Queue, RoundTrip,
    SharedBuffer, Threshold,
};
use super::rig::Rig;
use super::sharing::Sharing;
use super::shot::Span;
use super::threshold::{Fit, Parameter};
use crate::rows::{CONFIDENCE, Row};
use crate::verdict::Evidence;
use crate::view::Values;
use page::{AT_LEAST, AT_MOST, Caveat, Condition, Figure, Key, Metric, Numbered, Unit, Verdict};

/// Computes all findings of the study.
pub(super) fn finding(
    rig: &Rig<'_, '_>,
    found: &[Filling],
    cells: Option<&Cells>,
    sharing: Option<&Sharing>,
    direct: Option<bool>,
) -> DepthFinding {
    let first = found.iter().find(|one| one.is_filled()).unwrap_or(&found[0]);
    let of_first = row(rig, first, direct);
    let outputs = found.iter().map(|one| output(rig, one, cells, row(rig, one, direct)));
    DepthFinding {
        place: rig.session.ways.place(rig.way),
        outputs: outputs.collect(),
        first: first.outlet.clone(),
        units: cells.map(|cells| units(cells, &of_first)),
        shared: sharing.map(|sharing| shared(sharing, of_first.clone())),
        by_class: rig.spec.tells_more().then(|| by_class(of_first)),
    }
}

/// Row without an estimate for each class of service: the device's classes are unknown, and all
/// frames belong to one.
fn by_class(mut row: Row) -> Figure {
    row.caveats = BTreeSet::from([Caveat::Unsupported]);
    row.verdict = Verdict::Undetermined;
    row.set(Key::Estimator, "by-class");
    row.set(Key::Of, "each-class");
    row.set(Key::Reason, NO_CLASSES);
    row.single(Metric::Buffer, Unit::Bytes, None)
}

fn row(rig: &Rig<'_, '_>, one: &Filling, direct: Option<bool>) -> Row {
    let ways = &rig.session.ways;
    let mut row = Row::for_path(ways, rig.way, rig.spec.profile);
    (row.n, row.verdict) = (rig.trials, ways.judge(rig.way, &evidence(one, direct)));
    row.set(Key::Test, "depth");
    if let [_, _, ..] = one.outlet.senders[..] {
        let senders = one.outlet.senders.iter().map(ToString::to_string);
        row.set(Key::From, Condition::List(senders.collect()));
    } else {
        row.set(Key::From, one.outlet.pair().from.to_string());
    }
    row.set(Key::To, one.outlet.to.to_string());
    row.set(Key::Feeding, one.outlet.senders.len() as u64);
    // RFC 8239 §3 overfills an output from two inputs and asks for its buffer.
    row.set(Key::Clause, "RFC 8239 §3");
    row.caveats.extend(match one.reach {
        Reach::NoTrial => Some(Caveat::NoValidTrial),
        Reach::NotOverfilled => Some(Caveat::DeviceNotDriven),
        Reach::AtLeast(_) => Some(Caveat::NotFilled),
        Reach::Paused => Some(Caveat::Backpressure),
        Reach::Filled(_) => None,
    });
    row
}

/// Evidence of an output that overflowed; the control is a direct cable's capacity for the burst.
fn evidence(one: &Filling, direct: Option<bool>) -> Evidence<'static> {
    match one.reach {
        Reach::Filled(_) => Evidence::Sight { seen: true, in_control: direct.map(|whole| !whole) },
        Reach::AtLeast(_) | Reach::NotOverfilled => Evidence::Bound,
        Reach::Paused | Reach::NoTrial => Evidence::Nothing,
    }
}

fn output(rig: &Rig<'_, '_>, one: &Filling, cells: Option<&Cells>, mut row: Row) -> OutputDepth {
    let taken = Taken::new(one.size, cells);
    let waits = waits_elsewhere(rig, one);
    row.set(Key::FrameSize, u64::from(one.size.octets()));
    row.set(Key::TakenByAFrame, taken.middle);
    if let Some(queue) = waits {
        row.set(Key::Waits, queue.as_str());
    }
    if waits == Some(Queue::Both) {
        // With two queues in series, their shares are unknown.
        row.verdict = Verdict::Undetermined;
    }
    if let Some(limit) = rig.limit {
        row.set(Key::PacketLimit, limit);
    }
    if let Some(drain) = one.drain {
        row.set(Key::OutputRate, drain.rate);
    }
    let [shot, burst, delay] =
        [&one.one_shot, &one.burst, &one.delay].map(|spans| estimate(spans, taken));
    let disagreement = shot.and_then(|shot| disagreement(shot, burst, delay));
    let figure = |name, estimate| {
        let mut figure = row.of_estimate(Metric::Buffer, Unit::Bytes, Some(estimate));
        figure.set(Key::Estimator, name);
        if let Some(reason) = disagreement {
            figure.set(Key::Disagreement, reason);
        }
        figure
    };
    // Octets are known to fit at the output only if frames wait nowhere else.
    let held = |BlockEstimate { value, interval: Interval { low, high, .. }, .. }| {
        waits.is_none().then_some(Held { value, low, high: Some(high) })
    };
    let (one_shot, held) = match shot.or(burst).or(delay) {
        Some(best) => (shot.map(|shot| figure("one-shot", shot)), held(best)),
        None => without_estimate(one, &row, taken),
    };
    let is_apart = burst.zip(shot).is_some_and(|(burst, shot)| is_apart(burst, shot));
    let mut burst = burst.map(|burst| figure("burst", burst));
    if let Some(burst) = burst.as_mut().filter(|_| is_apart) {
        // Something other than the buffer limited the burst.
        burst.verdict = Verdict::Undetermined;
    }
    OutputDepth {
        outlet: one.outlet.clone(),
        size: one.size,
        waits,
        one_shot,
        burst,
        delay: delay.map(|delay| figure("delay", delay)),
        is_bound: matches!(one.reach, Reach::AtLeast(_)),
        disagreement,
        paths: held.zip(bits_per_second(one)).map(|(held, rate)| paths(&row, rate, held)),
    }
}

/// Additional queue in which frames wait: a device limited in frames a second has one before the
/// output. `None` if there is none.
fn waits_elsewhere(rig: &Rig<'_, '_>, one: &Filling) -> Option<Queue> {
    let (limit, link) = (rig.limit?, one.outlet.link?);
    if limit < link.line_rate(one.size).0 {
        Some(Queue::BeforeDecision)
    } else if rig.keeps_up(&one.outlet, 1, one.size) {
        None
    } else {
        Some(Queue::Both)
    }
}

/// Lower bound, or a row with the reason for a missing value.
fn without_estimate(one: &Filling, row: &Row, taken: Taken) -> (Option<Figure>, Option<Held>) {
    let least = match one.reach {
        Reach::AtLeast(span) => Some((span.low * taken.middle).max(0.0)),
        _ => None,
    };
    let mut figure = row.single(Metric::Buffer, Unit::Bytes, least);
    figure.low = least;
    figure.set(Key::Estimator, "one-shot");
    if least.is_some() {
        figure.set(Key::Bound, AT_LEAST);
    }
    (Some(figure), least.map(|least| Held { value: least, low: least, high: None }))
}

/// Rate of the output with preamble and gap; without them if its cable's rate is unknown.
fn bits_per_second(one: &Filling) -> Option<f64> {
    let frames = f64::from(one.size.octets()) * 8.0;
    let link = one.outlet.link.map(measure::Rate::bits_per_second);
    link.or_else(|| one.drain.map(|drain| drain.rate * frames))
}

/// Octets of a buffer that one frame takes: the middle, and the possible range.
#[derive(Debug, Clone, Copy)]
struct Taken {
    middle: f64,
    least: f64,
    most: f64,
}

impl Taken {
    fn new(size: FrameSize, cells: Option<&Cells>) -> Self {
        let middle =
            cells.map_or_else(|| f64::from(size.octets()), |cells| cells.octets_taken(size));
        let (least, most) = cells.map_or((middle, middle), |cells| cells.may_take(size));
        Self { middle, least, most }
    }
}

/// Estimate of one estimator over all blocks, in octets, from one span per block. Its interval is
/// that of the median of the lower ends and that of the upper ones.
fn estimate(spans: &[Span], taken: Taken) -> Option<BlockEstimate> {
    let each = |pick: fn(&Span) -> f64| -> Vec<f64> { spans.iter().map(pick).collect() };
    let value = median(&each(|span| span.value))?;
    let low = median_interval(&each(|span| span.low), CONFIDENCE)?;
    let high = median_interval(&each(|span| span.high), CONFIDENCE)?;
    // One more frame would not fit, so up to a frame is left over, half a frame on average.
    let interval = Interval {
        low: (low.low * taken.least).max(0.0),
        high: (high.high + 1.0) * taken.most,
        confidence: low.confidence,
    };
    let value = ((value + 0.5) * taken.middle).clamp(interval.low, interval.high);
    Some(BlockEstimate { value, interval, blocks: spans.len() })
}

fn is_apart(one: BlockEstimate, other: BlockEstimate) -> bool {
    !one.interval.overlaps(&other.interval)
}

/// Code word of the reason why estimators do not agree; `None` if they do.
fn disagreement(
    shot: BlockEstimate,
    burst: Option<BlockEstimate>,
    delay: Option<BlockEstimate>,
) -> Option<&'static str> {
    if let Some(delay) = delay.filter(|delay| is_apart(shot, *delay)) {
        return Some(if delay.value < shot.value {
            "more-in-than-waited"
        } else {
            "another-queue"
        });
    }
    burst
        .filter(|burst| is_apart(shot, *burst))
        .map(|burst| if burst.value < shot.value { "lost-before-full" } else { "sender-paused" })
}

/// Paths for which the octets are large enough.
fn paths(row: &Row, rate: f64, held: Held) -> LongPaths {
    let by_flows = enough::FLOWS.map(|flows| paths_of_flows(row, rate, held, flows));
    LongPaths { rate, by_flows: by_flows.into() }
}

fn paths_of_flows(row: &Row, rate: f64, held: Held, flows: u32) -> FlowsPaths {
    let rule = if flows == 1 { "rate-rtt" } else { "rate-rtt-sqrt-flows" };
    let named = |metric, unit, value| {
        let figure = row.single(metric, unit, value).with(Key::Rule, rule);
        figure.with(Key::Flows, u64::from(flows)).with(Key::RateBits, rate)
    };
    let nanoseconds = |octets| enough::longest(rate, octets, flows);
    let value = Some(nanoseconds(held.value));
    let mut longest = named(Metric::LongestRoundTrip, Unit::Nanoseconds, value);
    let low = nanoseconds(held.low);
    if let Some(high) = held.high.map(nanoseconds) {
        longest.set_interval(Some(Interval { low, high, confidence: CONFIDENCE }));
    } else {
        longest.low = Some(low);
        longest.set(Key::Bound, AT_LEAST);
    }
    let round_trip = |answer: Answer| {
        let value = answer.enough.map(|enough| f64::from(u8::from(enough)));
        let enough = named(Metric::Enough, Unit::Flag, value).with(Key::Rtt, answer.rtt.0);
        let enough = enough.with(Key::NeededBytes, answer.needed);
        RoundTrip { rtt: answer.rtt, needed: answer.needed, enough }
    };
    let answers = enough::table(rate, held, flows);
    FlowsPaths { flows, longest, round_trips: answers.into_iter().map(round_trip).collect() }
}

fn units(cells: &Cells, row: &Row) -> BufferUnits {
    let (value, low, high) = match cells.counting {
        Counting::Bytes => (Some(1.0), None, None),
        Counting::Cells(least, most) => {
            let [value, low, high] = [u32::midpoint(least, most), least, most].map(f64::from);
            (Some(value), Some(low), Some(high))
        }
        Counting::Descriptors | Counting::Unclear => (None, None, None),
    };
    let mut cell = row.single(Metric::Cell, Unit::Bytes, value);
    (cell.low, cell.high) = (low, high);
    cell.set(Key::Limit, cells.counting.as_str());
    let frames = cells.points.iter().map(|(size, span)| (size.octets(), span.value.round()));
    let frames: BTreeMap<u32, f64> = frames.collect();
    for (octets, count) in &frames {
        cell.set(Numbered::FRAMES_OF.key(*octets), *count);
    }
    BufferUnits { counting: cells.counting, frames, cell }
}

fn shared(sharing: &Sharing, mut row: Row) -> SharedBuffer {
    row.set(Key::FrameSize, u64::from(sharing.size.octets()));
    for point in &sharing.points {
        row.set(Numbered::HELD_BY_EACH_OF.key(point.outputs), point.held.value.round());
    }
    let value = sharing.shared.map(|shared| f64::from(u8::from(shared)));
    let mut shared = row.single(Metric::BufferShared, Unit::Flag, value);
    if value.is_none() {
        shared.verdict = Verdict::Undetermined;
    }
    let threshold = sharing.fit.as_ref().map(|fit| threshold(fit, sharing.queues, row));
    let (size, points) = (sharing.size, sharing.points.clone());
    let mut found = SharedBuffer { size, points, shared, threshold };
    for value in found.values() {
        value.blocks = sharing.blocks;
    }
    found
}

/// Parameters of the threshold. If the points contradict the model, or could not have, none is
/// attributed to the device; nor is an undetermined one.
fn threshold(fit: &Fit, queues: u32, mut row: Row) -> Threshold {
    if fit.contradicted {
        row.caveats.insert(Caveat::LackOfFit);
    }
    let figure = |metric, unit, parameter: Parameter| {
        let is_open = !fit.checked || !parameter.is_told();
        let mut figure = row.single(metric, unit, Some(parameter.value));
        (figure.low, figure.high) = (Some(parameter.low), parameter.high);
        figure.confidence = Some(CONFIDENCE);
        if is_open {
            figure.doubt(Caveat::Confounded);
        }
        if fit.contradicted || is_open {
            figure.verdict = Verdict::Undetermined;
        }
        figure
    };
    let mut total = figure(Metric::Buffer, Unit::Bytes, fit.total);
    total.set(Key::Estimator, "sharing");
    total.set(Key::Of, "all-outputs");
    total.set(Key::Outputs, u64::from(queues));
    let alpha = figure(Metric::Alpha, Unit::Ratio, fit.alpha);
    let mut reserve = figure(Metric::BufferReserve, Unit::Bytes, fit.reserve);
    if fit.reserve.value <= 0.0 {
        // No reserve is as likely: only an upper bound is known.
        (reserve.value, reserve.low) = (None, None);
        reserve.set(Key::Bound, AT_MOST);
    }
    Threshold { total, alpha, reserve }
}
