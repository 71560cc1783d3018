//! How long a reset interrupts forwarding (RFC 2544 §26.6 as replaced by RFC 6201): told by the frames
//! lost at a constant rate, and by the longest gap between arrivals.
//!
//! Never resets a device that the testbed has no hook for, and never calls one back that did not come.

use measure::{FrameRate, Nanos};

use super::ForwardingTest;
use super::rig::{Cell, Direction, Found, Notes, Offer, Rig, directions, seen, set_direction};
use crate::record::DatagramsRecord;
use crate::trial::{Deed, Event, Schedule};
use crate::validity::EDGE;
use crate::{Caveat, Figure, Metric, TestbedError, Unit, Verdict};

const TEST: ForwardingTest = ForwardingTest::Reset;

/// Resets of each cell; fewer where the study has fewer blocks.
pub(super) const REPEATS: u32 = 3;

/// By how much a sender may fall short beyond the gap that the reset made, relative to the gap.
const SHORT: f64 = 0.02;

/// What one reset did to one flow, in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Interruption {
    direction: Option<Direction>,
    /// `None` where the device did not come back within the trial.
    told: Option<Told>,
}

#[derive(Debug, Clone, Copy)]
struct Told {
    /// Frames lost over the rate; `None` where the sender fell short for reasons of its own.
    loss: Option<f64>,
    /// The longest gap between arrivals.
    gap: f64,
}

impl Interruption {
    /// Frames whose time came while the link was down are lost too, though they never left. More than
    /// the gap accounts for were the tester's to send, and can't be told from the device's losses.
    fn of(direction: Option<Direction>, seen: &DatagramsRecord, rate: FrameRate) -> Self {
        let due = seen.offered.max(seen.sent);
        let missing = due.saturating_sub(seen.received.unique);
        let back = seen.received.last_lost(seen.sent).is_none_or(|number| number + 1 < seen.sent);
        let gap = seen.arrivals.max();
        let excused = (gap + EDGE).as_secs_f64() * rate.0 * (1.0 + SHORT);
        let held_up = (due - seen.sent) as f64 > excused;
        let loss = (!held_up).then_some(missing as f64 / rate.0 * 1e9);
        Self { direction, told: back.then_some(Told { loss, gap: gap.0 as f64 }) }
    }
}

/// Every subject and its frames.
pub(super) fn run(rig: &mut Rig<'_, '_>) -> Result<Vec<Figure>, TestbedError> {
    let mut figures = Vec::new();
    for cell in rig.subject_cells() {
        if !rig.session.resettable(cell.way) {
            figures.push(nothing(rig, cell, &Notes::only(Caveat::NotResettable)));
            continue;
        }
        let Some(found) = rig.found(cell) else {
            figures.push(nothing(rig, cell, &Notes::only(Caveat::NoThroughput)));
            continue;
        };
        figures.extend(of_subject(rig, cell, found)?);
    }
    Ok(figures)
}

fn nothing(rig: &Rig<'_, '_>, cell: Cell, notes: &Notes) -> Figure {
    let mut row = rig.row(TEST, cell, notes);
    row.verdict = rig.session.ways.verdict(cell.way, || Verdict::Undetermined);
    row.single(Metric::ResetTime, Unit::Nanoseconds, None)
}

fn of_subject(
    rig: &mut Rig<'_, '_>,
    cell: Cell,
    found: Found,
) -> Result<Vec<Figure>, TestbedError> {
    let rate = FrameRate(found.rate);
    let mut seen_all: Vec<Interruption> = Vec::new();
    let mut notes = Notes::default();
    let at = Nanos(rig.spec.duration.0.min(rig.spec.reset_duration.0 / 4));
    for block in 0..rig.spec.blocks.min(REPEATS) {
        let schedule = Schedule::Paced(rate);
        let mut offer = Offer::new(TEST, cell, schedule, rig.spec.reset_duration).in_block(block);
        offer.events.push(Event { at, deed: Deed::Reset });
        let tried = rig.offer(&offer)?;
        notes.hear(&tried);
        let Some(flows) = seen(&tried) else {
            notes.caveats.push(Caveat::NoValidTrial);
            continue;
        };
        for (direction, flows) in directions(&flows) {
            let [one] = flows[..] else { continue };
            seen_all.push(Interruption::of(direction, one, rate));
        }
    }
    let mut names: Vec<Option<Direction>> = seen_all.iter().map(|one| one.direction).collect();
    names.sort();
    names.dedup();
    if names.is_empty() {
        return Ok(vec![nothing(rig, cell, &notes)]);
    }
    let of = |name| of_direction(rig, cell, (rate, &notes), (name, &seen_all));
    Ok(names.into_iter().flat_map(of).collect())
}

