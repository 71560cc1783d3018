//! What a pattern of traffic passes: throughput without loss, the forwarding rate at the maximum
//! offered load, and the highest forwarding rate of all loads (RFC 2889 §5.1 to §5.4).
//!
//! Owns the search over loads. All ports send alike: a load is a rate of each sending port.

use measure::{FrameRate, FrameSize};

use super::super::rows::Row;
use super::super::session::Tried;
use super::super::sustained::{Bracket, Deliveries, Delivery, FAR_OVER, PACING_MARGIN};
use super::rig::{
    Count, Offer, PortSet, Rig, Stream, flooded, paused, slowest_sender, tester_dropped,
};
use super::{Pattern, SwitchTest};
use crate::search::{
    Attempt, FailedBy, Goal, GoalName, GoalResult, LoadRange, Seen, begin, carry_out,
};
use crate::study::Profile;
use crate::verdict::{self, Driven};
use page::Condition;
use page::{Caveat, Figure, Metric, Unit};
use trial::TestbedError;
use trial::record::DatagramsRecord;
use trial::{Gate, Schedule};

/// What all trials of one size came to.
#[derive(Debug, Default)]
struct Found {
    /// At the maximum offered load, and the frames that went astray there.
    mol: Option<(Count, u64)>,
    /// Of all trials the one with the highest forwarding rate.
    highest: Option<Count>,
    result: Option<GoalResult>,
    goal: Option<Goal>,
    /// Every valid trial; rates are those of one sending port.
    deliveries: Deliveries,
    /// Loads, as asked, at which PAUSE frames held the senders back.
    held_back: Vec<f64>,
    broken: bool,
}

impl Found {
    /// What may be published of the search, of one sending port.
    fn bracket(&self) -> Bracket {
        let of = |result| Some(self.deliveries.bracket(result, self.goal.as_ref()?));
        self.result.as_ref().and_then(of).unwrap_or_default()
    }
}

/// Every size.
pub(super) fn run(
    rig: &mut Rig<'_, '_>,
    board: &PortSet,
    test: SwitchTest,
) -> Result<Vec<Figure>, TestbedError> {
    let Some(pattern) = test.pattern() else { return Ok(Vec::new()) };
    let mut figures = Vec::new();
    for size in rig.spec.frames.clone() {
        let found = search(rig, board, (test, pattern), size)?;
        figures.extend(tell(rig, board, (test, pattern), (size, &found)));
    }
    Ok(figures)
}

/// The pattern's flows, each sender at `rate` shared out evenly; greedy without one.
pub(super) fn streams(
    rig: &Rig<'_, '_>,
    (pattern, ports): (Pattern, usize),
    size: FrameSize,
    rate: Option<FrameRate>,
) -> Vec<Stream> {
    let (_, each) = pattern.senders(ports);
    let schedule =
        rate.map_or(Schedule::Greedy, |rate| Schedule::Paced(FrameRate(rate.0 / each as f64)));
    pattern.streams(ports).into_iter().map(|ends| rig.stream(ends, size, schedule)).collect()
}

fn search(
    rig: &mut Rig<'_, '_>,
    board: &PortSet,
    (test, pattern): (SwitchTest, Pattern),
    size: FrameSize,
) -> Result<Found, TestbedError> {
    let ports = board.ports.len();
    let (senders, _) = pattern.senders(ports);
    let mut found = Found::default();
    let flood = Offer {
        label: format!("{} {size} flood", test.as_str()),
        streams: streams(rig, (pattern, ports), size, None),
        duration: rig.spec.duration,
        gate: Gate::Flood,
    };
    let tried = rig.offer(board, flood)?;
    if tried.valid().is_none() {
        found.broken = true;
        return Ok(found);
    }
    let count = Count::of(tried.measured());
    found.mol = Some((count, flooded(&tried.record)));
    found.highest = Some(count);
    let most = count.offered / senders as f64;
    // More than a receiver's port carries is not worth a trial.
    let line =
        rig.line_rate(size).map_or(f64::INFINITY, |line| line.0 / pattern.overload(ports).max(1.0));
    let goal = goal(rig);
    found.goal = Some(goal);
    let mut max = FrameRate(most.min(line));
    let flows: Vec<&DatagramsRecord> = tried.measured().collect();
    let load = (slowest_sender(&tried), rig.spec.duration);
    let flooded = Delivery::of(&flows, load, rig.spec.precision);
    let far_over = count.loss_ratio() > FAR_OVER && !tester_dropped(&tried);
    let known = (far_over && most <= line).then(|| flooded.seen());
    if far_over {
        found.deliveries.push(flooded);
    } else {
        max = most_paced(rig, board, (test, pattern), (size, max))?;
    }
    let mut search = begin(&[goal], LoadRange::below(max, goal.final_duration));
    if let Some(seen) = known {
        search.learn(seen);
    }
    let offer = |attempt| attempt_load(rig, board, (test, pattern), (size, attempt), &mut found);
    let Some(results) = carry_out(search.as_mut(), offer)? else {
        found.broken = true;
        return Ok(found);
    };
    found.result = results.into_iter().next();
    if let Some((rate, duration)) = found.deliveries.another_length() {
        let attempt = Attempt { rate: FrameRate(rate.min(most)), duration };
        attempt_load(rig, board, (test, pattern), (size, attempt), &mut found)?;
    }
    Ok(found)
}

