//! Real packets between real hosts, or between namespaces of a lab on this machine.
//!
//! Owns the order of a trial's phases. Never retries: a trial that went wrong is a record that says so.

use std::collections::BTreeMap;

use method::{Testbed, TestbedError, Topology, Trial, TrialRecord};

use super::Stop;
use crate::config::resolved;

/// The testbed could not be brought up.
#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    /// Not written yet.
    #[error("bring up testbed `{0}`")]
    Unfinished(String),
}

/// Carries trials out through agents.
#[derive(Debug)]
pub struct LiveTestbed {
    topology: Topology,
}

impl LiveTestbed {
    /// Builds the lab where one is asked for, and starts an agent on every host. Call it from a
    /// thread that lives as long as the testbed: agents die with the thread that started them.
    pub fn open(testbed: &resolved::Testbed, stop: Stop) -> Result<Self, ControllerError> {
        let _ = stop;
        Err(ControllerError::Unfinished(testbed.name.clone()))
    }

    /// What the hosts are, for the report: `h1.kernel`, `h1.cpu_model`, `h1/eth0.driver`,
    /// `testbed.shared_machine`…
    pub fn facts(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
}

impl Testbed for LiveTestbed {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        Err(TestbedError::JournalEnds { label: trial.label.clone() })
    }
}
