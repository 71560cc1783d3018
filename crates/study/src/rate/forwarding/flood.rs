//! Flood at the tester's maximum rate: the forwarding rate at maximum offered load (RFC 2285
//! §3.6.2, FRMOL), over blocks with all subjects and direct cables in random order.
//!
//! Owns the length of a flood. A second, longer one separates a rate from the first burst of a
//! token bucket, and if that is notable, every block has both. The tester's own loss never
//! invalidates a flood, whose purpose it is; it becomes a caveat.

mod sample;

use std::collections::BTreeMap;

use measure::Nanos;

use super::super::counts::{lost, lost_on_path, paused, sent, valid_flows};
use super::super::sustained::{lasting, longer};
use super::finding::{FloodCase, FloodCounts};
use super::rig::{ByDirection, Cell, Direction, Notes, Offer, Rig, directions, set_direction};
use super::{ForwardingTest, SearchRules};
use crate::verdict::{Driven, Evidence, RateEvidence, Rates};
use crate::{Row, Tried};
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};
use sample::Sample;
use trial::record::DatagramsRecord;
use trial::validity::{OFFERED_LOAD_TOLERANCE, tester_losses};
use trial::{Result, Schedule};

const TEST: ForwardingTest = ForwardingTest::Flood;

/// Minimum number of frames for a rate: with fewer, the first and the last have too much weight.
const FEW_FRAMES: f64 = 200.0;

/// Share of a flood's frames from a token bucket above which every block separates bucket and rate.
/// A smaller share lowers the interval's lower end.
const NOTED_BUCKET: f64 = 0.03;

/// Minimum ratio of the longer flood's length to the shorter one's.
const LONGER: f64 = 1.5;

/// Name of the further floods that separate a bucket from a rate.
const SATURATION: &str = "saturation";

/// Maximum number of extensions of a flood that a bucket passed without loss.
const MOST_LONGER: u32 = 3;

/// Maximum number of times that a block's flood may start another search for a bucket.
const MOST_SUSPECTED: u32 = 3;

/// Maximum share of a flood's time that counts as starved.
const MOST_STARVED: f64 = 0.99;

/// Maximum length of a flood that is extended for its number of frames.
const LONGEST_FLOOD: Nanos = Nanos::from_secs(5);

/// Blocks of one cell.
#[derive(Debug, Clone, Default)]
struct Side {
    samples: ByDirection<Sample>,
    /// Component at its limit in each block.
    driven: Vec<Driven>,
    /// Tester's own drops as a share of the received frames, per block.
    own_drops: Vec<f64>,
    frames: u64,
    /// Frames that a bucket passed at first, per block that separates them from the rate.
    buckets: Vec<f64>,
    /// Longer flood of the search for a bucket, by direction.
    longer: Vec<Sample>,
    /// Number of blocks that suggested a bucket after a search had found none.
    suspected: u32,
    /// Share of the rate that an undetected small bucket may have added.
    unseen: f64,
    /// True if a device's counter replaces a receiver.
    is_counted: bool,
    notes: Notes,
}

/// Getter of one of a sample's numbers.
type Value = fn(&Sample) -> f64;

/// Measures every cell in every block, and returns each cell's results.
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
                both_lengths(rig, cell, block, length.usual, side)?;
                continue;
            }
            let mut tried = flood(rig, TEST.as_str(), cell, block, length.usual)?;
            if let Some(longer) = long_enough(&tried, length.usual) {
                length.usual = longer;
                tried = flood(rig, TEST.as_str(), cell, block, longer)?;
            }
            let device = rig.spec.rules == SearchRules::Buckets
                && rig.session.ways.subjects().contains(&cell.way);
            if !lengths.contains_key(&cell) && device {
                length = look_for_bucket(rig, cell, (&mut tried, length.usual), side)?;
            }
            if !length.bucket {
                side.take(&tried, rig.spec.precision.get());
                length.bucket = device && found_late(rig, cell, block, &tried, length.usual, side)?;
                late.extend(length.bucket.then_some((cell, block)));
            }
            lengths.insert(cell, length);
            if length.bucket {
                both_lengths(rig, cell, block, length.usual, side)?;
            }
        }
    }
    // Repeats the blocks before a bucket was found.
    for (cell, found) in late {
        let (usual, side) = (lengths[&cell].usual, sides.entry(cell).or_default());
        for block in 0..found {
            both_lengths(rig, cell, block, usual, side)?;
        }
    }
    Ok(rig.cells().into_iter().map(|cell| case(rig, cell, &sides)).collect())
}

/// Length of a cell's floods.
#[derive(Debug, Clone, Copy)]
struct Length {
    usual: Nanos,
    /// True if a bucket adds enough that each block needs a longer flood too.
    bucket: bool,
}

