//! As fast as the tester can: the forwarding rate at maximum offered load (RFC 2285 §3.6.2, FRMOL),
//! over blocks with all subjects and direct cables in random order.
//!
//! Owns the length of a flood: a second, longer one tells a rate from what a token bucket gives at
//! first, and where that is notable every block has both. Never invalid for the tester's own loss,
//! which is the point of a flood; it is a caveat.

mod sample;

use std::collections::BTreeMap;

use measure::Nanos;

use super::super::counts::{lost, lost_on_path, paused, seen, sent};
use super::super::sustained::{lasting, longer};
use super::finding::{FloodCase, FloodCounts};
use super::rig::{ByDirection, Cell, Direction, Notes, Offer, Rig, directions, set_direction};
use super::{ForwardingTest, SearchRules};
use crate::study::{Row, Tried};
use crate::verdict::{Driven, Evidence, RateEvidence, Rates};
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};
use sample::Sample;
use trial::record::DatagramsRecord;
use trial::validity::{OFFERED_LOAD_TOLERANCE, tester_losses};
use trial::{Result, Schedule};

const TEST: ForwardingTest = ForwardingTest::Flood;

/// Fewer frames than this tell no rate: the first and the last are too much of it.
const FEW_FRAMES: f64 = 200.0;

/// A bucket that gives a larger share of a flood's frames is told from the rate in every block; a
/// smaller one lowers the interval's lower end.
const NOTED_BUCKET: f64 = 0.03;

/// A longer flood lasts at least so many times as long.
const LONGER: f64 = 1.5;

/// The further floods that tell a bucket from a rate.
const SATURATION: &str = "saturation";

/// So often a flood that a bucket let pass whole is made longer.
const MOST_LONGER: u32 = 3;

/// So often a block's flood may give cause to look for a bucket again.
const MOST_SUSPECTED: u32 = 3;

/// No more of a flood's time than this counts as starved.
const MOST_STARVED: f64 = 0.99;

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
    /// Frames that a bucket gave at first, of each block where it is told from the rate.
    buckets: Vec<f64>,
    /// The longer flood that a bucket was looked for with, by direction.
    longer: Vec<Sample>,
    /// How often a block spoke for a bucket that the look before it had not found.
    suspected: u32,
    /// What a bucket too small to be told from the rate may have given, as a share of it.
    unseen: f64,
    /// Whether a device's counter stands for a receiver.
    is_counted: bool,
    notes: Notes,
}

/// One of a sample's numbers.
type Value = fn(&Sample) -> f64;

/// Every cell in every block, then what each came to.
pub(super) fn run(rig: &mut Rig<'_, '_>) -> Result<Vec<FloodCase>> {
    let mut sides: BTreeMap<Cell, Side> = BTreeMap::new();
    let mut lengths: BTreeMap<Cell, Length> = BTreeMap::new();
    let mut late: Vec<(Cell, u32)> = Vec::new();
    for block in 0..rig.spec.blocks.get() {
        let mut order = rig.cells();
        rig.session.shuffle_block(&mut order, |cell| cell.way);
        for cell in order {
            let mut length = lengths
                .get(&cell)
                .copied()
                .unwrap_or(Length { usual: rig.spec.duration, bucket: false });
            let side = sides.entry(cell).or_default();
            side.is_counted = rig.session.ways.is_counted_by_device(cell.way);
            if length.bucket {
                both_lengths(rig, (cell, block), length.usual, side)?;
                continue;
            }
            let mut tried = flood(rig, TEST.as_str(), (cell, block), length.usual)?;
            if let Some(longer) = long_enough(&tried, length.usual) {
                length.usual = longer;
                tried = flood(rig, TEST.as_str(), (cell, block), longer)?;
            }
            let device = rig.spec.rules == SearchRules::Buckets
                && rig.session.ways.subjects().contains(&cell.way);
            if !lengths.contains_key(&cell) && device {
                length = look_for_bucket(rig, cell, (&mut tried, length.usual), side)?;
            }
            if !length.bucket {
                side.take(&tried, rig.spec.precision.get());
                length.bucket =
                    device && found_late(rig, (cell, block), (&tried, length.usual), side)?;
                late.extend(length.bucket.then_some((cell, block)));
            }
            lengths.insert(cell, length);
            if length.bucket {
                both_lengths(rig, (cell, block), length.usual, side)?;
            }
        }
    }
    // The blocks before a bucket was found.
    for (cell, found) in late {
        let (usual, side) = (lengths[&cell].usual, sides.entry(cell).or_default());
        for block in 0..found {
            both_lengths(rig, (cell, block), usual, side)?;
        }
    }
    Ok(rig.cells().into_iter().map(|cell| case(rig, cell, &sides)).collect())
}

