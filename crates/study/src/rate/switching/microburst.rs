//! Longest burst without loss from many ports into few (RFC 8239 §4). All but one send into one,
//! all but two into two, and so on while more send than receive.
//!
//! Owns the search for its length. Every sender sends its share of each receiver's frames as fast
//! as it can, all at the same moment. Never takes a frame that is lost at any load for a full
//! buffer. Another study measures a buffer in octets; this one states the octets queued during the
//! burst.

use measure::{FrameRate, FrameSize, Nanos};

use super::super::counts::flooded;
use super::SwitchTest;
use super::finding::MicroburstCase;
use super::rig::{Offer, Rig};
use crate::search::{Answer, Within, largest};
use page::{Caveat, Key, Metric, Unit, Verdict};
use trial::{Flow, Gate, Result, Schedule};

const TEST: SwitchTest = SwitchTest::Microburst;

/// Frames of the control as a multiple of the burst's, which show a random loss of two bursts.
const CONTROL_FRAMES: u64 = 10;

/// Runs the test for every split of the ports and every size.
pub(super) fn run(rig: &mut Rig<'_, '_>) -> Result<Vec<MicroburstCase>> {
    let ports = rig.ports.len();
    let mut cases = Vec::new();
    for receivers in (1..ports).take_while(|receivers| ports - receivers > *receivers) {
        for size in rig.spec.frames.clone() {
            cases.push(measure(rig, ports - receivers, receivers, size)?);
        }
    }
    Ok(cases)
}

fn measure(
    rig: &mut Rig<'_, '_>,
    senders: usize,
    receivers: usize,
    size: FrameSize,
) -> Result<MicroburstCase> {
    let seconds = rig.spec.burst_duration.as_secs_f64();
    let line = rig.highest(size).map_or(1_000_000.0, |line| line.0);
    let most = (line * seconds / receivers as f64).max(1.0) as u64;
    // Frames lost by chance are rarely lost twice.
    let within = Within { verifications: 1, ..Within::exactly(1, most) };
    let found = largest(within, |frames| {
        // A burst delayed by others is still sent completely.
        let duration = rig.spec.burst_duration * 2;
        let name = format!("burst of {frames}");
        passes(rig, senders, receivers, size, &name, Schedule::Burst(frames), duration)
    })?;
    // Control: many times as many frames, at half of a receiving port's rate at most. Frames lost
    // there are not lost for lack of buffer.
    let by_burst = match found.fails {
        Some(frames) => {
            let each = FrameRate(0.5 * line / senders as f64);
            let duration = Nanos::from_secs_f64((CONTROL_FRAMES * frames) as f64 / each.0);
            let load = Schedule::Paced(each);
            passes(rig, senders, receivers, size, "control", load, duration)? == Answer::Holds
        }
        None => true,
    };
    let mut row = rig.row(TEST, Some(size));
    row.n = found.asked;
    row.verdict = match found.fails {
        Some(_) if rig.is_simulated() && by_burst && found.holds.is_some() => rig.sight(true),
        Some(_) => Verdict::Undetermined,
        None => rig.sight(false),
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
    row.set(Key::Senders, senders as u64);
    row.set(Key::Receivers, receivers as u64);
    let flows = (senders * receivers) as u64;
    let mut held = None;
    if let Some(frames) = found.holds.filter(|_| by_burst) {
        row.set(Key::FramesASender, frames * receivers as u64);
        // While all senders' shares for a receiver arrive, its port forwards one port's worth of
        // them.
        let waiting = (senders as u64).saturating_sub(receivers as u64) * frames;
        let octets = waiting * u64::from(size.octets());
        row.set(Key::HeldOctets, octets);
        held = Some(octets);
    }
    row.set(Key::Interval, page::BRACKET);
    let all = |frames: u64| (frames * flows) as f64;
    let holds = found.holds.map(all);
    let mut figure = row.single(Metric::Microburst, Unit::Count, holds.filter(|_| by_burst));
    figure.low = holds;
    figure.high = found.fails.filter(|_| by_burst).map(all);
    Ok(MicroburstCase { size, senders, receivers, held, frames: figure })
}

/// Tests if all frames of every sender reach every receiver. Senders begin with different
/// receivers, as in a mesh.
fn passes(
    rig: &mut Rig<'_, '_>,
    senders: usize,
    receivers: usize,
    size: FrameSize,
    name: &str,
    schedule: Schedule,
    duration: Nanos,
) -> Result<Answer> {
    let turns = (0..receivers).flat_map(|turn| (0..senders).map(move |from| (from, turn)));
    let ends = turns.map(|(from, turn)| (receivers + from, (from + turn) % receivers));
    let flows: Vec<Flow> = ends.map(|ends| rig.stream(ends, size, schedule)).collect();
    let label = format!("{} {senders} into {receivers} {size} {name}", TEST.as_str());
    let tried = rig.offer(Offer { label, flows, duration, gate: Gate::Strict })?;
    if tried.valid().is_none() {
        return Ok(Answer::Unknown);
    }
    let whole = tried.measured().all(|flow| flow.received.lost(flow.sent) == 0);
    Ok(Answer::from(whole && flooded(&tried.record) == 0))
}
