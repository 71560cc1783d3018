//! As fast as the tester can: the forwarding rate at maximum offered load (RFC 2285 §3.6.2, FRMOL),
//! over blocks with all subjects and direct cables in random order.
//!
//! Never invalid for the tester's own loss, which is the point of a flood; it is a caveat.

use std::collections::BTreeMap;

use measure::Nanos;

use super::super::counts::{lost, lost_on_path, paused, sent};
use super::ForwardingTest;
use super::rig::{ByDirection, Cell, Direction, Notes, Offer, Rig, directions, set_direction};
use crate::study::{Row, Tried};
use crate::verdict::{Driven, Evidence, RateEvidence, Rates};
use page::{Caveat, Figure, Key, Metric, Unit};
use trial::record::DatagramsRecord;
use trial::validity::{OFFERED_LOAD_TOLERANCE, tester_losses};
use trial::{Result, Schedule};

const TEST: ForwardingTest = ForwardingTest::Flood;

/// Fewer frames than this tell no rate: the first and the last are too much of it.
const FEW_FRAMES: f64 = 200.0;

/// No flood is made longer than this for its number of frames.
const LONGEST_FLOOD: Nanos = Nanos::from_secs(5);

/// All blocks of one cell.
#[derive(Debug, Clone, Default)]
struct Side {
    samples: ByDirection<Sample>,
    /// What gave way in each block.
    driven: Vec<Driven>,
    /// The share of what was received that the tester itself dropped besides, block by block.
    own_drops: Vec<f64>,
    frames: u64,
    notes: Notes,
}

/// One block's rates, frames a second.
#[derive(Debug, Clone, Copy, Default)]
struct Sample {
    block: u32,
    offered: f64,
    sent: f64,
    received: f64,
    /// What one frame of each flow adds to `received`.
    frame: f64,
    /// What may be others' of it, in whose place the load's were lost.
    open: f64,
    lost: f64,
    duplicated: f64,
    reordered: f64,
    loss_ratio: f64,
}

/// One of a sample's numbers.
type Value = fn(&Sample) -> f64;

impl Sample {
    /// The sums over the flows; the lost share of all their frames.
    fn of(block: u32, flows: &[&DatagramsRecord]) -> Self {
        let none = Self { block, ..Self::default() };
        let mut all = flows.iter().fold(none, |sum, flow| sum.plus(flow));
        all.loss_ratio = lost(flows) as f64 / sent(flows).max(1) as f64;
        all
    }

    /// Counts over the sending time; what was received over the longer of sending and receiving.
    fn plus(self, seen: &DatagramsRecord) -> Self {
        let over = |count: u64, time: Nanos| match time {
            Nanos::ZERO => 0.0,
            time => count as f64 / time.as_secs_f64(),
        };
        let per_second = |count: u64| over(count, seen.sending);
        Self {
            offered: self.offered + per_second(seen.offered.saturating_sub(1)),
            sent: self.sent + seen.sending_rate().0,
            received: self.received + seen.receiving_rate().0,
            frame: self.frame + over(1, seen.receiving.max(seen.sending)),
            open: self.open + per_second(seen.open()),
            lost: self.lost + per_second(seen.received.lost(seen.sent)),
            duplicated: self.duplicated + per_second(seen.received.duplicated),
            reordered: self.reordered + per_second(seen.received.reordered),
            loss_ratio: 0.0,
            ..self
        }
    }
}

/// Every cell in every block, then the figures.
pub(super) fn run(rig: &mut Rig<'_, '_>) -> Result<Vec<Figure>> {
    let mut sides: BTreeMap<Cell, Side> = BTreeMap::new();
    let mut lengths: BTreeMap<Cell, Nanos> = BTreeMap::new();
    for block in 0..rig.spec.blocks {
        let mut order = rig.cells();
        rig.session.shuffle_block(&mut order, |cell| cell.way);
        for cell in order {
            let length = lengths.entry(cell).or_insert(rig.spec.duration);
            let flood = |length| Offer::new(TEST, cell, Schedule::Greedy, length).in_block(block);
            let mut tried = rig.offer(&flood(*length))?;
            if let Some(longer) = long_enough(&tried, *length) {
                *length = longer;
                tried = rig.offer(&flood(longer))?;
            }
            sides.entry(cell).or_default().take(&tried);
        }
    }
    Ok(rig.cells().into_iter().flat_map(|cell| figures(rig, cell, &sides)).collect())
}

/// How long a flood has to last to bring some frames through, where it did not; within bounds.
fn long_enough(tried: &Tried, length: Nanos) -> Option<Nanos> {
    let came = tried.measured().map(|flow| flow.received.unique).min()?;
    let more = FEW_FRAMES / came.max(1) as f64;
    let longer = Nanos::from_secs_f64(length.as_secs_f64() * more).min(LONGEST_FLOOD);
    (tried.valid().is_some() && longer > length && came < FEW_FRAMES as u64).then_some(longer)
}

impl Side {
    fn take(&mut self, tried: &Tried) {
        let Some(flows) = self.notes.flows(tried) else { return };
        let record = &tried.record;
        if !tester_losses(&tried.trial, &record.flows, &record.ports, &record.hosts).is_empty() {
            self.notes.caveats.push(Caveat::TesterDrops);
        }
        self.frames += sent(&flows);
        self.driven.push(driven(tried, &flows));
        self.own_drops.push(own_drops(tried, &flows));
        for (direction, flows) in directions(&flows) {
            let sample = Sample::of(tried.trial.block, &flows);
            self.samples.entry(direction).or_default().push(sample);
        }
    }