/// How a cell is flooded.
#[derive(Debug, Clone, Copy)]
struct Length {
    usual: Nanos,
    /// Whether a bucket gives so much that each block has a longer flood besides.
    bucket: bool,
}

fn flood(
    rig: &mut Rig<'_, '_>,
    test: &'static str,
    (cell, block): (Cell, u32),
    length: Nanos,
) -> Result<Tried> {
    let offer = Offer::new(TEST, cell, Schedule::Greedy, length).in_block(block);
    rig.offer(&Offer { test, ..offer })
}

/// Floods once more and for longer: where what came in between is less a second than what came at
/// first, a bucket gave the difference, if it does so again. One that let the first flood pass
/// whole may let a longer one pass too, so that the lengths grow until the second is more than it
/// has, or has lasted.
fn look_for_bucket(
    rig: &mut Rig<'_, '_>,
    cell: Cell,
    (first, mut usual): (&mut Tried, Nanos),
    side: &mut Side,
) -> Result<Length> {
    let mut held_whole = false;
    for turn in 0..MOST_LONGER {
        let mut length = longer(usual);
        let mut second = flood(rig, SATURATION, (cell, turn), length)?;
        if is_driven(&second) == Some(false) && length < lasting(rig.spec.duration) {
            length = lasting(rig.spec.duration);
            second = flood(rig, SATURATION, (cell, turn), length)?;
        }
        let Some((short, long)) = seen(first).zip(seen(&second)) else { break };
        if driven(&second, &long) == Driven::No {
            break;
        }
        if driven(first, &short) == Driven::No {
            (usual, held_whole) = (length, true);
            *first = second;
            continue;
        }
        side.longer = each_way(&long, rig.spec.precision.get());
        let mut given = side.given(&short, &long, rig.spec.precision.get());
        if given > NOTED_BUCKET {
            let again = flood(rig, "again", (cell, turn), usual)?;
            let short = seen(&again);
            given = short.map_or(0.0, |short| side.given(&short, &long, rig.spec.precision.get()));
        }
        return Ok(Length { usual, bucket: given > NOTED_BUCKET || held_whole });
    }
    Ok(Length { usual, bucket: held_whole })
}

/// Looks for a bucket again where a block's flood brought more than the longer one of the first
/// look accounts for: a sender that pauses spoils a look, and hides a bucket from it. What the
/// blocks so far showed is forgotten where there is one.
fn found_late(
    rig: &mut Rig<'_, '_>,
    (cell, block): (Cell, u32),
    (tried, usual): (&Tried, Nanos),
    side: &mut Side,
) -> Result<bool> {
    if !side.suspects(tried, rig.spec.precision.get()) {
        return Ok(false);
    }
    let again = flood(rig, "again", (cell, block), usual)?;
    let second = flood(rig, SATURATION, (cell, block), longer(usual))?;
    let Some((short, long)) = seen(&again).zip(seen(&second)) else { return Ok(false) };
    let found = side.given(&short, &long, rig.spec.precision.get()) > NOTED_BUCKET;
    if found {
        let (notes, is_counted) = (std::mem::take(&mut side.notes), side.is_counted);
        *side = Side { is_counted, notes, ..Side::default() };
    }
    Ok(found)
}

/// A block where a bucket is told from the rate: floods of both lengths, after one that leaves the
/// bucket as empty before the first of them as that one before the second.
fn both_lengths(
    rig: &mut Rig<'_, '_>,
    (cell, block): (Cell, u32),
    length: Nanos,
    side: &mut Side,
) -> Result<()> {
    flood(rig, "emptying", (cell, block), length)?;
    let shorter = flood(rig, TEST.as_str(), (cell, block), length)?;
    let longer = flood(rig, SATURATION, (cell, block), longer(length))?;
    side.take_both(&shorter, &longer, rig.spec.precision.get());
    Ok(())
}

/// What a flood came to in each direction.
fn each_way(flows: &[&DatagramsRecord], width: f64) -> Vec<Sample> {
    directions(flows).iter().map(|(_, flows)| Sample::of(0, flows, width, false)).collect()
}

/// Of a shorter flood the largest share that a bucket gave in any direction: a device has one for
/// each port, and the sum of all hides a small port's.
fn bucket_share(short: &[Sample], long: &[Sample]) -> f64 {
    let share = |(short, long): (&Sample, &Sample)| {
        long.beyond(short).map_or(0.0, |(_, bucket)| bucket / short.came.max(1.0))
    };
    short.iter().zip(long).map(share).fold(0.0, f64::max)
}

