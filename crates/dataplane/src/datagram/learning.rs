//! Learning frames: sent before a trial so that devices and hosts learn each other's addresses (RFC
//! 2544 §23). They carry the flow's identity and the highest sequence numbers, by which a receiver
//! recognises them. Never counted.

use std::time::Duration;

use measure::Nanos;
use wire::Probe;

use super::Traffic;
use crate::{End, FlowError};

/// Number of learning frames per sender.
pub(super) const FRAMES: u32 = 3;

/// Gap between two learning frames.
pub(super) const GAP: Duration = Duration::from_millis(2);

/// First sequence number reserved for learning frames.
const FIRST: u32 = u32::MAX - NUMBERS;

const NUMBERS: u32 = 16;

/// Sequence number of the `index`th learning frame.
pub(super) fn sequence(index: u32) -> u32 {
    FIRST + index % NUMBERS
}

/// True if a number is a learning frame's.
pub(super) fn is_learning(sequence: u32) -> bool {
    sequence >= FIRST
}

/// Refuses a limit that overlaps the learning frames' numbers.
pub(super) fn check_limit(limit: u64) -> Result<(), FlowError> {
    if limit <= u64::from(FIRST) {
        return Ok(());
    }
    Err(FlowError::Unsuitable(format!(
        "number {limit} frames of one flow: at most {FIRST} can be told apart; shorten the load or lower its rate"
    )))
}

/// Builds the flow's probe with a number that is never counted.
pub(super) fn probe(spec: &End<Traffic>) -> Probe {
    Probe {
        token: spec.identity.token,
        flow: spec.identity.flow,
        sequence: sequence(0),
        time_ns: Nanos::ZERO.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn learning_numbers_lie_above_every_limit() {
        assert!((0..FRAMES).all(|i| is_learning(sequence(i))));
        assert!(!is_learning(FIRST - 1));
        assert!(check_limit(u64::from(FIRST)).is_ok());
        assert!(check_limit(u64::from(FIRST) + 1).is_err());
    }
}