fn of_direction(
    rig: &Rig<'_, '_>,
    cell: Cell,
    (rate, notes): (FrameRate, &Notes),
    (name, all): (Option<Direction>, &[Interruption]),
) -> [Figure; 2] {
    let mut row = rig.row(TEST, cell, notes);
    set_direction(&mut row, name);
    row.conditions.insert("load_frames_per_s".to_owned(), rate.0.into());
    let own: Vec<&Interruption> = all.iter().filter(|one| one.direction == name).collect();
    row.n = own.len() as u64;
    let told: Option<Vec<Told>> = own.iter().map(|one| one.told).collect();
    if told.is_none() {
        row.caveats.insert(Caveat::NotRecovered);
    }
    let told = told.unwrap_or_default();
    let gaps: Vec<f64> = told.iter().map(|told| told.gap).collect();
    let losses: Vec<f64> = told.iter().filter_map(|told| told.loss).collect();
    // The cable carried this rate without loss when it was searched; only the device was reset.
    let interrupted = gaps.iter().any(|gap| *gap > 2e9 / rate.0);
    let judged = if interrupted { Verdict::DeviceLimited } else { Verdict::Undetermined };
    row.verdict = rig.session.ways.verdict(cell.way, || judged);
    let of = |estimate: &str, values: &[f64]| {
        let mut figure = row.over_blocks(Metric::ResetTime, Unit::Nanoseconds, values);
        figure.conditions.insert("estimate".to_owned(), estimate.into());
        figure
    };
    let (mut loss, gap) = (of("loss", &losses), of("gap", &gaps));
    if losses.len() < gaps.len() {
        loss.caveats.push(Caveat::LoadBelowAsked);
        loss.caveats.sort();
    }
    [loss, gap]
}

#[cfg(test)]
mod tests {
    use measure::Histogram;
    use measure::reading::Rejected;
    use measure::sequence::SequenceCounts;

    use super::*;

    const RATE: FrameRate = FrameRate(10_000.0);

    /// Ten seconds of which the longest gap was half a second.
    fn seen(sent: u64, unique: u64) -> DatagramsRecord {
        let mut arrivals = Histogram::new();
        arrivals.record(Nanos::from_millis(500));
        DatagramsRecord {
            backend: "packet".to_owned(),
            backend_reason: "asked for".to_owned(),
            offered: 100_000,
            sent,
            receiver: "udp".to_owned(),
            receiver_reason: "asked for".to_owned(),
            received: SequenceCounts {
                unique,
                highest: sent.checked_sub(1),
                last_missing: Some(sent / 2),
                ..SequenceCounts::default()
            },
            rejected: Rejected::default(),
            sending: Nanos::from_secs(10),
            receiving: Nanos::from_secs(10),
            departures: Histogram::new(),
            arrivals,
            delays: None,
            longest_burst: 1,
            late: 0,
            socket_drops: 0,
        }
    }

    #[test]
    fn losses_count_only_where_the_sender_kept_its_load() {
        let loss = |sent, unique| Interruption::of(None, &seen(sent, unique), RATE).told?.loss;
        // Lost on the device; refused because its link was down; half of each.
        for (sent, unique) in [(100_000, 95_000), (95_000, 95_000), (97_500, 95_000)] {
            assert_eq!(loss(sent, unique), Some(5e8), "{sent} {unique}");
        }
        // Held up for a second and a half beyond the half that the device was away.
        assert_eq!(loss(80_000, 80_000), None);
        let gap = Interruption::of(None, &seen(80_000, 80_000), RATE).told.map(|told| told.gap);
        assert!(gap.is_some_and(|gap| (gap / 5e8 - 1.0).abs() < 0.002));
    }
}
