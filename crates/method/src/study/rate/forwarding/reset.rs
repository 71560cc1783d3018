//! How long a reset interrupts forwarding (RFC 2544 §26.6 as replaced by RFC 6201): by the frames
//! lost at a constant rate, and by the longest gap between arrivals, each beyond what the same load
//! shows without a reset.
//!
//! Never resets a device that the testbed has no hook for, never calls one back that did not come,
//! and never takes the tester's own gaps for an outage.

use measure::quantile::median;
use measure::{FrameRate, Nanos};

use super::super::counts::seen;
use super::ForwardingTest;
use super::rig::{CONTROL, Cell, Direction, Found, Notes, Offer, Rig, directions, set_direction};
use crate::study::rows::Row;
use crate::verdict::{Evidence, Setting, Standing};
use page::{Caveat, Figure, Metric, Unit};
use trial::TestbedError;
use trial::record::DatagramsRecord;
use trial::validity::EDGE;
use trial::{Deed, Event, Schedule};

const TEST: ForwardingTest = ForwardingTest::Reset;

/// Resets of each cell; fewer where the study has fewer blocks.
pub(super) const REPEATS: u32 = 3;

/// How often such trials are made beside so many resets.
pub(super) const fn controls(resets: u32) -> u32 {
    resets + 1
}

/// An outage is shown where each trial with a reset has more than so many times what any without
/// one had: of three resets and four controls all three come out highest once in 35 by chance
/// alone.
const BEYOND: f64 = 2.0;
/// The same of fewer resets.
const FAR_BEYOND: f64 = 10.0;

/// Frames that a device at its limit has inside when it goes down: they are lost too, and as many
/// come late when it is back.
const INSIDE: f64 = 2.0;

/// A reset comes after so many frames, that some have come before it.
const BEFORE: f64 = 16.0;

/// And the trial lasts so many times longer.
const TIMES_BEFORE: u64 = 4;

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
    /// Frames whose time came while the link was down are lost too, though they never left. More
    /// than the gap accounts for were the tester's to send, and can't be told from the device's
    /// losses.
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
    row.verdict = rig.session.ways.judge(cell.way, &Evidence::Nothing);
    row.single(Metric::ResetTime, Unit::Nanoseconds, None)
}

fn of_subject(
    rig: &mut Rig<'_, '_>,
    cell: Cell,
    found: Found,
) -> Result<Vec<Figure>, TestbedError> {
    let rate = FrameRate(found.rate);
    let mut all = Trials::default();
    let mut notes = Notes::default();
    let resets = rig.spec.blocks.min(REPEATS);
    for block in 0..controls(resets) {
        all.controls.extend(interruptions(rig, cell, (rate, block), false, &mut notes)?);
        if block < resets {
            all.resets.extend(interruptions(rig, cell, (rate, block), true, &mut notes)?);
        }
    }
    let mut names: Vec<Option<Direction>> = all.resets.iter().map(|one| one.direction).collect();
    names.sort();
    names.dedup();
    if names.is_empty() {
        return Ok(vec![nothing(rig, cell, &notes)]);
    }
    let of = |name| of_direction(rig, cell, (rate, &notes), (name, &all));
    Ok(names.into_iter().flat_map(of).collect())
}

/// What one trial did to each direction; nothing where it can't be used.
fn interruptions(
    rig: &mut Rig<'_, '_>,
    cell: Cell,
    (rate, block): (FrameRate, u32),
    resets: bool,
    notes: &mut Notes,
) -> Result<Vec<Interruption>, TestbedError> {
    let before = Nanos::from_secs_f64(BEFORE / rate.0).max(rig.spec.duration);
    let duration = rig.spec.reset_duration.max(Nanos(before.0 * TIMES_BEFORE));
    let mut offer = Offer::new(TEST, cell, Schedule::Paced(rate), duration).in_block(block);
    if resets {
        offer.events.push(Event { at: before, deed: Deed::Reset });
    } else {
        offer.test = CONTROL;
    }
    let tried = rig.offer(&offer)?;
    notes.hear(&tried);
    let Some(flows) = seen(&tried) else {
        notes.caveats.push(Caveat::NoValidTrial);
        return Ok(Vec::new());
    };
    let mut all = Vec::new();
    for (direction, flows) in directions(&flows) {
        let [one] = flows[..] else { continue };
        all.push(Interruption::of(direction, one, rate));
    }
    Ok(all)
}

/// Trials with a reset, and without.
#[derive(Debug, Default)]
struct Trials {
    resets: Vec<Interruption>,
    controls: Vec<Interruption>,
}

/// What the device was away for, of one estimate.
#[derive(Debug, PartialEq)]
enum Outage {
    /// So long each time beyond what the tester alone typically shows; in any one trial that may
    /// have been its longest (`shorter` by so much), or nothing (`longer`).
    Shown { each: Vec<f64>, shorter: f64, longer: f64 },
    /// No longer than so, if at all.
    AtMost(f64),
    /// Nothing to tell it by, or no control.
    Untold,
}

impl Outage {
    fn of(resets: &[f64], controls: &[f64]) -> Self {
        let most = |values: &[f64]| values.iter().copied().max_by(f64::total_cmp);
        let (Some(longest), Some(own)) = (most(resets), most(controls)) else {
            return Self::Untold;
        };
        let clear = if resets.len() >= REPEATS as usize { BEYOND } else { FAR_BEYOND };
        if resets.iter().all(|one| *one > clear * own) {
            let typical = median(controls).unwrap_or(own);
            let each = resets.iter().map(|one| one - typical).collect();
            Self::Shown { each, shorter: own - typical, longer: typical }
        } else {
            Self::AtMost(longest)
        }
    }
}