fn flood(
    rig: &mut Rig<'_, '_>,
    test: &'static str,
    cell: Cell,
    block: u32,
    length: Nanos,
) -> Result<Tried> {
    let offer = Offer::new(TEST, cell, Schedule::Greedy, length).in_block(block);
    rig.offer(&Offer { test, ..offer })
}

/// Searches for a token bucket with a longer flood. If the rate of the additional time is lower, a
/// bucket passed the difference, and a repetition must confirm it. A bucket may pass the first
/// floods without loss. So lengths grow until the second flood exceeds the bucket or the maximum
/// length.
fn look_for_bucket(
    rig: &mut Rig<'_, '_>,
    cell: Cell,
    (first, mut usual): (&mut Tried, Nanos),
    side: &mut Side,
) -> Result<Length> {
    let mut held_whole = false;
    for turn in 0..MOST_LONGER {
        let mut length = longer(usual);
        let mut second = flood(rig, SATURATION, cell, turn, length)?;
        if is_driven(&second) == Some(false) && length < lasting(rig.spec.duration) {
            length = lasting(rig.spec.duration);
            second = flood(rig, SATURATION, cell, turn, length)?;
        }
        let Some((short, long)) = valid_flows(first).zip(valid_flows(&second)) else { break };
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
            let again = flood(rig, "again", cell, turn, usual)?;
            let short = valid_flows(&again);
            given = short.map_or(0.0, |short| side.given(&short, &long, rig.spec.precision.get()));
        }
        return Ok(Length { usual, bucket: given > NOTED_BUCKET || held_whole });
    }
    Ok(Length { usual, bucket: held_whole })
}

/// Searches for a bucket again if a block's flood received more than the first search explains. A
/// sender's pause can spoil a search and hide a bucket. If one is found, the results of earlier
/// blocks are discarded.
fn found_late(
    rig: &mut Rig<'_, '_>,
    cell: Cell,
    block: u32,
    tried: &Tried,
    usual: Nanos,
    side: &mut Side,
) -> Result<bool> {
    if !side.suspects(tried, rig.spec.precision.get()) {
        return Ok(false);
    }
    let again = flood(rig, "again", cell, block, usual)?;
    let second = flood(rig, SATURATION, cell, block, longer(usual))?;
    let Some((short, long)) = valid_flows(&again).zip(valid_flows(&second)) else {
        return Ok(false);
    };
    let found = side.given(&short, &long, rig.spec.precision.get()) > NOTED_BUCKET;
    if found {
        let (notes, is_counted) = (std::mem::take(&mut side.notes), side.is_counted);
        *side = Side { is_counted, notes, ..Side::default() };
    }
    Ok(found)
}

/// Measures a block that separates bucket and rate: floods of both lengths. A flood before them
/// leaves the bucket as empty as the first leaves it for the second.
fn both_lengths(
    rig: &mut Rig<'_, '_>,
    cell: Cell,
    block: u32,
    length: Nanos,
    side: &mut Side,
) -> Result<()> {
    flood(rig, "emptying", cell, block, length)?;
    let shorter = flood(rig, TEST.as_str(), cell, block, length)?;
    let longer = flood(rig, SATURATION, cell, block, longer(length))?;
    side.take_both(&shorter, &longer, rig.spec.precision.get());
    Ok(())
}

/// Returns the result of a flood in each direction.
fn each_way(flows: &[&DatagramsRecord], width: f64) -> Vec<Sample> {
    directions(flows).iter().map(|(_, flows)| Sample::from_flows(0, flows, width, false)).collect()
}

/// Largest share of a shorter flood that a bucket passed in any direction. A device has a bucket
/// per port, and the sum of all would hide a small port's.
fn bucket_share(short: &[Sample], long: &[Sample]) -> f64 {
    let share = |(short, long): (&Sample, &Sample)| {
        long.beyond(short).map_or(0.0, |(_, bucket)| bucket / short.came.max(1.0))
    };
    short.iter().zip(long).map(share).fold(0.0, f64::max)
}

/// Length that a flood needs to receive enough frames, within bounds; `None` if it did.
fn long_enough(tried: &Tried, length: Nanos) -> Option<Nanos> {
    let came = tried.measured().map(|flow| flow.received.unique).min()?;
    let more = FEW_FRAMES / came.max(1) as f64;
    let longer = Nanos::from_secs_f64(length.as_secs_f64() * more).min(LONGEST_FLOOD);
    (tried.valid().is_some() && longer > length && came < FEW_FRAMES as u64).then_some(longer)
}

impl Side {
    fn take(&mut self, tried: &Tried, width: f64) {
        self.observe(tried);
        let Some(flows) = valid_flows(tried) else { return };
        for (direction, flows) in directions(&flows) {
            let sample = Sample::from_flows(tried.trial.block, &flows, width, self.is_counted);
            self.samples.entry(direction).or_default().push(sample);
        }
    }

