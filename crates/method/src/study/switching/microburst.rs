//! The longest burst without loss of many ports into few (RFC 8239 §4): all but one into one, all but
//! two into two, and so on while more send than receive.
//!
//! Owns the search for its length. Every sender sends its share of each receiver's frames as fast as
//! it can, all at the same moment. What the buffer holds in octets is another study's; here stands
//! what had to be held while the burst lasted.

use measure::FrameSize;

use super::SwitchTest;
use super::largest;
use super::rig::{Board, Offer, Rig, Stream, flooded};
use crate::record::Outcome;
use crate::trial::{Gate, Schedule};
use crate::{Caveat, Figure, Metric, TestbedError, Unit, Verdict};

const TEST: SwitchTest = SwitchTest::Microburst;

/// Every split of the ports, and every size.
pub(super) fn run(rig: &mut Rig<'_, '_>, board: &Board) -> Result<Vec<Figure>, TestbedError> {
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
    board: &Board,
    (senders, receivers): (usize, usize),
    size: FrameSize,
) -> Result<Figure, TestbedError> {
    let seconds = rig.spec.burst_duration.as_secs_f64();
    let line = rig.highest(board, size).map_or(1_000_000.0, |line| line.0);
    let most = (line * seconds / receivers as f64).max(1.0) as u64;
    let found = largest::search(largest::Within::exactly(1, most), |frames| {
        passes(rig, board, (senders, receivers), (size, frames))
    })?;
    let mut row = rig.row(board, TEST, Some(size));
    row.n = found.asked;
    row.verdict = match found.fails {
        Some(_) if rig.is_simulated() => Verdict::DeviceLimited,
        Some(_) => Verdict::Undetermined,
        None => Verdict::TesterLimited,
    };
    if found.broken {
        row.caveats.insert(Caveat::NoValidTrial);
    } else if found.fails.is_none() {
        row.caveats.insert(Caveat::SearchCeiling);
    }
    let mut add = |name: &str, value: u64| row.conditions.insert(name.to_owned(), value.into());
    add("senders", senders as u64);
    add("receivers", receivers as u64);
    let flows = (senders * receivers) as u64;
    if let Some(frames) = found.holds {
        add("frames_a_sender", frames * receivers as u64);
        // While a receiver's share of all senders comes, its port passes one port's worth of it.
        let waiting = (senders as u64).saturating_sub(receivers as u64) * frames;
        add("held_octets_a_receiver", waiting * u64::from(size.octets()));
    }
    row.conditions.insert("interval".to_owned(), "search bracket".into());
    let all = |frames: u64| (frames * flows) as f64;
    let value = found.holds.or(found.fails.map(|_| 0)).map(all);
    let mut figure = row.single(Metric::Microburst, Unit::Count, value);
    figure.low = value;
    figure.high = found.fails.map(all);
    Ok(figure)
}

/// Whether so many frames from each sender to each receiver all came; none where no trial could be
/// used.
fn passes(
    rig: &mut Rig<'_, '_>,
    board: &Board,
    (senders, receivers): (usize, usize),
    (size, frames): (FrameSize, u64),
) -> Result<Option<bool>, TestbedError> {
    // Senders begin with different receivers, as those of a mesh do.
    let ends = (0..receivers).flat_map(|turn| {
        (0..senders).map(move |from| (receivers + from, (from + turn) % receivers))
    });
    let streams: Vec<Stream> =
        ends.map(|ends| rig.stream(ends, size, Schedule::Burst(frames))).collect();
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
            Some(whole && flooded(&tried.record) == 0)
        }
        Outcome::Invalid { .. } | Outcome::Failed { .. } => None,
    })
}
