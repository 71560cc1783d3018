//! The interface for everything that takes part in a trial besides the agents.
//!
//! Owns the stages of a trial. Never orders a flow.

use std::collections::BTreeMap;
use std::fmt;

use dataplane::Window;
use lab::Lab;
use trial::{Topology, Trial, TrialRecord};

use super::Stop;
use super::pool::AgentPool;
use super::trial_error::TrialError;

/// Ports of a trial, by host: each with the kernel interfaces that count for it.
pub type PortsInUse = BTreeMap<String, BTreeMap<String, Vec<String>>>;

/// The current trial.
#[derive(Debug, Clone, Copy)]
pub struct TrialContext<'a> {
    /// Trial to run.
    pub trial: &'a Trial,
    /// Hosts, ports and cables.
    pub topology: &'a Topology,
    /// Lab of the testbed; `None` if it is no lab.
    pub lab: Option<&'a Lab>,
    /// Request to stop by the user.
    pub stop: &'a Stop,
}

/// Hosts of a trial before any of their agents opens a port.
#[derive(Debug)]
pub struct Preparing<'a> {
    /// Agents of the testbed.
    pub pool: &'a mut AgentPool,
    /// Interfaces whose counters belong to the trial.
    pub ports: &'a mut PortsInUse,
}

/// Takes part in trials besides the agents. Any failure ends the trial.
pub trait Companion: fmt::Debug {
    /// Runs before any agent opens a port.
    fn prepare(&mut self, _context: TrialContext<'_>, _hosts: &mut Preparing<'_>) -> Done {
        Ok(())
    }

    /// Runs right before the load.
    fn before(&mut self, _context: TrialContext<'_>) -> Done {
        Ok(())
    }

    /// Runs during the load; calls `load` once, which waits for its end.
    fn around(&mut self, _context: TrialContext<'_>, _window: Window, load: Load<'_>) -> Done {
        load()
    }

    /// Runs right after the load. The record has the hosts' counts, and the results of companions
    /// nearer to the load.
    fn after(&mut self, _context: TrialContext<'_>, _record: &mut TrialRecord) -> Done {
        Ok(())
    }
}

/// Function that waits for the load's end.
pub type Load<'a> = &'a mut dyn FnMut() -> Done;
/// Result of a stage of the trial.
pub type Done = Result<(), TrialError>;

/// Waits for the load's end inside all companions.
pub fn around(
    companions: &mut [&mut dyn Companion],
    context: TrialContext<'_>,
    window: Window,
    load: Load<'_>,
) -> Done {
    match companions {
        [] => load(),
        [first, nearer @ ..] => {
            first.around(context, window, &mut || around(nearer, context, window, load))
        }
    }
}
