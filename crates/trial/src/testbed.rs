//! Interface between studies and testbeds. A study sees nothing below it; the journal is a testbed
//! around a testbed. Never says how a trial is carried out, nor what its record means.

use crate::{Topology, Trial, TrialRecord};

/// Place where trials are carried out.
pub trait Testbed {
    /// Hosts, devices and cables of the testbed.
    fn topology(&self) -> &Topology;

    /// Runs one trial. A trial that went wrong is a record that says so; an error means that no
    /// further trial can be run.
    fn run(&mut self, trial: &Trial) -> Result<TrialRecord>;
}

/// Testbed wrapper that passes every record to a callback.
pub struct Observed<'a, F> {
    testbed: &'a mut dyn Testbed,
    hear: F,
}

impl<'a, F: FnMut(&Trial, &TrialRecord)> Observed<'a, F> {
    /// Creates the wrapper; it calls `hear` with each trial and its record.
    pub const fn new(testbed: &'a mut dyn Testbed, hear: F) -> Self {
        Self { testbed, hear }
    }
}

impl<F: FnMut(&Trial, &TrialRecord)> Testbed for Observed<'_, F> {
    fn topology(&self) -> &Topology {
        self.testbed.topology()
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialRecord> {
        let record = self.testbed.run(trial)?;
        (self.hear)(trial, &record);
        Ok(record)
    }
}

impl<T: Testbed + ?Sized> Testbed for &mut T {
    fn topology(&self) -> &Topology {
        (**self).topology()
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialRecord> {
        (**self).run(trial)
    }
}

/// Result of a trial, or of a study's trials, unless the testbed failed.
pub type Result<T, E = TestbedError> = std::result::Result<T, E>;

/// Error after which no further trial can be run.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// A requested feature is not available on this testbed, so no trial of the kind can run.
    #[error("run trial `{label}`: {reason}")]
    Unavailable {
        /// Label of the current trial.
        label: String,
        /// Missing feature, and why.
        reason: String,
    },
    /// Every trial failed in the same way.
    #[error("run trial `{label}`: the first {trials} trials all failed alike: {reason}")]
    Futile {
        /// Label of the last trial.
        label: String,
        /// Number of trials.
        trials: u32,
        /// Cause of each failure.
        reason: String,
    },
    /// The testbed itself is lost: an agent died, a namespace vanished.
    #[error("run trial `{label}`")]
    Lost {
        /// Label of the current trial.
        label: String,
        /// Cause of the loss.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A change to a device could not be undone: the device is left changed.
    #[error("undo what trial `{label}` did")]
    NotUndone {
        /// Label of the current trial.
        label: String,
        /// State in which the device is left, and how to restore it.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A record could not be stored.
    #[error("record trial `{label}`")]
    NotRecorded {
        /// Label of the trial.
        label: String,
        /// Cause of the failure.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A recorded trial does not match the requested one, or cannot be read.
    #[error("replay trial `{label}`")]
    NotReplayed {
        /// Label of the requested trial.
        label: String,
        /// Cause of the failure.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
}