    /// What gave way in most blocks.
    fn usually_driven(&self) -> Driven {
        let most = |least: Driven| {
            2 * self.driven.iter().filter(|driven| **driven >= least).count() > self.driven.len()
        };
        [Driven::Lost, Driven::HeldBack].into_iter().find(|d| most(*d)).unwrap_or(Driven::No)
    }

    /// Received in each block, and of another side in the same one.
    fn pairs(&self, other: &Self, direction: Option<Direction>) -> Vec<(f64, Option<f64>)> {
        let samples = |side: &Self| side.samples.get(&direction).cloned().unwrap_or_default();
        let beside = samples(other);
        let pair = |own: &Sample| {
            let cable = beside.iter().find(|cable| cable.block == own.block);
            (own.received, cable.map(|cable| cable.received))
        };
        samples(self).iter().map(pair).collect()
    }
}

/// What of the path, and not only the tester, was at its limit: frames were lost on it beyond the
/// tester's own drops, or the sender was held back. A share below that at which a load counts as
/// offered says nothing about a rate.
fn driven(tried: &Tried, flows: &[&DatagramsRecord]) -> Driven {
    let offered: u64 = flows.iter().map(|flow| flow.offered).sum();
    let most = OFFERED_LOAD_TOLERANCE * offered as f64;
    let refused = offered.saturating_sub(sent(flows));
    if lost_on_path(tried) as f64 > most {
        Driven::Lost
    } else if refused as f64 > most || paused(tried) {
        Driven::HeldBack
    } else {
        Driven::No
    }
}

/// Frames that came back and that the tester itself dropped, as a share of those that it counted.
fn own_drops(tried: &Tried, flows: &[&DatagramsRecord]) -> f64 {
    let lost = lost(flows);
    let received = sent(flows).saturating_sub(lost).max(1);
    lost.saturating_sub(lost_on_path(tried)) as f64 / received as f64
}

fn figures(rig: &Rig<'_, '_>, cell: Cell, sides: &BTreeMap<Cell, Side>) -> Vec<Figure> {
    let empty = Side::default();
    let own = sides.get(&cell).unwrap_or(&empty);
    let bypass = rig.bypass_of(cell).and_then(|cable| sides.get(&cable)).unwrap_or(&empty);
    let own_drops = measure::quantile::median(&own.own_drops).unwrap_or(0.0);
    let mut names: Vec<Option<Direction>> = own.samples.keys().copied().collect();
    if names.is_empty() {
        names.push(None);
    }
    let mut figures = Vec::new();
    for direction in names {
        let mut row = rig.row(TEST, cell, &own.notes);
        set_direction(&mut row, direction);
        row.n = own.frames;
        let pairs = own.pairs(bypass, direction);
        let both_ways = if direction == Some(Direction::Total) { 2.0 } else { 1.0 };
        let rate = RateEvidence {
            rates: Rates::Paired(&pairs),
            driven: own.usually_driven(),
            own_drops,
            link: rig.line_rate(cell).map(|rate| rate.0 * both_ways),
        };
        row.verdict = rig.session.ways.judge(cell.way, &Evidence::Rate(rate));
        let samples = own.samples.get(&direction).map_or(&[][..], Vec::as_slice);
        figures.extend(of_samples(rig, &row, cell, samples));
    }
    figures
}

/// A count begins and ends anywhere between two frames: each end is off by one at most, in every
/// block alike, so that blocks that agree do not show it.
fn widen(received: &mut Figure, frame: &[f64]) {
    let Some(frame) = measure::quantile::median(frame) else { return };
    received.low = received.low.map(|low| (low - frame).max(0.0));
    received.high = received.high.map(|high| high + frame);
}

/// So many frames a second that count as received may be others', and as many more be lost.
fn leave_open(figures: &mut [Figure], open: f64) {
    for figure in figures {
        match figure.metric {
            Metric::Received => figure.low = figure.low.map(|low| (low - open).max(0.0)),
            Metric::Lost => figure.high = figure.high.map(|high| high + open),
            _ => {}
        }
    }
}

fn of_samples(rig: &Rig<'_, '_>, row: &Row, cell: Cell, samples: &[Sample]) -> Vec<Figure> {
    let values = |of: Value| samples.iter().map(of).collect::<Vec<f64>>();
    let rates: [(Metric, Value); 6] = [
        (Metric::Offered, |s| s.offered),
        (Metric::Sent, |s| s.sent),
        (Metric::Received, |s| s.received),
        (Metric::Lost, |s| s.lost),
        (Metric::Duplicated, |s| s.duplicated),
        (Metric::Reordered, |s| s.reordered),
    ];
    let mut figures: Vec<Figure> = rates
        .into_iter()
        .map(|(metric, of)| row.over_blocks(metric, Unit::FramesPerSecond, &values(of)))
        .collect();
    widen(&mut figures[2], &values(|s| s.frame));
    if rig.session.ways.is_counted_by_device(cell.way) {
        // Frames that nobody told apart have no order and no copies.
        figures.retain(|f| !matches!(f.metric, Metric::Duplicated | Metric::Reordered));
        // What a queue still held when the load ended has left by the time of the count.
        if samples.iter().any(|sample| sample.lost > 0.0) {
            figures[2].set(Key::Bound, "at most");
        }
    }
    let open = values(|s| s.open).into_iter().fold(0.0, f64::max);
    leave_open(&mut figures, open);
    let in_bits: Vec<Figure> = rig.frames[cell.frames].in_bits(&figures[2]).collect();
    figures.extend(in_bits);
    let mut ratio = row.over_blocks(Metric::LossRatio, Unit::Ratio, &values(|s| s.loss_ratio));
    let open = values(|s| s.open / s.sent.max(f64::MIN_POSITIVE)).into_iter().fold(0.0, f64::max);
    ratio.high = ratio.high.map(|high| (high + open).min(1.0));
    figures.push(ratio);
    figures
}