    /// Takes the part of the longer flood beyond the shorter one. A block without valid floods of
    /// both lengths adds nothing.
    fn take_both(&mut self, shorter: &Tried, longer: &Tried, width: f64) {
        self.observe(longer);
        let Some((short, long)) = valid_flows(shorter).zip(valid_flows(longer)) else { return };
        let block = longer.trial.block;
        for ((direction, short), (_, long)) in directions(&short).into_iter().zip(directions(&long))
        {
            let of = |flows: &[&DatagramsRecord]| {
                Sample::from_flows(block, flows, width, self.is_counted)
            };
            let [short, long] = [of(&short), of(&long)];
            if let Some((sample, bucket)) = long.beyond(&short) {
                self.samples.entry(direction).or_default().push(sample);
                let notable = bucket > NOTED_BUCKET * short.came;
                self.buckets.push(if notable { bucket } else { 0.0 });
            }
        }
    }

    /// Share of a shorter flood that a bucket passed at first, by comparison with a longer one.
    fn given(&mut self, short: &[&DatagramsRecord], long: &[&DatagramsRecord], width: f64) -> f64 {
        let share = bucket_share(&each_way(short, width), &each_way(long, width));
        self.unseen = self.unseen.max(share);
        share
    }

    /// True if a flood's rate exceeds that of the search's longer flood enough to suggest a bucket.
    fn suspects(&mut self, tried: &Tried, width: f64) -> bool {
        let Some(short) = valid_flows(tried) else { return false };
        let given = bucket_share(&each_way(&short, width), &self.longer);
        let suspects = given > NOTED_BUCKET && self.suspected < MOST_SUSPECTED;
        self.suspected += u32::from(suspects);
        suspects
    }

    /// Takes in everything except the samples.
    fn observe(&mut self, tried: &Tried) {
        let Some(flows) = self.notes.flows(tried) else { return };
        let record = &tried.record;
        if !tester_losses(&tried.trial, &record.flows, &record.ports, &record.hosts).is_empty() {
            self.notes.doubt(Caveat::TesterDrops);
        }
        self.frames += sent(&flows);
        self.driven.push(driven(tried, &flows));
        self.own_drops.push(own_drops(tried, &flows));
    }

    /// Component at its limit in most blocks.
    fn usually_driven(&self) -> Driven {
        let most = |least: Driven| {
            2 * self.driven.iter().filter(|driven| **driven >= least).count() > self.driven.len()
        };
        [Driven::Lost, Driven::HeldBack].into_iter().find(|d| most(*d)).unwrap_or(Driven::No)
    }

    /// Frames that a bucket passed at first, over all flows; `None` without a detected bucket.
    fn bucket(&self) -> Option<f64> {
        measure::quantile::median(&self.buckets).filter(|frames| *frames > 0.0)
    }

    /// Share of a rate that a bucket may have added; zero if the two were separated.
    fn unseen(&self) -> f64 {
        if self.buckets.is_empty() { self.unseen } else { 0.0 }
    }

    /// Received rates by block, paired with another side's in the same block.
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

/// Evidence that the path, and not only the tester, was at its limit. Either frames were lost
/// beyond the tester's own drops, or the sender was held back. A share below the tolerance of an
/// offered load does not count.
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

/// True if the path was at its limit; `None` for an invalid trial.
fn is_driven(tried: &Tried) -> Option<bool> {
    valid_flows(tried).map(|flows| driven(tried, &flows) != Driven::No)
}

/// Frames that arrived and that the tester itself dropped, as a share of those it counted.
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

/// Widens a received rate's interval by one frame at either end, as counts begin and end between
/// frames. The error is the same in all blocks, so their agreement does not show it. The lower end
/// also covers an undetected bucket.
fn widen(received: &mut Figure, frame: &[f64], unseen: f64) {
    let Some(frame) = measure::quantile::median(frame) else { return };
    received.low = received.low.map(|low| (low * (1.0 - unseen) - frame).max(0.0));
    received.high = received.high.map(|high| high + frame);
}

/// Widens a loss ratio's interval by the shares of one frame and of an undetected bucket.
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
        // Upper bound for a flood without pauses of the sender.
        let fed = rate(Metric::Received, |s| s.received / (1.0 - s.starved.min(MOST_STARVED)));
        received.high = received.high.zip(fed.high).map(|(high, most)| high.max(most));
    }
    let is_counted = ways.is_counted_by_device(cell.way);
    // Frames still queued at the end of the load are in a device's count.
    let is_at_most = is_counted && samples.iter().any(|sample| sample.lost > 0.0);
    if is_at_most {
        received.set(Key::Bound, page::AT_MOST);
    }
    // Counted frames that may be other traffic hide as many lost ones.
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
        // Frames that are not identified show no reordering and no duplicates.
        told_apart: (!is_counted).then(|| {
            let duplicated = rate(Metric::Duplicated, |s| s.duplicated);
            [duplicated, rate(Metric::Reordered, |s| s.reordered)]
        }),
        loss_ratio,
        is_at_most,
    }
}
