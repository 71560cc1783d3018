//! The seam between deciding and doing. A study sees a testbed and nothing below it; the journal is
//! a testbed around a testbed.
//! Never says how a trial is carried out, nor what its record means.

use crate::{Topology, Trial, TrialRecord};

/// Carries trials out.
pub trait Testbed {
    /// Where they run.
    fn topology(&self) -> &Topology;

    /// Runs one trial. A trial that went wrong is a record that says so; an error means that no
    /// further trial can be run.
    fn run(&mut self, trial: &Trial) -> Result<TrialRecord>;
}

/// A testbed around a testbed: every record that passes is heard of.
pub struct Observed<'a, F> {
    testbed: &'a mut dyn Testbed,
    hear: F,
}

impl<'a, F: FnMut(&Trial, &TrialRecord)> Observed<'a, F> {
    /// `hear` is called with each trial and its record.
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

/// What a trial came to, or a study's trials, where the testbed lasted.
pub type Result<T, E = TestbedError> = std::result::Result<T, E>;

/// No further trial can be run here.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// Something asked for by name can't be had on this testbed: no trial of the kind can run.
    #[error("run trial `{label}`: {reason}")]
    Unavailable {
        /// The trial under way.
        label: String,
        /// What, and why.
        reason: String,
    },
    /// Nothing but the same failure, trial after trial.
    #[error("run trial `{label}`: the first {trials} trials all failed alike: {reason}")]
    Futile {
        /// The last of them.
        label: String,
        /// How many.
        trials: u32,
        /// What happened each time.
        reason: String,
    },
    /// The testbed itself is gone: an agent died, a namespace vanished.
    #[error("run trial `{label}`")]
    Lost {
        /// The trial under way.
        label: String,
        /// What happened.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// What a trial did to a device could not be undone: the device is left changed.
    #[error("undo what trial `{label}` did")]
    NotUndone {
        /// The trial under way.
        label: String,
        /// Which device is left how, and what leads back.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A record could not be kept.
    #[error("record trial `{label}`")]
    NotRecorded {
        /// The trial.
        label: String,
        /// What happened.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A recorded trial can't stand for the one asked for: the plan changed, or it can't be read.
    #[error("replay trial `{label}`")]
    NotReplayed {
        /// The trial asked for.
        label: String,
        /// What happened.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
}
