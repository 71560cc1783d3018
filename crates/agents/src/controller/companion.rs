//! The part that whatever stands beside the agents takes in a trial.
//!
//! Owns the moments of a trial. Never orders a flow.

use std::collections::BTreeMap;
use std::fmt;

use dataplane::Window;
use lab::Lab;
use trial::{Topology, Trial, TrialRecord};

use super::Stop;
use super::pool::AgentPool;
use super::trial_error::TrialError;

/// The ports of a trial, by host: each with the kernel interfaces that count for it.
pub type PortsInUse = BTreeMap<String, BTreeMap<String, Vec<String>>>;

/// The trial under way.
#[derive(Debug, Clone, Copy)]
pub struct TrialContext<'a> {
    /// What is asked.
    pub trial: &'a Trial,
    /// Who is where.
    pub topology: &'a Topology,
    /// The lab, where the testbed is one.
    pub lab: Option<&'a Lab>,
    /// The user's wish to stop.
    pub stop: &'a Stop,
}

/// The hosts of a trial before any of their agents opens a port.
#[derive(Debug)]
pub struct Preparing<'a> {
    /// The agents.
    pub pool: &'a mut AgentPool,
    /// Interfaces whose counters are the trial's.
    pub ports: &'a mut PortsInUse,
}

/// Takes part in trials beside the agents. Whatever fails ends the trial.
pub trait Companion: fmt::Debug {
    /// Before any agent opens a port.
    fn prepare(&mut self, _context: TrialContext<'_>, _hosts: &mut Preparing<'_>) -> Done {
        Ok(())
    }

    /// Right before the load.
    fn before(&mut self, _context: TrialContext<'_>) -> Done {
        Ok(())
    }

    /// While the load runs and is waited for by `load`, which is called once.
    fn around(&mut self, _context: TrialContext<'_>, _window: Window, load: Load<'_>) -> Done {
        load()
    }

    /// Right after the load. The record has what the hosts counted, and what companions nearer to
    /// the load have put there.
    fn after(&mut self, _context: TrialContext<'_>, _record: &mut TrialRecord) -> Done {
        Ok(())
    }
}

/// Waits for the load's end.
pub type Load<'a> = &'a mut dyn FnMut() -> Done;
/// Whether a part of the trial went well.
pub type Done = Result<(), TrialError>;

/// Waits for the load's end with everything around it.
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