/// The most that the ports offer in even gaps, up to `wanted`; a flood is no measure of that.
fn most_paced(
    rig: &mut Rig<'_, '_>,
    board: &PortSet,
    what: (SwitchTest, Pattern),
    (size, wanted): (FrameSize, FrameRate),
) -> Result<FrameRate, TestbedError> {
    let attempt = Attempt { rate: wanted, duration: rig.spec.duration };
    let tried = offer_load(rig, board, what, (size, attempt))?;
    let most = FrameRate(slowest_sender(&tried).0 * (1.0 - PACING_MARGIN));
    let short = tried.only_short_of_load() && most.0 > 0.0 && most.0 < wanted.0;
    Ok(if short { most } else { wanted })
}

/// RFC 2544's throughput with the study's durations.
fn goal(rig: &Rig<'_, '_>) -> Goal {
    let name = GoalName::Rfc2544;
    let named = match rig.spec.profile {
        Profile::Quick => Goal::quick(name),
        Profile::Strict => Goal::strict(name),
    };
    let last = rig.spec.final_duration.max(rig.spec.duration);
    Goal {
        width: rig.spec.precision,
        initial_duration: rig.spec.duration,
        final_duration: last,
        duration_sum: last,
        ..named
    }
}

fn offer_load(
    rig: &mut Rig<'_, '_>,
    board: &PortSet,
    (test, pattern): (SwitchTest, Pattern),
    (size, Attempt { rate, duration }): (FrameSize, Attempt),
) -> Result<Tried, TestbedError> {
    let streams = streams(rig, (pattern, board.ports.len()), size, Some(rate));
    let label = format!("{} {size} {:.0}/s a port", test.as_str(), rate.0);
    rig.offer(board, Offer { label, streams, duration, gate: Gate::Strict })
}

/// None where the trial failed for no limit of the tester's. A load against which only a backlog
/// speaks is offered once more.
fn attempt_load(
    rig: &mut Rig<'_, '_>,
    board: &PortSet,
    what: (SwitchTest, Pattern),
    (size, attempt): (FrameSize, Attempt),
    found: &mut Found,
) -> Result<Option<Seen>, TestbedError> {
    let mut tried = offer_load(rig, board, what, (size, attempt))?;
    if let Some(one) = delivery(rig, &tried, attempt)
        && one.only_queued()
    {
        tried = offer_load(rig, board, what, (size, attempt))?;
    }
    if let Some(one) = delivery(rig, &tried, attempt) {
        let count = Count::of(tried.measured());
        if found.highest.is_none_or(|highest| count.received > highest.received) {
            found.highest = Some(count);
        }
        found.deliveries.push(one);
        return Ok(Some(one.seen()));
    }
    if !tried.beyond_tester() {
        return Ok(None);
    }
    if paused(&tried.record) {
        found.held_back.push(attempt.rate.0);
    }
    let (_, each) = what.1.senders(board.ports.len());
    let lossless = tried.lossless_load().map(|rate| FrameRate(rate.0 * each as f64));
    Ok(Some(Seen::BeyondTester { lossless }))
}

fn delivery(rig: &Rig<'_, '_>, tried: &Tried, attempt: Attempt) -> Option<Delivery> {
    tried.valid()?;
    let flows: Vec<&DatagramsRecord> = tried.measured().collect();
    let load = (slowest_sender(tried), attempt.duration);
    Some(Delivery::of(&flows, load, rig.spec.precision))
}

