//! Interruption of forwarding by a reset (RFC 2544 §26.6 as replaced by RFC 6201). One estimate
//! counts the frames lost at a constant rate, the other takes the longest gap between arrivals.
//! Both are compared with the same load without a reset.
//!
//! Never resets a device without a hook in the testbed, and never calls one recovered that did not
//! return. Never takes the tester's own gaps for an outage.

use measure::{FrameRate, Nanos};

use super::ForwardingTest;
use super::finding::{EachWay, Outages, ResetCase};
use super::rig::{
    ByDirection, CONTROL, Cell, Direction, Notes, Offer, Rig, each_way, set_direction,
};
use crate::outage::{self, Outage, Resolution};
use crate::rows::Row;
use crate::verdict::Evidence;
use page::{Caveat, Figure, Key, Metric, Unit};
use trial::record::DatagramsRecord;
use trial::validity::EDGE;
use trial::{Deed, Event, Result, Schedule};

const TEST: ForwardingTest = ForwardingTest::Reset;
const TOLD: (Metric, Unit) = (Metric::ResetTime, Unit::Nanoseconds);

/// Resets of each cell; fewer if the study has fewer blocks.
pub(super) const REPEATS: u32 = outage::REPEATS;

/// Number of control trials for a number of resets.
pub(super) const fn controls(resets: u32) -> u32 {
    resets + 1
}

/// Frames inside a device at its limit when it goes down. They are lost too, and as many arrive
/// late afterwards.
const INSIDE: f64 = 2.0;

/// Frames due before a reset, so that some have arrived.
const BEFORE: f64 = 16.0;

/// Ratio of the trial's length to the time before the reset.
const TIMES_BEFORE: u64 = 4;

/// Allowed shortfall of a sender beyond the gap of the reset, relative to the gap.
const SHORT: f64 = 0.02;

/// Effect of one reset on one flow, in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Told {
    /// Lost frames divided by the rate; `None` if the sender fell short for other reasons.
    loss: Option<f64>,
    /// Longest gap between arrivals.
    gap: f64,
}

impl Told {
    /// Measures a flow; `None` if the device did not return within the trial.
    ///
    /// Frames due while the link was down count as lost, though they were never sent. A larger
    /// shortfall than the gap explains is the tester's, and hides the device's losses.
    fn from_flow(seen: &DatagramsRecord, rate: FrameRate) -> Option<Self> {
        let due = seen.offered.max(seen.sent);
        let missing = due.saturating_sub(seen.received.unique);
        let back = seen.received.last_lost(seen.sent).is_none_or(|number| number + 1 < seen.sent);
        let gap = seen.arrivals.max();
        let excused = (gap + EDGE).as_secs_f64() * rate.0 * (1.0 + SHORT);
        let held_up = (due - seen.sent) as f64 > excused;
        let loss = (!held_up).then_some(missing as f64 / rate.0 * 1e9);
        back.then_some(Self { loss, gap: gap.0 as f64 })
    }
}

/// Effects of trials by direction; `None` if the device did not return.
type Interruptions = ByDirection<Option<Told>>;

/// Runs the test for a subject and its frames.
pub(super) fn run(rig: &mut Rig<'_, '_>, cell: Cell) -> Result<ResetCase> {
    if !rig.session.resettable(cell.way) {
        let missing = rig.nothing(TEST, cell, Caveat::NotResettable, TOLD.0, TOLD.1);
        return Ok(nothing(rig, cell, missing));
    }
    let Some(found) = rig.found(cell) else {
        let missing = rig.nothing(TEST, cell, Caveat::NoThroughput, TOLD.0, TOLD.1);
        return Ok(nothing(rig, cell, missing));
    };
    let rate = FrameRate(found.rate);
    let (mut resets, mut controls) = (Interruptions::new(), Interruptions::new());
    let mut notes = Notes::default();
    let times = rig.spec.blocks.get().min(REPEATS);
    for block in 0..self::controls(times) {
        let offer = trial(rig, cell, rate, block);
        let control = Offer { test: CONTROL, events: Vec::new(), ..offer.clone() };
        interrupt(rig, &control, rate, &mut controls, &mut notes)?;
        if block < times {
            interrupt(rig, &offer, rate, &mut resets, &mut notes)?;
        }
    }
    if resets.is_empty() {
        let mut row = rig.row(TEST, cell, &notes);
        row.verdict = rig.session.ways.judge(cell.way, &Evidence::Nothing);
        return Ok(nothing(rig, cell, row.single(TOLD.0, TOLD.1, None)));
    }
    let one_way = |(direction, resets): (&Option<Direction>, &Vec<_>)| {
        let mut row = rig.row(TEST, cell, &notes);
        set_direction(&mut row, *direction);
        row.set(Key::LoadRate, rate.0);
        let controls = controls.get(direction).map_or(&[][..], Vec::as_slice);
        (*direction, outages(rig, row, cell, rate, resets, controls))
    };
    let outages = resets.iter().map(one_way).collect();
    Ok(ResetCase { traffic: rig.traffic(cell), load: Some(rate), outages })
}

