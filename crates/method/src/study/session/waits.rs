//! How long a device is busy before a load and after it.
//!
//! Pure. Never runs a trial.

use measure::{FrameRate, Nanos};
use trial::record::DatagramsRecord;
use trial::{Datagrams, Flow, FlowKind, Gate, Role, Schedule, Trial};

/// Before a load: six frames of each flow, both ends', so that a device no faster than the load has
/// none of them left.
const LEARNING_FRAMES: f64 = 6.0;
/// A device that needs longer loses some of a load to them.
const LONGEST_LEARNING: Nanos = Nanos::from_secs(10);

/// How long a device as slow as a paced load works on the learning frames; before a burst, one of
/// the rate that was found.
pub(super) fn for_learning(flows: &[Flow], found: Option<FrameRate>) -> Nanos {
    let paced = flows.iter().filter_map(|flow| match &flow.kind {
        FlowKind::Datagrams(Datagrams { schedule: Schedule::Paced(rate), .. }) => Some(rate.0),
        FlowKind::Datagrams(Datagrams { schedule: Schedule::Burst(_), .. }) => {
            found.map(|rate| rate.0)
        }
        _ => None,
    });
    let slowest = paced.fold(f64::INFINITY, f64::min);
    Nanos::from_secs_f64(LEARNING_FRAMES / slowest).min(LONGEST_LEARNING)
}

/// Whether a trial fills whatever buffers there are: a flood or a burst.
pub(super) fn fills(trial: &Trial) -> bool {
    let burst = |flow: &Flow| {
        let FlowKind::Datagrams(asked) = &flow.kind else { return false };
        flow.role == Role::Measured && matches!(asked.schedule, Schedule::Burst(_))
    };
    trial.gate == Gate::Flood || trial.flows.iter().any(burst)
}

/// Seconds between two arrivals; of a single one what has passed since. None where none came, or
/// nobody stamped them.
pub(super) fn mean_gap(flow: &DatagramsRecord) -> Option<f64> {
    match flow.received.unique {
        0 => None,
        1 => flow.quiet.map(Nanos::as_secs_f64),
        frames => Some(flow.receiving.as_secs_f64() / (frames - 1) as f64),
    }
}
