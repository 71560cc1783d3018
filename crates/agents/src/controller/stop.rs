//! The user's wish to stop, shared between a signal handler and whoever waits.
//!
//! Owns the waits that it ends. Never installs the handler: the command line does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dataplane::clock;
use measure::Nanos;

use super::trial_error::TrialError;

/// Asks a testbed to give up the trial under way; shared, and never taken back.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Not yet asked.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks. Safe in a signal handler: one atomic store.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Waits, unless it is asked.
    pub(crate) fn rest(&self, span: Nanos) -> Result<(), TrialError> {
        let rested = clock::rest_until(clock::monotonic() + span, || self.asked());
        if rested { Ok(()) } else { Err(TrialError::Stopped) }
    }

    /// The flag itself, for whoever registers signal handlers by flag.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

impl From<Arc<AtomicBool>> for Stop {
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }
}