fn nothing(rig: &Rig<'_, '_>, cell: Cell, missing: Figure) -> ResetCase {
    let none = Outages { missing: Some(missing), ..Outages::default() };
    let outages = EachWay::from([(None, none)]);
    ResetCase { traffic: rig.traffic(cell), load: None, outages }
}

/// Trial with a reset.
fn trial(rig: &Rig<'_, '_>, cell: Cell, rate: FrameRate, block: u32) -> Offer {
    // A reset before the first frames arrive would interrupt nothing.
    let at = Nanos::from_secs_f64(BEFORE / rate.0).max(rig.spec.duration);
    let at = at + rig.session.holds_for(cell.way);
    let duration = rig.spec.reset_duration.max(Nanos(at.0 * TIMES_BEFORE));
    let events = vec![Event { at, deed: Deed::Reset }];
    Offer { block, events, ..Offer::new(TEST, cell, Schedule::Paced(rate), duration) }
}

/// Takes in the effect of one trial on each direction; nothing if it is unusable.
fn interrupt(
    rig: &mut Rig<'_, '_>,
    offer: &Offer,
    rate: FrameRate,
    all: &mut Interruptions,
    notes: &mut Notes,
) -> Result<()> {
    let tried = rig.offer(offer)?;
    for (direction, one) in notes.flows(&tried).iter().flat_map(|flows| each_way(flows)) {
        all.entry(direction).or_default().push(Told::from_flow(one, rate));
    }
    Ok(())
}

fn outages(
    rig: &Rig<'_, '_>,
    mut row: Row,
    cell: Cell,
    rate: FrameRate,
    resets: &[Option<Told>],
    controls: &[Option<Told>],
) -> Outages {
    row.n = resets.len() as u64;
    // A device that once did not return has no typical outage.
    let told: Option<Vec<Told>> = resets.iter().copied().collect();
    if told.is_none() {
        row.caveats.insert(Caveat::NotRecovered);
    }
    let told = told.unwrap_or_default();
    // A control that lost its last frames has a gap and a loss too.
    let controls: Vec<Told> = controls.iter().copied().flatten().collect();
    let figure = |estimate: &str, value: fn(&Told) -> Option<f64>| {
        let values = |told: &[Told]| -> Vec<f64> { told.iter().filter_map(value).collect() };
        let outage = Outage::from_trials(&values(&told), &values(&controls));
        let mut row = row.clone();
        row.set(Key::Estimate, estimate);
        let resolution = Resolution { spacing: 1e9 / rate.0, inside: INSIDE };
        outage.figure(row, TOLD.0, rig.session.ways.setting(cell.way), resolution)
    };
    let (mut loss, gap) = (figure("loss", |told| told.loss), figure("gap", |told| Some(told.gap)));
    // Frames queued in the device were lost too, which may be many at the device's limit.
    loss.low = loss.low.map(|low| gap.low.map_or(low, |gap| low.min(gap)));
    if told.iter().any(|told| told.loss.is_none()) {
        loss.doubt(Caveat::LoadBelowAsked);
    }
    Outages { by_loss: Some(loss), by_gap: Some(gap), missing: None }
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
        let loss = |sent, unique| Told::from_flow(&seen(sent, unique), RATE)?.loss;
        // Lost on the device; refused because its link was down; half of each.
        for (sent, unique) in [(100_000, 95_000), (95_000, 95_000), (97_500, 95_000)] {
            assert_eq!(loss(sent, unique), Some(5e8), "{sent} {unique}");
        }
        // Held up for a second and a half beyond the half that the device was away.
        assert_eq!(loss(80_000, 80_000), None);
        let gap = Told::from_flow(&seen(80_000, 80_000), RATE).map(|told| told.gap);
        assert!(gap.is_some_and(|gap| (gap / 5e8 - 1.0).abs() < 0.002));
    }
}
