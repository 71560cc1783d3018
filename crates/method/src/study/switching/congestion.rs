//! An uncongested port beside a congested one: is what goes to the first held up by what goes to the
//! second (RFC 2889 §5.5, RFC 8239 §5)?
//!
//! Of four ports 1 sends half to 3 and half to 4, and 2 sends all to 4: port 4 gets 150 % of what it
//! carries, and without any control loses a third. Never calls a loss head-of-line blocking that the
//! tester's own counters may explain.

use measure::{FrameRate, FrameSize};

use super::SwitchTest;
use super::rig::{Board, Count, Offer, Rig, Stream, flooded, paused, tester_dropped};
use crate::trial::{Gate, Schedule};
use crate::{Caveat, Figure, Metric, TestbedError, Unit, Verdict};

/// RFC 8239 §2: ports' clocks differ, so no more than this of the line's rate.
pub(super) const LINE_SHARE: f64 = 0.9998;

/// What the uncongested and the congested port's flows came to.
#[derive(Debug, Clone, Copy)]
struct Sides {
    uncongested: Count,
    congested: Count,
    flooded: u64,
    /// Some of it may be the tester's own loss.
    doubtful: bool,
    paused: bool,
}

/// Four ports beginning with `first`, counted round all: three flows, the uncongested one's first.
fn group(
    rig: &Rig<'_, '_>,
    (first, ports): (usize, usize),
    size: FrameSize,
    rate: Option<FrameRate>,
) -> [Stream; 3] {
    let at = |offset: usize| (first + offset) % ports;
    let of =
        |share: f64| rate.map_or(Schedule::Greedy, |r| Schedule::Paced(FrameRate(r.0 * share)));
    [
        rig.stream((at(0), at(2)), size, of(0.5)),
        rig.stream((at(0), at(3)), size, of(0.5)),
        rig.stream((at(1), at(3)), size, of(1.0)),
    ]
}

/// RFC 2889: all ports in groups of four, each at the most it can send.
pub(super) fn groups_of_four(
    rig: &mut Rig<'_, '_>,
    board: &Board,
) -> Result<Vec<Figure>, TestbedError> {
    let test = SwitchTest::Congestion;
    let ports = board.ports.len();
    let mut figures = Vec::new();
    for size in rig.spec.frames.clone() {
        let firsts = (0..ports / 4).map(|number| 4 * number);
        let streams: Vec<Stream> =
            firsts.flat_map(|first| group(rig, (first, ports), size, None)).collect();
        let label = format!("{} {size}", test.as_str());
        let sides = measure(rig, board, (label, streams), Gate::Flood)?;
        figures.extend(tell(rig, board, (test, size), (sides, None)));
    }
    Ok(figures)
}

/// RFC 8239: one group after another, shifted by one port each time; the worst stands for all.
pub(super) fn every_four(
    rig: &mut Rig<'_, '_>,
    board: &Board,
) -> Result<Vec<Figure>, TestbedError> {
    let test = SwitchTest::HeadOfLine;
    let ports = board.ports.len();
    let mut figures = Vec::new();
    for size in rig.spec.frames.clone() {
        let rate = rig.line_rate(size).map(|line| FrameRate(line.0 * LINE_SHARE));
        let mut worst: Option<(Sides, usize)> = None;
        for first in 0..ports {
            let streams = group(rig, (first, ports), size, rate).to_vec();
            let label = format!("{} {size} from port {}", test.as_str(), first + 1);
            let gate = if rate.is_some() { Gate::Strict } else { Gate::Flood };
            let Some(sides) = measure(rig, board, (label, streams), gate)? else { continue };
            let loss = |sides: &Sides| sides.uncongested.loss_ratio();
            if worst.as_ref().is_none_or(|(known, _)| loss(&sides) > loss(known)) {
                worst = Some((sides, first));
            }
        }
        let (sides, first) = worst.unzip();
        figures.extend(tell(rig, board, (test, size), (sides, first)));
    }
    Ok(figures)
}

/// None where no trial could be used. A pause keeps a sender from its load, which is the device's
/// answer and not the tester's failure.
fn measure(
    rig: &mut Rig<'_, '_>,
    board: &Board,
    (label, streams): (String, Vec<Stream>),
    gate: Gate,
) -> Result<Option<Sides>, TestbedError> {
    let duration = rig.spec.duration;
    let tried = rig.offer(board, Offer { label, streams, duration, gate })?;
    let paused = paused(&tried.record);
    if tried.valid().is_none() && !(paused && tried.beyond_tester()) {
        return Ok(None);
    }
    let flows: Vec<_> = tried.measured().collect();
    let of = |wanted: fn(usize) -> bool| {
        let flows = flows.iter().enumerate().filter(|(at, _)| wanted(*at));
        Count::of(flows.map(|(_, flow)| *flow))
    };
    Ok(Some(Sides {
        uncongested: of(|at| at % 3 == 0),
        congested: of(|at| at % 3 > 0),
        flooded: flooded(&tried.record),
        doubtful: tester_dropped(&tried),
        paused,
    }))
}

fn tell(
    rig: &Rig<'_, '_>,
    board: &Board,
    (test, size): (SwitchTest, FrameSize),
    (sides, first): (Option<Sides>, Option<usize>),
) -> Vec<Figure> {
    let mut row = rig.row(board, test, Some(size));
    if let Some(first) = first {
        row.conditions.insert("worst_from".to_owned(), board.ports[first].to_string().into());
    }
    if rig.line_rate(size).is_none() {
        row.caveats.insert(Caveat::MediaRateUnknown);
    }
    let Some(sides) = sides else {
        row.caveats.insert(Caveat::NoValidTrial);
        return vec![row.single(Metric::HeadOfLineBlocking, Unit::Flag, None)];
    };
    if sides.doubtful {
        row.caveats.insert(Caveat::TesterDrops);
    }
    row.conditions.insert("paused".to_owned(), if sides.paused { "yes" } else { "no" }.into());
    row.n = sides.uncongested.sent + sides.congested.sent;
    let driven = sides.congested.lost > 0 || sides.paused;
    row.verdict = match rig.verdict(board, size, (Some(0.0), driven)) {
        // A loss on the device's ports is nobody else's.
        _ if sides.doubtful => Verdict::Undetermined,
        told => told,
    };
    let mut figures = Vec::new();
    for (name, count) in [("uncongested", sides.uncongested), ("congested", sides.congested)] {
        let mut row = row.clone();
        row.conditions.insert("receiver".to_owned(), name.into());
        figures.push(row.single(Metric::Offered, Unit::FramesPerSecond, Some(count.offered)));
        figures.push(row.single(Metric::Received, Unit::FramesPerSecond, Some(count.received)));
        figures.push(row.single(Metric::LossRatio, Unit::Ratio, Some(count.loss_ratio())));
    }
    let flag = |yes: bool| (!sides.doubtful).then_some(if yes { 1.0 } else { 0.0 });
    // RFC 2889 §5.5.4: a loss at the uncongested port is head-of-line blocking, none at the congested
    // one back pressure.
    let blocked = flag(sides.uncongested.lost > 0);
    figures.push(row.single(Metric::HeadOfLineBlocking, Unit::Flag, blocked));
    figures.push(row.single(Metric::Backpressure, Unit::Flag, flag(sides.congested.lost == 0)));
    figures.push(row.single(Metric::Flooded, Unit::Count, Some(sides.flooded as f64)));
    figures
}
