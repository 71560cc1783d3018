//! Uncongested port next to a congested one: does traffic to the second limit traffic to the first
//! (RFC 2889 §5.5, RFC 8239 §5)?
//!
//! Of four ports, port 1 sends half to 3 and half to 4, and port 2 sends all to 4. Thus port 4 gets
//! 150 % of its line rate, and loses a third without flow control. In the control, port 2 sends the
//! same to port 1, and no port is congested. Never calls a loss head-of-line blocking if the
//! control shows it too, or if the tester's own counters may explain it.

mod pairs;

use measure::{FrameRate, FrameSize};

use super::super::counts::{Count, flooded, paused, tester_dropped};
use super::SwitchTest;
use super::finding::{CongestionCase, Egress, Rates};
use super::rig::{Offer, Rig};
use crate::Row;
use page::{Caveat, Key, Metric, Unit, Verdict};
use trial::{Flow, Gate, Result, Schedule};

use pairs::{Blocking, Pairs, Sides};

/// RFC 8239 §2: share of line rate offered, as ports' clocks differ.
pub(super) const LINE_SHARE: f64 = 0.9998;

/// Trials of each kind, alternating, for a first look.
const LOOKS: u32 = 2;
/// Trials of each kind for the decision. All of one kind exceed all of the other by chance in one
/// of 252 cases.
const DECIDES: u32 = 5;

/// Traffic of a trial.
struct Scene<'a> {
    label: String,
    size: FrameSize,
    /// First port of each group of four, counted modulo the number of ports.
    firsts: &'a [usize],
    /// Full rate of a sender; `None` for as fast as possible, if line rate is unknown.
    rate: Option<FrameRate>,
}

/// Worst scene of one size.
struct Worst {
    pairs: Pairs,
    /// First port of its group; `None` if all groups were tested at once.
    first: Option<usize>,
}

/// Runs the test for every size. RFC 2889: all ports in groups of four at once, at their maximum
/// rate. RFC 8239: one group after another, shifted by one port each time, of which the worst is
/// reported.
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

/// Runs a first look, and more trials if the uncongested port did worse with congestion. `None` if
/// no trial was usable.
fn decide(rig: &mut Rig<'_, '_>, scene: &Scene<'_>) -> Result<Option<Pairs>> {
    let Some(looked) = offer_pairs(rig, scene, LOOKS)? else { return Ok(None) };
    if !looked.may_block() {
        return Ok(Some(looked));
    }
    offer_pairs(rig, scene, DECIDES)
}

/// Runs trials with and without congestion, alternating.
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

/// Flows of four ports from `first` on, counted modulo the number of ports; the uncongested one
/// comes first. In the control, the last flow goes to the first port, to which no other port sends.
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

/// Runs one trial; `None` if it was not usable. A PAUSE frame that keeps a sender below its load is
/// the device's response, not a failure of the tester.
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
        Count::from_flows(flows.map(|(_, flow)| *flow))
    };
    Ok(Some(Sides {
        uncongested: of(&|at| at == 0),
        // In the control, only the first port sends to it.
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
        // Hosts that run the device too are slower with it; only lost frames are certainly the
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

/// Mean rates at both ports, and at the uncongested one in the control.
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
