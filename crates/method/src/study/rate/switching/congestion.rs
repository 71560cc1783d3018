//! An uncongested port beside a congested one: is what goes to the first held up by what goes to
//! the second (RFC 2889 §5.5, RFC 8239 §5)?
//!
//! Of four ports 1 sends half to 3 and half to 4, and 2 sends all to 4: port 4 gets 150 % of what
//! it carries, and without any control loses a third. In the control 2 sends the same to port 1,
//! and nobody congests anything. Never calls a loss head-of-line blocking that the control shows
//! too, nor one that the tester's own counters may explain.

mod pairs;

use measure::{FrameRate, FrameSize};

use super::super::counts::{Count, flooded, paused, tester_dropped};
use super::SwitchTest;
use super::finding::{CongestionCase, Egress, Rates};
use super::rig::{Offer, Rig};
use crate::study::Row;
use page::{Caveat, Key, Metric, Unit, Verdict};
use trial::{Flow, Gate, Result, Schedule};

use pairs::{Blocking, Pairs, Sides};

/// RFC 8239 §2: ports' clocks differ, so no more than this of the line's rate.
pub(super) const LINE_SHARE: f64 = 0.9998;

/// So often each of the two, one after the other, to see whether there is anything to decide.
const LOOKS: u32 = 2;
/// And so often afresh to decide it: that all of one kind lie beyond all of the other is chance
/// once in 252.
const DECIDES: u32 = 5;

/// Who sends to whom, how much.
struct Scene<'a> {
    label: String,
    size: FrameSize,
    /// The first port of each four, counted round all.
    firsts: &'a [usize],
    /// At all of it; as fast as can be where it is not known.
    rate: Option<FrameRate>,
}

/// The scene that stands for all of one size.
struct Worst {
    pairs: Pairs,
    /// The first port of its four, where fours were tried in turn.
    first: Option<usize>,
}

/// RFC 2889: all ports in groups of four at once, each at the most it can send. RFC 8239: one group
/// after another, shifted by one port each time; the worst stands for all.
pub(super) fn run(rig: &mut Rig<'_, '_>, test: SwitchTest) -> Result<Vec<CongestionCase>> {
    let ports = 0..rig.ports.len();
    let at_once = test == SwitchTest::Congestion;
    let scenes: Vec<Vec<usize>> = if at_once {
        vec![ports.step_by(4).filter(|first| first + 4 <= rig.ports.len()).collect()]
    } else {
        ports.map(|first| vec![first]).collect()
    };
    let mut cases = Vec::new();
    for size in rig.spec.frames.clone() {
        let line = rig.line_rate(size).filter(|_| !at_once);
        let rate = line.map(|line| FrameRate(line.0 * LINE_SHARE));
        let mut worst: Option<Worst> = None;
        for firsts in &scenes {
            let first = (!at_once).then_some(firsts[0]);
            let from = first.map(|first| format!(" from port {}", first + 1));
            let label = format!("{} {size}{}", test.as_str(), from.unwrap_or_default());
            let found = decide(rig, &Scene { label, size, firsts, rate })?;
            let Some(pairs) = found else { continue };
            if worst.as_ref().is_none_or(|known| pairs.is_worse(&known.pairs)) {
                worst = Some(Worst { pairs, first });
            }
        }
        cases.push(found_case(rig, test, size, worst));
    }
    Ok(cases)
}

/// Looks twice, and where the uncongested port did worse beside a congested one, decides by trials
/// of their own. None where no trial could be used.
fn decide(rig: &mut Rig<'_, '_>, scene: &Scene<'_>) -> Result<Option<Pairs>> {
    let Some(looked) = offer_pairs(rig, scene, LOOKS)? else { return Ok(None) };
    if !looked.may_block() {
        return Ok(Some(looked));
    }
    offer_pairs(rig, scene, DECIDES)
}

/// So many trials with congestion and as many without, in turn.
fn offer_pairs(rig: &mut Rig<'_, '_>, scene: &Scene<'_>, number: u32) -> Result<Option<Pairs>> {
    let mut found = Pairs::default();
    for pair in 0..number {
        let congested_first = pair % 2 == 0;
        for congests in [congested_first, !congested_first] {
            let Some(sides) = measure(rig, scene, congests)? else { return Ok(None) };
            if congests { found.congested.push(sides) } else { found.control.push(sides) }
        }
    }
    Ok(Some(found))
}