/// How long a flood has to last to bring some frames through, where it did not; within bounds.
fn long_enough(tried: &Tried, length: Nanos) -> Option<Nanos> {
    let came = tried.measured().map(|flow| flow.received.unique).min()?;
    let more = FEW_FRAMES / came.max(1) as f64;
    let longer = Nanos::from_secs_f64(length.as_secs_f64() * more).min(LONGEST_FLOOD);
    (tried.valid().is_some() && longer > length && came < FEW_FRAMES as u64).then_some(longer)
}

impl Side {
    fn take(&mut self, tried: &Tried, width: f64) {
        self.hear(tried);
        let Some(flows) = seen(tried) else { return };
        for (direction, flows) in directions(&flows) {
            let sample = Sample::of(tried.trial.block, &flows, width, self.is_counted);
            self.samples.entry(direction).or_default().push(sample);
        }
    }

    /// Of the longer what the shorter did not have; a block without either has none.
    fn take_both(&mut self, shorter: &Tried, longer: &Tried, width: f64) {
        self.hear(longer);
        let Some((short, long)) = seen(shorter).zip(seen(longer)) else { return };
        let block = longer.trial.block;
        for ((direction, short), (_, long)) in directions(&short).into_iter().zip(directions(&long))
        {
            let of = |flows: &[&DatagramsRecord]| Sample::of(block, flows, width, self.is_counted);
            let [short, long] = [of(&short), of(&long)];
            if let Some((sample, bucket)) = long.beyond(&short) {
                self.samples.entry(direction).or_default().push(sample);
                let notable = bucket > NOTED_BUCKET * short.came;
                self.buckets.push(if notable { bucket } else { 0.0 });
            }
        }
    }

    /// Of a shorter flood the share that a bucket gave at first, as a longer one tells.
    fn given(&mut self, short: &[&DatagramsRecord], long: &[&DatagramsRecord], width: f64) -> f64 {
        let share = bucket_share(&each_way(short, width), &each_way(long, width));
        self.unseen = self.unseen.max(share);
        share
    }

    /// Whether a flood brought so much more a second than the longer one of the look for a bucket
    /// that there may be one after all.
    fn suspects(&mut self, tried: &Tried, width: f64) -> bool {
        let Some(short) = seen(tried) else { return false };
        let given = bucket_share(&each_way(&short, width), &self.longer);
        let suspects = given > NOTED_BUCKET && self.suspected < MOST_SUSPECTED;
        self.suspected += u32::from(suspects);
        suspects
    }

    /// All but the samples.
    fn hear(&mut self, tried: &Tried) {
        let Some(flows) = self.notes.flows(tried) else { return };
        let record = &tried.record;
        if !tester_losses(&tried.trial, &record.flows, &record.ports, &record.hosts).is_empty() {
            self.notes.doubt(Caveat::TesterDrops);
        }
        self.frames += sent(&flows);
        self.driven.push(driven(tried, &flows));
        self.own_drops.push(own_drops(tried, &flows));
    }

    /// What gave way in most blocks.
    fn usually_driven(&self) -> Driven {
        let most = |least: Driven| {
            2 * self.driven.iter().filter(|driven| **driven >= least).count() > self.driven.len()
        };
        [Driven::Lost, Driven::HeldBack].into_iter().find(|d| most(*d)).unwrap_or(Driven::No)
    }

    /// Frames that a bucket gave at first, all flows' together, where it is told from the rate.
    fn bucket(&self) -> Option<f64> {
        measure::quantile::median(&self.buckets).filter(|frames| *frames > 0.0)
    }

