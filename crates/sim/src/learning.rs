//! Frames before a load, which teach the network the location of its hosts (RFC 2544 §23).
//!
//! Owns their number and times. Both ends of each flow send in turn, a few times, so that a slowly
//! learning table can learn them too. Never counted: the counters begin after them.

use std::sync::atomic::AtomicBool;

use device::{Frame, Mac, Profile};
use measure::{FrameSize, Nanos, Picos};
use trial::FlowKind;
use trial::Trial;

use crate::build::ends;
use crate::flight::LEARNING;
use crate::shared_state::Lane;
use crate::world::{Interrupted, World};

/// Number of rounds in which both ends send.
const ROUNDS: u64 = 3;
/// Gap between two hosts' frames.
const GAP: Picos = Picos(10_000_000);
/// Rest between two rounds, besides the time that frames are in flight.
const REST: Nanos = Nanos::from_millis(10);
/// Maximum flight time of a round's frames, over all cables together.
const MOST: Nanos = Nanos::from_secs(1);

/// Duration of the learning phase, stations included.
pub(crate) fn time(trial: &Trial, profile: &Profile) -> Picos {
    let stations = trial.flows.iter().map(|flow| match &flow.kind {
        FlowKind::Datagrams(datagrams) => datagrams.destination.learning(),
        FlowKind::Echo(_)
        | FlowKind::Bulk(_)
        | FlowKind::Exchange(_)
        | FlowKind::Storage(_)
        | FlowKind::Sessions(_) => Nanos::ZERO,
    });
    let stations = stations.fold(Nanos::ZERO, |all, one| all + one);
    // Each end sends to the first of its flow or is sent to from there: two lanes.
    let lanes: usize = trial.flows.iter().map(|flow| 2 * (ends(flow).len() - 1)).sum();
    hosts_time(lanes as u64, profile) + stations.into()
}

/// Time that hosts take to announce themselves.
fn hosts_time(lanes: u64, profile: &Profile) -> Picos {
    Picos(ROUNDS * round(lanes, profile).0)
}

/// Announces the stations behind a load's receiving port, one load after the other.
pub(crate) fn announce_stations(
    world: &mut World,
    lanes: &[Lane],
    profile: &Profile,
    stop: Option<&AtomicBool>,
) -> Result<(), Interrupted> {
    const SECOND: u64 = 1_000_000_000_000;
    let mut begin = hosts_time(lanes.len() as u64, profile);
    for number in 0..world.hosts.flows.loads.len() {
        let Some(stations) = world.hosts.flows.loads[number].stations() else { continue };
        let after = |frames: u64| {
            let time = u128::from(frames) * u128::from(SECOND) / u128::from(stations.learn_rate);
            begin + Picos(time as u64)
        };
        let frames = u64::from(stations.count) * u64::from(stations.rounds);
        for frame in 0..frames {
            world.run(after(frame), stop)?;
            if let Some(lane) = world.hosts.flows.loads[number].announcement(frame) {
                send(world, &lane);
            }
        }
        begin = after(frames);
    }
    Ok(())
}

fn round(lanes: u64, profile: &Profile) -> Picos {
    // The longest path crosses every device once.
    let longest = profile.links().iter().map(|link| link.delay).max().unwrap_or_default();
    let under_way = profile.link_delay * 4 + longest * profile.devices().len() as u64;
    Picos(lanes * GAP.0) + (REST + under_way.min(MOST)).into()
}

/// Learning frames in order, with the time and lane of each.
pub(crate) fn frames(lanes: &[Lane], profile: &Profile) -> impl Iterator<Item = (Picos, Lane)> {
    let round = round(lanes.len() as u64, profile);
    let speak = move |turn: u64, number: u64| Picos(turn * round.0 + number * GAP.0);
    (0..ROUNDS).flat_map(move |turn| {
        (0..).zip(lanes).map(move |(number, lane)| (speak(turn, number), *lane))
    })
}

/// Sends one learning frame now.
pub(crate) fn send(world: &mut World, lane: &Lane) {
    world.hosts.ground.send(lane, FrameSize::MIN.octets(), LEARNING);
}

/// Announces every host by broadcast after its link came up.
pub(crate) fn announce(world: &mut World) {
    for number in 0..world.hosts.ground.nics.len() {
        if world.hosts.ground.nics[number].is_at_network() {
            announce_at(world, number as u32);
        }
    }
}

/// Announces one host by broadcast after its link came up.
pub(crate) fn announce_at(world: &mut World, number: u32) {
    let frame = Frame {
        octets: 0,
        source: world.hosts.ground.nics[number as usize].mac,
        destination: Mac::BROADCAST,
        target: None,
        tag: LEARNING,
    };
    send(world, &Lane::new(number, frame));
}
