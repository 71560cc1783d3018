//! The frames before a load, which teach the network where its hosts are (RFC 2544 §23).
//!
//! Owns how many and when: both ends of each flow speak in turn, a few times, so that a table that
//! learns slowly gets its chance too. Never counted: the counters begin after them.

use std::sync::atomic::AtomicBool;

use device::{Frame, Mac, Profile};
use measure::{FrameSize, Nanos, Picos};
use trial::FlowKind;
use trial::Trial;

use crate::build::ends;
use crate::flight::LEARNING;
use crate::shared_state::Lane;
use crate::world::{Interrupted, World};

/// How often both ends speak.
const ROUNDS: u64 = 3;
/// Between two hosts' frames.
const GAP: Picos = Picos(10_000_000);
/// Between two rounds, beside the time that frames are under way.
const REST: Nanos = Nanos::from_millis(10);
/// No more than this for all cables together.
const MOST: Nanos = Nanos::from_secs(1);

/// How long it takes, stations included.
pub(crate) fn time(trial: &Trial, profile: &Profile) -> Picos {
    let stations = trial.flows.iter().map(|flow| match &flow.kind {
        FlowKind::Datagrams(datagrams) => datagrams.destination.learning(),
        FlowKind::Echo(_) | FlowKind::Bulk(_) | FlowKind::Exchange(_) | FlowKind::Storage(_) => {
            Nanos::ZERO
        }
    });
    let stations = stations.fold(Nanos::ZERO, |all, one| all + one);
    // Each end speaks to the first of its flow or is spoken to from there: two lanes.
    let lanes: usize = trial.flows.iter().map(|flow| 2 * (ends(flow).len() - 1)).sum();
    hosts_time(lanes as u64, profile) + stations.into()
}

/// How long hosts take to speak for themselves.
fn hosts_time(lanes: u64, profile: &Profile) -> Picos {
    Picos(ROUNDS * round(lanes, profile).0)
}

/// Lets the stations behind a load's receiving port speak, one load after the other.
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
    // No way is longer than through every device once.
    let longest = profile.links().iter().map(|link| link.delay).max().unwrap_or_default();
    let under_way = profile.link_delay * 4 + longest * profile.devices().len() as u64;
    Picos(lanes * GAP.0) + (REST + under_way.min(MOST)).into()
}

/// What is sent by whom, in order.
pub(crate) fn frames(lanes: &[Lane], profile: &Profile) -> impl Iterator<Item = (Picos, Lane)> {
    let round = round(lanes.len() as u64, profile);
    let speak = move |turn: u64, number: u64| Picos(turn * round.0 + number * GAP.0);
    (0..ROUNDS).flat_map(move |turn| {
        (0..).zip(lanes).map(move |(number, lane)| (speak(turn, number), *lane))
    })
}

/// Sends one now.
pub(crate) fn send(world: &mut World, lane: &Lane) {
    world.hosts.ground.send(lane, FrameSize::MIN.octets(), LEARNING);
}

/// Every host's link came up: each tells everybody that it is there.
pub(crate) fn announce(world: &mut World) {
    for number in 0..world.hosts.ground.nics.len() {
        if world.hosts.ground.nics[number].is_at_network() {
            announce_at(world, number as u32);
        }
    }
}

/// One host's link came up: it tells everybody that it is there.
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
