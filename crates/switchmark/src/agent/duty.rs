//! What the agent does for each request, one after another.
//!
//! Owns the trial under way, the offloads that were changed and the delay that was added. Never reads or writes a pipe.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dataplane::{Halt, clock};
use measure::Nanos;

use super::delays::Delays;
use super::fault::AgentFault;
use super::leash;
use super::offloads::Offloads;
use super::trial::Trial;
use super::{Handled, facts};
use crate::protocol::{Answer, Ask, OffloadChange};

/// A trial that was prepared and never started is given up after this: its data ports must not stay.
const PREPARED_FOR: Duration = Duration::from_mins(1);
/// Nothing to look after.
const IDLE_FOR: Duration = Duration::from_hours(1);

/// What must be ended or undone from outside: by an abort, or when the pipe ends.
#[derive(Clone, Default)]
pub struct Reins {
    halt: Arc<Mutex<Halt>>,
    changes: Arc<Mutex<Changes>>,
}

/// What is to be put back on this host.
#[derive(Default)]
struct Changes {
    offloads: Offloads,
    delays: Delays,
}

impl Changes {
    /// As far as it goes; the first failure is told.
    fn undo(&mut self) -> Result<(), AgentFault> {
        self.delays.remove_all().and(self.offloads.restore_all())
    }

    /// An agent that changed nothing may be killed.
    fn tie(&self) -> Result<(), AgentFault> {
        if self.offloads.is_empty() && self.delays.is_empty() { leash::tighten() } else { Ok(()) }
    }
}

impl Reins {
    /// Ends the trial under way.
    pub fn halt(&self) {
        self.halt.lock().unwrap_or_else(PoisonError::into_inner).ask();
    }

    /// Ends the trial under way and puts back what was changed: the process is about to exit.
    pub fn let_go(&self) {
        self.halt();
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(fault) = changes.undo() {
            eprintln!("agent: {}", crate::protocol::in_words(&fault));
        }
    }

    fn fresh_halt(&self) -> Halt {
        let halt = Halt::new();
        *self.halt.lock().unwrap_or_else(PoisonError::into_inner) = halt.clone();
        halt
    }
}

/// The agent's state between requests.
pub struct Duty {
    reins: Reins,
    trial: Option<Trial>,
}

impl Duty {
    /// With nothing under way.
    pub const fn new(reins: Reins) -> Self {
        Self { reins, trial: None }
    }

    /// How long to wait for the next request before [`Self::abandon`].
    pub fn patience(&self) -> Duration {
        match &self.trial {
            Some(trial) if !trial.is_running() => PREPARED_FOR,
            _ => IDLE_FOR,
        }
    }

    /// Gives up a trial that nobody started.
    pub fn abandon(&mut self) {
        self.trial = self.trial.take().filter(Trial::is_running);
    }

    /// Does what is asked.
    pub fn handle(&mut self, ask: Ask) -> Handled {
        match ask {
            Ask::Clock => Ok(Answer::Clock { monotonic: clock::monotonic() }),
            Ask::Facts { interfaces } => Ok(Answer::Facts(facts::gather(&interfaces))),
            Ask::Offloads { interfaces, change } => self.offloads(&interfaces, change),
            Ask::Delay { ports, delay } => self.delay(&ports, delay),
            Ask::Prepare { receivers, interfaces } => {
                self.trial = None;
                let mut trial = Trial::new(self.reins.fresh_halt(), interfaces);
                let ports = trial.receive(&receivers)?;
                self.trial = Some(trial);
                Ok(Answer::Prepared { ports })
            }
            Ask::Connect { senders } => {
                self.prepared("connect")?.send(&senders)?;
                Ok(Answer::Connected)
            }
            Ask::Start { window } => {
                self.prepared("start")?.start(window)?;
                Ok(Answer::Started)
            }
            Ask::Collect => match self.trial.take() {
                Some(trial) => Ok(Answer::Collected(Box::new(trial.collect()?))),
                None => Err(AgentFault::Order { ask: "collect", reason: "no trial was prepared" }),
            },
            Ask::Abort => {
                self.reins.halt();
                self.trial = None;
                Ok(Answer::Aborted)
            }
            Ask::Goodbye => {
                self.trial = None;
                self.reins.let_go();
                Ok(Answer::Farewell)
            }
        }
    }

    fn prepared(&mut self, ask: &'static str) -> Result<&mut Trial, AgentFault> {
        match &mut self.trial {
            Some(trial) if !trial.is_running() => Ok(trial),
            Some(_) => Err(AgentFault::Order { ask, reason: "the trial runs already" }),
            None => Err(AgentFault::Order { ask, reason: "no trial was prepared" }),
        }
    }

    fn offloads(&self, interfaces: &[String], change: OffloadChange) -> Handled {
        let mut changes = self.reins.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = match change {
            OffloadChange::Off => changes.offloads.turn_off(interfaces)?,
            OffloadChange::Restore => changes.offloads.restore(interfaces)?,
        };
        changes.tie()?;
        Ok(Answer::Offloads { changed })
    }

    fn delay(&self, ports: &BTreeMap<String, u32>, delay: Nanos) -> Handled {
        let mut changes = self.reins.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let added = changes.delays.add(ports, delay);
        changes.tie()?;
        Ok(Answer::Delayed { through: added? })
    }
}