fn of_direction(
    rig: &Rig<'_, '_>,
    cell: Cell,
    (rate, notes): (FrameRate, &Notes),
    (name, all): (Option<Direction>, &Trials),
) -> [Figure; 2] {
    let mut row = rig.row(TEST, cell, notes);
    set_direction(&mut row, name);
    row.conditions.insert("load_frames_per_s".to_owned(), rate.0.into());
    let own = |trials: &[Interruption]| -> Vec<Option<Told>> {
        trials.iter().filter(|one| one.direction == name).map(|one| one.told).collect()
    };
    let (resets, controls) = (own(&all.resets), own(&all.controls));
    row.n = resets.len() as u64;
    // One that stayed away once has no typical outage.
    let told: Option<Vec<Told>> = resets.into_iter().collect();
    if told.is_none() {
        row.caveats.insert(Caveat::NotRecovered);
    }
    let told = told.unwrap_or_default();
    // A control that lost its last frames has a gap, and a loss, too.
    let controls: Vec<Told> = controls.into_iter().flatten().collect();
    let of = |estimate: &str, value: fn(&Told) -> Option<f64>| {
        let values = |told: &[Told]| -> Vec<f64> { told.iter().filter_map(value).collect() };
        let outage = Outage::of(&values(&told), &values(&controls));
        let mut row = row.clone();
        row.conditions.insert("estimate".to_owned(), estimate.into());
        outage.figure(rig, (cell, rate), row)
    };
    let (mut loss, gap) = (of("loss", |told| told.loss), of("gap", |told| Some(told.gap)));
    // What waited in the device was lost too, and of a load at its limit that may be much.
    loss.low = loss.low.map(|low| gap.low.map_or(low, |gap| low.min(gap)));
    if told.iter().any(|told| told.loss.is_none()) {
        loss.caveats.push(Caveat::LoadBelowAsked);
        loss.caveats.sort();
    }
    [loss, gap]
}

impl Outage {
    fn figure(&self, rig: &Rig<'_, '_>, (cell, rate): (Cell, FrameRate), mut row: Row) -> Figure {
        // Where no frame was due nothing was seen.
        let spacing = 1e9 / rate.0;
        let (metric, unit) = (Metric::ResetTime, Unit::Nanoseconds);
        // No cable is reset: what a device does without a reset is the control.
        let setting = Setting { standing: Standing::Beside, ..rig.session.ways.setting(cell.way) };
        let sight = |seen| Evidence::Sight { seen, in_control: Some(false) }.verdict(setting);
        match self {
            Self::Shown { each, shorter, longer } => {
                row.verdict = sight(true);
                let mut figure = row.over_blocks(metric, unit, each);
                figure.low = figure.low.map(|low| low - shorter - (1.0 + INSIDE) * spacing);
                figure.high = figure.high.map(|high| high + longer + spacing);
                figure
            }
            Self::AtMost(longest) => {
                row.verdict = sight(false);
                row.caveats.insert(Caveat::NotResolved);
                let mut figure = row.single(metric, unit, None);
                figure.high = Some(longest + spacing);
                figure
            }
            Self::Untold => row.single(metric, unit, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use measure::Histogram;
    use measure::sequence::SequenceCounts;
    use scripted::one_way;

    use super::*;

    const RATE: FrameRate = FrameRate(10_000.0);

    /// Ten seconds of which the longest gap was half a second.
    fn seen(sent: u64, unique: u64) -> DatagramsRecord {
        let mut arrivals = Histogram::new();
        arrivals.record(Nanos::from_millis(500));
        let received = SequenceCounts {
            unique,
            highest: sent.checked_sub(1),
            last_missing: Some(sent / 2),
            ..SequenceCounts::default()
        };
        let whole = one_way(Nanos::from_secs(10), sent, unique);
        DatagramsRecord { offered: 100_000, received, arrivals, ..whole }
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

    #[test]
    fn the_testers_own_gaps_are_no_outage() {
        let own = [150e3, 95e3, 400e3, 210e3];
        for (resets, controls, expected) in [
            (&[218e3, 95e3, 1_091e3][..], &own[..], Outage::AtMost(1_091e3)),
            (
                &[900e3, 850e3, 1_000e3],
                &own,
                Outage::Shown { each: vec![720e3, 670e3, 820e3], shorter: 220e3, longer: 180e3 },
            ),
            // One control in which the tester lost the processor moves the interval, not the value.
            (
                &[500e6, 500e6, 500e6],
                &[0.0, 62e6, 0.0, 0.0],
                Outage::Shown { each: vec![500e6; 3], shorter: 62e6, longer: 0.0 },
            ),
            // Of one or two, further off.
            (&[900e3, 850e3], &own, Outage::AtMost(900e3)),
            (&[0.0, 0.0, 0.0], &[0.0; 4], Outage::AtMost(0.0)),
            (&[900e3, 850e3, 1_000e3], &[], Outage::Untold),
            (&[], &own, Outage::Untold),
        ] {
            assert_eq!(Outage::of(resets, controls), expected, "{resets:?}");
        }
    }
}