fn tell(
    rig: &Rig<'_, '_>,
    board: &PortSet,
    (test, pattern): (SwitchTest, Pattern),
    (size, found): (FrameSize, &Found),
) -> Vec<Figure> {
    let (senders, _) = pattern.senders(board.ports.len());
    let all = senders as f64;
    let mut row = rig.row(board, test, Some(size));
    row.conditions.insert("senders".to_owned(), (senders as u64).into());
    if let Some(line) = rig.line_rate(size) {
        // What the media can carry of the pattern.
        let most = line.0 * all / pattern.overload(board.ports.len()).max(1.0);
        row.conditions.insert("pattern_frames_per_s".to_owned(), most.into());
    }
    if found.broken {
        row.caveats.insert(Caveat::NoValidTrial);
    }
    let mut figures = vec![throughput(rig, board, (row.clone(), size), (found, all))];
    let mol = found.mol.map(|(count, _)| count);
    figures.extend(rates(rig, board, (&row, size), ("frmol", mol, all)));
    figures.extend(rates(rig, board, (&row, size), ("mfr", found.highest, all)));
    let astray = found.mol.map(|(_, frames)| frames as f64);
    row.verdict = rig.verdict(board, size, (verdict::Bracket::exactly(None), Driven::No), None);
    figures.push(row.single(Metric::Flooded, Unit::Count, astray));
    figures
}

/// The load at the lower bound, of all senders together; the interval is the search's bracket.
fn throughput(
    rig: &Rig<'_, '_>,
    board: &PortSet,
    (mut row, size): (Row, FrameSize),
    (found, all): (&Found, f64),
) -> Figure {
    let result = found.result.as_ref();
    let failure = result.and_then(|result| result.relevant_upper);
    let bracket = found.bracket();
    let value = bracket.low.filter(|_| bracket.loss.is_none());
    let driven = match failure {
        Some(failure) if failure.by == FailedBy::Loss => Driven::Lost,
        Some(failure) if found.held_back.contains(&failure.rate.0) => Driven::HeldBack,
        _ => Driven::No,
    };
    // What the media carry of the pattern, for each sender.
    let media = match row.conditions.get("pattern_frames_per_s") {
        Some(Condition::Number(all_senders)) => Some(FrameRate(all_senders / all)),
        _ => None,
    };
    row.n = result.map_or(0, |result| result.trials.into());
    let high = bracket.high.filter(|_| driven != Driven::No);
    let bounds = verdict::Bracket { low: value, high };
    row.verdict = rig.verdict(board, size, (bounds, driven), media);
    row.caveats.extend(result.into_iter().flat_map(|result| bracket.doubts(result)));
    if result.is_none() {
        row.caveats.insert(Caveat::NoValidTrial);
    }
    if let Some(frames) = bracket.buffered {
        let octets = frames * f64::from(size.octets());
        row.conditions.insert("buffered_bytes".to_owned(), octets.into());
    }
    row.conditions.insert("goal".to_owned(), GoalName::Rfc2544.as_str().into());
    row.conditions.insert("interval".to_owned(), "search bracket".into());
    let last = rig.spec.final_duration;
    row.conditions.insert("final_duration_ns".to_owned(), last.0.into());
    let mut figure =
        row.single(Metric::Throughput, Unit::FramesPerSecond, value.map(|value| value * all));
    figure.low = bracket.surely().filter(|_| value.is_some()).map(|low| low * all);
    // A load that only the tester could not offer bounds nobody from above.
    let bounded = bracket.loss.is_none() && driven != Driven::No;
    figure.high = bracket.high.filter(|_| bounded).map(|high| high * all);
    figure
}

/// Offered load, forwarding rate and loss of one trial.
fn rates(
    rig: &Rig<'_, '_>,
    board: &PortSet,
    (row, size): (&Row, FrameSize),
    (name, count, all): (&str, Option<Count>, f64),
) -> Vec<Figure> {
    let mut row = row.clone();
    row.conditions.insert("rate".to_owned(), name.into());
    row.n = count.map_or(0, |count| count.sent);
    let driven = Driven::if_lost(count.is_some_and(|count| count.lost > 0));
    let each = verdict::Bracket::exactly(count.map(|count| count.received / all));
    row.verdict = rig.verdict(board, size, (each, driven), None);
    let of = |value: fn(&Count) -> f64| count.as_ref().map(value);
    vec![
        row.single(Metric::Offered, Unit::FramesPerSecond, of(|count| count.offered)),
        row.single(Metric::Received, Unit::FramesPerSecond, of(|count| count.received)),
        row.single(Metric::LossRatio, Unit::Ratio, of(Count::loss_ratio)),
    ]
}
