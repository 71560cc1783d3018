//! The longest burst without loss of many ports into few (RFC 8239 §4): all but one into one, all
//! but two into two, and so on while more send than receive.
//!
//! Owns the search for its length. Every sender sends its share of each receiver's frames as fast
//! as it can, all at the same moment. Never takes a frame that is lost at any load for a full
//! buffer. What the buffer holds in octets is another study's; here stands what had to be held
//! while the burst lasted.

use measure::{FrameRate, FrameSize, Nanos};

use super::super::counts::flooded;
use super::SwitchTest;
use super::rig::{Offer, PortSet, Rig, Stream};
use crate::search::{Answer, Within, largest};
use page::{Caveat, Figure, Metric, Unit, Verdict};
use trial::TestbedError;
use trial::record::Outcome;
use trial::{Gate, Schedule};

const TEST: SwitchTest = SwitchTest::Microburst;

/// So many times the burst's frames in the control: a loss by chance that two bursts had shows
/// there.
const CONTROL_FRAMES: u64 = 10;

/// Every split of the ports, and every size.
pub(super) fn run(rig: &mut Rig<'_, '_>, board: &PortSet) -> Result<Vec<Figure>, TestbedError> {
    let ports = board.ports.len();
    let mut figures = Vec::new();
    for receivers in (1..ports).take_while(|receivers| ports - receivers > *receivers) {
        for size in rig.spec.frames.clone() {
            figures.push(one(rig, board, (ports - receivers, receivers), size)?);
        }
    }
    Ok(figures)
}

fn one(
    rig: &mut Rig<'_, '_>,
    board: &PortSet,
    (senders, receivers): (usize, usize),
    size: FrameSize,
) -> Result<Figure, TestbedError> {
    let seconds = rig.spec.burst_duration.as_secs_f64();
    let line = rig.highest(board, size).map_or(1_000_000.0, |line| line.0);
    let most = (line * seconds / receivers as f64).max(1.0) as u64;
    let split = (senders, receivers);
    // A frame that was lost by chance is not lost twice.
    let within = Within { verifications: 1, ..Within::exactly(1, most) };
    let found = largest(within, |frames| passes(rig, board, split, (size, frames)))?;
    let by_burst = match found.fails {
        Some(frames) => control_passes(rig, board, split, (size, frames, line))?,
        None => true,
    };
    let mut row = rig.row(board, TEST, Some(size));
    row.n = found.asked;
    row.verdict = match found.fails {
        Some(_) if rig.is_simulated() && by_burst && found.holds.is_some() => {
            rig.sight(board, true)
        }
        Some(_) => Verdict::Undetermined,
        None => rig.sight(board, false),
    };
    if found.broken {
        row.caveats.insert(Caveat::NoValidTrial);
    } else if found.fails.is_none() {
        row.caveats.insert(Caveat::SearchCeiling);
    }
    if !by_burst {
        row.caveats.insert(Caveat::LossNotByLoad);
    } else if found.fails.is_some() && found.holds.is_none() {
        row.caveats.insert(Caveat::Irregular);
    }
    let mut add = |name: &str, value: u64| row.conditions.insert(name.to_owned(), value.into());
    add("senders", senders as u64);
    add("receivers", receivers as u64);
    let flows = (senders * receivers) as u64;
    if let Some(frames) = found.holds.filter(|_| by_burst) {
        add("frames_a_sender", frames * receivers as u64);
        // While a receiver's share of all senders comes, its port passes one port's worth of it.
        let waiting = (senders as u64).saturating_sub(receivers as u64) * frames;
        add("held_octets_a_receiver", waiting * u64::from(size.octets()));
    }
    row.conditions.insert("interval".to_owned(), "search bracket".into());
    let all = |frames: u64| (frames * flows) as f64;
    let holds = found.holds.map(all);
    let mut figure = row.single(Metric::Microburst, Unit::Count, holds.filter(|_| by_burst));
    figure.low = holds;
    figure.high = found.fails.filter(|_| by_burst).map(all);
    Ok(figure)
}

/// The control: whether many times as many frames all come where no receiver's port gets more than
/// half of what it carries. What is lost so is not lost for want of a buffer.
fn control_passes(
    rig: &mut Rig<'_, '_>,
    board: &PortSet,
    (senders, receivers): (usize, usize),
    (size, frames, line): (FrameSize, u64, f64),
) -> Result<bool, TestbedError> {
    let each = FrameRate(0.5 * line / senders as f64);
    let streams: Vec<Stream> = ends(senders, receivers)
        .map(|ends| rig.stream(ends, size, Schedule::Paced(each)))
        .collect();
    let offer = Offer {
        label: format!("{} {senders} into {receivers} {size} control", TEST.as_str()),
        streams,
        duration: Nanos::from_secs_f64((CONTROL_FRAMES * frames) as f64 / each.0),
        gate: Gate::Strict,
    };
    let tried = rig.offer(board, offer)?;
    let whole = tried.measured().all(|flow| flow.received.lost(flow.sent) == 0);
    Ok(tried.valid().is_some() && whole && flooded(&tried.record) == 0)
}

/// Senders begin with different receivers, as those of a mesh do.
fn ends(senders: usize, receivers: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..receivers).flat_map(move |turn| {
        (0..senders).map(move |from| (receivers + from, (from + turn) % receivers))
    })
}

/// Whether so many frames from each sender to each receiver all came.
fn passes(
    rig: &mut Rig<'_, '_>,
    board: &PortSet,
    (senders, receivers): (usize, usize),
    (size, frames): (FrameSize, u64),
) -> Result<Answer, TestbedError> {
    let streams: Vec<Stream> = ends(senders, receivers)
        .map(|ends| rig.stream(ends, size, Schedule::Burst(frames)))
        .collect();
    let offer = Offer {
        label: format!("{} {senders} into {receivers} {size} burst of {frames}", TEST.as_str()),
        streams,
        // A burst that is held up by others still leaves whole.
        duration: rig.spec.burst_duration * 2,
        gate: Gate::Strict,
    };
    let tried = rig.offer(board, offer)?;
    Ok(match &tried.record.outcome {
        Outcome::Valid => {
            let whole = tried.measured().all(|flow| flow.received.lost(flow.sent) == 0);
            Answer::from(whole && flooded(&tried.record) == 0)
        }
        Outcome::Invalid { .. } | Outcome::Failed { .. } => Answer::Unknown,
    })
}
