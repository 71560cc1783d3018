//! Search for the largest packet that arrives over a path which carries small ones only.
//!
//! Owns the sizes that are tried: several at once, so that a few short trials find the octet. They
//! are single datagrams that forbid fragmentation, each way by itself.

use measure::units::FRAMING_OCTETS;
use measure::{FrameSize, Nanos};
use trial::topology::Pair;
use trial::{Backend, Datagrams, Flow, FlowKind, Gate, Offloads, Outcome, Phases, Reception};
use trial::{FlowRecord, Schedule, Testbed, TestbedError, Trial};

use super::{Passage, SMALL, run_unless_refused};

/// Sizes tried at once.
const AT_ONCE: u32 = 8;
/// Longest search, in trials: 9^5 sizes are more than there are.
const MOST_TRIALS: usize = 6;
/// Datagrams of one size.
const FRAMES: u32 = 4;
const LOAD: Nanos = Nanos::from_millis(50);
/// Time for which they may be on their way.
const RESIDUAL: Nanos = Nanos::from_millis(500);

/// Largest packet of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Largest {
    /// Direction that carries no larger one.
    pub pair: Pair,
    /// Octets of the IP packet.
    pub octets: u32,
    /// True if the sender is told of a larger packet by an ICMP error, as path MTU discovery needs
    /// (RFC 1191 section 3); false if larger ones vanish (RFC 2923 section 2.1).
    pub is_reported: bool,
    /// True if the packets are IPv6.
    pub ipv6: bool,
}

/// Finds the largest packet that arrives, in the first direction that carries no full-size one;
/// `None` if both do.
pub(super) fn find(
    testbed: &mut dyn Testbed,
    passage: &Passage,
) -> Result<Option<Largest>, TestbedError> {
    let pair = Pair { from: passage.from.clone(), to: passage.to.clone() };
    for pair in [pair.clone(), pair.back()] {
        // Datagrams that do not arrive at any size, or may not be sent, say nothing of sizes.
        if arrivals(testbed, &pair, &[SMALL])?.as_deref() != Some(&[true][..]) {
            return Ok(None);
        }
        let full = arrivals(testbed, &pair, &[passage.full_size])?;
        if full.as_deref() == Some(&[true][..]) {
            continue;
        }
        // Where the kernel knows a smaller path MTU, it refuses to send.
        let is_reported = full.is_none();
        let octets = search(testbed, &pair, passage.full_size)? - FRAMING_OCTETS;
        let ipv6 = passage.to_address.is_ipv6();
        return Ok(Some(Largest { pair, octets, is_reported, ipv6 }));
    }
    Ok(None)
}

/// Returns the octets of the largest frame that arrives, below one that does not.
fn search(testbed: &mut dyn Testbed, pair: &Pair, full: u32) -> Result<u32, TestbedError> {
    let (mut passes, mut fails) = (SMALL, full);
    for _ in 0..MOST_TRIALS {
        let sizes = between(passes, fails);
        if sizes.is_empty() {
            break;
        }
        let came = match arrivals(testbed, pair, &sizes)? {
            Some(came) => came,
            // A refused one keeps all others from being sent.
            None => one_by_one(testbed, pair, &sizes)?,
        };
        let those = |wanted: bool| {
            let tried = sizes.iter().copied().zip(came.iter().copied());
            tried.filter(move |(_, came)| *came == wanted).map(|(size, _)| size)
        };
        passes = those(true).max().unwrap_or(passes);
        fails = those(false).filter(|size| *size > passes).min().unwrap_or(fails);
    }
    Ok(passes)
}

/// Tries sizes one after the other, up to the first that does not arrive.
fn one_by_one(
    testbed: &mut dyn Testbed,
    pair: &Pair,
    sizes: &[u32],
) -> Result<Vec<bool>, TestbedError> {
    let mut all = vec![false; sizes.len()];
    for (size, came) in sizes.iter().zip(&mut all) {
        *came = arrivals(testbed, pair, &[*size])?.as_deref() == Some(&[true][..]);
        if !*came {
            break;
        }
    }
    Ok(all)
}

/// Returns which sizes arrived; `None` if one could not be sent.
fn arrivals(
    testbed: &mut dyn Testbed,
    pair: &Pair,
    sizes: &[u32],
) -> Result<Option<Vec<bool>>, TestbedError> {
    let flow = |(id, size): (u16, &u32)| {
        let (size, schedule) = (FrameSize::new(*size).ok()?, Schedule::Burst(FRAMES.into()));
        let datagrams = Datagrams {
            receiver: Reception::Udp,
            ..Datagrams::plain(size, schedule, Backend::Udp, FRAMES)
        };
        Some(Flow { id, ..Flow::measured(pair, FlowKind::Datagrams(datagrams)) })
    };
    let flows: Vec<Flow> = (1..).zip(sizes).filter_map(flow).collect();
    let label = format!("{} > {}, by size", pair.from, pair.to);
    let trial = Trial {
        offloads: Offloads::AsFound,
        phases: Phases { residual: RESIDUAL, ..Phases::quick(LOAD) },
        ..Trial::quick(label, flows, LOAD, Gate::Flood)
    };
    let Some(record) = run_unless_refused(testbed, &trial)? else { return Ok(None) };
    if let Outcome::Failed { .. } = record.outcome {
        return Ok(None);
    }
    let came =
        |flow: &FlowRecord| matches!(flow, FlowRecord::Datagrams(seen) if seen.received.unique > 0);
    Ok(Some(record.flows.iter().map(came).collect()))
}

/// Returns sizes that divide the range between one that passes and one that fails, evenly.
fn between(passes: u32, fails: u32) -> Vec<u32> {
    let inside = fails.saturating_sub(passes).saturating_sub(1);
    let count = inside.min(AT_ONCE);
    let mut sizes: Vec<u32> =
        (1..=count).map(|number| passes + (fails - passes) * number / (count + 1)).collect();
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However large packets are, few trials find the last that passes.
    #[test]
    fn a_search_ends_at_the_octet() {
        for full in [576 + FRAMING_OCTETS, 1518, 9018] {
            for limit in [SMALL, SMALL + 1, 600, 1418, 1499, 1517, full - 1] {
                let limit = limit.min(full - 1);
                let (mut passes, mut fails) = (SMALL, full);
                for _ in 0..MOST_TRIALS {
                    let sizes = between(passes, fails);
                    passes = sizes.iter().copied().filter(|s| *s <= limit).max().unwrap_or(passes);
                    fails = sizes.iter().copied().filter(|s| *s > limit).min().unwrap_or(fails);
                }
                assert_eq!((passes, fails), (limit, limit + 1), "{full}");
            }
        }
    }
}
