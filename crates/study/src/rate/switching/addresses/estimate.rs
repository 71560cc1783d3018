//! Usual cost of the address tests.
//!
//! Owns the usual table: in a lab the kernel's, which holds all addresses; otherwise that of many
//! switches. Never a limit.

use std::convert::Infallible;

use measure::{FrameSize, Nanos};

use super::super::SwitchingSpec;
use super::trials::{FRAMES_TO_EACH, SILENT, Speech, TEST_RATE};
use super::{OWN, capacity, learning};
use crate::Estimate;
use crate::search::{Answer, Within, largest};
use trial::Destination;
use trial::topology::Topology;

/// Entries of an access switch's table by its data sheet.
const USUAL_TABLE: u64 = 16_384;

/// Addresses a second that such a switch learns, in hardware.
const USUAL_LEARNING: u64 = 100_000;

/// Estimate of the search for the capacity, and of the checks before floods count as a full table.
pub(in super::super) fn of_caching(spec: &SwitchingSpec, topology: &Topology) -> Estimate {
    let most = u64::from(spec.stations.get());
    let table = if topology.is_lab() { most } else { USUAL_TABLE - OWN };
    let mut all = one(spec, topology, u64::from(SILENT), silent());
    let mut ask = |stations: u64| {
        all += one(spec, topology, stations, capacity::at(spec.learn_rate.get(), stations));
        Ok::<_, Infallible>(Answer::from(stations <= table))
    };
    let Ok(found) = largest(Within::exactly(capacity::FEW.min(most), most), &mut ask);
    if let Some(fails) = found.fails {
        let slower = spec.learn_rate.get() / capacity::SLOWER;
        let twice = (2 * fails).min(most);
        let asked = [(fails, slower), (twice, spec.learn_rate.get()), (twice, slower)];
        for (stations, rate) in asked {
            all += one(spec, topology, stations, capacity::at(rate, stations));
        }
    }
    all.searching()
}

/// Estimate of the search for the learning rate; none for a real device, which cannot be made to
/// forget.
pub(in super::super) fn of_learning(spec: &SwitchingSpec, topology: &Topology) -> Estimate {
    if !topology.is_simulated() {
        return Estimate::NONE;
    }
    let stations = learning::STATIONS[0].min(u64::from(spec.stations.get()));
    let mut all = one(spec, topology, u64::from(SILENT), silent())
        + one(spec, topology, stations, Speech::slowest(stations, learning::ROUNDS))
        + one(spec, topology, stations, Speech::slowest(stations, 1))
            * u64::from(learning::CONTROLS);
    let mut ask = |rate: u64| {
        all += one(spec, topology, stations, Speech { rate, rounds: 1 });
        Ok::<_, Infallible>(Answer::from(rate <= USUAL_LEARNING))
    };
    let most = line_rate(spec, topology).unwrap_or(f64::INFINITY) as u64;
    let within = Within {
        width: spec.precision.get(),
        verifications: 1,
        ..Within::exactly(learning::FIRST_RATE.min(most), most)
    };
    let Ok(found) = largest(within, &mut ask);
    if let Some(fails) = found.fails {
        // Two overloads for the queue; the control of known frames takes about as long as one.
        all += one(spec, topology, stations, Speech { rate: fails, rounds: 1 }) * 3;
    }
    all.searching()
}

fn silent() -> Speech {
    Speech { rate: u64::from(SILENT), rounds: 0 }
}

/// Estimate of one trial: stations send, then each receives.
fn one(spec: &SwitchingSpec, topology: &Topology, stations: u64, speech: Speech) -> Estimate {
    let Speech { rate, rounds } = speech;
    let count = u32::try_from(stations).unwrap_or(u32::MAX);
    let learning = Destination::Stations { count, learn_rate: rate, rounds }.learning();
    let to_each = line_rate(spec, topology).map_or(TEST_RATE, |line| TEST_RATE.min(line / 2.0));
    let load = Nanos::from_secs_f64((FRAMES_TO_EACH * stations) as f64 / to_each);
    spec.profile.trial(learning + load)
}

fn line_rate(spec: &SwitchingSpec, topology: &Topology) -> Option<f64> {
    spec.link(topology).map(|link| link.line_rate(FrameSize::MIN).0)
}
