//! The user's request to stop, shared between a signal handler and all waits.
//!
//! Owns the waits that it ends. Never installs the handler: the command line does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dataplane::clock;
use measure::Nanos;

use super::trial_error::TrialError;

/// Request to abandon the current trial; shared, and never withdrawn.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Creates a request that was not made yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the request. Safe in a signal handler: one atomic store.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True if the request was made.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Waits for `span`; fails if the request is made.
    pub(crate) fn rest(&self, span: Nanos) -> Result<(), TrialError> {
        let rested = clock::rest_until(clock::monotonic() + span, || self.is_requested());
        if rested { Ok(()) } else { Err(TrialError::Stopped) }
    }

    /// Returns the flag itself, for signal handlers that set a flag.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

impl From<Arc<AtomicBool>> for Stop {
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }
}