/// Four ports beginning with `first`, counted round all: three flows, the uncongested one's first.
/// In the control the last goes to the first port, which nobody else sends to.
fn group(rig: &Rig<'_, '_>, first: usize, scene: &Scene<'_>, congests: bool) -> [Flow; 3] {
    let at = |offset: usize| (first + offset) % rig.ports.len();
    let of = |share: f64| {
        scene.rate.map_or(Schedule::Greedy, |r| Schedule::Paced(FrameRate(r.0 * share)))
    };
    let last = if congests { at(3) } else { at(0) };
    [
        rig.stream((at(0), at(2)), scene.size, of(0.5)),
        rig.stream((at(0), at(3)), scene.size, of(0.5)),
        rig.stream((at(1), last), scene.size, of(1.0)),
    ]
}

/// None where no trial could be used. A pause keeps a sender from its load, which is the device's
/// answer and not the tester's failure.
fn measure(rig: &mut Rig<'_, '_>, scene: &Scene<'_>, congests: bool) -> Result<Option<Sides>> {
    let firsts = scene.firsts.iter();
    let flows = firsts.flat_map(|first| group(rig, *first, scene, congests)).collect();
    let control = if congests { "" } else { ", nobody congested" };
    let label = format!("{}{control}", scene.label);
    let duration = rig.spec.duration;
    let gate = if scene.rate.is_some() { Gate::Strict } else { Gate::Flood };
    let tried = rig.offer(Offer { label, flows, duration, gate })?;
    let paused = paused(&tried);
    if tried.valid().is_none() && !(paused && tried.beyond_tester()) {
        return Ok(None);
    }
    let flows: Vec<_> = tried.measured().collect();
    let of = |wanted: &dyn Fn(usize) -> bool| {
        let flows = flows.iter().enumerate().filter(|(at, _)| wanted(at % 3));
        Count::of(flows.map(|(_, flow)| *flow))
    };
    Ok(Some(Sides {
        uncongested: of(&|at| at == 0),
        // In the control only the first port sends to it.
        congested: of(&|at| at == 1 || (at == 2 && congests)),
        second_sender: of(&|at| at == 2),
        flooded: flooded(&tried.record),
        doubtful: tester_dropped(&tried),
        paused,
    }))
}

/// Results of the scenes of one size.
fn found_case(
    rig: &Rig<'_, '_>,
    test: SwitchTest,
    size: FrameSize,
    worst: Option<Worst>,
) -> CongestionCase {
    let mut row = rig.row(test, Some(size));
    let first = worst.as_ref().and_then(|worst| worst.first);
    let worst_from = first.map(|first| rig.ports[first].to_string());
    if let Some(port) = &worst_from {
        row.set(Key::WorstFrom, port.as_str());
    }
    let media_known = rig.line_rate(size).is_some();
    if !media_known {
        row.caveats.insert(Caveat::MediaRateUnknown);
    }
    let Some(Worst { pairs: found, .. }) = worst else {
        row.caveats.insert(Caveat::NoValidTrial);
        let blocking = row.single(Metric::HeadOfLineBlocking, Unit::Flag, None);
        let (egresses, backpressure, flooded) = (Vec::new(), None, None);
        return CongestionCase { size, worst_from, egresses, blocking, backpressure, flooded };
    };
    row.set(Key::Paused, found.paused());
    row.n = found.congested.iter().map(|s| s.uncongested.sent + s.congested.sent).sum();
    let blocking = found.blocking(media_known);
    row.caveats.extend(blocking.doubt());
    row.verdict = match blocking {
        // Hosts that do the device's work send and take in less beside it; a frame lost is the
        // device's.
        Blocking::Yes { lost: false } | Blocking::No if rig.shares_machine() => {
            Verdict::Undetermined
        }
        Blocking::Yes { .. } | Blocking::No => rig.sight(true),
        _ => Verdict::Undetermined,
    };
    let flag = |metric, yes: Option<bool>| {
        row.single(metric, Unit::Flag, yes.map(|yes| if yes { 1.0 } else { 0.0 }))
    };
    let astray: u64 = found.congested.iter().map(|sides| sides.flooded).sum();
    CongestionCase {
        size,
        worst_from,
        egresses: egresses(&found, &row),
        blocking: flag(Metric::HeadOfLineBlocking, blocking.is_known()),
        backpressure: Some(flag(Metric::Backpressure, found.backpressure())),
        flooded: Some(row.single(Metric::Flooded, Unit::Count, Some(astray as f64))),
    }
}

/// The mean rates at both ports, and at the uncongested one with nobody congested.
fn egresses(found: &Pairs, row: &Row) -> Vec<Egress> {
    let counts = [
        ("uncongested", pairs::mean(&found.congested, |sides| sides.uncongested)),
        ("congested", pairs::mean(&found.congested, |sides| sides.congested)),
        ("uncongested-control", pairs::mean(&found.control, |sides| sides.uncongested)),
    ];
    let egress = |(name, count)| {
        let mut row = row.clone();
        row.set(Key::Egress, name);
        Egress { name, rates: Rates::new(Some(count), &row) }
    };
    counts.into_iter().map(egress).collect()
}