    /// The share of a rate that a bucket may have given; none where it was told from the rate.
    fn unseen(&self) -> f64 {
        if self.buckets.is_empty() { self.unseen } else { 0.0 }
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

/// The same, yes or no, of a valid trial.
fn is_driven(tried: &Tried) -> Option<bool> {
    seen(tried).map(|flows| driven(tried, &flows) != Driven::No)
}

/// Frames that came back and that the tester itself dropped, as a share of those that it counted.
fn own_drops(tried: &Tried, flows: &[&DatagramsRecord]) -> f64 {
    let lost = lost(flows);
    let received = sent(flows).saturating_sub(lost).max(1);
    lost.saturating_sub(lost_on_path(tried)) as f64 / received as f64
}

fn case(rig: &Rig<'_, '_>, cell: Cell, sides: &BTreeMap<Cell, Side>) -> FloodCase {
    let empty = Side::default();
    let own = sides.get(&cell).unwrap_or(&empty);
    let bypass = rig.bypass_of(cell).and_then(|cable| sides.get(&cable)).unwrap_or(&empty);
    let own_drops = measure::quantile::median(&own.own_drops).unwrap_or(0.0);
    let mut names: Vec<Option<Direction>> = own.samples.keys().copied().collect();
    if names.is_empty() {
        names.push(None);
    }
    let one_way = |direction| {
        let mut row = rig.row(TEST, cell, &own.notes);
        set_direction(&mut row, direction);
        row.n = own.frames;
        if let Some(frames) = own.bucket() {
            row.caveats.insert(Caveat::Buffered);
            row.set(Key::BufferedBytes, frames * rig.frames[cell.frames].sent.mean_octets());
        }
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
        (direction, counts(rig, &row, cell, samples, own.unseen()))
    };
    let counts = names.into_iter().map(one_way).collect();
    FloodCase { traffic: rig.traffic(cell), cable: rig.cable_at(cell), counts }
}

/// A count begins and ends anywhere between two frames: each end is off by one at most, in every
/// block alike, so that blocks that agree do not show it. Nor do they show what a bucket gave to
/// all of them.
fn widen(received: &mut Figure, frame: &[f64], unseen: f64) {
    let Some(frame) = measure::quantile::median(frame) else { return };
    received.low = received.low.map(|low| (low * (1.0 - unseen) - frame).max(0.0));
    received.high = received.high.map(|high| high + frame);
}

/// The same of a share lost, by what a frame and a bucket are of all that was sent.
fn widen_loss(ratio: &mut Figure, frame: &[f64], unseen: f64) {
    let Some(frame) = measure::quantile::median(frame) else { return };
    if ratio.value.is_some_and(|value| value > 0.0) {
        ratio.low = ratio.low.map(|low| (low - frame).max(0.0));
        ratio.high = ratio.high.map(|high| (high + (1.0 - high) * unseen + frame).min(1.0));
    }
}

fn counts(
    rig: &Rig<'_, '_>,
    row: &Row,
    cell: Cell,
    samples: &[Sample],
    unseen: f64,
) -> FloodCounts {
    let values = |of: Value| samples.iter().map(of).collect::<Vec<f64>>();
    let most = |of: Value| values(of).into_iter().fold(0.0, f64::max);
    let rate = |metric, of: Value| row.over_blocks(metric, Unit::FramesPerSecond, &values(of));
    let (frames, ways) = (&rig.frames[cell.frames], &rig.session.ways);
    let mut received = rate(Metric::Received, |s| s.received);
    widen(&mut received, &values(|s| s.frame), unseen);
    if row.verdict == Verdict::DeviceLimited {
        // Flooded without a pause it would have brought up to so much.
        let fed = rate(Metric::Received, |s| s.received / (1.0 - s.starved.min(MOST_STARVED)));
        received.high = received.high.zip(fed.high).map(|(high, most)| high.max(most));
    }
    let is_counted = ways.is_counted_by_device(cell.way);
    // What a queue still held when the load ended has left by the time of a device's count.
    let is_at_most = is_counted && samples.iter().any(|sample| sample.lost > 0.0);
    if is_at_most {
        received.set(Key::Bound, page::AT_MOST);
    }
    // So many that count as received may be others', and as many more be lost.
    let open = most(|s| s.open);
    let mut lost = rate(Metric::Lost, |s| s.lost);
    received.low = received.low.map(|low| (low - open).max(0.0));
    lost.high = lost.high.map(|high| high + open);
    let mut loss_ratio = row.over_blocks(Metric::LossRatio, Unit::Ratio, &values(|s| s.loss_ratio));
    let open = most(|s| s.open / s.sent.max(f64::MIN_POSITIVE));
    loss_ratio.high = loss_ratio.high.map(|high| (high + open).min(1.0));
    if !is_counted {
        let frame = values(|s| s.frame / s.sent.max(f64::MIN_POSITIVE));
        widen_loss(&mut loss_ratio, &frame, unseen);
    }
    FloodCounts {
        offered: rate(Metric::Offered, |s| s.offered),
        sent: rate(Metric::Sent, |s| s.sent),
        received: frames.rate(received),
        lost,
        // Frames that nobody told apart have no order and no copies.
        told_apart: (!is_counted).then(|| {
            let duplicated = rate(Metric::Duplicated, |s| s.duplicated);
            [duplicated, rate(Metric::Reordered, |s| s.reordered)]
        }),
        loss_ratio,
        is_at_most,
    }
}
