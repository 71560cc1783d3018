//! Time that a device is busy before and after a load.
//!
//! Pure. Never runs a trial.

use measure::{FrameRate, Nanos};
use trial::record::DatagramsRecord;
use trial::{Datagrams, Flow, FlowKind, Gate, Role, Schedule, Trial};

/// Learning frames of each flow before a load, from both ends. A device no slower than the load has
/// forwarded them before it.
const LEARNING_FRAMES: f64 = 6.0;
/// Maximum time for learning frames; a slower device loses some of the load to them.
const LONGEST_LEARNING: Nanos = Nanos::from_secs(10);

/// Time that a device as slow as a paced load needs for the learning frames; before a burst, one of
/// the measured rate.
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

/// True if a trial fills all buffers: a flood or a burst.
pub(super) fn fills(trial: &Trial) -> bool {
    let burst = |flow: &Flow| {
        let FlowKind::Datagrams(asked) = &flow.kind else { return false };
        flow.role == Role::Measured && matches!(asked.schedule, Schedule::Burst(_))
    };
    trial.gate == Gate::Flood || trial.flows.iter().any(burst)
}

/// Mean seconds between two arrivals; after a single one, the time since. `None` without arrivals
/// or stamps.
pub(super) fn mean_gap(flow: &DatagramsRecord) -> Option<f64> {
    match flow.received.unique {
        0 => None,
        1 => flow.quiet.map(Nanos::as_secs_f64),
        frames => Some(flow.receiving.as_secs_f64() / (frames - 1) as f64),
    }
}
